import { db } from './db'
import { verifySessionToken } from './session-token'

/** The person behind a session JWT, and when the session ends; null where it is invalid, revoked or over, or the person disabled. */
export async function findSession(token: string): Promise<{ email: string; expiresAt: Date } | null> {
  const claims = await verifySessionToken(token)
  if (!claims) return null
  const [row] = await db().$queryRaw<{ email: string; expiresAt: Date }[]>`
    SELECT email, expires_at AS "expiresAt"
    FROM sessions, LATERAL (
      SELECT email FROM users WHERE id = user_id AND id = ${claims.userId}::uuid AND disabled_at IS NULL OFFSET 0
    ) AS holder
    WHERE sessions.id = ${claims.sessionId}::uuid AND revoked_at IS NULL AND expires_at > now()`
  return row ?? null
}

/** Ends the session of a session JWT and its refresh tokens. A token that is not valid any more ends nothing. */
export async function endSession(token: string): Promise<void> {
  const claims = await verifySessionToken(token)
  if (!claims) return
  await db().$executeRaw`
    WITH ended AS (
      UPDATE sessions SET revoked_at = now() WHERE id = ${claims.sessionId}::uuid AND revoked_at IS NULL RETURNING id
    )
    UPDATE refresh_tokens SET revoked_at = now() WHERE session_id = (SELECT id FROM ended) AND revoked_at IS NULL`
}
