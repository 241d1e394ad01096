import { randomUUID } from 'node:crypto'
import { lifetimes } from '../contract/lifetimes'
import { type Part, part } from '../database/sql'
import { hashSecret, newSecret } from '../secret'
import { signSessionToken } from './token'

/** The ID and the refresh token of a session that is not stored yet. */
export type NewSession = { id: string; refreshToken: string }

/** Creates the random values of a session. `startSession` stores it. */
export function newSession(): NewSession {
  return { id: randomUUID(), refreshToken: newSecret() }
}

/**
 * Returns the CTEs that start a session for the user in the CTE `claimed (user_id)`. `started
 * (user_id, issued_at)` has one row if `claimed` has one, else none.
 */
export function startSession({ id, refreshToken }: NewSession): Part {
  return part`
    started AS (
      INSERT INTO sessions (id, user_id, expires_at)
      SELECT ${id}::uuid, user_id, now() + make_interval(secs => ${lifetimes.sessionToken}) FROM claimed
      RETURNING id, user_id, floor(extract(epoch FROM created_at))::int AS issued_at
    ), refresh_issued AS (
      INSERT INTO refresh_tokens (token_hash, session_id, expires_at)
      SELECT ${hashSecret(refreshToken)}::bytea, id, now() + make_interval(secs => ${lifetimes.refreshToken})
      FROM started
    )`
}

/**
 * Returns the tokens for the client. `issuedAt` is in seconds since 1970, by the database's clock.
 */
export function sessionTokens(
  session: NewSession,
  userId: string,
  issuedAt: number,
): { token: string; refreshToken: string } {
  return { token: signSessionToken({ userId, sessionId: session.id, issuedAt }), refreshToken: session.refreshToken }
}
