import { randomUUID } from 'node:crypto'
import { part, type Sql, sql, transaction } from '../database/sql'
import { codeIsUsable, lockUser, revokeSessions } from '../session/revoke'
import { type Connection, domainOf } from './connection'
import type { Subject } from './identity'
import { bindingOf, type Secrets, sealSecrets } from './sealed-secrets'
import { ConnectionSettings, type SamlSettings } from './settings'

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
  await transaction(async (sql) => {
    const [added] = await sql`
      INSERT INTO connections (id, slug, name, kind, settings, sealed_secrets, provision, listed, allow_passwords)
      VALUES (${id}, ${slug}, ${name}, ${kind}, ${JSON.stringify(stored)}::jsonb, ${sealed}, ${provision}, ${listed},
              ${allowPasswords})
      ON CONFLICT (slug) DO NOTHING RETURNING 1`
    if (!added) throw new ConnectionConflict(`There is already a connection ${slug}.`)
    const claimed = await sql<{ domain: string }>`
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
  const updated = await sql`
    UPDATE connections SET settings = settings || ${JSON.stringify(provider)}::jsonb
    WHERE id = ${id} AND kind = 'saml' AND settings->>'issuer' = ${issuer} RETURNING 1`
  return updated.length === 1
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
  const rows = await sql<Omit<ListedConnection, 'settings'> & { kind: string; settings: object }>`
    SELECT id, slug, name, kind, settings, sealed_secrets AS "sealedSecrets", provision, listed,
      allow_passwords AS "allowPasswords", disabled_at AS "disabledAt",
      ARRAY(SELECT domain FROM connection_domains WHERE connection_id = connections.id ORDER BY domain) AS domains,
      (SELECT count(user_id)::int FROM identities WHERE connection_id = connections.id) AS users
    FROM connections WHERE ${slug}::text IS NULL OR slug = ${slug} ORDER BY slug`
  return rows.map(({ kind, settings, ...row }) => ({
    ...row,
    settings: ConnectionSettings.parse({ ...settings, kind }),
  }))
}

/**
 * Lets users sign in through a connection again. Returns how many users of its domains can no longer
 * use a password.
 */
export async function enableConnection({ id, slug, allowPasswords }: ListedConnection): Promise<number> {
  await sql`UPDATE connections SET disabled_at = NULL WHERE id = ${id}`
  return allowPasswords ? 0 : restrictUsers(id, slug)
}

/**
 * Disables a connection and ends its sessions. Returns how many it ended. In this order: an exchange
 * that began before the first statement holds its user, and its session is ended; a later one is
 * rejected.
 */
export async function disableConnection({ id }: Pick<ListedConnection, 'id'>): Promise<number> {
  await sql`UPDATE connections SET disabled_at = coalesce(disabled_at, now()) WHERE id = ${id}`
  let ended = 0
  for (let after = lowestId; ; ) {
    const users = await sql<{ id: string }>`
      SELECT user_id AS id FROM identities WHERE connection_id = ${id} AND user_id > ${after}::uuid
      ORDER BY user_id LIMIT ${batchSize}`
    if (users.length === 0) return ended
    ended += await transaction((sql) =>
      endSessionsOf(
        sql,
        id,
        users.map((user) => user.id),
      ),
    )
    after = users.at(-1)!.id
  }
}

/** Disables a connection and deletes it, with its identities. Returns how many sessions it ended. */
export async function removeConnection(connection: Pick<ListedConnection, 'id'>): Promise<number> {
  const ended = await disableConnection(connection)
  // In batches: the foreign key would delete all sign-ins in one statement, and there can be millions.
  for (let isLeft = true; isLeft; ) {
    const deleted = await sql`
      DELETE FROM sign_ins WHERE ctid = ANY (ARRAY(
        SELECT ctid FROM sign_ins WHERE connection_id = ${connection.id} LIMIT ${rowsAtOnce}))
      RETURNING 1`
    isLeft = deleted.length > 0
  }
  await sql`DELETE FROM connections WHERE id = ${connection.id}`
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
  return transaction(async (sql) => {
    await lockUser(sql, userId)
    const [unlinked] = await sql<{ subject: string }>`
      UPDATE identities SET user_id = NULL WHERE user_id = ${userId} AND connection_id = ${connectionId}
      RETURNING subject`
    return unlinked ? { ...unlinked, ended: await endSessionsOf(sql, connectionId, [userId]) } : null
  })
}

/** Returns the issuers of a subject that has signed in through a connection. */
export async function issuersOf(connectionId: string, subject: string): Promise<string[]> {
  const rows = await sql<{ issuer: string }>`
    SELECT issuer FROM identities WHERE connection_id = ${connectionId} AND subject = ${subject}`
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
  await transaction(async (sql) => {
    await lockUser(sql, userId)
    const [linked] = await sql<{ email: string; subject: string; isSame: boolean }>`
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
    await sql`
      DELETE FROM identities
      WHERE connection_id = ${id} AND issuer = ${issuer} AND subject = ${subject} AND user_id IS NULL`
    await sql`
      INSERT INTO identities (connection_id, issuer, subject, user_id) VALUES (${id}, ${issuer}, ${subject}, ${userId})`
  })
}

async function endSessionsOf(sql: Sql, connectionId: string, userIds: string[]): Promise<number> {
  await sql`SELECT 1 FROM users WHERE id = ANY (${userIds}::uuid[]) ORDER BY id FOR UPDATE`
  const ended = await sql`
    WITH ${revokeSessions(part`user_id = ANY (${userIds}::uuid[]) AND connection_id = ${connectionId}`)},
    codes_deleted AS (
      DELETE FROM exchange_codes
      WHERE user_id = ANY (${userIds}::uuid[]) AND connection_id = ${connectionId} AND ${codeIsUsable}
    )
    SELECT id FROM revoked`
  return ended.length
}

/**
 * Marks the users of a connection's domains: they sign in there, and not with a password. In batches:
 * no index knows domains, and there can be millions of users. After an error, `enable` marks the rest.
 */
async function restrictUsers(connectionId: string, slug: string): Promise<number> {
  let marked = 0
  try {
    const rows = await sql<{ domain: string }>`
      SELECT domain FROM connection_domains WHERE connection_id = ${connectionId}`
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
  const users = await sql<{ id: string; email: string }>`
    SELECT id, email FROM users WHERE id > ${after}::uuid ORDER BY id LIMIT ${rowsAtOnce}`
  const ids = users.filter(({ email }) => domains.has(domainOf(email))).map(({ id }) => id)
  const marked = await sql`
    UPDATE users SET sso_only = true WHERE id = ANY (${ids}::uuid[]) AND NOT sso_only RETURNING 1`
  return { last: users.at(-1)?.id ?? null, marked: marked.length }
}
