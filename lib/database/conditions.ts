import { Prisma } from './prisma'

/**
 * A condition on a row that is found by its key. `IS TRUE` prevents plans that use the
 * index of `expires_at`.
 */
export const isUnexpired = Prisma.sql`(expires_at > now()) IS TRUE`

/**
 * A condition on a row of `sessions`: whether it began with a password or a passkey of the
 * user. It does not depend on PASSKEYS, which may be off while such sessions live.
 */
export const beganWithOwnCredential = Prisma.sql`coalesce(method IN ('password', 'passkey'), connection_id IS NULL)`
