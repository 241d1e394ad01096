// Loaded into a server under test with `NODE_OPTIONS=--import …`. On each message it reports, over
// IPC, how long the event loop was blocked and how much CPU time the process used since the
// previous message.
import { openSync, readSync } from 'node:fs'
import { monitorEventLoopDelay } from 'node:perf_hooks'

const resolutionMs = 2

/**
 * CPU time of the main thread, which runs the event loop. Linux only; elsewhere wall-clock time
 * takes its place.
 */
const mainThreadMs = (() => {
  if (process.platform !== 'linux') return () => performance.now()
  const file = openSync('/proc/self/schedstat', 'r')
  const buffer = Buffer.alloc(128)
  return () => Number.parseInt(buffer.toString('latin1', 0, readSync(file, buffer, 0, 128, 0)), 10) / 1e6
})()

if (process.send) {
  const delay = monitorEventLoopDelay({ resolution: resolutionMs })
  delay.enable()
  let cpu = process.cpuUsage()
  let longestTurnMs = 0
  let turnedAt = mainThreadMs()
  setInterval(() => {
    const now = mainThreadMs()
    longestTurnMs = Math.max(longestTurnMs, now - turnedAt)
    turnedAt = now
  }, resolutionMs).unref()
  process.on('message', (message) => {
    if (message !== 'read-event-loop') return
    const { user, system } = process.cpuUsage(cpu)
    const delayMs = { max: delay.max / 1e6, p99: delay.percentile(99) / 1e6, mean: delay.mean / 1e6 }
    process.send({ eventLoop: { delayMs, longestTurnMs, cpuMs: (user + system) / 1000 } })
    delay.reset()
    longestTurnMs = 0
    cpu = process.cpuUsage()
  })
}
