import type { Issue, RefusalCode } from './errors'

/** What came of a post, as far as a page has to tell it apart. */
export type Outcome = { reference?: string } & (
  | { kind: 'done' | 'failed' | 'offline' | 'unknown' }
  | { kind: 'refused'; issue?: Issue }
  | { kind: 'limited' | 'unavailable'; waitSeconds: number }
)

type Body = { ok?: boolean; code?: RefusalCode; requestId?: string; issues?: Issue[]; outcome?: 'unknown' }

declare global {
  interface Window {
    startedExchange?: { reference?: string; answer: Promise<Response> }
  }
}

export const exchangePath = '/api/auth/sso/exchange'
const postInit = { method: 'POST', credentials: 'same-origin', cache: 'no-store', redirect: 'error' } as const
const timeLimitMs = 30_000 // longer than the server takes for anything

/**
 * A script for the page that exchanges a code. It posts the code at once and goes on to the address in its `data-destination`, so that
 * signing in waits for no other script, and works without any. What else comes of the post is for `startedExchange`.
 */
export const exchangeScript = `(() => {
  const { code } = window.arrivedSecrets
  const { destination } = document.currentScript.dataset
  if (!code || !navigator.onLine) return
  const reference = crypto.randomUUID?.()
  const answer = fetch('${exchangePath}', {
    ...${JSON.stringify(postInit)},
    headers: { 'Content-Type': 'application/json', ...(reference && { 'X-Request-Id': reference }) },
    body: JSON.stringify({ code }),
    signal: AbortSignal.timeout(${timeLimitMs}),
  })
  window.startedExchange = { reference, answer }
  answer.then(async (answered) => {
    const { ok } = await answered.clone().json()
    if (!ok) return
    document.documentElement.dataset.ready = '' // nothing more has to load
    location.replace(destination)
  }).catch(() => {})
})()`

/** What comes of the post that `exchangeScript` began, which goes on by itself; null where it began none. */
export function startedExchange(): Promise<Outcome> | null {
  const started = window.startedExchange
  delete window.startedExchange
  return started ? outcomeOf(started.answer, started.reference) : null
}

/** Posts JSON to a route of ours, once, and says what came of it. */
export async function post(path: string, body: unknown): Promise<Outcome> {
  if (!navigator.onLine) return { kind: 'offline' }
  const given = crypto.randomUUID?.() // not on plain http; a reference of our own, so that even an answer that is lost has one
  const headers = { 'Content-Type': 'application/json', ...(given && { 'X-Request-Id': given }) }
  return outcomeOf(fetch(path, { ...postInit, headers, body: JSON.stringify(body), signal: AbortSignal.timeout(timeLimitMs) }), given)
}

/** Never throws; where no answer of ours came back, the outcome is unknown. */
async function outcomeOf(answered: Promise<Response>, given?: string): Promise<Outcome> {
  let answer: Response
  try {
    answer = await answered
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
