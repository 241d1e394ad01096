import { Prisma } from './prisma'

/**
 * A condition on a row that is found by its key. `IS TRUE` prevents plans that use the
 * index of `expires_at`.
 */
export const isUnexpired = Prisma.sql`(expires_at > now()) IS TRUE`

/**
 * A condition on a row of `users`: whether the user's policy, or else the domain's
 * connection, allows a password.
 */
export const mayUsePassword = Prisma.sql`
  CASE password_policy WHEN 'allowed' THEN true WHEN 'never' THEN false ELSE (
    SELECT allow_passwords FROM connections
    WHERE connections.id = (SELECT connection_id FROM connection_domains WHERE domain = email_domain)
  ) IS NOT FALSE END`

/** A condition on a row of `sessions`: whether it began with a password. */
export const beganWithPassword = Prisma.sql`coalesce(method = 'password', connection_id IS NULL)`
