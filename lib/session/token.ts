import { randomUUID, sign } from 'node:crypto'
import { lifetimes } from '../contract/lifetimes'
import { env } from '../settings/env'

type SessionToken = { userId: string; sessionId: string; issuedAt: number }

/**
 * Signs a session JWT (RFC 7519) in the compact form of RFC 7515 §7.1. `issuedAt` is in seconds since 1970, by the database's clock.
 * With node:crypto: jose signs on the threads that bcrypt keeps busy, at four times the cost.
 */
export function signSessionToken({ userId, sessionId, issuedAt }: SessionToken): string {
  const { kid, privateKey } = env().SESSION_SIGNING_KEYS
  const header = { alg: 'ES256', typ: 'JWT', kid }
  const claims = {
    iss: env().PUBLIC_URL,
    aud: env().SESSION_AUDIENCE,
    sub: userId,
    sid: sessionId,
    jti: randomUUID(),
    iat: issuedAt,
    exp: issuedAt + lifetimes.sessionToken,
  }
  const signed = `${base64url(header)}.${base64url(claims)}`
  // R and S side by side: RFC 7518 §3.4
  const signature = sign('sha256', Buffer.from(signed), { key: privateKey, dsaEncoding: 'ieee-p1363' })
  return `${signed}.${signature.toString('base64url')}`
}

/** The user and the session of a session JWT; null if it is not ours, altered or expired. Whether the session was revoked, `findSession` knows. */
export async function verifySessionToken(token: string): Promise<{ userId: string; sessionId: string } | null> {
  const { createLocalJWKSet, jwtVerify } = await import('jose') // imported here: an exchange seldom needs it
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

function base64url(part: object): string {
  return Buffer.from(JSON.stringify(part)).toString('base64url')
}
