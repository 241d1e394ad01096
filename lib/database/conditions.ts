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

/**
 * A condition on a row of `sessions`: whether it began with a password and without a second
 * factor. The `amr` of other methods is what a provider or another app has sent.
 */
export const beganWithPasswordOnly = Prisma.sql`(
  coalesce(method = 'password', connection_id IS NULL) AND ('mfa' = ANY (amr)) IS NOT TRUE)`
