import { randomUUID, sign } from 'node:crypto'
import type { JWTVerifyGetKey } from 'jose'
import { env } from '../settings/env'

type SessionToken = {
  userId: string
  email: string
  sessionId: string
  /** The slug of the connection, after a sign-in through an identity provider. */
  connection: string | null
  issuedAt: number
  expiresAt: number
}

/**
 * Signs a session JWT (RFC 7519) in the compact form of RFC 7515 §7.1. Times are in seconds
 * since 1970, by the database's clock. Uses node:crypto, because jose signs on the threads that
 * bcrypt occupies, at four times the cost.
 */
export function signSessionToken({ userId, email, sessionId, connection, issuedAt, expiresAt }: SessionToken): string {
  const { kid, privateKey } = env().SESSION_SIGNING_KEYS
  const header = { alg: 'ES256', typ: 'JWT', kid }
  const claims = {
    iss: env().PUBLIC_URL,
    aud: env().SESSION_AUDIENCE,
    sub: userId,
    sid: sessionId,
    jti: randomUUID(),
    iat: issuedAt,
    exp: expiresAt,
    email,
    ...(connection && { connection }),
  }
  const signingInput = `${base64url(header)}.${base64url(claims)}`
  // the concatenation of R and S (RFC 7518 §3.4)
  const signature = sign('sha256', Buffer.from(signingInput), { key: privateKey, dsaEncoding: 'ieee-p1363' })
  return `${signingInput}.${signature.toString('base64url')}`
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

function base64url(part: object): string {
  return Buffer.from(JSON.stringify(part)).toString('base64url')
}
