import { randomUUID } from 'node:crypto'
import { createLocalJWKSet, jwtVerify, SignJWT } from 'jose'
import { db } from './db'
import { env } from './env'

export const sessionSeconds = 12 * 60 * 60

/** Signs a session JWT (ES256, RFC 7519) that lives for 12 hours. `issuedAt` is in seconds since 1970, by the database's clock. */
export async function signSessionToken({ userId, sessionId, issuedAt }: { userId: string; sessionId: string; issuedAt: number }): Promise<string> {
  const { kid, privateKey } = env().SESSION_SIGNING_KEYS
  return new SignJWT({ sid: sessionId })
    .setProtectedHeader({ alg: 'ES256', typ: 'JWT', kid })
    .setIssuer(env().PUBLIC_URL)
    .setAudience(env().SESSION_AUDIENCE)
    .setSubject(userId)
    .setJti(randomUUID())
    .setIssuedAt(issuedAt)
    .setExpirationTime(issuedAt + sessionSeconds)
    .sign(privateKey)
}

/** Whom a session JWT was issued to, and its session; null for one that is not ours, altered or expired. Does not ask whether the session was revoked: `findSession` does. */
export async function verifySessionToken(token: string): Promise<{ userId: string; sessionId: string } | null> {
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

/** The person behind a session JWT, and when the session ends; null where it is invalid, revoked or over, or the person disabled. */
export async function findSession(token: string): Promise<{ email: string; expiresAt: Date } | null> {
  const claims = await verifySessionToken(token)
  if (!claims) return null
  const [row] = await db().$queryRaw<{ email: string; expiresAt: Date }[]>`
    SELECT email, expires_at AS "expiresAt" FROM sessions JOIN users ON users.id = sessions.user_id
    WHERE sessions.id = ${claims.sessionId}::uuid AND user_id = ${claims.userId}::uuid
      AND revoked_at IS NULL AND expires_at > now() AND disabled_at IS NULL`
  return row ?? null
}

/** Ends the session of a session JWT and its refresh tokens. A token that is not valid any more ends nothing. */
export async function endSession(token: string): Promise<void> {
  const claims = await verifySessionToken(token)
  if (!claims) return
  await db().$executeRaw`
    WITH ended AS (
      UPDATE sessions SET revoked_at = now() WHERE id = ${claims.sessionId}::uuid AND revoked_at IS NULL RETURNING id
    )
    UPDATE refresh_tokens SET revoked_at = now() FROM ended WHERE session_id = ended.id AND revoked_at IS NULL`
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

function isHttps(): boolean {
  return env().PUBLIC_URL.startsWith('https://')
}
