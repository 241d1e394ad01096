import { randomUUID } from 'node:crypto'
import { ApiError } from '../contract/errors'
import { lifetimes } from '../contract/lifetimes'
import { hashSecret, newSecret } from '../crypto/secret'
import { NothingChanged } from '../database/errors'
import { dateFromEpoch, isUnexpired, Prisma, prisma } from '../database/prisma'
import { log } from '../log/log'
import { isParentLive } from '../session/find'
import { issueTokens, type StoredSession } from '../session/issue-tokens'
import { revokeSessions } from '../session/revoke'
import { type Holder, startSession } from '../session/start'
import { isSameSubject, type Subject } from '../sso/identity'
import { SignInRejected } from '../sso/rejection'

const doubleSubmitSeconds = 10

/**
 * What a code is bound to. Its session can be renewed until `renewableUntil` and for at
 * most `sessionHours`.
 */
type Bounds = {
  // the value of the cookie `__Host-browser` of the only browser that can use the code
  browser?: string
  browserHash?: Uint8Array
  /**
   * The code works only while the connection is enabled and the user is linked to that
   * identity.
   */
  identity?: Subject & { connectionId: string }
  renewableUntil?: Date | undefined
  sessionHours?: number | null
  amr?: string[] | null // how the user authenticated (RFC 8176)
}

/**
 * Issues a one-time code for an authenticated user. Throws SignInRejected if the user is
 * not linked to `identity`.
 */
export async function issueSsoCode(
  userId: string,
  bounds: Bounds = {},
): Promise<{ secret: string; expiresAt: Date }> {
  const { browser, identity, renewableUntil, sessionHours = null, amr = null } = bounds
  const browserHash = bounds.browserHash ?? (browser ? hashSecret(browser) : null)
  const secret = newSecret()
  const [row] = await prisma().$queryRaw<{ expiresAt: number }[]>`
    INSERT INTO exchange_codes (code_hash, user_id, browser_hash, connection_id, amr, renewable_until, expires_at)
    VALUES (${hashSecret(secret)}, ${userId}, ${browserHash}, ${identity?.connectionId ?? null}, ${amr}::text[],
      least(to_timestamp(${renewableUntil ? renewableUntil.getTime() / 1_000 : null}), now() + make_interval(hours => ${sessionHours})),
      now() + make_interval(secs => ${lifetimes.code}))
    RETURNING extract(epoch FROM expires_at)::float8 AS "expiresAt"`
  // A second statement sees an `unlink` for which the insert waited. A later `unlink`
  // deletes the code.
  if (identity) {
    const where = { userId, connectionId: identity.connectionId, issuer: identity.issuer }
    const linked = await prisma().identity.findFirst({ where, select: { subject: true } })
    if (!linked || !isSameSubject(identity, linked.subject))
      throw new SignInRejected('identity_unlinked', 'attempt_invalid')
  }
  return { secret, expiresAt: dateFromEpoch(row!.expiresAt) }
}

/**
 * The client that sends a code: a browser, or a dashboard's server with the PKCE verifier
 * (RFC 7636).
 */
type Presenter = Holder & { browser: string | null; codeVerifier?: string }

type Row = Omit<StoredSession, 'userId' | 'sessionId' | 'generation'> & {
  userId: string | null
  isKnown: boolean
}

/**
 * Exchanges a code, which works once, and ends the browser's earlier sessions. Throws
 * SSO_EXCHANGE_INVALID.
 */
export async function exchangeSsoCode(code: string, presenter: Presenter) {
  const sessionId = randomUUID()
  const codeHash = hashSecret(code)
  const browserHash = presenter.browser ? hashSecret(presenter.browser) : null
  const challenge =
    presenter.codeVerifier === undefined ? null : hashSecret(presenter.codeVerifier)
  // A dashboard's code needs its verifier. Other codes have neither a challenge nor a
  // parent.
  const isVerified = challenge
    ? Prisma.sql`code_challenge = ${challenge} AND ${isParentLive(Prisma.sql`exchange_codes.parent_id`)}`
    : Prisma.sql`code_challenge IS NULL`
  const method = challenge
    ? Prisma.sql`(SELECT method FROM sessions WHERE sessions.id = exchange_codes.parent_id)`
    : Prisma.sql`CASE WHEN connection_id IS NULL THEN 'code' ELSE 'sso' END`
  // Locks the user's row first, as a reset does. If both run concurrently, the later sees
  // the changes of the earlier.
  const [row] = await prisma().$queryRaw<Row[]>`
    WITH locked_user AS MATERIALIZED (
      SELECT email FROM users
      WHERE id = (SELECT user_id FROM exchange_codes WHERE code_hash = ${codeHash}) AND disabled_at IS NULL
      FOR KEY SHARE
    ), claimed AS (
      UPDATE exchange_codes SET used_at = now(), session_id = ${sessionId}, used_by = ${browserHash}
      WHERE code_hash = ${codeHash} AND EXISTS (SELECT FROM locked_user) AND used_at IS NULL AND ${isUnexpired}
        AND (browser_hash IS NULL OR browser_hash = ${browserHash}) AND ${isVerified}
        AND (connection_id IS NULL
          OR (SELECT disabled_at IS NULL FROM connections WHERE connections.id = connection_id)
            AND (SELECT true FROM identities
                 WHERE identities.user_id = exchange_codes.user_id
                   AND identities.connection_id = exchange_codes.connection_id
                   AND identities.created_at <= exchange_codes.created_at))
      RETURNING user_id, ${method} AS method, connection_id, renewable_until, parent_id, redirect_uri, amr
    ), ${startSession(sessionId, presenter, challenge !== null)}
    SELECT (SELECT user_id FROM started) AS "userId", (SELECT email FROM locked_user) AS email,
      (SELECT slug FROM connections WHERE id = (SELECT connection_id FROM claimed)) AS connection,
      (SELECT now FROM started) AS now, (SELECT ends_at FROM started) AS "endsAt",
      (SELECT authenticated_at FROM started) AS "authenticatedAt", (SELECT amr FROM started) AS amr,
      EXISTS (SELECT FROM exchange_codes WHERE code_hash = ${codeHash}) AS "isKnown"`
  const { userId, isKnown, ...stored } = row!
  if (userId !== null)
    return {
      ...issueTokens({ sessionId, userId, generation: 0, ...stored }),
      userId,
      sessionId,
    }
  if (isKnown)
    await endReusedSession(codeHash, browserHash, challenge, presenter.sessionIds)
  throw new ApiError('SSO_EXCHANGE_INVALID')
}

type Hash = Uint8Array | null
type RejectedCode = {
  sessionId: string | null
  isElsewhere: boolean
  isUnverified: boolean
  revoked: boolean
}

/**
 * Ends the session that a used code started (RFC 6749 §4.1.2), unless the same browser
 * has sent the code again.
 */
async function endReusedSession(
  codeHash: Hash,
  browserHash: Hash,
  challenge: Hash,
  heldSessionIds: string[],
) {
  // A second statement, because the rejected claim could not see a session that was
  // starting at that time.
  const [code] = await prisma().$queryRaw<RejectedCode[]>`
    WITH code AS MATERIALIZED (
      SELECT session_id, browser_hash IS NOT NULL AND browser_hash IS DISTINCT FROM ${browserHash} AS is_elsewhere,
        code_challenge IS DISTINCT FROM ${challenge} AS is_unverified,
        (used_by = ${browserHash} AND used_at > now() - make_interval(secs => ${doubleSubmitSeconds})) IS TRUE
          OR session_id = ANY (${heldSessionIds}::uuid[]) AS is_same_browser
      FROM exchange_codes WHERE code_hash = ${codeHash}
    ), ${revokeSessions(Prisma.sql`id = (
      SELECT session_id FROM code WHERE NOT is_elsewhere AND NOT is_unverified AND is_same_browser IS NOT TRUE)`)}
    SELECT session_id AS "sessionId", is_elsewhere AS "isElsewhere", is_unverified AS "isUnverified",
      EXISTS (SELECT FROM revoked) AS revoked
    FROM code`.catch(NothingChanged.rethrow)
  if (!code) return
  const { sessionId, isElsewhere, isUnverified, revoked } = code
  if (revoked)
    log.warn({ sessionId }, 'an exchange code was reused: its session was revoked')
  else if (isUnverified)
    log.warn('an exchange code was presented without its verifier: nothing was changed')
  else if (sessionId)
    log.warn({ sessionId }, 'an exchange code was reused: its session was not changed')
  else if (isElsewhere) log.warn('an exchange code was presented by another browser')
}
