import type { EventKind } from '../contract/events'
import { isUnexpired } from '../database/conditions'
import { Prisma, prisma, type Transaction, transaction } from '../database/prisma'
import { eventColumns, type Recorded, recordEvents } from '../event/record'
import { env } from '../settings/env'
import type { LiveSession } from './find'

/** What ends a session, for its event. */
type Ending = Extract<EventKind, 'signed_out' | 'session_ended'>

/** The columns of `revoked` that only its events need. */
const ofEnded = Prisma.sql`user_id, connection_id, client_id`

/**
 * Returns the CTEs that revoke the sessions selected by `where`, queue the notices of
 * clients, and write an event for each session, and `others`. `revoked (id)` has one row
 * per session.
 */
export function revokeSessions(
  where: Prisma.Sql,
  ending: Ending = 'session_ended',
  others: Recorded[] = [],
): Prisma.Sql {
  const ended = {
    userId: Prisma.sql`user_id`,
    sessionId: Prisma.sql`id`,
    connectionId: Prisma.sql`connection_id`,
    clientId: Prisma.sql`client_id`,
  }

  // Locks the sessions in a fixed order. Without it, a sign-out of two sessions and a
  // reset could deadlock. No index has this order, because the planner might then read
  // the whole index instead of sorting a few rows.
  return Prisma.sql`
    revoked AS (
      UPDATE sessions SET revoked_at = now() WHERE id = ANY (ARRAY(
        SELECT id FROM sessions WHERE revoked_at IS NULL AND ${where} ORDER BY created_at, id FOR NO KEY UPDATE))
      RETURNING id${eventColumns(ofEnded)}
    )${queueNotices()}${recordEvents(ending, ended, Prisma.sql`FROM revoked`, others)}`
}

/**
 * Returns a CTE, after a comma, that queues a notice for each client that wants to know
 * that its session has ended with one of `revoked` (OpenID Connect Back-Channel Logout).
 * Empty if there are no clients.
 */
function queueNotices(): Prisma.Sql {
  if (!env().ID_TOKEN_SIGNING_KEYS) return Prisma.empty

  return Prisma.sql`, noticed AS (
      INSERT INTO logout_notices (client_id, session_id)
      SELECT client_id, id FROM sessions
      WHERE parent_id = ANY (ARRAY(SELECT id FROM revoked)) AND revoked_at IS NULL AND ${isUnexpired}
        AND (SELECT backchannel_logout_uri IS NOT NULL AND disabled_at IS NULL FROM clients WHERE clients.id = client_id)
    )`
}

/** Queues the notices of clients for a session that has just been revoked. */
export async function noticeClients(sessionId: string): Promise<void> {
  const notices = queueNotices()
  if (notices === Prisma.empty) return

  await prisma().$executeRaw`
    WITH revoked AS (SELECT ${sessionId}::uuid AS id)${notices} SELECT 1`
}

/**
 * Revokes sessions by ID, and their parents. So a sign-out at one dashboard ends the
 * sessions at all dashboards.
 */
export async function endSessions(
  ids: string[],
  ending: Ending = 'signed_out',
): Promise<void> {
  const idsAndParents = Prisma.sql`
    SELECT unnest(${ids}::uuid[]) UNION ALL SELECT parent_id FROM sessions WHERE id = ANY (${ids}::uuid[])`
  const revoked = revokeSessions(Prisma.sql`id = ANY (ARRAY(${idsAndParents}))`, ending)
  await prisma().$executeRaw`WITH ${revoked} SELECT 1 FROM revoked`
}

/**
 * Locks users' rows. A later `endAllSessions` sees sessions that were starting. Lock
 * order: user, code, session.
 */
export async function lockUsers(tx: Transaction, userIds: string[]): Promise<void> {
  await tx.$executeRaw`SELECT 1 FROM users WHERE id = ANY (${userIds}::uuid[]) ORDER BY id FOR UPDATE`
}

/**
 * One minute ago, because an exchange that waits for a lock compares the expiry with the
 * time when it began.
 */
const longExpired = Prisma.sql`now() - interval '1 minute'`

/**
 * A condition: whether a session can start with a code. For `IS TRUE`, see isUnexpired.
 */
export const codeIsUsable = Prisma.sql`used_at IS NULL AND (expires_at > ${longExpired}) IS TRUE`

/**
 * Returns the CTEs that revoke a user's sessions, except `spared` and its children, and
 * delete the usable codes.
 */
export function endAllSessions(
  userId: Prisma.Sql,
  spared: string | null = null,
): Prisma.Sql {
  const isSpared = spared
    ? Prisma.sql`AND ${spared}::uuid NOT IN (id, coalesce(parent_id, id))`
    : Prisma.empty

  return Prisma.sql`
    ${revokeSessions(Prisma.sql`user_id = ${userId} ${isSpared}`)}, ${deleteCodes(userId)}`
}

/** Returns a CTE that deletes the usable codes of a user. */
export function deleteCodes(userId: Prisma.Sql): Prisma.Sql {
  // The comparison of a pair makes the planner use the index of both columns.
  return Prisma.sql`
    codes_deleted AS (
      DELETE FROM exchange_codes
      WHERE user_id = ${userId} AND ${codeIsUsable} AND (user_id, expires_at) > (${userId}, ${longExpired})
    )`
}

/**
 * Locks the user's row, and executes `endAllSessions`. Returns the number of ended
 * sessions.
 */
export async function endSessionsOfUser(
  tx: Transaction,
  userId: string,
  spared?: string,
): Promise<number> {
  await lockUsers(tx, [userId])
  return tx.$executeRaw`WITH ${endAllSessions(Prisma.sql`${userId}::uuid`, spared)} SELECT id FROM revoked`
}

/**
 * Revokes all sessions of a user except this session, its parent and their children.
 * Deletes unused codes.
 */
export async function endOtherSessions({
  userId,
  sessionId,
}: LiveSession): Promise<void> {
  await transaction((tx) => endSessionsOfUser(tx, userId, sessionId))
}
