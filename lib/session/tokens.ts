import { lifetimes } from '../contract/lifetimes'
import { readSignedId, signId, uuidOf } from '../crypto/signed-id'
import { env } from '../settings/env'
import { type SessionClaims, signSessionToken } from './jwt'

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
  generation: number
  now: number
  endsAt: number
}

/** Creates the tokens of a session. The JWT never outlives the session. */
export function issueTokens({
  generation,
  now,
  endsAt,
  ...session
}: StoredSession): SessionTokens {
  const sessionSeconds = endsAt - now
  const tokenSeconds = Math.min(lifetimes.sessionToken, sessionSeconds)
  return {
    token: signSessionToken({ ...session, issuedAt: now, expiresAt: now + tokenSeconds }),
    tokenSeconds,
    refreshToken: makeRefreshToken({ sessionId: session.sessionId, generation }),
    sessionSeconds,
  }
}

/** The session of a refresh token, and how many rotations preceded the token. */
type Refresh = { sessionId: string; generation: number }

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
  return read && { sessionId: uuidOf(read.id), generation: read.number }
}
