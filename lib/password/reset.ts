import { ApiError, invalid, invalidTokenMessage } from '../contract/errors'
import { lifetimes } from '../contract/lifetimes'
import { NotExecuted } from '../database/not-executed'
import { part, sql, transaction } from '../database/sql'
import { hashSecret, newSecret } from '../secret'
import { revokeSessions } from '../session/revoke'
import { env } from '../settings/env'
import { hashNewPassword } from './hash'
import { InTurnByKey } from './in-turn'
import { passwordFormatError } from './rules'

const maxAttempts = 30 // each costs a judgement, and perhaps a breach check and a hash

/** Issues the token for a reset e-mail. Every earlier token of the user becomes invalid. */
export async function issueResetToken(userId: string): Promise<{ secret: string; expiresAt: Date }> {
  const secret = newSecret()
  const [row] = await sql<{ expiresAt: Date }>`
    INSERT INTO reset_tokens (user_id, token_hash, expires_at)
    VALUES (${userId}, ${hashSecret(secret)}, now() + make_interval(secs => ${lifetimes.resetToken}))
    ON CONFLICT (user_id) DO UPDATE
      SET token_hash = EXCLUDED.token_hash, expires_at = EXCLUDED.expires_at, created_at = now(), used_at = NULL,
        attempts = 0
    RETURNING expires_at AS "expiresAt"`
  return { secret, expiresAt: row!.expiresAt }
}

// One attempt at a time for each token: all attempts with one token take one place in the hashing queue.
const attempts = new InTurnByKey()

/**
 * Sets a new password with the token of a reset e-mail, and revokes every session of the user. A fabricated token costs one statement;
 * a weak password leaves the token valid, up to 30 times. Throws VALIDATION_ERROR, for `token` or for `password`, and
 * SERVICE_UNAVAILABLE if too many passwords wait to be hashed.
 */
export async function resetPassword(token: string, password: string): Promise<{ userId: string }> {
  const tokenHash = hashSecret(token)
  const formatError = passwordFormatError(password)
  // A wrong format costs no work, and is no attempt. The error for the token still comes first, as for any password.
  const user = formatError ? await findUserByToken(tokenHash, maxAttempts) : await countAttempt(tokenHash)
  if (!user) throw invalidToken()
  if (formatError) throw formatError

  await attempts.add(Buffer.from(tokenHash).toString('hex'), async (hadToWait) => {
    // Another attempt may have used the token meanwhile. This one is counted already, hence the higher limit.
    if (hadToWait && !(await findUserByToken(tokenHash, maxAttempts + 1))) throw invalidToken()
    const passwordHash = await hashNewPassword(password, [user.email, env().APP_NAME]).catch(async (error) => {
      if (error instanceof ApiError && error.code === 'SERVICE_UNAVAILABLE') await uncountAttempt(tokenHash)
      throw error
    })
    await setPassword(user.userId, tokenHash, passwordHash)
  })
  return { userId: user.userId }
}

type TokenUser = { userId: string; email: string }

/**
 * The user of a valid token, whose attempts are one more now. It is counted before the work, or concurrent requests would each find
 * the count too low.
 */
async function countAttempt(tokenHash: Uint8Array): Promise<TokenUser | undefined> {
  const [user] = await sql<TokenUser>`
    UPDATE reset_tokens SET attempts = attempts + 1
    WHERE token_hash = ${tokenHash} AND used_at IS NULL AND expires_at > now() AND attempts < ${maxAttempts}
      AND (SELECT disabled_at IS NULL AND NOT sso_only FROM users WHERE id = user_id)
    RETURNING user_id AS "userId", (SELECT email FROM users WHERE id = user_id) AS email`.catch(NotExecuted.rethrow)
  return user
}

/** The user of a valid token with fewer attempts than `limit`. */
async function findUserByToken(tokenHash: Uint8Array, limit: number): Promise<TokenUser | undefined> {
  const [user] = await sql<TokenUser>`
    SELECT user_id AS "userId", email
    FROM reset_tokens, LATERAL (
      SELECT email FROM users WHERE id = user_id AND disabled_at IS NULL AND NOT sso_only OFFSET 0
    ) AS holder
    WHERE token_hash = ${tokenHash} AND used_at IS NULL AND expires_at > now()
      AND attempts < ${limit}`.catch(NotExecuted.rethrow)
  return user
}

/** A full queue did no work: a user who retries until there is room must not run out of attempts. */
async function uncountAttempt(tokenHash: Uint8Array): Promise<void> {
  const statement = sql`
    UPDATE reset_tokens SET attempts = attempts - 1 WHERE token_hash = ${tokenHash} AND attempts > 0`
  await statement.catch(() => {}) // then the attempt stays counted
}

/** Claims the token, sets the password and revokes all sessions of the user. */
async function setPassword(userId: string, tokenHash: Uint8Array, passwordHash: string): Promise<void> {
  const [changed] = await transaction(async (sql) => {
    // The lock comes first, in a statement of its own: the next one then sees, and revokes, a session that was just being started.
    await sql`SELECT 1 FROM users WHERE id = ${userId} FOR UPDATE`
    return sql`
      WITH claimed AS (
        UPDATE reset_tokens SET used_at = now()
        WHERE token_hash = ${tokenHash} AND used_at IS NULL AND expires_at > now()
          AND (SELECT disabled_at IS NULL AND NOT sso_only FROM users WHERE id = user_id)
        RETURNING user_id
      ), changed AS (
        UPDATE users SET password_hash = ${passwordHash}, password_changed_at = now()
        WHERE id = (SELECT user_id FROM claimed)
        RETURNING id
      ), ${revokeSessions(part`user_id = (SELECT user_id FROM claimed)`)}
      SELECT 1 FROM changed`
  })
  if (!changed) throw invalidToken() // another process was first
}

function invalidToken(): ApiError {
  return invalid(['token'], 'invalid_or_expired', invalidTokenMessage)
}
