import { lifetimes, maxLiveSessions } from '../contract/lifetimes'
import { Prisma } from '../database/prisma'
import type { Recorded } from '../event/record'
import { revokeSessions } from './revoke'
import type { StoredSession } from './tokens'

// concurrent sign-ins can't exceed `maxLiveSessions` by more
const revokedPerStart = 1_000

/** The columns of the CTE `claimed`, from which `startSession` starts a session. */
type Claim = {
  userId: Prisma.Sql
  method: Prisma.Sql // how the user signed in, for the list of sessions
  amr: Prisma.Sql
  connectionId?: Prisma.Sql
  renewableUntil?: Prisma.Sql
  providerSession?: Prisma.Sql // the `sid` of the identity provider
  operator?: Prisma.Sql // the name of the operator with the method `operator`
}

/** Returns the columns of the CTE `claimed`. A missing one is null. */
export function claimedColumns(claim: Claim): Prisma.Sql {
  const { userId, method, amr } = claim
  const { connectionId = Prisma.sql`NULL`, renewableUntil = Prisma.sql`NULL` } = claim
  const { providerSession = Prisma.sql`NULL`, operator = Prisma.sql`NULL` } = claim

  return Prisma.sql`
    ${userId} AS user_id, ${method} AS method, ${amr}::text[] AS amr,
    ${connectionId}::uuid AS connection_id, ${renewableUntil}::timestamptz AS renewable_until,
    ${providerSession}::text AS provider_session, ${operator}::text AS operator`
}

/** What `startSession` returns of the new session. The rest of a stored session is known. */
export type StartedSession = Pick<
  StoredSession,
  'userId' | 'now' | 'endsAt' | 'authenticatedAt' | 'amr' | 'method'
>

/** What a CTE `started` returns of the row of `sessions` that it has inserted. */
export const insertedColumns = Prisma.sql`
  user_id, floor(extract(epoch FROM created_at))::int AS now, floor(extract(epoch FROM expires_at))::int AS ends_at,
  floor(extract(epoch FROM authenticated_at))::int AS authenticated_at, amr, method`

/** The end of a session that starts now. */
export const sessionEnd = Prisma.sql`now() + make_interval(secs => ${lifetimes.session})`

/** The columns of the CTE `started`, which has one row if a session was started. */
export const startedColumns = Prisma.sql`
  started.user_id AS "userId", started.now, started.ends_at AS "endsAt",
  started.authenticated_at AS "authenticatedAt", started.amr, started.method`

/** The end of a session for `claimed`. Only an operator can shorten it. */
const claimedEnd = Prisma.sql`
  least(${sessionEnd}, CASE WHEN method = 'operator' THEN renewable_until END)`

/** What the event of a session for `claimed` reads of it. */
const claimedEvent = {
  actor: Prisma.sql`CASE WHEN method = 'operator' THEN 'operator' ELSE 'user' END`,
  operator: Prisma.sql`nullif(operator, '')`,
  userId: Prisma.sql`user_id`,
  method: Prisma.sql`method`,
  connectionId: Prisma.sql`connection_id`,
  clientId: Prisma.sql`NULL::uuid`,
}

/**
 * Returns CTEs that start a session for `claimed`, revoke the sessions that the browser
 * holds and the user's excess ones, and write the events.
 */
export function startSession(
  sessionId: string,
  heldIds: string[],
  device: string | null,
  browserHash: Uint8Array<ArrayBuffer> | null,
) {
  const replaced = Prisma.sql`
    id = ANY (ARRAY(${replacedIds(heldIds)})) AND EXISTS (SELECT FROM claimed)`
  const began = describeStart(sessionId)

  return Prisma.sql`${insertSession(sessionId, device, browserHash)},
    ${revokeSessions(replaced, 'session_ended', [began])}`
}

/** Returns the CTE `started`, which starts a session for `claimed`. */
export function insertSession(
  sessionId: string,
  device: string | null,
  browserHash: Uint8Array<ArrayBuffer> | null,
): Prisma.Sql {
  return Prisma.sql`
    started AS (
      INSERT INTO sessions
        (id, device, browser_hash, user_id, method, connection_id, renewable_until, provider_session, amr, expires_at, authenticated_at)
      SELECT ${sessionId}::uuid, ${device}, ${browserHash}::bytea, user_id, method, connection_id, renewable_until, provider_session, amr,
        ${claimedEnd}, now()
      FROM claimed
      RETURNING ${insertedColumns}
    )`
}

/** Returns the event of a session for `claimed`. */
export function describeStart(sessionId: string): Recorded {
  return {
    kind: 'signed_in',
    about: { ...claimedEvent, sessionId },
    from: Prisma.sql`FROM claimed`,
  }
}

/**
 * Returns a query of the sessions that a start ends: those that the browser holds, and
 * the user's oldest ones above `maxLiveSessions`.
 */
function replacedIds(heldIds: string[]): Prisma.Sql {
  // Sorted by revoked_at too, because it precedes created_at in the index. It is null in
  // each of these rows.
  return Prisma.sql`
    SELECT unnest(${heldIds}::uuid[]) UNION ALL (
      SELECT id FROM sessions
      WHERE user_id = (SELECT user_id FROM claimed) AND revoked_at IS NULL AND parent_id IS NULL
        AND id <> ALL (${heldIds}::uuid[])
      ORDER BY revoked_at DESC, created_at DESC OFFSET ${maxLiveSessions - 1} LIMIT ${revokedPerStart})`
}
