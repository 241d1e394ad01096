import { randomUUID } from 'node:crypto'
import type { JWTVerifyGetKey } from 'jose'
import { lifetimes } from '../contract/lifetimes'
import { readSignedId, readUuid, signId, signJwt } from '../crypto/token'
import { env } from '../settings/env'

/** What a session JWT states. Times are in seconds since 1970, by the database's clock. */
export type SessionClaims = {
  sessionId: string
  userId: string
  email: string
  connection: string | null // the slug
  authenticatedAt: number
  amr: string[] | null // how the user authenticated (RFC 8176), if that is known
  method?: string | null // `operator`: an operator acts as the user
  client?: string // the slug, for the session of an OpenID client
}

/** The tokens that a client receives, with their remaining lifetimes in seconds. */
export type SessionTokens = {
  token: string
  tokenSeconds: number
  refreshToken: string
  sessionSeconds: number
}

/**
 * A session as the SQL statements return it. Times are in seconds since 1970, by the
 * database's clock.
 */
export type StoredSession = SessionClaims & {
  method: string | null
  generation: number
  now: number
  endsAt: number
  /** How long a JWT is valid. By default, and at most, `lifetimes.sessionToken`. */
  tokenMinutes?: number | null
}

/** Creates the tokens of a session. The JWT never outlives the session. */
export function issueTokens({
  generation,
  now,
  endsAt,
  tokenMinutes,
  ...session
}: StoredSession): SessionTokens {
  const sessionSeconds = endsAt - now
  const longest = tokenMinutes ? tokenMinutes * 60 : lifetimes.sessionToken
  const tokenSeconds = Math.min(longest, sessionSeconds, readIdleSeconds() / 2)
  return {
    token: signSessionToken({ ...session, issuedAt: now, expiresAt: now + tokenSeconds }),
    tokenSeconds,
    refreshToken: makeRefreshToken({ sessionId: session.sessionId, generation }),
    sessionSeconds,
  }
}

/**
 * Returns after how many seconds without a renewal a session ends. A JWT lives at most half
 * as long, so that a client in use renews its session in time.
 */
function readIdleSeconds(): number {
  const minutes = env().SESSION_IDLE_MINUTES
  return minutes === undefined ? Number.POSITIVE_INFINITY : minutes * 60
}

/** Signs a session JWT. */
export function signSessionToken(
  session: SessionClaims & { issuedAt: number; expiresAt: number },
): string {
  const { connection, client } = session
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
    ...authenticationClaims(session),
    ...(client && { client_id: client }),
  }

  return signJwt('JWT', claims, env().SESSION_SIGNING_KEYS)
}

/**
 * Returns the claims about who has authenticated: `amr` (RFC 8176) of the user, or `act`
 * (RFC 8693 §4.1) if an operator acts as the user, who has not authenticated then.
 */
export function authenticationClaims({
  amr,
  method,
}: Pick<SessionClaims, 'amr' | 'method'>): object {
  if (method === 'operator') return { act: { sub: 'operator' } }
  return amr ? { amr } : {}
}

/** What the service reads from a session JWT that a client presents. */
export type PresentedClaims = { userId: string; sessionId: string; expiresAt: Date }

let publicKeys: JWTVerifyGetKey | undefined

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

/** The session of a refresh token, and how many rotations preceded the token. */
export type Refresh = { sessionId: string; generation: number }

/**
 * Returns the refresh token of a generation of a session. The result is always the same,
 * so it is not stored.
 */
export function makeRefreshToken({ sessionId, generation }: Refresh): string {
  return signId(
    env().SESSION_SIGNING_KEYS.refreshKeys,
    sessionId.replaceAll('-', ''),
    generation,
  )
}

/**
 * Returns the arguments of `makeRefreshToken`, or null. Does not check whether the token
 * is still valid.
 */
export function readRefreshToken(token: string): Refresh | null {
  const read = readSignedId(env().SESSION_SIGNING_KEYS.refreshKeys, token)
  return read && { sessionId: readUuid(read.id), generation: read.number }
}

/** Returns the token in the header `Authorization` (RFC 6750), or null. */
export function readBearer(headers: Headers): string | null {
  return /^Bearer +(\S+)$/i.exec(headers.get('authorization') ?? '')?.[1] ?? null
}
