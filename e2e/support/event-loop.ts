import type { Server } from './server'

/**
 * Measurements since the previous reading. `delayMs` is how late timers fired, which includes the
 * time that other processes used the CPU. `longestTurnMs` excludes it: it is the most CPU time that
 * the main thread used between two timers. `cpuMs` is the CPU time of all threads of the process.
 */
export type EventLoopReading = {
  delayMs: { max: number; p99: number; mean: number }
  longestTurnMs: number
  cpuMs: number
}

/** Settings for `startServer` that `readEventLoop` requires. */
export const withEventLoopProbe = { NODE_OPTIONS: `--import ${new URL('event-loop-probe.mjs', import.meta.url).href}` }

/** Reads and resets the probe of a server. */
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

/** Measures the event loop of a server during `work`. */
export async function eventLoopDuring(server: Server, work: () => Promise<unknown>): Promise<EventLoopReading> {
  await readEventLoop(server)
  await work()
  return readEventLoop(server)
}
