import { sql } from '../database/sql'
import { verifySessionToken } from './token'

/**
 * Returns the user's e-mail address and the end of the session. Returns null if the token is
 * invalid, the session has expired or was revoked, or the user is disabled.
 */
export async function findSession(token: string): Promise<{ email: string; expiresAt: Date } | null> {
  const claims = await verifySessionToken(token)
  if (!claims) return null
  const [row] = await sql<{ email: string; expiresAt: Date }>`
    SELECT email, expires_at AS "expiresAt"
    FROM sessions, LATERAL (
      SELECT email FROM users WHERE id = user_id AND id = ${claims.userId} AND disabled_at IS NULL OFFSET 0
    ) AS holder
    WHERE sessions.id = ${claims.sessionId} AND revoked_at IS NULL AND expires_at > now()`
  return row ?? null
}
