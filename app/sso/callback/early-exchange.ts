import { type Outcome, outcomeOf, type Sent } from '@/lib/page/post'

declare global {
  interface Window {
    earlyExchange?: Sent
  }
}

/** The outcome of the exchange that early-exchange.js started; null if it started none. */
export function earlyExchange(): Promise<Outcome> | null {
  const started = window.earlyExchange
  delete window.earlyExchange
  return started ? outcomeOf(started) : null
}
