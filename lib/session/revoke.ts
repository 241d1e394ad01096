import { type Part, part, sql } from '../database/sql'
import { verifySessionToken } from './token'

/** The CTEs of a statement that revoke the sessions that `where` selects, with their refresh tokens. `revoked (id)` has a row for each. */
export function revokeSessions(where: Part): Part {
  return part`
    revoked AS (
      UPDATE sessions SET revoked_at = now() WHERE revoked_at IS NULL AND ${where} RETURNING id
    ), refresh_revoked AS (
      UPDATE refresh_tokens SET revoked_at = now()
      WHERE session_id = ANY (ARRAY(SELECT id FROM revoked)) AND revoked_at IS NULL
    )`
}

/** Ends the session of a session JWT. A token that is no longer valid ends nothing. */
export async function endSession(token: string): Promise<void> {
  const claims = await verifySessionToken(token)
  if (claims) await sql`WITH ${revokeSessions(part`id = ${claims.sessionId}`)} SELECT 1 FROM revoked`
}
