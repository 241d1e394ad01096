import type { Server } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import '../../lib/log/telemetry' // the types of both globals

type Stoppable = { server: Server; app: { close(): Promise<unknown> }; dev: boolean }

/** Whether the process is stopping, and how many requests have no complete response. */
export type Activity = { isStopping: boolean; inProgress: number }

/**
 * Ends this process on a signal, after the requests in progress. Returns the activity,
 * in which the caller counts them.
 */
export function stopOnSignals({ server, app, dev }: Stoppable): Activity {
  const activity: Activity = { isStopping: false, inProgress: 0 }

  async function stop(acceptMs: number): Promise<void> {
    if (activity.isStopping) return

    activity.isStopping = true
    if (dev || !server.listening) process.exit() // connections for hot reload never close

    const isTooLate = new Promise((resolve) => setTimeout(resolve, 30_000, true))
    await sleep(acceptMs)

    // first accepts the queued connections, because close() would reset them
    await new Promise(setImmediate)
    server.close()
    await finishRequests(activity, isTooLate)
    server.closeAllConnections() // close() keeps connections that have sent no request

    await Promise.race([isTooLate, app.close()]) // waits for callbacks of `after()`
    await Promise.all([globalThis.tracing?.flush(), globalThis.metrics?.flush()])
    process.exit()
  }

  process.on('SIGTERM', () => stop(Number(process.env.DRAIN_MS || 5_000))) // gives the proxy time to detect the stop
  for (const event of ['SIGINT', 'disconnect']) process.on(event, () => stop(0)) // disconnect: bin/dev/dev.ts was killed

  return activity
}

async function finishRequests(
  activity: Activity,
  isTooLate: Promise<unknown>,
): Promise<void> {
  do {
    if (await Promise.race([isTooLate, sleep(50)])) return
  } while (activity.inProgress > 0)
}
