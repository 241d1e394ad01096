import { lifetimes, maxLiveSessions } from '../contract/lifetimes'
import { Prisma } from '../database/prisma'
import { revokeSessions } from './revoke'

// Bounds the work of one statement, if a user has far too many. More than parallel sign-ins, which do
// not see each other, can add.
const revokedPerStart = 1_000

/** What a session is started with. The connection and the end can name a column of `claimed`. */
type Start = {
  sessionId: string
  /** The sessions that the browser held before. */
  heldSessionIds: string[]
  /** The connection of the sign-in. */
  connectionId?: Prisma.Sql
  /** The end of the user's session at the identity provider. */
  renewableUntil?: Prisma.Sql
}

/**
 * Returns the CTEs that start a session for the user in the CTE `claimed (user_id)`, and revoke the
 * sessions that the browser held and the user's oldest beyond `maxLiveSessions`. `started (user_id,
 * now, ends_at)` has one row if `claimed` has one; otherwise nothing changes.
 */
export function startSession({
  sessionId,
  heldSessionIds,
  connectionId = Prisma.sql`NULL::uuid`,
  renewableUntil = Prisma.sql`NULL::timestamptz`,
}: Start): Prisma.Sql {
  // Sorted by revoked_at too, although it is null in each: the index has this order.
  const replaced = Prisma.sql`
    SELECT unnest(${heldSessionIds}::uuid[]) UNION ALL (
      SELECT id FROM sessions
      WHERE user_id = (SELECT user_id FROM claimed) AND revoked_at IS NULL
        AND id <> ALL (${heldSessionIds}::uuid[])
      ORDER BY revoked_at DESC, created_at DESC OFFSET ${maxLiveSessions - 1} LIMIT ${revokedPerStart})`
  return Prisma.sql`
    started AS (
      INSERT INTO sessions (id, user_id, connection_id, renewable_until, expires_at)
      SELECT ${sessionId}::uuid, user_id, ${connectionId}, ${renewableUntil},
        now() + make_interval(secs => ${lifetimes.session})
      FROM claimed
      RETURNING user_id, floor(extract(epoch FROM created_at))::int AS now,
        floor(extract(epoch FROM expires_at))::int AS ends_at
    ), ${revokeSessions(Prisma.sql`id = ANY (ARRAY(${replaced})) AND EXISTS (SELECT FROM claimed)`)}`
}
