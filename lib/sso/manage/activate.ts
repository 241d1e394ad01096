import { mayUsePassword } from '../../database/domain-rules'
import { Prisma, prisma, type Transaction, transaction } from '../../database/prisma'
import { writeEvent } from '../../event/record'
import { errorCode } from '../../log/error-code'
import { UsageError } from '../../usage-error'
import { changeRow, type ListedConnection, type UncountedConnection } from './connections'
import { isLinked } from './domains'

type Wanted = {
  /** Only these domains. By default, all that the move concerns. */
  domains?: string[] | undefined
  /** The slug of the connection for which the domains are live now. */
  from?: string | null
}

/** Domains by what has happened to them. */
export type Activated = {
  /** The domains that the connection is live for now. */
  moved: string[]
  /** The domains to go on with: those, or the live ones if a repeated command moved none. */
  live: string[]
}

/**
 * Makes a connection live for domains that it has in trial, in one transaction. With
 * `from`, that connection has them in trial then. Throws UsageError if another connection
 * is live for one of them, or if `connection` is outdated. Afterwards, call
 * `endPasswordSessions` with `live`.
 */
export async function activateDomains(
  connection: ListedConnection,
  wanted: Wanted = {},
): Promise<Activated> {
  try {
    return await transaction((tx) => activateIn(tx, connection, wanted))
  } catch (error) {
    // a command that this one could not see has just made it live for another connection
    if (errorCode(error as Error) !== uniqueViolation) throw error
    throw new UsageError('Another connection has one of these domains meanwhile.')
  }
}

/** Like `activateDomains`, in a transaction of the caller. */
export async function activateIn(
  tx: Transaction,
  connection: UncountedConnection,
  { domains, from = null }: Wanted,
): Promise<Activated> {
  await changeRow(tx, connection, { kind: connection.settings.kind })
  const rows = await lockRows(tx, connection, domains)
  const moved = chooseDomains(connection, rows, { domains, from })
  await moveDomains(tx, connection, moved)
  await recordMove(tx, connection, rows, moved)

  const own = rows.filter((row) => row.isOwn && row.isLive).map((row) => row.domain)
  return { moved, live: moved.length > 0 ? moved : own }
}

export const uniqueViolation = '23505'

/** A row of `connection_domains`. `slug` is that of its connection. */
type Row = {
  domain: string
  connectionId: string
  slug: string
  isOwn: boolean
  isLive: boolean
}

/** Locks the rows of these domains, or of all domains of the connection, in one order. */
async function lockRows(
  tx: Transaction,
  { id }: UncountedConnection,
  domains: string[] | undefined,
): Promise<Row[]> {
  const wanted = domains
    ? Prisma.sql`${domains}::text[]`
    : Prisma.sql`ARRAY(SELECT domain FROM connection_domains WHERE connection_id = ${id}::uuid)`

  return tx.$queryRaw`
    SELECT domain, connection_id AS "connectionId", (SELECT slug FROM connections WHERE connections.id = connection_id) AS slug,
      connection_id = ${id}::uuid AS "isOwn", live_since IS NOT NULL AS "isLive"
    FROM connection_domains WHERE domain = ANY (${wanted})
    ORDER BY domain, connection_id FOR NO KEY UPDATE`
}

/** Returns the domains that become live. Throws UsageError if one of them may not. */
function chooseDomains(
  { slug }: UncountedConnection,
  rows: Row[],
  { domains, from = null }: Wanted,
): string[] {
  const own = rows.filter(({ isOwn }) => isOwn)
  const unknown = domains?.find((each) => !own.some(({ domain }) => domain === each))
  if (unknown)
    throw new UsageError(
      `${slug} does not have ${unknown}: npm run connections -- update ${slug} --domain ${unknown}`,
    )

  const live = own.filter(({ isLive }) => isLive)
  const trials = own.filter(({ isLive }) => !isLive).map(({ domain }) => domain)
  const owners = new Map(
    rows
      .filter(({ isOwn, isLive }) => isLive && !isOwn)
      .map(({ domain, slug }) => [domain, slug]),
  )
  const ownerOf = (domain: string) => owners.get(domain) ?? null

  // Without --domain, the domains that --from names, or those that are live nowhere.
  const movable = trials.filter((domain) => ownerOf(domain) === from)
  const wanted = domains ? trials : movable
  for (const domain of wanted) checkOwner(slug, domain, ownerOf(domain), from)

  const isRepeated = wanted.length === 0 && live.length > 0
  const taken = trials.find((domain) => owners.has(domain))
  if (wanted.length > 0 || (isRepeated && from === null)) return wanted

  if (taken) checkOwner(slug, taken, ownerOf(taken), from)
  if (!isRepeated) throw new UsageError(`${slug} has no domain in trial.`)

  return wanted
}

function checkOwner(
  slug: string,
  domain: string,
  owner: string | null,
  from: string | null,
): void {
  if (owner === from) return

  if (owner === null)
    throw new UsageError(`${domain} is not live at ${from}: omit --from ${from}.`)

  const command = `npm run connections -- activate ${slug} --domain ${domain} --from ${owner}`
  throw new UsageError(`${owner} has ${domain}. To move it: ${command}`)
}

/** Moves the live state of domains to a connection. The former owner keeps a trial row. */
async function moveDomains(
  tx: Transaction,
  { id }: UncountedConnection,
  domains: string[],
): Promise<void> {
  // two statements, because PostgreSQL checks the unique index after each row
  await tx.$executeRaw`
    UPDATE connection_domains SET live_since = NULL
    WHERE domain = ANY (${domains}::text[]) AND live_since IS NOT NULL`
  await tx.$executeRaw`
    UPDATE connection_domains SET live_since = now()
    WHERE domain = ANY (${domains}::text[]) AND connection_id = ${id}`
}

/** Writes the events of a move: of the connection, and of those that had the domains. */
async function recordMove(
  tx: Transaction,
  { id }: UncountedConnection,
  rows: Row[],
  moved: string[],
): Promise<void> {
  if (moved.length === 0) return

  const changed = ['domains']
  const former = rows.filter(
    ({ domain, isOwn, isLive }) => isLive && !isOwn && moved.includes(domain),
  )
  for (const connectionId of new Set(former.map((row) => row.connectionId)))
    await writeEvent(tx, 'connection_deactivated', { connectionId, changed })

  await writeEvent(tx, 'connection_activated', { connectionId: id, changed })
}

/**
 * Makes domains trials again: by default, all for which the connection is live. Returns
 * them. Their users may use passwords again.
 */
export async function deactivateDomains(
  connection: UncountedConnection,
  domains: string[] = connection.domains,
): Promise<string[]> {
  const { id, slug } = connection
  const wrong = domains.find((domain) => !connection.domains.includes(domain))
  if (wrong) throw new UsageError(`${slug} is not live for ${wrong}.`)

  await transaction(async (tx) => {
    await changeRow(tx, connection, { kind: connection.settings.kind })
    await tx.$executeRaw`
      UPDATE connection_domains SET live_since = NULL
      WHERE domain = ANY (${domains}::text[]) AND connection_id = ${id}`
    const about = { connectionId: id, changed: ['domains'] }
    if (domains.length > 0) await writeEvent(tx, 'connection_deactivated', about)
  })

  return domains
}

/** Whether anybody has signed in through a connection, in earnest or as a test. */
export async function isTried({ id, triedAt }: UncountedConnection): Promise<boolean> {
  if (triedAt !== null) return true
  return (await prisma().identity.findFirst({ where: { connectionId: id } })) !== null
}

/** The enabled users of a domain, as a command that moves the domain shows them. */
export type DomainUsers = {
  users: number
  linked: number
  linkedToOld: number
  linkedOnlyToOld: number
  mayUsePassword: number
  withSecondFactor: number
}

/** Counts the users of a domain. `oldId` is the ID of the connection that had it. */
export async function countDomainUsers(
  domain: string,
  { id }: UncountedConnection,
  oldId: string | null,
): Promise<DomainUsers> {
  const [isNew, isOld] = [isLinked(id), oldId ? isLinked(oldId) : Prisma.sql`false`]

  const [row] = await prisma().$queryRaw<DomainUsers[]>`
    SELECT count(*)::int AS users,
      count(*) FILTER (WHERE is_new)::int AS linked,
      count(*) FILTER (WHERE is_old)::int AS "linkedToOld",
      count(*) FILTER (WHERE is_old AND NOT is_new)::int AS "linkedOnlyToOld",
      count(*) FILTER (WHERE may_use_password)::int AS "mayUsePassword",
      count(*) FILTER (WHERE has_factor)::int AS "withSecondFactor"
    FROM (
      SELECT ${isNew} AS is_new, ${isOld} AS is_old, ${mayUsePassword} AS may_use_password,
        second_factor_at IS NOT NULL AS has_factor
      FROM users WHERE email_domain = ${domain} AND disabled_at IS NULL
    ) AS user_of_domain`

  return row!
}
