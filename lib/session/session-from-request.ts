import { cookieOf } from './cookie'
import { verifySessionToken } from './jwt'
import { readRefreshToken } from './refresh-token'

/** Returns the unverified session JWT of a request: the Bearer token (RFC 6750), or else the cookie. */
export function sessionTokenOf(headers: Headers): string | null {
  return bearerOf(headers) ?? cookieOf(headers, 'session')
}

/** Returns the IDs of the sessions in a browser's cookies. The sessions may have ended. */
export function sessionIdsOfBrowser(headers: Headers): Promise<string[]> {
  return idsOf([cookieOf(headers, 'session')], [cookieOf(headers, 'refresh')])
}

/** Returns the IDs of the sessions of all valid credentials of a request, which a sign-out ends. */
export function presentedSessionIds(headers: Headers, refreshToken: string | null = null): Promise<string[]> {
  return idsOf([bearerOf(headers), cookieOf(headers, 'session')], [refreshToken, cookieOf(headers, 'refresh')])
}

async function idsOf(jwts: (string | null)[], refreshTokens: (string | null)[]): Promise<string[]> {
  const verified = await Promise.all(jwts.map((jwt) => jwt && verifySessionToken(jwt)))
  const read = refreshTokens.map((refreshToken) => refreshToken && readRefreshToken(refreshToken))
  return [...new Set([...verified, ...read].flatMap((presented) => (presented ? [presented.sessionId] : [])))]
}

function bearerOf(headers: Headers): string | null {
  return /^Bearer +(\S+)$/i.exec(headers.get('authorization') ?? '')?.[1] ?? null
}
