import type { Server } from './server'

/**
 * What happened since the last reading. `delayMs` is how late timers fired: on a busy machine that includes the time in
 * which other processes had the processor. `longestTurnMs` does not: it is the most CPU time that the main thread used
 * between two timers. `cpuMs` is the CPU time of the process with all its threads.
 */
export type EventLoopReading = {
  delayMs: { max: number; p99: number; mean: number }
  longestTurnMs: number
  cpuMs: number
}

/** The settings with which `startServer` starts a server that `readEventLoop` can read. */
export const withEventLoopProbe = { NODE_OPTIONS: `--import ${new URL('event-loop-probe.mjs', import.meta.url).href}` }

/** Reads the probe of a server, and resets it: the next reading covers what happens from now on. */
export async function readEventLoop({ process }: Server): Promise<EventLoopReading> {
  return new Promise((resolve) => {
    const read = (message: unknown) => {
      const { eventLoop } = message as { eventLoop?: EventLoopReading }
      if (!eventLoop) return
      process.off('message', read)
      resolve(eventLoop)
    }
    process.on('message', read)
    process.send('read-event-loop')
  })
}

/** What the probe of a server reads over the time that `work` takes. */
export async function eventLoopDuring(server: Server, work: () => Promise<unknown>): Promise<EventLoopReading> {
  await readEventLoop(server)
  await work()
  return readEventLoop(server)
}
