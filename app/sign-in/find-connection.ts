import * as paths from '@/lib/contract/paths'
import { type Outcome, outcomeOf } from '@/lib/page/post'

const limitMs = 30_000

/** Asks where an email address signs in. `returnTo` leads to its identity provider, if it has one. Never throws. */
export async function findConnection(email: string, next: string | null): Promise<Outcome> {
  if (!navigator.onLine) return { kind: 'offline' }
  const request = async () =>
    fetch(paths.findSsoConnection, {
      method: 'POST',
      headers: { Accept: 'application/json' },
      body: new URLSearchParams(next ? { email, next } : { email }),
      signal: window.abortAfter(limitMs),
    })
  const outcome = await outcomeOf({ response: request() })
  // Nothing can have happened, so that a lost response is like none.
  return outcome.kind === 'unknown' ? { kind: 'unavailable', waitSeconds: 5 } : outcome
}
