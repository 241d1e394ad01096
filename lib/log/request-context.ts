import { AsyncLocalStorage } from 'node:async_hooks'

/** What is known of the current request. Only lib/event/origin.ts uses `origin`. */
type RequestContext = { readonly requestId: string | null; readonly origin?: object }

// On globalThis, because pages, routes and proxy.ts are bundled separately. There is one
// storage for all that is known, because each storage makes every promise slower.
const globals = globalThis as typeof globalThis & {
  requestContexts?: AsyncLocalStorage<RequestContext>
}

function requestContexts(): AsyncLocalStorage<RequestContext> {
  globals.requestContexts ??= new AsyncLocalStorage()
  return globals.requestContexts
}

/** Runs `work`. Each line that it logs, also later, has the ID of the request. */
export function withRequestId<Result>(requestId: string, work: () => Result): Result {
  return requestContexts().run({ requestId }, work)
}

/**
 * Runs `work`, which is not about the request in which it happens to run. A connection or
 * a timer that a request has opened, for example, serves later requests too.
 */
export function withoutRequestId<Result>(work: () => Result): Result {
  return requestContexts().run({ requestId: null }, work)
}

/** Runs `work`, whose events have this origin. */
export function withRequestOrigin<Result>(origin: object, work: () => Result): Result {
  return requestContexts().run({ requestId: currentRequestId(), origin }, work)
}

/** Returns the ID of the request in which this code runs, or null. */
export function currentRequestId(): string | null {
  return requestContexts().getStore()?.requestId ?? null
}

/** Returns the origin of the events of the request in which this code runs, if any. */
export function currentRequestOrigin(): object | undefined {
  return requestContexts().getStore()?.origin
}
