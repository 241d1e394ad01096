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

/**
 * A condition on a row of `users`: whether a connection is live for the domain of the
 * address. Only then, its directory may read and change the user.
 */
export function ownsLive(connectionId: string): Prisma.Sql {
  return Prisma.sql`${liveConnection(Prisma.sql`email_domain`)} = ${connectionId}::uuid`
}

/** A condition on a row of `connections`: whether addresses of a domain lead to it. */
export function liveConnectionOf(domain: string): Prisma.Sql {
  return Prisma.sql`connections.id = ${liveConnection(Prisma.sql`${domain}`)} AND disabled_at IS NULL`
}

/**
 * An SQL expression in a statement about `users`: whether the user's address leads to a
 * connection. It does not for guests and renamed users, and in trial.
 */
const leadsToConnection = Prisma.sql`(
  SELECT disabled_at IS NULL FROM connections
  WHERE connections.id = ${liveConnection(Prisma.sql`email_domain`)}) IS TRUE`

/**
 * An SQL expression in a statement about `users`: the slug of the connection at whose start
 * URL the user has to sign in. Null if the address leads to a connection, or unless the
 * user is linked to exactly one that is enabled.
 */
export const onlyStart = Prisma.sql`
  CASE WHEN NOT ${leadsToConnection} THEN (
    SELECT max(slug) FROM connections
    WHERE disabled_at IS NULL
      AND id = ANY (ARRAY(SELECT connection_id FROM identities WHERE identities.user_id = users.id))
    HAVING count(*) = 1
  ) END`

/**
 * A condition on a row of `users`: whether an email has to lead to the start of a
 * connection instead of to a new password. Users whom an operator has allowed a password
 * can always choose one.
 */
export const needsStart = Prisma.sql`
  (NOT has_password AND password_policy IS NULL AND (${onlyStart}) IS NOT NULL)`
