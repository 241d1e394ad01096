import { AsyncResource } from 'node:async_hooks'
import type { ServerResponse } from 'node:http'

const maxRunning = 16
const maxWaiting = 256

type Requests = { running: number; waiting: Set<() => void> }

/** Starts a request now or later. Returns false if its client has too many. */
type Admit = (client: string, response: ServerResponse, start: () => void) => boolean

/**
 * Returns a function that queues a request if its client has 16 in progress. It rejects
 * a request if the client has 256 queued already.
 */
export function limitPerClient(): Admit {
  const clients = new Map<string, Requests>()
  const startTogether = batchStarts()

  return (client, response, start) => {
    const requests = clients.get(client) ?? { running: 0, waiting: new Set() }
    if (requests.running >= maxRunning && requests.waiting.size >= maxWaiting)
      return false

    clients.set(client, requests)

    function run(): void {
      requests.waiting.delete(run)
      requests.running++
      response.once('close', finish)
      startTogether(() => {
        if (!response.destroyed) start()
      })
    }

    function finish(): void {
      requests.running--
      const [next] = requests.waiting
      if (next) next()
      else if (requests.running === 0) clients.delete(client)
    }

    if (requests.running < maxRunning) run()
    else {
      response.once('close', () => requests.waiting.delete(run))
      requests.waiting.add(run)
    }

    return true
  }
}

/**
 * Returns a function that starts requests in batches. Requests that start together send
 * their statements together, so one iteration of the event loop handles all results.
 */
function batchStarts(): (start: () => void) => void {
  const outside = new AsyncResource('Server') // so that no request runs in the async context of another one
  const arrived: (() => void)[] = []

  function startAll(): void {
    for (const start of arrived.splice(0)) start()
  }

  return (start) => {
    const count = arrived.push(start)
    // Waits for two iterations, until the requests that follow the last responses have
    // arrived.
    if (count === 1)
      outside.runInAsyncScope(() => setImmediate(() => setImmediate(startAll)))
  }
}
