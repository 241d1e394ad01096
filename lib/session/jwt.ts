import { randomUUID } from 'node:crypto'
import type { JWTVerifyGetKey } from 'jose'
import { signJwt } from '../crypto/sign-jwt'
import { env } from '../settings/env'

/** What a session JWT states. Times are in seconds since 1970, by the database's clock. */
export type SessionClaims = {
  sessionId: string
  userId: string
  email: string
  connection: string | null // the slug
  authenticatedAt: number
  amr: string[] | null // how the user authenticated (RFC 8176), if that is known
}

/** Signs a session JWT. */
export function signSessionToken(
  session: SessionClaims & { issuedAt: number; expiresAt: number },
): string {
  const { connection, amr } = session
  const claims = {
    iss: env().PUBLIC_URL,
    aud: env().SESSION_AUDIENCE,
    sub: session.userId,
    sid: session.sessionId,
    jti: randomUUID(),
    iat: session.issuedAt,
    exp: session.expiresAt,
    auth_time: session.authenticatedAt,
    email: session.email,
    ...(connection && { connection }),
    ...(amr && { amr }),
  }

  return signJwt('JWT', claims, env().SESSION_SIGNING_KEYS)
}

let publicKeys: JWTVerifyGetKey | undefined

/** What the service reads from a session JWT that a client presents. */
export type PresentedClaims = { userId: string; sessionId: string; expiresAt: Date }

/**
 * Returns the claims of a session JWT, or null if it is invalid or expired. Does not
 * detect revoked sessions. A sign-out sets `mayHaveExpired`, because a session outlives
 * its JWTs.
 */
export async function verifySessionToken(
  token: string,
  { mayHaveExpired = false } = {},
): Promise<PresentedClaims | null> {
  // here, because an exchange rarely needs it
  const { createLocalJWKSet, jwtVerify } = await import('jose')

  // caches the imported keys
  publicKeys ??= createLocalJWKSet({ keys: env().SESSION_SIGNING_KEYS.published })

  try {
    const { payload } = await jwtVerify(token, publicKeys, {
      issuer: env().PUBLIC_URL,
      audience: env().SESSION_AUDIENCE,
      algorithms: ['ES256'],
      typ: 'JWT',
      requiredClaims: ['sub', 'sid', 'jti', 'iat', 'exp'],
      ...(mayHaveExpired && { currentDate: new Date(0) }),
    })

    const { sub, sid, exp } = payload
    return {
      userId: String(sub),
      sessionId: String(sid),
      expiresAt: new Date(exp! * 1000),
    }
  } catch {
    return null
  }
}
