import { cookieOf } from './cookie'
import { readRefreshToken } from './refresh-token'
import { verifySessionToken } from './token'

/** Returns the unverified session JWT of a request: the Bearer token (RFC 6750), else the cookie. */
export function sessionTokenOf(headers: Headers): string | null {
  return bearerOf(headers) ?? cookieOf(headers, 'session')
}

/**
 * Returns the ID of the session that a browser holds, or null: of the session cookie, else of the
 * refresh cookie, which outlives it. The session may have ended.
 */
export async function sessionIdOfBrowser(headers: Headers): Promise<string | null> {
  const [id] = await sessionIdsOfBrowser(headers)
  return id ?? null
}

/**
 * Returns the IDs of the sessions that a sign-out ends: that of the refresh token in the body, else
 * of the Bearer token, else those of the cookies.
 */
export async function presentedSessionIds(headers: Headers, refreshToken?: string): Promise<string[]> {
  if (refreshToken !== undefined) return idsOf(readRefreshToken(refreshToken))
  const bearer = bearerOf(headers)
  return bearer === null ? sessionIdsOfBrowser(headers) : idsOf(await verifySessionToken(bearer))
}

async function sessionIdsOfBrowser(headers: Headers): Promise<string[]> {
  const [token, refreshToken] = [cookieOf(headers, 'session'), cookieOf(headers, 'refresh')]
  const ids = [
    ...idsOf(token ? await verifySessionToken(token) : null),
    ...idsOf(refreshToken ? readRefreshToken(refreshToken) : null),
  ]
  return [...new Set(ids)]
}

function idsOf(presented: { sessionId: string } | null): string[] {
  return presented ? [presented.sessionId] : []
}

function bearerOf(headers: Headers): string | null {
  return /^Bearer +(\S+)$/i.exec(headers.get('authorization') ?? '')?.[1] ?? null
}
