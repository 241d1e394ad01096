import { randomUUID } from 'node:crypto'
import { Prisma, prisma, transaction } from '../database/prisma'
import { codeIsUsable, lockUser, revokeSessions } from '../session/revoke'
import { type Connection, domainOf } from './connection'
import { ConnectionSettings } from './connection-settings'
import type { Subject } from './identity'
import type { SamlSettings } from './saml/settings'
import { bindingOf, type Secrets, sealSecrets } from './sealed-secrets'

const batchSize = 500
const rowsAtOnce = 10_000
const lowestId = '00000000-0000-0000-0000-000000000000'

export type NewConnection = Pick<Connection, 'slug' | 'name' | 'settings' | 'provision' | 'allowPasswords'> & {
  secrets: Secrets
  listed: boolean
  /** In their ASCII form. */
  domains: string[]
}

/** A change that contradicts what is stored. The message is for the operator. */
export class ConnectionConflict extends Error {}

/**
 * Adds a connection, and returns how many users of its domains can no longer use a password. Throws
 * ConnectionConflict if the slug or a domain is taken.
 */
export async function addConnection({ secrets, domains, ...connection }: NewConnection): Promise<number> {
  const { slug, name, settings, provision, listed, allowPasswords } = connection
  const id = randomUUID()
  const { kind, ...stored } = ConnectionSettings.parse(settings)
  const sealed = await sealSecrets(secrets, bindingOf({ id, settings }))
  await transaction(async (tx) => {
    const added = await tx.connection.createMany({
      data: [{ id, slug, name, kind, settings: stored, sealedSecrets: sealed, provision, listed, allowPasswords }],
      skipDuplicates: true,
    })
    if (added.count === 0) throw new ConnectionConflict(`There is already a connection ${slug}.`)
    const claimed = await tx.$queryRaw<{ domain: string }[]>`
      INSERT INTO connection_domains (domain, connection_id) SELECT unnest(${domains}::text[]), ${id}
      ON CONFLICT (domain) DO NOTHING RETURNING domain`
    const taken = domains.filter((domain) => !claimed.some((row) => row.domain === domain))
    if (taken.length > 0) throw new ConnectionConflict(`Another connection has ${taken.join(', ')}.`)
  })
  return allowPasswords ? 0 : restrictUsers(id, slug)
}

/**
 * Replaces what a SAML provider says in its metadata. Returns false if it is another provider by
 * now: its subjects would be other users.
 */
export async function updateProvider(
  { id }: Pick<Connection, 'id'>,
  { issuer, ...provider }: Pick<SamlSettings, 'issuer' | 'ssoUrl' | 'certificates'>,
): Promise<boolean> {
  const updated = await prisma().$executeRaw`
    UPDATE connections SET settings = settings || ${JSON.stringify(provider)}::jsonb
    WHERE id = ${id} AND kind = 'saml' AND settings->>'issuer' = ${issuer}`
  return updated === 1
}

export type ListedConnection = Omit<Connection, 'settings' | 'sealedSecrets'> & {
  settings: ConnectionSettings
  sealedSecrets: string | null
  listed: boolean
  disabledAt: Date | null
  domains: string[]
  users: number
}

/** Returns all connections, by slug; or the one with a slug. */
export async function listConnections(slug: string | null = null): Promise<ListedConnection[]> {
  const rows = await prisma().connection.findMany({
    where: slug === null ? {} : { slug },
    orderBy: { slug: 'asc' },
    include: {
      domains: { orderBy: { domain: 'asc' } },
      _count: { select: { identities: { where: { userId: { not: null } } } } },
    },
  })
  return rows.map(({ kind, settings, domains, _count, ...row }) => ({
    ...row,
    settings: ConnectionSettings.parse({ ...(settings as object), kind }),
    domains: domains.map(({ domain }) => domain),
    users: _count.identities,
  }))
}

/**
 * Lets users sign in through a connection again. Returns how many users of its domains can no longer
 * use a password.
 */
export async function enableConnection({ id, slug, allowPasswords }: ListedConnection): Promise<number> {
  await prisma().connection.updateMany({ where: { id }, data: { disabledAt: null } })
  return allowPasswords ? 0 : restrictUsers(id, slug)
}

/**
 * Disables a connection and ends its sessions. Returns how many it ended. In this order: an exchange
 * that began before the first statement holds its user, and its session is ended; a later one is
 * rejected.
 */
export async function disableConnection({ id }: Pick<ListedConnection, 'id'>): Promise<number> {
  await prisma().$executeRaw`UPDATE connections SET disabled_at = coalesce(disabled_at, now()) WHERE id = ${id}`
  let ended = 0
  for (let after = lowestId; ; ) {
    const identities = await prisma().identity.findMany({
      where: { connectionId: id, userId: { gt: after } },
      orderBy: { userId: 'asc' },
      take: batchSize,
      select: { userId: true },
    })
    if (identities.length === 0) return ended
    const userIds = identities.map(({ userId }) => userId!)
    ended += await transaction((tx) => endSessionsOf(tx, id, userIds))
    after = userIds.at(-1)!
  }
}

/** Disables a connection and deletes it, with its identities. Returns how many sessions it ended. */
export async function removeConnection(connection: Pick<ListedConnection, 'id'>): Promise<number> {
  const ended = await disableConnection(connection)
  // In batches: the foreign key would delete all sign-ins in one statement, and there can be millions.
  for (let isLeft = true; isLeft; ) {
    const deleted = await prisma().$executeRaw`
      DELETE FROM sso_attempts WHERE ctid = ANY (ARRAY(
        SELECT ctid FROM sso_attempts WHERE connection_id = ${connection.id} LIMIT ${rowsAtOnce}))`
    isLeft = deleted > 0
  }
  await prisma().connection.deleteMany({ where: { id: connection.id } })
  return ended
}

/**
 * Unlinks a user from its subject at a connection, and ends the sessions that began there. The subject
 * is rejected until `linkUser`. The next other subject with the email address of the user is linked to
 * it. Returns the subject and the number of ended sessions, or null if the user was not linked.
 */
export async function unlinkUser(
  userId: string,
  connectionId: string,
): Promise<{ subject: string; ended: number } | null> {
  return transaction(async (tx) => {
    await lockUser(tx, userId)
    const [unlinked] = await tx.$queryRaw<{ subject: string }[]>`
      UPDATE identities SET user_id = NULL WHERE user_id = ${userId} AND connection_id = ${connectionId}
      RETURNING subject`
    return unlinked ? { ...unlinked, ended: await endSessionsOf(tx, connectionId, [userId]) } : null
  })
}

/** Returns the issuers of a subject that has signed in through a connection. */
export async function issuersOf(connectionId: string, subject: string): Promise<string[]> {
  const rows = await prisma().identity.findMany({ where: { connectionId, subject }, select: { issuer: true } })
  return rows.map(({ issuer }) => issuer)
}

/**
 * Links a user to a subject, which may have been unlinked. Throws ConnectionConflict if the subject is
 * linked to another user, or the user to another subject at this connection.
 */
export async function linkUser(
  userId: string,
  { id, slug }: Pick<ListedConnection, 'id' | 'slug'>,
  { issuer, subject }: Subject,
): Promise<void> {
  await transaction(async (tx) => {
    await lockUser(tx, userId)
    const [linked] = await tx.$queryRaw<{ email: string; subject: string; isSame: boolean }[]>`
      SELECT (SELECT email FROM users WHERE id = user_id), subject,
        user_id = ${userId} AND issuer = ${issuer} AND subject = ${subject} AS "isSame"
      FROM identities
      WHERE connection_id = ${id} AND user_id IS NOT NULL
        AND (user_id = ${userId} OR issuer = ${issuer} AND subject = ${subject})`
    if (linked?.isSame) return
    if (linked) {
      const state = `${linked.email} is linked to the subject ${linked.subject}.`
      throw new ConnectionConflict(`${state} Unlink it first: npm run users -- unlink ${linked.email} ${slug}`)
    }
    const identity = { connectionId: id, issuer, subject }
    await tx.identity.deleteMany({ where: { ...identity, userId: null } })
    await tx.identity.createMany({ data: [{ ...identity, userId }] })
  })
}

async function endSessionsOf(tx: Prisma.TransactionClient, connectionId: string, userIds: string[]): Promise<number> {
  await tx.$executeRaw`SELECT 1 FROM users WHERE id = ANY (${userIds}::uuid[]) ORDER BY id FOR UPDATE`
  return tx.$executeRaw`
    WITH ${revokeSessions(Prisma.sql`user_id = ANY (${userIds}::uuid[]) AND connection_id = ${connectionId}`)},
    codes_deleted AS (
      DELETE FROM exchange_codes
      WHERE user_id = ANY (${userIds}::uuid[]) AND connection_id = ${connectionId} AND ${codeIsUsable}
    )
    SELECT id FROM revoked`
}

/**
 * Marks the users of a connection's domains: they sign in there, and not with a password. In batches:
 * no index knows domains, and there can be millions of users. After an error, `enable` marks the rest.
 */
async function restrictUsers(connectionId: string, slug: string): Promise<number> {
  let marked = 0
  try {
    const rows = await prisma().connectionDomain.findMany({ where: { connectionId } })
    const domains = new Set<string | null>(rows.map(({ domain }) => domain))
    for (let after: string | null = lowestId; after !== null; ) {
      const batch = await restrictBatch(domains, after)
      marked += batch.marked
      after = batch.last
    }
    return marked
  } catch (cause) {
    const state = `The connection ${slug} is in effect, but not all users of its domains are marked.`
    const advice = `Go on with: npm run connections -- enable ${slug}`
    throw new Error([(cause as Error).message, state, advice].join('\n'), { cause })
  }
}

type Batch = { last: string | null; marked: number }

/**
 * Marks the next users, if they are of one of these domains (in ASCII). Compares them here, because
 * PostgreSQL can't convert a domain to ASCII.
 */
async function restrictBatch(domains: Set<string | null>, after: string): Promise<Batch> {
  const users = await prisma().user.findMany({
    where: { id: { gt: after } },
    orderBy: { id: 'asc' },
    take: rowsAtOnce,
    select: { id: true, email: true },
  })
  const ids = users.filter(({ email }) => domains.has(domainOf(email))).map(({ id }) => id)
  const marked = await prisma().$executeRaw`
    UPDATE users SET sso_only = true WHERE id = ANY (${ids}::uuid[]) AND NOT sso_only`
  return { last: users.at(-1)?.id ?? null, marked }
}
