import { randomUUID } from 'node:crypto'
import type { Caller } from '../contract/caller'
import type { Check } from '../contract/checks'
import { ApiError } from '../contract/errors'
import { hashSecret } from '../crypto/token'
import { isUnexpired } from '../database/conditions'
import { NothingChanged } from '../database/errors'
import { Prisma, prisma } from '../database/prisma'
import { addToOrigin } from '../event/origin'
import { eventColumns, recordEvents } from '../event/record'
import { log } from '../log/log'
import { findRepeated, hashBrowser, identifyRepetition } from '../session/repetition'
import { revokeSessions } from '../session/revoke'
import {
  claimedColumns,
  type StartedSession,
  startedColumns,
  startSession,
} from '../session/start'
import { issueTokens } from '../session/tokens'

const doubleSubmitSeconds = 10

type Hash = Uint8Array<ArrayBuffer>

/** What a browser sends: the code, and what proves that it may use the code. */
type Presented = {
  codeHash: Hash
  browserHash: Hash | null
  heldIds: string[] // of the sessions that the browser holds
}

type Row = StartedSession & { email: string; connection: string | null }

/**
 * Exchanges a code, which works once, and ends the browser's earlier sessions. If the same
 * browser repeats the request, returns the same session again. Throws SSO_EXCHANGE_INVALID.
 */
export async function exchangeSsoCode(code: string, caller: Caller) {
  const presented = {
    codeHash: hashSecret(code),
    browserHash: hashBrowser(caller),
    heldIds: await caller.sessionIds,
  }

  const repetition = identifyRepetition('sso-exchange', code, caller)
  const sessionId = repetition?.id ?? randomUUID()
  const started = await startWithCode(sessionId, presented, caller.device)
  const session = started
    ? { sessionId, generation: 0, ...started }
    : repetition && (await findRepeated(repetition.ids, caller))
  if (!session)
    throw new ApiError('SSO_EXCHANGE_INVALID', { check: await handleRejected(presented) })

  const { userId, sessionId: id, connection } = session

  return { ...issueTokens(session), userId, sessionId: id, connection }
}

/** Claims the code and starts its session, in one statement. Returns null if that fails. */
async function startWithCode(
  sessionId: string,
  { codeHash, browserHash, heldIds }: Presented,
  device: string | null,
): Promise<Row | null> {
  const claimed = claimedColumns({
    userId: Prisma.sql`user_id`,
    method: Prisma.sql`
      CASE WHEN operator IS NOT NULL THEN 'operator' WHEN connection_id IS NULL THEN 'code' ELSE 'sso' END`,
    amr: Prisma.sql`amr`,
    connectionId: Prisma.sql`connection_id`,
    renewableUntil: Prisma.sql`renewable_until`,
    providerSession: Prisma.sql`provider_session`,
    operator: Prisma.sql`operator`,
  })

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
        AND (browser_hash IS NULL OR browser_hash = ${browserHash}) AND ${isConnected} AND ${isLinked}
      RETURNING ${claimed}
    ), ${startSession(sessionId, heldIds, device, browserHash)}
    SELECT ${startedColumns}, (SELECT email FROM locked_user) AS email,
      (SELECT slug FROM connections WHERE id = (SELECT connection_id FROM claimed)) AS connection
    FROM started`

  return row ?? null
}

/** Conditions on a code: its connection, if any, is enabled, and linked to the user. */
const isConnected = Prisma.sql`(connection_id IS NULL
  OR (SELECT disabled_at IS NULL FROM connections WHERE connections.id = connection_id))`
const isLinked = Prisma.sql`(connection_id IS NULL
  OR (SELECT true FROM identities
      WHERE identities.user_id = exchange_codes.user_id
        AND identities.connection_id = exchange_codes.connection_id
        AND identities.created_at <= exchange_codes.created_at))`

type RejectedCode = {
  sessionId: string | null
  revoked: boolean
  check: Check
  /** Only with events. */
  user_id?: string
  connection_id?: string | null
}

/** What the event of a reused code reads of it. */
const reusedCode = {
  userId: Prisma.sql`user_id`,
  sessionId: Prisma.sql`session_id`,
  connectionId: Prisma.sql`connection_id`,
}

/**
 * Returns why a code was rejected. Ends the session that a used code started (RFC 6749
 * §4.1.2), unless the same browser has sent the code again.
 */
async function handleRejected(presented: Presented): Promise<Check> {
  const { codeHash, browserHash, heldIds } = presented
  const ofCode = eventColumns(Prisma.sql`user_id, connection_id`)
  const recorded = recordEvents(
    'code_reused',
    reusedCode,
    Prisma.sql`FROM code WHERE is_used AND is_same_browser IS NOT TRUE`,
  )

  // A second statement, because the rejected claim could not see a session that was
  // starting at that time. It is the same for unknown codes.
  const [code] = await prisma().$queryRaw<RejectedCode[]>`
    WITH code AS MATERIALIZED (
      SELECT session_id, browser_hash IS NOT NULL AND browser_hash IS DISTINCT FROM ${browserHash} AS is_elsewhere,
        (used_by = ${browserHash} AND used_at > now() - make_interval(secs => ${doubleSubmitSeconds})) IS TRUE
          OR session_id = ANY (${heldIds}::uuid[]) AS is_same_browser,
        used_at IS NOT NULL AS is_used, NOT ${isUnexpired} AS is_expired,
        (SELECT disabled_at IS NOT NULL FROM users WHERE users.id = user_id) AS is_disabled,
        ${isConnected} IS NOT TRUE AS is_disconnected, ${isLinked} IS NOT TRUE AS is_unlinked${ofCode}
      FROM exchange_codes WHERE code_hash = ${codeHash}
    ), ${revokeSessions(Prisma.sql`id = (
      SELECT session_id FROM code WHERE NOT is_elsewhere AND is_same_browser IS NOT TRUE)`)}${recorded}
    SELECT session_id AS "sessionId", EXISTS (SELECT FROM revoked) AS revoked,
      CASE WHEN is_used THEN 'code_used' WHEN is_elsewhere THEN 'browser'
        WHEN is_expired THEN 'code_expired' WHEN is_disabled THEN 'disabled' WHEN is_disconnected THEN 'connection'
        WHEN is_unlinked THEN 'identity_unlinked' ELSE 'code_changed' END AS check${ofCode}
    FROM code`.catch(NothingChanged.rethrow)

  if (!code) return 'code_unknown'

  warnAboutReuse(code)
  addToOrigin({
    userId: code.user_id ?? null,
    connectionId: code.connection_id ?? null,
  })

  return code.check
}

function warnAboutReuse({ sessionId, revoked, check }: RejectedCode): void {
  if (revoked)
    log.warn({ sessionId }, 'an exchange code was reused: its session was revoked')
  else if (check === 'code_used')
    log.warn({ sessionId }, 'an exchange code was reused: its session was not changed')
  else if (check === 'browser')
    log.warn('an exchange code was presented by another browser')
}
