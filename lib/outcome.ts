import type { Issue, RefusalCode } from './errors'

/** What came of a post, as far as a page has to tell it apart. */
export type Outcome = { reference?: string } & (
  | { kind: 'done' | 'failed' | 'offline' | 'unknown' }
  | { kind: 'refused'; issue?: Issue }
  | { kind: 'limited' | 'unavailable'; waitSeconds: number }
)

type Body = { ok?: boolean; code?: RefusalCode; requestId?: string; issues?: Issue[]; outcome?: 'unknown' }

/** Posts JSON to a route of ours, once, and says what came of it. Never throws; where no answer of ours came back, the outcome is unknown. */
export async function post(path: string, body: unknown): Promise<Outcome> {
  if (!navigator.onLine) return { kind: 'offline' }
  const given = crypto.randomUUID?.() // not on plain http; a reference of our own, so that even an answer that is lost has one
  let answer: Response
  try {
    answer = await fetch(path, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json', ...(given && { 'X-Request-Id': given }) },
      body: JSON.stringify(body),
      credentials: 'same-origin',
      cache: 'no-store',
      redirect: 'error',
    })
  } catch {
    return { kind: 'unknown', reference: given }
  }
  const { ok, code, requestId, issues, outcome } = await readBody(answer)
  const reference = requestId ?? answer.headers.get('x-request-id') ?? given
  const waitSeconds = Number(answer.headers.get('retry-after')) || 5
  if (ok) return { kind: 'done' }
  if (answer.status === 429) return { kind: 'limited', waitSeconds, reference } // also from a firewall in front of us
  if (!code || outcome === 'unknown') return { kind: 'unknown', reference }
  if (code === 'SERVICE_UNAVAILABLE') return { kind: 'unavailable', waitSeconds, reference }
  if (code === 'SSO_EXCHANGE_INVALID' || code === 'VALIDATION_ERROR') return { kind: 'refused', issue: issues?.[0], reference }
  return { kind: 'failed', reference }
}

async function readBody(answer: Response): Promise<Body> {
  try {
    return ((await answer.json()) ?? {}) as Body
  } catch {
    return {} // cut off, or not from us
  }
}
