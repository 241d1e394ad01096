import { type Part, part, sql } from '../database/sql'
import { verifySessionToken } from './token'

/**
 * Returns the CTEs that revoke the sessions selected by `where`, and their refresh tokens. `revoked
 * (id)` has one row per session.
 */
export function revokeSessions(where: Part): Part {
  return part`
    revoked AS (
      UPDATE sessions SET revoked_at = now() WHERE revoked_at IS NULL AND ${where} RETURNING id
    ), refresh_revoked AS (
      UPDATE refresh_tokens SET revoked_at = now()
      WHERE session_id = ANY (ARRAY(SELECT id FROM revoked)) AND revoked_at IS NULL
    )`
}

/** Revokes the session of a session JWT. Does nothing if the token is invalid or has expired. */
export async function endSession(token: string): Promise<void> {
  const claims = await verifySessionToken(token)
  if (claims) await sql`WITH ${revokeSessions(part`id = ${claims.sessionId}`)} SELECT 1 FROM revoked`
}
