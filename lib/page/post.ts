import type { ErrorCode, Issue } from '../contract/errors'

/** The outcome of a post, as far as a page shows a difference. */
export type Outcome = { requestId?: string } & (
  | { kind: 'done' | 'failed' | 'offline' | 'unknown' }
  | { kind: 'rejected'; issue?: Issue }
  | { kind: 'limited' | 'unavailable'; waitSeconds: number }
)

export type Sent = { requestId?: string; response: Promise<Response> }

type Body = { ok?: boolean; code?: ErrorCode; requestId?: string; issues?: Issue[]; outcome?: 'unknown' }

declare global {
  interface Window {
    /** Of app/_ui/arrival.js. */
    sendJson: (path: string, body: unknown) => Sent
  }
}

/** Posts JSON to a route of this site, once. Never throws. */
export async function post(path: string, body: unknown): Promise<Outcome> {
  return navigator.onLine ? outcomeOf(window.sendJson(path, body)) : { kind: 'offline' }
}

/** The outcome of a request that was sent. Never throws: without a response of ours, the outcome is unknown. */
export async function outcomeOf({ requestId: sentId, response: pending }: Sent): Promise<Outcome> {
  let response: Response
  try {
    response = await pending
  } catch {
    return { kind: 'unknown', requestId: sentId }
  }
  const { ok, code, requestId: bodyId, issues, outcome } = await readBody(response)
  const requestId = bodyId ?? response.headers.get('x-request-id') ?? sentId
  const waitSeconds = Number(response.headers.get('retry-after')) || 5
  if (ok) return { kind: 'done' }
  if (response.status === 429) return { kind: 'limited', waitSeconds, requestId } // also from a firewall in front of us
  if (!code || outcome === 'unknown') return { kind: 'unknown', requestId }
  if (code === 'SERVICE_UNAVAILABLE') return { kind: 'unavailable', waitSeconds, requestId }
  if (code === 'SSO_EXCHANGE_INVALID' || code === 'VALIDATION_ERROR')
    return { kind: 'rejected', issue: issues?.[0], requestId }
  return { kind: 'failed', requestId }
}

async function readBody(response: Response): Promise<Body> {
  try {
    return ((await response.json()) ?? {}) as Body
  } catch {
    return {} // cut off, or not from us
  }
}
