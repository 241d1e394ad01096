import { inTransaction, markAsNotDone } from './database-pool'
import { db } from './db'
import { env } from './env'
import { deadLinkMessage, Refusal } from './errors'
import { hashNewPassword } from './password'
import { hashSecret, newSecret } from './secret-token'

const tokenMinutes = 60

/** Makes the token for a reset e-mail; it lives for an hour, and every older one of the person is dead. */
export async function issueResetToken(userId: string): Promise<{ secret: string; expiresAt: Date }> {
  const secret = newSecret()
  const [row] = await db().$queryRaw<[{ expiresAt: Date }]>`
    INSERT INTO reset_tokens (user_id, token_hash, expires_at)
    VALUES (${userId}::uuid, ${hashSecret(secret)}, now() + make_interval(mins => ${tokenMinutes}))
    ON CONFLICT (user_id) DO UPDATE
      SET token_hash = EXCLUDED.token_hash, expires_at = EXCLUDED.expires_at, created_at = now(), used_at = NULL
    RETURNING expires_at AS "expiresAt"`
  return { secret, expiresAt: row.expiresAt }
}

/**
 * Sets a new password with the token of a reset e-mail, and ends every session of the person. Whatever can refuse comes before anything
 * is consumed: a weak password leaves the token alive, a fabricated token costs no bcrypt.
 * Refuses with VALIDATION_ERROR, for `token` or for `password`, and with SERVICE_UNAVAILABLE where too many passwords wait to be hashed.
 */
export async function resetPassword(token: string, password: string): Promise<{ userId: string }> {
  const tokenHash = hashSecret(token)
  const [person] = await db().$queryRaw<{ userId: string; email: string }[]>`
    SELECT user_id AS "userId", email
    FROM reset_tokens, LATERAL (
      SELECT email FROM users WHERE id = user_id AND disabled_at IS NULL AND NOT password_barred OFFSET 0
    ) AS holder
    WHERE token_hash = ${tokenHash} AND used_at IS NULL AND expires_at > now()`.catch(markAsNotDone)
  if (!person) throw deadLink()

  const passwordHash = await hashNewPassword(password, [person.email, env().APP_NAME])

  // The lock comes first, in a statement of its own: the second one then sees, and ends, a session that was just being started.
  const changed = await inTransaction(async (query) => {
    await query({ name: 'lock-user', text: 'SELECT 1 FROM users WHERE id = $1 FOR UPDATE', values: [person.userId] })
    return query({ name: 'reset-password', text: resetStatement, values: [tokenHash, passwordHash] })
  })
  if (changed.rowCount === 0) throw deadLink() // somebody else was first
  return { userId: person.userId }
}

/** Takes the hash of the token ($1) and that of the password ($2). */
const resetStatement = `
  WITH claimed AS (
    UPDATE reset_tokens SET used_at = now()
    WHERE token_hash = $1 AND used_at IS NULL AND expires_at > now()
      AND (SELECT disabled_at IS NULL AND NOT password_barred FROM users WHERE id = user_id)
    RETURNING user_id
  ), changed AS (
    UPDATE users SET password_hash = $2, password_changed_at = now() WHERE id = (SELECT user_id FROM claimed)
    RETURNING id
  ), ended AS (
    UPDATE sessions SET revoked_at = now() WHERE user_id = (SELECT user_id FROM claimed) AND revoked_at IS NULL
  ), forgotten AS (
    UPDATE refresh_tokens SET revoked_at = now()
    WHERE session_id = ANY (ARRAY(SELECT id FROM sessions WHERE user_id = (SELECT user_id FROM claimed)))
      AND revoked_at IS NULL
  )
  SELECT 1 FROM changed`

function deadLink(): Refusal {
  return new Refusal('VALIDATION_ERROR', {
    issues: [{ path: ['token'], code: 'invalid_or_expired', message: deadLinkMessage }],
  })
}
