import type { ErrorCode, Issue } from '../../lib/contract/errors'

export type Outcome = { requestId?: string | undefined } & (
  | ({ kind: 'done'; code?: ErrorCode | undefined } & Content)
  | { kind: 'failed' | 'offline' | 'unknown' }
  | { kind: 'rejected'; code: ErrorCode; issue?: Issue | undefined }
  | { kind: 'limited' | 'unavailable'; waitSeconds: number }
)

/** The parts of a response that pages need. Tokens are not among them. */
export type Content = {
  secret?: string | undefined
  uri?: string | undefined
  enrolment?: string | undefined
  recoveryCodes?: string[] | undefined
  returnTo?: string | undefined
}

export type Sent = {
  requestId?: string | undefined
  /** The `Idempotency-Key`, if any. */
  key?: string | undefined
  response: Promise<Response>
}

type Body = Content & {
  ok?: boolean
  code?: ErrorCode
  requestId?: string
  issues?: Issue[]
  outcome?: 'unknown'
}

/**
 * Posts JSON or a form to a route of this site. `key`: its `Idempotency-Key`, if any. Never
 * retries or throws.
 */
export async function post(path: string, body: unknown, key?: string): Promise<Outcome> {
  if (!navigator.onLine) return { kind: 'offline' }
  try {
    return await readOutcome(window.sendJson(path, body, key))
  } catch {
    return { kind: 'failed' } // nothing was sent
  }
}

/**
 * Returns the outcome of a request. Never throws. Without a valid response, the outcome
 * is unknown.
 */
export async function readOutcome({
  requestId: sentId,
  response: pending,
}: Sent): Promise<Outcome> {
  let response: Response
  try {
    response = await pending
  } catch {
    return { kind: 'unknown', requestId: sentId }
  }

  const body = await readBody(response)
  const { ok, code, issues, outcome, secret, uri, enrolment, recoveryCodes, returnTo } =
    body
  const requestId = body.requestId ?? response.headers.get('x-request-id') ?? sentId
  const waitSeconds = Number(response.headers.get('retry-after')) || 5

  if (ok || code === 'SECOND_FACTOR_REQUIRED')
    return { kind: 'done', code, secret, uri, enrolment, recoveryCodes, returnTo }

  // Only the status is checked, because a firewall may have sent the response.
  if (response.status === 429) return { kind: 'limited', waitSeconds, requestId }
  if (!code || outcome === 'unknown') return { kind: 'unknown', requestId }
  if (code === 'SERVICE_UNAVAILABLE')
    return { kind: 'unavailable', waitSeconds, requestId }
  const isRejected =
    [400, 401, 409].includes(response.status) ||
    code === 'SECOND_FACTOR_LOCKED' ||
    code === 'SIGN_IN_AGAIN'
  if (isRejected) return { kind: 'rejected', code, issue: issues?.[0], requestId }

  return { kind: 'failed', requestId }
}

/** Returns the body of a response: {} if it is incomplete, or sent by a proxy. */
async function readBody(response: Response): Promise<Body> {
  try {
    return (await response.json()) ?? {}
  } catch {
    return {}
  }
}
