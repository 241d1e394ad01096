import { Prisma } from './prisma'

/**
 * A condition on a row of `users`: whether the user may use a password. Without a policy of its own, not if
 * the domain of the email belongs to a connection without `allow_passwords`, even a disabled one.
 */
export const mayUsePassword = Prisma.sql`
  CASE password_policy WHEN 'allowed' THEN true WHEN 'never' THEN false ELSE (
    SELECT allow_passwords FROM connections
    WHERE connections.id = (SELECT connection_id FROM connection_domains WHERE domain = email_domain)
  ) IS NOT FALSE END`

/** A condition on a row of `sessions`: whether it began with a password. */
export const beganWithPassword = Prisma.sql`coalesce(method = 'password', connection_id IS NULL)`
