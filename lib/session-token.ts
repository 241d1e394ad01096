import { randomUUID, sign } from 'node:crypto'
import { env } from './env'

export const sessionSeconds = 12 * 60 * 60

/**
 * Signs a session JWT (RFC 7519, in the compact form of RFC 7515 §7.1) that lives for 12 hours. `issuedAt` is in seconds since 1970, by the database's clock.
 * By node:crypto and not `jose`, which signs on the threads that bcrypt keeps busy, at four times the cost.
 */
export function signSessionToken({ userId, sessionId, issuedAt }: { userId: string; sessionId: string; issuedAt: number }): string {
  const { kid, privateKey } = env().SESSION_SIGNING_KEYS
  const header = { alg: 'ES256', typ: 'JWT', kid }
  const claims = {
    iss: env().PUBLIC_URL,
    aud: env().SESSION_AUDIENCE,
    sub: userId,
    sid: sessionId,
    jti: randomUUID(),
    iat: issuedAt,
    exp: issuedAt + sessionSeconds,
  }
  const signed = `${base64url(header)}.${base64url(claims)}`
  const signature = sign('sha256', Buffer.from(signed), { key: privateKey, dsaEncoding: 'ieee-p1363' }) // R and S side by side: RFC 7518 §3.4
  return `${signed}.${signature.toString('base64url')}`
}

/** Whom a session JWT was issued to, and its session; null for one that is not ours, altered or expired. Does not ask whether the session was revoked: `findSession` of session.ts does. */
export async function verifySessionToken(token: string): Promise<{ userId: string; sessionId: string } | null> {
  const { createLocalJWKSet, jwtVerify } = await import('jose') // here, because an exchange seldom needs it, and it is loaded at a start
  try {
    const { payload } = await jwtVerify(token, createLocalJWKSet({ keys: env().SESSION_SIGNING_KEYS.published }), {
      issuer: env().PUBLIC_URL,
      audience: env().SESSION_AUDIENCE,
      algorithms: ['ES256'],
      typ: 'JWT',
      requiredClaims: ['sub', 'sid', 'jti', 'iat', 'exp'],
    })
    return { userId: String(payload.sub), sessionId: String(payload.sid) }
  } catch {
    return null
  }
}

/** The name of the session cookie. `__Host-` (RFC 6265bis §4.1.3.2) keeps sub-domains from setting it, and needs https. */
export function sessionCookieName(): string {
  return isHttps() ? '__Host-session' : 'session'
}

/** A `Set-Cookie` value that stores a session JWT where no script can read it; an empty token removes it. */
export function sessionCookie(token: string): string {
  const seconds = token ? sessionSeconds : 0
  return `${sessionCookieName()}=${token}; Path=/; Max-Age=${seconds}; HttpOnly; SameSite=Lax${isHttps() ? '; Secure' : ''}`
}

/** The session JWT in a request's cookies, unverified; null where there is none. */
export function sessionTokenOf(request: Request): string | null {
  const prefix = `${sessionCookieName()}=`
  const pair = request.headers
    .get('cookie')
    ?.split(/; */)
    .find((cookie) => cookie.startsWith(prefix))
  return pair?.slice(prefix.length) || null
}

function base64url(part: object): string {
  return Buffer.from(JSON.stringify(part)).toString('base64url')
}

function isHttps(): boolean {
  return env().PUBLIC_URL.startsWith('https://')
}
