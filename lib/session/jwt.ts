import { randomUUID } from 'node:crypto'
import type { JWTVerifyGetKey } from 'jose'
import { signJwt } from '../jwt'
import { env } from '../settings/env'

type SessionToken = {
  userId: string
  email: string
  sessionId: string
  /** The slug of the connection, after a sign-in through an identity provider. */
  connection: string | null
  /** When the user authenticated. */
  authenticatedAt: number
  /** How the user authenticated (RFC 8176), if that is known. */
  amr: string[] | null
  issuedAt: number
  expiresAt: number
}

/** Signs a session JWT. Times are in seconds since 1970, by the database's clock. */
export function signSessionToken(session: SessionToken): string {
  const { userId, email, sessionId, connection, authenticatedAt, amr, issuedAt, expiresAt } = session
  const claims = {
    iss: env().PUBLIC_URL,
    aud: env().SESSION_AUDIENCE,
    sub: userId,
    sid: sessionId,
    jti: randomUUID(),
    iat: issuedAt,
    exp: expiresAt,
    auth_time: authenticatedAt,
    email,
    ...(connection && { connection }),
    ...(amr && { amr }),
  }
  return signJwt('JWT', claims, env().SESSION_SIGNING_KEYS)
}

type SessionClaims = { userId: string; sessionId: string; expiresAt: Date }

let publicKeys: JWTVerifyGetKey | undefined

/**
 * Returns the user ID, the session ID and the end of a session JWT, or null if it is invalid or has
 * expired. Does not detect revoked sessions: see `findSession`.
 */
export async function verifySessionToken(token: string): Promise<SessionClaims | null> {
  // imported here, because an exchange rarely needs it
  const { createLocalJWKSet, jwtVerify } = await import('jose')
  publicKeys ??= createLocalJWKSet({ keys: env().SESSION_SIGNING_KEYS.published }) // keeps the imported keys
  try {
    const { payload } = await jwtVerify(token, publicKeys, {
      issuer: env().PUBLIC_URL,
      audience: env().SESSION_AUDIENCE,
      algorithms: ['ES256'],
      typ: 'JWT',
      requiredClaims: ['sub', 'sid', 'jti', 'iat', 'exp'],
    })
    const { sub, sid, exp } = payload
    return { userId: String(sub), sessionId: String(sid), expiresAt: new Date(exp! * 1000) }
  } catch {
    return null
  }
}
