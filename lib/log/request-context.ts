import { AsyncLocalStorage } from 'node:async_hooks'

// On globalThis, because pages, routes and proxy.ts are bundled separately.
const globals = globalThis as typeof globalThis & {
  requestIds?: AsyncLocalStorage<string | null>
}

function requestIds(): AsyncLocalStorage<string | null> {
  globals.requestIds ??= new AsyncLocalStorage()
  return globals.requestIds
}

/** Runs `work`. Each line that it logs, also later, has the ID of the request. */
export function withRequestId<Result>(requestId: string, work: () => Result): Result {
  return requestIds().run(requestId, work)
}

/**
 * Runs `work`, which is not about the request in which it happens to run. A connection or
 * a timer that a request has opened, for example, serves later requests too.
 */
export function withoutRequestId<Result>(work: () => Result): Result {
  return requestIds().run(null, work)
}

/** Returns the ID of the request in which this code runs, or null. */
export function currentRequestId(): string | null {
  return requestIds().getStore() ?? null
}
