import { randomUUID } from 'node:crypto'
import { lifetimes } from '../contract/lifetimes'
import { type Part, part } from '../database/sql'
import { hashSecret, newSecret } from '../secret'
import { signSessionToken } from './token'

export type NewSession = { id: string; refreshToken: string }

/** A session that is about to start. */
export function newSession(): NewSession {
  return { id: randomUUID(), refreshToken: newSecret() }
}

/**
 * The CTEs of a statement that start a session for the user of the CTE `claimed (user_id)`, if it has a row.
 * `started (user_id, issued_at)` then has one too.
 */
export function startSession({ id, refreshToken }: NewSession): Part {
  return part`
    started AS (
      INSERT INTO sessions (id, user_id, expires_at)
      SELECT ${id}::uuid, user_id, now() + make_interval(secs => ${lifetimes.sessionToken}) FROM claimed
      RETURNING id, user_id, floor(extract(epoch FROM created_at))::int AS issued_at
    ), refresh_issued AS (
      INSERT INTO refresh_tokens (token_hash, session_id, expires_at)
      SELECT ${hashSecret(refreshToken)}::bytea, id, now() + make_interval(secs => ${lifetimes.refreshToken}) FROM started
    )`
}

/** What the client of a session that started receives. `issuedAt` is in seconds since 1970, by the database's clock. */
export function sessionTokens(
  session: NewSession,
  userId: string,
  issuedAt: number,
): { token: string; refreshToken: string } {
  return { token: signSessionToken({ userId, sessionId: session.id, issuedAt }), refreshToken: session.refreshToken }
}
