import { type Outcome, outcomeOf, type Sent } from '@/lib/page/post'

declare global {
  interface Window {
    earlyExchange?: Sent
    earlyLookUp?: Promise<Response | null>
  }
}

/**
 * Returns the outcome of the exchange that early-exchange.inline.js started, or null if it started none.
 * Later calls return null.
 */
export function earlyExchange(): Promise<Outcome> | null {
  const sent = window.earlyExchange
  delete window.earlyExchange
  return sent ? outcomeOf(sent) : null
}

/**
 * Returns the session that early-exchange.inline.js looked up after the code was rejected, or undefined if
 * it did not. Later calls return undefined.
 */
export function earlyLookUp(): Promise<Response | null> | undefined {
  const sent = window.earlyLookUp
  delete window.earlyLookUp
  return sent
}
