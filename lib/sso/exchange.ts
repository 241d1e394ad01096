import { ApiError } from '../contract/errors'
import { lifetimes } from '../contract/lifetimes'
import { part, sql } from '../database/sql'
import { log } from '../log'
import { hashSecret, newSecret } from '../secret'
import { revokeSessions } from '../session/revoke'
import { newSession, sessionTokens, startSession } from '../session/start'

const doubleSubmitSeconds = 10

/**
 * Issues the one-time code for the SSO callback, valid for `lifetimes.code` seconds. Call it once
 * the identity provider has authenticated the user.
 */
export async function issueSsoCode(userId: string): Promise<{ secret: string; expiresAt: Date }> {
  const secret = newSecret()
  const [row] = await sql<{ expiresAt: Date }>`
    INSERT INTO exchange_codes (code_hash, user_id, expires_at)
    VALUES (${hashSecret(secret)}, ${userId}, now() + make_interval(secs => ${lifetimes.code}))
    RETURNING expires_at AS "expiresAt"`
  return { secret, expiresAt: row!.expiresAt }
}

type Exchange = { token: string; refreshToken: string; userId: string; sessionId: string }
type ExchangeRow = { userId: string | null; issuedAt: number | null; revokedSessionId: string | null }

/**
 * Exchanges a one-time code for a session JWT and a refresh token. Exactly one concurrent call
 * succeeds; there are no partial effects. Throws SSO_EXCHANGE_INVALID, whatever the reason. Reuse
 * of a code revokes the session that it started (RFC 6749 §4.1.2), except within 10 seconds or from
 * the browser that holds that session, which are double submits.
 */
export async function exchangeSsoCode(code: string, browserSessionId: string | null): Promise<Exchange> {
  const session = newSession()
  const codeHash = hashSecret(code)
  const startedByReusedCode = part`
    id IS DISTINCT FROM ${browserSessionId}::uuid AND id = (
      SELECT session_id FROM exchange_codes
      WHERE code_hash = ${codeHash} AND used_at < now() - make_interval(secs => ${doubleSubmitSeconds}))`
  const [row] = await sql<ExchangeRow>`
    WITH claimed AS (
      UPDATE exchange_codes SET used_at = now(), session_id = ${session.id}
      WHERE code_hash = ${codeHash} AND used_at IS NULL AND expires_at > now()
        AND (SELECT disabled_at IS NULL FROM users WHERE id = user_id)
      RETURNING user_id
    ), ${startSession(session)}, ${revokeSessions(startedByReusedCode)}
    SELECT (SELECT user_id FROM started) AS "userId", (SELECT issued_at FROM started) AS "issuedAt",
           (SELECT id FROM revoked) AS "revokedSessionId"`
  const { userId, issuedAt, revokedSessionId } = row!
  if (revokedSessionId)
    log.warn({ sessionId: revokedSessionId }, 'an exchange code was reused: its session was revoked')
  if (userId === null || issuedAt === null) throw new ApiError('SSO_EXCHANGE_INVALID')
  return { ...sessionTokens(session, userId, issuedAt), userId, sessionId: session.id }
}
