import { randomUUID } from 'node:crypto'
import { beganWithPassword, mayUsePassword } from '../../database/conditions'
import { Prisma, prisma, type Transaction, transaction } from '../../database/prisma'
import { codeIsUsable, lockUsers, revokeSessions } from '../../session/revoke'
import { UsageError } from '../../usage-error'
import { type Connection, parseSettings, type Row } from '../connection'
import type { Subject } from '../identity'
import { createBinding, encryptSecrets, type Secrets } from '../secrets'

const batchSize = 500
const rowsAtOnce = 10_000
const lowestId = '00000000-0000-0000-0000-000000000000'

export type NewConnection = Pick<
  Connection,
  'slug' | 'name' | 'settings' | 'provision' | 'allowPasswords'
> & {
  secrets: Secrets
  listed: boolean
  sessionHours?: number | null | undefined
  domains: string[] // in their ASCII form
}

/**
 * Adds a connection. Throws UsageError if the slug or a domain is taken. Afterwards, call
 * `endPasswordSessions`.
 */
export async function addConnection({
  secrets,
  domains,
  settings,
  sessionHours = null,
  ...columns
}: NewConnection): Promise<void> {
  const id = randomUUID()
  const { kind, ...stored } = parseSettings(columns.slug, settings)
  const encrypted = await encryptSecrets(secrets, createBinding({ id, settings }))

  await transaction(async (tx) => {
    const added = await tx.connection.createMany({
      data: [
        {
          id,
          kind,
          settings: stored,
          encryptedSecrets: encrypted,
          sessionHours,
          ...columns,
        },
      ],
      skipDuplicates: true,
    })

    if (added.count === 0)
      throw new UsageError(`There is already a connection ${columns.slug}.`)

    await claimDomains(tx, id, domains)
  })
}

/**
 * Ends the password sessions of users who may not use a password, and counts these users.
 * Call it after the commit.
 */
export async function endPasswordSessions(domains: string[]): Promise<number> {
  let count = 0
  for (const domain of domains) {
    const usersAfter = (id: string) => Prisma.sql`
      SELECT id FROM users WHERE email_domain = ${domain} AND id > ${id}::uuid AND NOT ${mayUsePassword} ORDER BY id`
    count += await workInBatches(usersAfter, async (tx, userIds) => {
      const began = Prisma.sql`user_id = ANY (${userIds}::uuid[]) AND ${beganWithPassword}`
      await tx.$executeRaw`WITH ${revokeSessions(began)} SELECT id FROM revoked`
      return userIds.length
    })
  }

  return count
}

type Work = (tx: Transaction, userIds: string[]) => Promise<number>

/**
 * In one transaction per batch, locks the rows of a query's users, and calls `work`.
 * Returns the sum of results.
 */
async function workInBatches(
  usersAfter: (id: string) => Prisma.Sql,
  work: Work,
): Promise<number> {
  let sum = 0
  let last: string | undefined = lowestId

  while (last) {
    const users: { id: string }[] = await prisma()
      .$queryRaw`${usersAfter(last)} LIMIT ${batchSize}`
    const ids = users.map(({ id }) => id)
    sum += await transaction(async (tx) => {
      await lockUsers(tx, ids)
      return work(tx, ids)
    })

    last = ids.at(-1)
  }

  return sum
}

/**
 * Returns how many enabled users of these domains have no usable password and no identity
 * at an enabled connection.
 */
export async function countWithoutWayIn(domains: string[]): Promise<number> {
  const [row] = await prisma().$queryRaw<{ count: number }[]>`
    SELECT count(*)::int FROM users
    WHERE email_domain = ANY (${domains}) AND disabled_at IS NULL AND (password_hash IS NULL OR NOT ${mayUsePassword})
      AND NOT EXISTS (
        SELECT FROM identities JOIN connections ON connections.id = connection_id
        WHERE user_id = users.id AND connections.disabled_at IS NULL)`

  return row!.count
}

/**
 * Returns the slug of a disabled connection that forbids passwords in this domain, or
 * null.
 */
export async function findDisabledConnection(domain: string): Promise<string | null> {
  const row = await prisma().connection.findFirst({
    where: {
      domains: { some: { domain } },
      disabledAt: { not: null },
      allowPasswords: false,
    },
    select: { slug: true },
  })

  return row?.slug ?? null
}

/** Adds domains to a connection, which may already have them. */
async function claimDomains(
  tx: Transaction,
  id: string,
  domains: string[],
): Promise<void> {
  const claimed = await tx.$queryRaw<{ domain: string }[]>`
    INSERT INTO connection_domains (domain, connection_id) SELECT unnest(${domains}::text[]), ${id}
    ON CONFLICT (domain) DO UPDATE SET domain = excluded.domain
      WHERE connection_domains.connection_id = excluded.connection_id
    RETURNING domain`

  const taken = domains.filter((domain) => !claimed.some((row) => row.domain === domain))
  if (taken.length > 0)
    throw new UsageError(`Another connection has ${taken.join(', ')}.`)
}

type Settings = Omit<NewConnection, 'slug' | 'secrets'>

/**
 * Missing settings do not change, nor do the secrets if they are null. `domains` are
 * added.
 */
export type ConnectionChange = {
  [Name in keyof Settings]?: Settings[Name] | undefined
} & {
  secrets?: Secrets | null
  removedDomains?: string[]
}

/**
 * Updates a connection. Throws UsageError if a domain is taken, no domain is left, or
 * `before` is outdated. Afterwards, call `endPasswordSessions`.
 */
export async function updateConnection(
  before: ListedConnection,
  change: ConnectionChange,
): Promise<void> {
  const { id, slug } = before
  const { settings = before.settings, secrets } = change
  const encryptedSecrets = secrets
    ? await encryptSecrets(secrets, createBinding({ id, settings }))
    : before.encryptedSecrets

  const { name, provision, listed, allowPasswords, sessionHours } = change
  const columns = { name, provision, listed, allowPasswords, sessionHours }
  const { kind: _, ...known } = before.settings
  const { kind, ...stored } = parseSettings(slug, settings)

  await transaction(async (tx) => {
    const updated = await tx.connection.updateMany({
      where: {
        id,
        kind,
        settings: { equals: known },
        encryptedSecrets: before.encryptedSecrets,
      },
      data: { ...omitUndefined(columns), settings: stored, encryptedSecrets },
    })

    if (updated.count === 0)
      throw new UsageError(
        `Another command has changed ${slug} meanwhile: run this one again.`,
      )

    await updateDomains(tx, before, change)
  })
}

type Defined<Values> = { [Name in keyof Values]?: Exclude<Values[Name], undefined> }

function omitUndefined<Values extends object>(values: Values): Defined<Values> {
  const defined = Object.entries(values).filter(([, value]) => value !== undefined)
  return Object.fromEntries(defined) as Defined<Values>
}

async function updateDomains(
  tx: Transaction,
  { id, slug }: Named,
  { domains = [], removedDomains = [] }: ConnectionChange,
): Promise<void> {
  await tx.connectionDomain.deleteMany({
    where: { connectionId: id, domain: { in: removedDomains } },
  })
  await claimDomains(tx, id, domains)

  const left = await tx.connectionDomain.count({ where: { connectionId: id } })
  if (left === 0)
    throw new UsageError(
      `${slug} would have no domain. To end it: npm run connections -- remove ${slug}`,
    )
}

export type ListedConnection = Connection &
  Pick<Row, 'listed' | 'disabledAt'> & { domains: string[]; users: number }

type Named = Pick<Connection, 'id' | 'slug'>

/**
 * Returns all connections in the order of their slugs, or only the connection with
 * `slug`. Throws if stored settings are invalid.
 */
export async function listConnections(
  slug: string | null = null,
): Promise<ListedConnection[]> {
  const stored = await listStoredConnections(slug)

  return stored.map(({ kind, settings, ...connection }) => ({
    ...connection,
    settings: parseSettings(connection.slug, { ...(settings as object), kind }),
  }))
}

/** A connection whose settings may be invalid. It can be disabled and removed. */
export type StoredConnection = Omit<ListedConnection, 'settings'> &
  Pick<Row, 'kind' | 'settings'>

/** Like `listConnections`, without validating the settings. */
export async function listStoredConnections(
  slug: string | null = null,
): Promise<StoredConnection[]> {
  const rows = await prisma().connection.findMany({
    where: slug === null ? {} : { slug },
    orderBy: { slug: 'asc' },
    include: {
      domains: { orderBy: { domain: 'asc' } },
      _count: { select: { identities: { where: { userId: { not: null } } } } },
    },
  })

  return rows.map(({ domains, _count, ...row }) => ({
    ...row,
    domains: domains.map(({ domain }) => domain),
    users: _count.identities,
  }))
}

/** Allows users to sign in through a connection again. */
export async function enableConnection({
  id,
}: Pick<ListedConnection, 'id'>): Promise<void> {
  await prisma().connection.updateMany({ where: { id }, data: { disabledAt: null } })
}

/**
 * Disables a connection, so that later exchanges are rejected. Then ends its sessions.
 * Returns their number.
 */
export async function disableConnection({
  id,
}: Pick<ListedConnection, 'id'>): Promise<number> {
  await prisma()
    .$executeRaw`UPDATE connections SET disabled_at = coalesce(disabled_at, now()) WHERE id = ${id}`

  const usersAfter = (last: string) => Prisma.sql`
    SELECT user_id AS id FROM identities WHERE connection_id = ${id} AND user_id > ${last}::uuid ORDER BY user_id`

  return workInBatches(usersAfter, (tx, userIds) => endSessions(tx, id, userIds))
}

/**
 * Disables a connection, then deletes it with its identities. Returns how many sessions
 * ended.
 */
export async function removeConnection(
  connection: Pick<ListedConnection, 'id'>,
): Promise<number> {
  const ended = await disableConnection(connection)

  // In batches, because the foreign key would delete all SSO attempts in one statement.
  // There can be millions.
  const deleteSome = () => prisma().$executeRaw`
    DELETE FROM sso_attempts WHERE ctid = ANY (ARRAY(
      SELECT ctid FROM sso_attempts WHERE connection_id = ${connection.id} LIMIT ${rowsAtOnce}))`
  let deleted: number
  do {
    deleted = await deleteSome()
  } while (deleted > 0)

  await prisma().connection.deleteMany({ where: { id: connection.id } })

  return ended
}

/**
 * Unlinks a user's subject, which is then rejected until a new link. Ends its sessions.
 * Null if none is linked.
 */
export async function unlinkUser(userId: string, connectionId: string) {
  return transaction(async (tx) => {
    await lockUsers(tx, [userId])
    const [unlinked] = await tx.$queryRaw<{ subject: string }[]>`
      UPDATE identities SET user_id = NULL WHERE user_id = ${userId} AND connection_id = ${connectionId}
      RETURNING subject`
    if (!unlinked) return null

    const ended = await endSessions(tx, connectionId, [userId])
    return { ...unlinked, ended }
  })
}

/** Returns the issuers for which a connection has an identity with this subject. */
export async function findIssuers(
  connectionId: string,
  subject: string,
): Promise<string[]> {
  const rows = await prisma().identity.findMany({
    where: { connectionId, subject },
    select: { issuer: true },
  })

  return rows.map(({ issuer }) => issuer)
}

/**
 * Links a user to a subject, which may be unlinked. Throws UsageError if the user or the
 * subject has another link.
 */
export async function linkUser(
  userId: string,
  { id, slug }: Named,
  { issuer, subject }: Subject,
): Promise<void> {
  await transaction(async (tx) => {
    await lockUsers(tx, [userId])
    const [linked] = await tx.$queryRaw<
      { email: string; subject: string; isSame: boolean }[]
    >`
      SELECT (SELECT email FROM users WHERE id = user_id), subject,
        user_id = ${userId} AND issuer = ${issuer} AND subject = ${subject} AS "isSame"
      FROM identities
      WHERE connection_id = ${id} AND user_id IS NOT NULL
        AND (user_id = ${userId} OR issuer = ${issuer} AND subject = ${subject})`

    if (linked?.isSame) return

    if (linked) {
      const state = `${linked.email} is linked to the subject ${linked.subject}.`
      throw new UsageError(
        `${state} Unlink it first: npm run users -- unlink ${linked.email} ${slug}`,
      )
    }

    const identity = { connectionId: id, issuer, subject }
    await tx.identity.deleteMany({ where: { ...identity, userId: null } })
    await tx.identity.createMany({ data: [{ ...identity, userId }] })
  })
}

/**
 * Ends users' sessions of a connection, and deletes their codes. Call `lockUsers` first.
 * Returns how many ended.
 */
async function endSessions(
  tx: Transaction,
  connectionId: string,
  userIds: string[],
): Promise<number> {
  return tx.$executeRaw`
    WITH ${revokeSessions(Prisma.sql`user_id = ANY (${userIds}::uuid[]) AND connection_id = ${connectionId}`)},
    codes_deleted AS (
      DELETE FROM exchange_codes
      WHERE user_id = ANY (${userIds}::uuid[]) AND connection_id = ${connectionId} AND ${codeIsUsable}
    )
    SELECT id FROM revoked`
}
