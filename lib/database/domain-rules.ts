// What the rows of `connection_domains` mean. A row is live or, without `live_since`, in
// trial. See docs/decisions/0022-state-per-domain.md.
import { Prisma } from './prisma'

/**
 * An SQL expression: the ID of the connection that is live for a domain, or null. `domain`
 * is an SQL expression too.
 */
function liveConnection(domain: Prisma.Sql): Prisma.Sql {
  return Prisma.sql`(SELECT connection_id FROM connection_domains
    WHERE connection_domains.domain = ${domain} AND live_since IS NOT NULL)`
}

/**
 * A condition on a row of `users`: whether the user's policy, or else the connection that
 * is live for the domain, allows a password.
 */
export const mayUsePassword = Prisma.sql`
  CASE password_policy WHEN 'allowed' THEN true WHEN 'never' THEN false ELSE (
    SELECT allow_passwords FROM connections
    WHERE connections.id = ${liveConnection(Prisma.sql`email_domain`)}
  ) IS NOT FALSE END`

/**
 * A condition on a row of `connection_domains`: whether the connection may link and create
 * users of the domain at their first sign-in. It may in both states.
 */
export function mayLink(connectionId: string, domain: string): Prisma.Sql {
  return Prisma.sql`domain = ${domain} AND connection_id = ${connectionId}`
}

/** A condition on a row of `connections`: whether addresses of a domain lead to it. */
export function liveConnectionOf(domain: string): Prisma.Sql {
  return Prisma.sql`connections.id = ${liveConnection(Prisma.sql`${domain}`)} AND disabled_at IS NULL`
}
