import { type Outcome, outcomeOf, type Sent } from '@/lib/page/post'

declare global {
  interface Window {
    earlyExchange?: Sent
  }
}

/**
 * Returns the outcome of the exchange that early-exchange.js started, or null if it started none.
 * Later calls return null.
 */
export function earlyExchange(): Promise<Outcome> | null {
  const sent = window.earlyExchange
  delete window.earlyExchange
  return sent ? outcomeOf(sent) : null
}
