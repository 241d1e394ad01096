import { Prisma } from './prisma'

/** A condition on a row of `users`: whether its policy, or else the connection of its domain, allows a password. */
export const mayUsePassword = Prisma.sql`
  CASE password_policy WHEN 'allowed' THEN true WHEN 'never' THEN false ELSE (
    SELECT allow_passwords FROM connections
    WHERE connections.id = (SELECT connection_id FROM connection_domains WHERE domain = email_domain)
  ) IS NOT FALSE END`

/** A condition on a row of `sessions`: whether it began with a password. */
export const beganWithPassword = Prisma.sql`coalesce(method = 'password', connection_id IS NULL)`
