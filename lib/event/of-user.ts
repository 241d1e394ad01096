import { Prisma } from '../database/prisma'

/**
 * Returns a condition on `events`: events of a user, since a time (an expression of type
 * `timestamptz`). By default, since the first event of all. It names each day, because the
 * index on users begins with the day in UTC: so sign-ins write to few of its pages.
 */
export function isOfUser(
  userId: string,
  since = Prisma.sql`(SELECT min("at") FROM events)`,
): Prisma.Sql {
  return Prisma.sql`
    user_id = ${userId}::uuid AND ("at" AT TIME ZONE 'UTC')::date = ANY (ARRAY(
      SELECT generate_series(
        date_trunc('day', (${since}) AT TIME ZONE 'UTC'), now() AT TIME ZONE 'UTC', interval '1 day')::date))`
}
