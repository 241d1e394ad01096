import { lifetimes } from '../contract/lifetimes'
import { type Part, part } from '../database/sql'

/**
 * Returns the CTE that starts a session for the user in the CTE `claimed (user_id)`. `started
 * (user_id, now, ends_at)` has one row if `claimed` has one, else none. `connectionId` is the
 * connection of the sign-in, and `renewableUntil` the end of the user's session at the identity
 * provider. Both can name a column of `claimed`.
 */
export function startSession(
  sessionId: string,
  connectionId: Part = part`NULL::uuid`,
  renewableUntil: Part = part`NULL::timestamptz`,
): Part {
  return part`
    started AS (
      INSERT INTO sessions (id, user_id, connection_id, renewable_until, expires_at)
      SELECT ${sessionId}::uuid, user_id, ${connectionId}, ${renewableUntil},
        now() + make_interval(secs => ${lifetimes.session})
      FROM claimed
      RETURNING user_id, floor(extract(epoch FROM created_at))::int AS now,
        floor(extract(epoch FROM expires_at))::int AS ends_at
    )`
}
