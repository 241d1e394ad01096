import { randomUUID } from 'node:crypto'
import { databasePool } from './database-pool'
import { Refusal } from './errors'
import { log } from './log'
import { hashSecret, newSecret } from './secret-token'
import { sessionSeconds, signSessionToken } from './session-token'

const codeSeconds = 60
const refreshDays = 7
const doubleSubmitSeconds = 10

/** Makes the one-time code that an SSO callback hands to the browser; it lives for 60 seconds. Call it once the identity provider has vouched for the person. */
export async function issueSsoCode(userId: string): Promise<{ secret: string; expiresAt: Date }> {
  const secret = newSecret()
  const { rows } = await databasePool().query<{ expiresAt: Date }>({
    name: 'issue-sso-code',
    text: `
      INSERT INTO exchange_codes (code_hash, user_id, expires_at) VALUES ($1, $2, now() + interval '${codeSeconds} seconds')
      RETURNING expires_at AS "expiresAt"`,
    values: [hashSecret(secret), userId],
  })
  return { secret, expiresAt: rows[0]!.expiresAt }
}

/**
 * Swaps a one-time code for a session JWT (12 h) and a refresh token (7 days); of any number of simultaneous calls with one code, one succeeds.
 * Refuses with SSO_EXCHANGE_INVALID, the same for every reason. A code that comes back after its use ends the session it started
 * (RFC 6749 §4.1.2), except within 10 seconds or from the browser that holds that session (`heldSessionId`): an honest double submit.
 */
export async function exchangeSsoCode(
  code: string,
  heldSessionId: string | null,
): Promise<{ token: string; refreshToken: string; userId: string; sessionId: string }> {
  const refreshToken = newSecret()
  const sessionId = randomUUID()
  const { rows } = await databasePool().query<Outcome>({
    name: 'exchange-sso-code',
    text: exchangeStatement,
    values: [hashSecret(code), sessionId, hashSecret(refreshToken), heldSessionId],
  })
  const { userId, issuedAt, revokedSessionId } = rows[0]!
  if (revokedSessionId) log.warn({ sessionId: revokedSessionId }, 'an exchange code came back after its use: its session was revoked')
  if (userId === null || issuedAt === null) throw new Refusal('SSO_EXCHANGE_INVALID')
  const token = signSessionToken({ userId, sessionId, issuedAt })
  return { token, refreshToken, userId, sessionId }
}

type Outcome = { userId: string | null; issuedAt: number | null; revokedSessionId: string | null }

/**
 * Takes the hash of the code ($1), the session to start ($2), the hash of its refresh token ($3), and the
 * session that the browser holds ($4). It has no joins, for the reason in database-pool.ts.
 */
const exchangeStatement = `
  WITH claimed AS (
    UPDATE exchange_codes SET used_at = now(), session_id = $2
    WHERE code_hash = $1 AND used_at IS NULL AND expires_at > now()
      AND (SELECT disabled_at IS NULL FROM users WHERE id = user_id)
    RETURNING user_id
  ), started AS (
    INSERT INTO sessions (id, user_id, expires_at)
    SELECT $2, user_id, now() + interval '${sessionSeconds} seconds' FROM claimed
    RETURNING id, user_id, floor(extract(epoch FROM created_at))::int AS issued_at
  ), remembered AS (
    INSERT INTO refresh_tokens (token_hash, session_id, expires_at)
    SELECT $3, id, now() + interval '${refreshDays} days' FROM started
  ), revoked AS (
    UPDATE sessions SET revoked_at = now()
    WHERE revoked_at IS NULL AND id IS DISTINCT FROM $4
      AND id = (SELECT session_id FROM exchange_codes
                WHERE code_hash = $1 AND used_at < now() - interval '${doubleSubmitSeconds} seconds')
    RETURNING id
  ), forgotten AS (
    UPDATE refresh_tokens SET revoked_at = now() WHERE session_id = (SELECT id FROM revoked) AND revoked_at IS NULL
  )
  SELECT (SELECT user_id FROM started) AS "userId", (SELECT issued_at FROM started) AS "issuedAt",
         (SELECT id FROM revoked) AS "revokedSessionId"`
