import { lifetimes } from '../contract/lifetimes'
import { signSessionToken } from './jwt'
import { makeRefreshToken } from './refresh-token'

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
export type StoredSession = {
  sessionId: string
  userId: string
  email: string
  connection: string | null // the slug
  authenticatedAt: number
  amr: string[] | null // how the user authenticated (RFC 8176), if that is known
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
