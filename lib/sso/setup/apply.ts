// The last step of a setup link that may do it: the connection is used for everybody.
import { Prisma, prisma, type Transaction, transaction } from '../../database/prisma'
import { writeEvent } from '../../event/record'
import { describeCause, log } from '../../log/log'
import { activateIn, countDomainUsers, type DomainUsers } from '../manage/activate'
import { endPasswordSessions } from '../manage/batches'
import type { UncountedConnection } from '../manage/connections'
import { endLink, lockLink } from './link'
import { changedMeanwhile, SetupProblem } from './problem'
import { asProblem } from './save'
import { findStage, type Target } from './target'

/** The users of a domain, and whether it can become live: not if it is live elsewhere. */
export type DomainEffect = DomainUsers & { domain: string; isTaken: boolean }

/** Returns what applying a connection changes, by domain. */
export async function foreseeApply(
  connection: UncountedConnection,
): Promise<DomainEffect[]> {
  const free = await listFree(prisma(), connection)

  return Promise.all(
    connection.trialDomains.map(async (domain) => ({
      ...(await countDomainUsers(domain, connection, null)),
      domain,
      isTaken: !free.includes(domain),
    })),
  )
}

/**
 * Enables a connection, and makes it live for its domains that are live nowhere. Needs a
 * link that may do it, with which a test has succeeded. Ends the link, and the password
 * sessions of the domains. Returns the live domains. Throws SetupProblem, or LinkEnded.
 */
export async function applyConnection(target: Target): Promise<string[]> {
  const { link, connection, slug } = target
  if (!connection || findStage(target) !== 'enter' || !link.mayActivate)
    throw new SetupProblem('This link can’t activate the connection.')

  const domains = await asProblem(() =>
    transaction(async (tx) => {
      const locked = await lockLink(tx, link.id)
      if (!locked.isTried) throw new SetupProblem('Test a sign-in first.')

      await enable(tx, connection)
      const free = await listFree(tx, connection)
      if (free.length > 0) await activateIn(tx, connection, { domains: free })
      await writeEvent(tx, 'setup_link_applied', { connectionId: connection.id })
      await endLink(tx, locked)

      return free
    }),
  )

  log.warn(
    { connection: slug, setup: 'applied', link: link.id, domains },
    'a setup link has activated a connection',
  )
  if (!connection.allowPasswords) await endSessions(slug, domains)

  return domains
}

async function enable(tx: Transaction, { id }: UncountedConnection): Promise<void> {
  const { count } = await tx.connection.updateMany({
    where: { id, disabledAt: { not: null } },
    data: { disabledAt: null },
  })
  if (count === 0) throw new SetupProblem(changedMeanwhile)

  await writeEvent(tx, 'connection_enabled', { connectionId: id })
}

/** Returns the domains in trial that are live at no connection. */
async function listFree(
  client: Pick<Transaction, '$queryRaw'>,
  { trialDomains }: UncountedConnection,
): Promise<string[]> {
  const taken = await client.$queryRaw<{ domain: string }[]>(Prisma.sql`
    SELECT domain FROM connection_domains
    WHERE domain = ANY (${trialDomains}::text[]) AND live_since IS NOT NULL`)
  const isTaken = new Set(taken.map(({ domain }) => domain))

  return trialDomains.filter((domain) => !isTaken.has(domain))
}

/** The connection is live already, so a failure must not look as if nothing had changed. */
async function endSessions(slug: string, domains: string[]): Promise<void> {
  try {
    await endPasswordSessions(domains)
  } catch (error) {
    log.error(
      { connection: slug, cause: describeCause(error) },
      'sessions with a password did not end: npm run connections -- activate',
    )
  }
}
