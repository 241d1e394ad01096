import { Prisma } from './prisma'

/**
 * A condition on a row that is found by its key. `IS TRUE` prevents plans that use the
 * index of `expires_at`.
 */
export const isUnexpired = Prisma.sql`(expires_at > now()) IS TRUE`

/** A condition on a row of `sessions`: whether it began with a password. */
export const beganWithPassword = Prisma.sql`coalesce(method = 'password', connection_id IS NULL)`
