import { randomUUID } from 'node:crypto'
import { mayUsePassword } from '../../database/domain-rules'
import { Prisma, prisma, type Transaction, transaction } from '../../database/prisma'
import { withEvents, writeEvent } from '../../event/record'
import { lockUsers } from '../../session/revoke'
import { UsageError } from '../../usage-error'
import { type Connection, draftKind, parseSettings, type Row } from '../connection'
import type { Subject } from '../identity'
import { createBinding, encryptSecrets, type Secrets } from '../secrets'
import { type Draft, decryptDraftSecrets, findDraft } from '../setup/draft'
import { endLinks } from '../setup/manage-links'
import { endSessions, workInBatches } from './batches'
import { type Addition, addDomains, type LinksAfterwards, removeDomains } from './domains'
import { moveIdentities } from './same-users'

const rowsAtOnce = 10_000
const moveMs = 10 * 60 * 1000 // enough for the links of millions of users

export type NewConnection = Pick<
  Connection,
  'slug' | 'name' | 'settings' | 'provision' | 'allowPasswords'
> & {
  secrets: Secrets
  listed: boolean
  sessionHours?: number | null | undefined
  domains: string[] // in their ASCII form
} & Addition

/**
 * Adds a connection, with its domains in trial or, with `activate`, live. Fills the draft
 * with this slug, if there is one: its key pair stays, and its setup link ends. Throws
 * UsageError if the slug or a domain is taken. After `activate`, call `endPasswordSessions`.
 */
export async function addConnection({
  secrets: givenSecrets,
  domains,
  settings: givenSettings,
  sessionHours = null,
  activate,
  beside,
  ...columns
}: NewConnection): Promise<void> {
  const draft = await findDraft(columns.slug)
  const id = draft?.id ?? randomUUID()
  const given = { settings: givenSettings, secrets: givenSecrets }
  const { settings, secrets } = draft ? await keepKeyPair(draft, given) : given

  const { kind, ...stored } = parseSettings(columns.slug, settings)
  const encrypted = await encryptSecrets(secrets, createBinding({ id, settings }))
  const data = {
    id,
    kind,
    settings: stored,
    encryptedSecrets: encrypted,
    sessionHours,
    ...columns,
  }

  await transaction(async (tx) => {
    const { count } = draft
      ? await fillDraft(tx, draft, domains, data)
      : await tx.connection.createMany({ data: [data], skipDuplicates: true })

    if (count === 0)
      throw new UsageError(`There is already a connection ${columns.slug}.`)

    const connection = { id, slug: columns.slug }
    await addDomains(tx, connection, domains, { activate, beside })
    if (draft) await recordFilled(tx, id, settings)
    else
      await writeEvent(tx, 'connection_added', { connectionId: id, slug: columns.slug })
    if (activate) await writeEvent(tx, 'connection_activated', { connectionId: id })
  })
}

type Values = Pick<NewConnection, 'settings' | 'secrets'>

/** For SAML, returns the values with the key pair of the draft, which our metadata has. */
async function keepKeyPair(draft: Draft, given: Values): Promise<Values> {
  const { settings } = given
  if (settings.kind !== 'saml') return given

  const { certificate } = draft
  return {
    settings: { ...settings, certificate },
    secrets: await decryptDraftSecrets(draft),
  }
}

async function fillDraft(
  tx: Transaction,
  { id }: Draft,
  domains: string[],
  { id: _, ...data }: Prisma.ConnectionUpdateManyMutationInput,
) {
  await endLinks(tx, id)
  // `addDomains` adds them again, in trial or live
  await tx.connectionDomain.deleteMany({
    where: { connectionId: id, domain: { in: domains } },
  })

  return tx.connection.updateMany({
    where: { id, kind: draftKind },
    data: { ...data, disabledAt: null },
  })
}

/** Writes the events of a draft that has become a connection. */
async function recordFilled(
  tx: Transaction,
  connectionId: string,
  settings: NewConnection['settings'],
): Promise<void> {
  const changed = [...listChangedSettings({}, settings), 'secrets']
  await writeEvent(tx, 'connection_changed', { connectionId, changed })
  await writeEvent(tx, 'connection_enabled', { connectionId })
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
      domains: { some: { domain, liveSince: { not: null } } },
      disabledAt: { not: null },
      allowPasswords: false,
    },
    select: { slug: true },
  })

  return row?.slug ?? null
}

type Settings = Omit<NewConnection, 'slug' | 'secrets' | 'activate'>

/**
 * Missing settings do not change, nor do the secrets if they are null. `domains` are
 * added, in trial. `links` are those of users of `removedDomains`.
 */
export type ConnectionChange = {
  [Name in keyof Settings]?: Settings[Name] | undefined
} & {
  secrets?: Secrets | null
  removedDomains?: string[]
  links?: LinksAfterwards
  /** Whether the new issuer in `settings` has the same users with the same subjects. */
  sameUsers?: boolean
  /** Whether only the encryption of the secrets changes. */
  reencrypts?: boolean
}

/**
 * Updates a connection. Throws UsageError if a domain is taken, or if `before` is outdated.
 * Afterwards, call `endPasswordSessions`, and `unlinkDomains` if `links` is `unlink`.
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
  const { kind: _, ...stored } = parseSettings(slug, settings)
  const { removedDomains = [], links = null, domains = [], beside, sameUsers } = change

  const limits = sameUsers ? { timeoutMs: moveMs } : {}
  await transaction(async (tx) => {
    const data = { ...omitUndefined(columns), settings: stored, encryptedSecrets }
    await changeRow(tx, before, data)
    if (sameUsers) await moveIdentities(tx, before, settings.issuer)
    await removeDomains(tx, before, removedDomains, links)
    await addDomains(tx, before, domains, { beside })

    const changed = listChanged(before, change)
    const kind = change.reencrypts ? 'keys_reencrypted' : 'connection_changed'
    if (changed.length > 0) await writeEvent(tx, kind, { connectionId: id, changed })
  }, limits)
}

/** Returns the names of the settings that a change changes, for its event. */
function listChanged(before: ListedConnection, change: ConnectionChange): string[] {
  const { settings, secrets, domains = [], removedDomains = [], ...rest } = change
  const own = ['name', 'provision', 'listed', 'allowPasswords', 'sessionHours'] as const
  const columns = own.filter(
    (name) => rest[name] !== undefined && rest[name] !== before[name],
  )

  return [
    ...columns,
    ...listChangedSettings(before.settings, settings ?? before.settings),
    ...(secrets && !change.sameUsers ? ['secrets'] : []),
    ...(domains.length > 0 || removedDomains.length > 0 ? ['domains'] : []),
  ]
}

/** Returns the names of the settings that differ, in the order of their names in both. */
export function listChangedSettings(before: object, after: object): string[] {
  const [old, current] = [before, after] as Record<string, unknown>[]
  const names = Object.keys({ ...old, ...current })

  return names.filter(
    (name) => JSON.stringify(old![name]) !== JSON.stringify(current![name]),
  )
}

/**
 * Changes the row of a connection, and locks it. Throws UsageError if the settings or the
 * states of the domains are not those in `before` any more.
 */
export async function changeRow(
  tx: Transaction,
  before: UncountedConnection,
  data: Prisma.ConnectionUpdateManyMutationInput,
): Promise<void> {
  const { id, slug, encryptedSecrets } = before
  const { kind, ...settings } = before.settings
  const { count } = await tx.connection.updateMany({
    where: { id, kind, settings: { equals: settings }, encryptedSecrets },
    data,
  })

  const { domains, trialDomains } = before
  const changed = await tx.connectionDomain.count({
    where: {
      connectionId: id,
      OR: [
        { domain: { in: domains }, liveSince: null },
        { domain: { in: trialDomains }, liveSince: { not: null } },
      ],
    },
  })

  if (count === 0 || changed > 0)
    throw new UsageError(
      `Another command has changed ${slug} meanwhile: run this one again.`,
    )
}

type Defined<Values> = { [Name in keyof Values]?: Exclude<Values[Name], undefined> }

function omitUndefined<Values extends object>(values: Values): Defined<Values> {
  const defined = Object.entries(values).filter(([, value]) => value !== undefined)
  return Object.fromEntries(defined) as Defined<Values>
}

/** `domains` are those for which the connection is live. */
export type ListedConnection = Connection &
  Pick<Row, 'listed' | 'disabledAt' | 'triedAt' | 'createdAt'> & {
    domains: string[]
    trialDomains: string[]
    users: number
  }

/** What the server reads of a connection: counting its users would take too long. */
export type UncountedConnection = Omit<ListedConnection, 'users'>

type Named = Pick<Connection, 'id' | 'slug'>

/**
 * Returns all connections in the order of their slugs, or only the connection with
 * `slug`, without drafts. Throws if stored settings are invalid.
 */
export async function listConnections(
  slug: string | null = null,
): Promise<ListedConnection[]> {
  const all = await listStoredConnections(slug)
  const stored = all.filter(({ kind }) => kind !== draftKind)

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
    ...divideDomains(domains),
    users: _count.identities,
  }))
}

/** Returns the connection with a slug, enabled or not. Null without one, or for a draft. */
export async function findUncounted(slug: string): Promise<UncountedConnection | null> {
  const row = await prisma().connection.findUnique({
    where: { slug },
    include: { domains: { orderBy: { domain: 'asc' } } },
  })
  if (!row || row.kind === draftKind) return null

  const { kind, settings, domains, ...connection } = row
  return {
    ...connection,
    ...divideDomains(domains),
    settings: parseSettings(slug, { ...(settings as object), kind }),
  }
}

function divideDomains(domains: { domain: string; liveSince: Date | null }[]) {
  return {
    domains: domains.filter(isLive).map(({ domain }) => domain),
    trialDomains: domains.filter((row) => !isLive(row)).map(({ domain }) => domain),
  }
}

function isLive({ liveSince }: { liveSince: Date | null }): boolean {
  return liveSince !== null
}

/**
 * Allows users to sign in through a connection again. Throws UsageError if `before` is
 * outdated, because the holder of a setup link may have entered other values.
 */
export async function enableConnection(before: ListedConnection): Promise<void> {
  await transaction(async (tx) => {
    await changeRow(tx, before, { disabledAt: null })
    await writeEvent(tx, 'connection_enabled', { connectionId: before.id })
  })
}

/**
 * Disables a connection, so that later exchanges are rejected. Then ends its sessions.
 * Returns their number.
 */
export async function disableConnection({
  id,
}: Pick<ListedConnection, 'id'>): Promise<number> {
  const change = Prisma.sql`
    UPDATE connections SET disabled_at = coalesce(disabled_at, now()) WHERE id = ${id}`
  await prisma().$executeRaw(
    withEvents(change, 'connection_disabled', { connectionId: id }),
  )

  const usersAfter = (last: string) => Prisma.sql`
    SELECT user_id AS id FROM identities WHERE connection_id = ${id} AND user_id > ${last}::uuid ORDER BY user_id`

  return workInBatches(usersAfter, (tx, userIds) => endSessions(tx, id, userIds))
}

/**
 * Disables a connection, then deletes it with its identities. Returns how many sessions
 * ended.
 */
export async function removeConnection(
  connection: Pick<ListedConnection, 'id' | 'slug'>,
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

  await transaction(async (tx) => {
    const { id: connectionId, slug } = connection
    await tx.connection.deleteMany({ where: { id: connectionId } })
    await writeEvent(tx, 'connection_removed', { connectionId, slug })
  })

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
    await writeEvent(tx, 'user_unlinked', { userId, connectionId })

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
    await tx.rejectedSignIn.deleteMany({ where: identity })
    await writeEvent(tx, 'user_linked', { userId, connectionId: id })
  })
}
