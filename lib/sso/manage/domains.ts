// Adds domains to a connection, and removes them. lib/sso/manage/activate.ts makes them live.
import { Prisma, prisma, type Transaction } from '../../database/prisma'
import { withEvents } from '../../event/record'
import { UsageError } from '../../usage-error'
import type { Connection } from '../connection'
import { endSessions, workInBatches } from './batches'

type Named = Pick<Connection, 'id' | 'slug'>

/**
 * How a connection gets domains: live at once, or in trial. `beside` is the slug of the
 * connection for which they are live.
 */
export type Addition = { activate?: boolean | undefined; beside?: string | undefined }

/**
 * Adds domains to a connection, which may already have them. Throws UsageError if a domain
 * is live at another connection that `beside` does not name.
 */
export async function addDomains(
  tx: Transaction,
  { id }: Named,
  domains: string[],
  { activate = false, beside }: Addition,
): Promise<void> {
  if (domains.length === 0 && beside === undefined) return

  // waits for another command that makes one of them live
  await tx.$executeRaw`
    INSERT INTO connection_domains (domain, connection_id, live_since)
    SELECT unnest(${domains}::text[]), ${id}, CASE WHEN ${activate} THEN now() END
    ON CONFLICT DO NOTHING`

  const owners = await findOwners(tx, id, domains)
  for (const { domain, slug } of owners)
    if (activate || slug !== beside)
      throw new UsageError(`${slug} has ${domain}. To prepare a change: --beside ${slug}`)

  if (beside !== undefined && owners.length === 0)
    throw new UsageError(`None of these domains is live at ${beside}: omit --beside.`)
}

/** Returns for which of these domains another connection is live. */
async function findOwners(
  tx: Transaction,
  id: string,
  domains: string[],
): Promise<{ domain: string; slug: string }[]> {
  return tx.$queryRaw`
    SELECT domain, (SELECT slug FROM connections WHERE connections.id = connection_id) AS slug
    FROM connection_domains
    WHERE domain = ANY (${domains}::text[]) AND live_since IS NOT NULL AND connection_id <> ${id}
    ORDER BY domain`
}

/** What happens to the links of the users of a removed domain. */
export type LinksAfterwards = 'unlink' | 'keep' | null

/**
 * Removes domains from a connection. Throws UsageError if users of them are linked and
 * `links` is null. Afterwards, call `unlinkDomains` if it is `unlink`.
 */
export async function removeDomains(
  tx: Transaction,
  connection: Named,
  domains: string[],
  links: LinksAfterwards,
): Promise<void> {
  if (domains.length === 0) return

  // Waits for first sign-ins that have locked one of the rows. The next statement sees
  // their links.
  await tx.connectionDomain.deleteMany({
    where: { connectionId: connection.id, domain: { in: domains } },
  })

  const linked = await countLinked(tx, connection.id, domains)
  if (linked === 0 || links !== null) return

  const { slug } = connection
  throw new UsageError(
    [
      `Users of ${domains.join(', ')} who are linked to ${slug}: ${linked}.`,
      `Its provider can still sign them in. If the domain keeps its owner: --keep-links. If it gets another owner, delete their links: --unlink`,
    ].join('\n'),
  )
}

/** Returns how many users of these domains are linked to a connection. */
export async function countLinked(
  tx: Transaction,
  connectionId: string,
  domains: string[],
): Promise<number> {
  const [row] = await tx.$queryRaw<{ count: number }[]>`
    SELECT count(*)::int FROM users WHERE email_domain = ANY (${domains}::text[]) AND ${isLinked(connectionId)}`
  return row!.count
}

/** A condition on a row of `users`: whether the user is linked to a connection. */
export function isLinked(connectionId: string): Prisma.Sql {
  return Prisma.sql`(SELECT true FROM identities
    WHERE identities.user_id = users.id AND identities.connection_id = ${connectionId}::uuid) IS TRUE`
}

/**
 * Deletes the links of the users of these domains to a connection. Ends their sessions.
 * Returns how many users and sessions these were. A deleted subject can be linked again,
 * if the domain comes back.
 */
export async function unlinkDomains(
  { id }: Pick<Named, 'id'>,
  domains: string[],
): Promise<{ users: number; sessions: number }> {
  let users = 0
  let sessions = 0

  for (const domain of domains) {
    const usersAfter = (last: string) => Prisma.sql`
      SELECT id FROM users WHERE email_domain = ${domain} AND id > ${last}::uuid AND ${isLinked(id)} ORDER BY id`
    sessions += await workInBatches(usersAfter, async (tx, userIds) => {
      const deletion = Prisma.sql`
        DELETE FROM identities WHERE connection_id = ${id} AND user_id = ANY (${userIds}::uuid[])`
      const about = { userId: Prisma.sql`user_id`, connectionId: id }
      users += await tx.$executeRaw(
        withEvents(deletion, 'user_unlinked', about, Prisma.sql`user_id`),
      )
      return endSessions(tx, id, userIds)
    })
  }

  return { users, sessions }
}

/** Returns how many users have an address in this domain. */
export async function countUsers(domain: string): Promise<number> {
  return prisma().user.count({ where: { emailDomain: domain } })
}
