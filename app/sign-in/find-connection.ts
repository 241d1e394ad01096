import * as paths from '@/lib/contract/paths'
import { type Outcome, outcomeOf } from '@/lib/page/post'

const limitMs = 30_000

/** Finds how an email address signs in. `returnTo` is the URL of its identity provider, if any. Never throws. */
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
  // The request changes nothing, so a lost response is treated as a failed request.
  return outcome.kind === 'unknown' ? { kind: 'unavailable', waitSeconds: 5 } : outcome
}
