import { Prisma } from './prisma'

/**
 * A condition: whether a row that is found by its key has not expired. `IS TRUE` keeps the planner from
 * the index of `expires_at`: with statistics from a time when every row had expired, it would expect
 * almost none, and read all that were added since.
 */
export const isUnexpired = Prisma.sql`(expires_at > now()) IS TRUE`
