// Setup links: who has one, may enter the values of one connection. Rows are locked in the
// order link, connection. See docs/decisions/0030-setup-links.md.
import { hashSecret } from '../../crypto/token'
import {
  dateFromEpoch,
  Prisma,
  prisma,
  type Transaction,
  transaction,
} from '../../database/prisma'
import { withEvents, writeEvent } from '../../event/record'
import type { Connection } from '../connection'

export type SetupLink = {
  id: string
  connectionId: string
  /** Whether its holder may enable and activate the connection. */
  mayActivate: boolean
  isLive: boolean
  isChanged: boolean
  /** Whether a test of the present values has succeeded. */
  isTried: boolean
  triedAs: string | null
  expiresAt: Date
}

/** Thrown if a link is unknown, has expired, was used up, or was revoked. */
export class LinkEnded extends Error {
  override name = 'LinkEnded'
}

const isLive = Prisma.sql`ended_at IS NULL AND expires_at > now()`

const columns = Prisma.sql`id, connection_id AS "connectionId", may_activate AS "mayActivate",
  (${isLive}) AS "isLive", changed_at IS NOT NULL AS "isChanged", tried_at IS NOT NULL AS "isTried",
  tried_as AS "triedAs", extract(epoch FROM expires_at)::float8 AS "expiresSeconds"`

type Stored = Omit<SetupLink, 'expiresAt'> & { expiresSeconds: number }

function readRow([row]: Stored[]): SetupLink | null {
  if (!row) return null

  const { expiresSeconds, ...link } = row
  return { ...link, expiresAt: dateFromEpoch(expiresSeconds) }
}

/** Returns the valid link with a secret, which may be any text. */
export async function findLinkBySecret(secret: string): Promise<SetupLink | null> {
  if (!/^[\w-]{43}$/.test(secret)) return null

  // with a condition on `ended_at`, a plan could read the whole index of valid links
  const link = readRow(
    await prisma().$queryRaw`
      SELECT ${columns} FROM setup_links WHERE secret_hash = ${hashSecret(secret)}`,
  )
  return link?.isLive ? link : null
}

/** Returns the link with an ID, valid or not. */
export async function findLink(id: string): Promise<SetupLink | null> {
  return readRow(
    await prisma().$queryRaw`SELECT ${columns} FROM setup_links WHERE id = ${id}::uuid`,
  )
}

/** Locks a link until the end of the transaction. Throws LinkEnded unless it is valid. */
export async function lockLink(tx: Transaction, id: string): Promise<SetupLink> {
  const link = readRow(
    await tx.$queryRaw`
      SELECT ${columns} FROM setup_links WHERE id = ${id}::uuid FOR NO KEY UPDATE`,
  )
  if (!link?.isLive) throw new LinkEnded()

  return link
}

/** Writes the event of a link that a browser opens. Opening uses nothing up. */
export async function recordOpened({ connectionId }: SetupLink): Promise<void> {
  await writeEvent(prisma(), 'setup_link_opened', { connectionId })
}

/** Stores that values were entered with a locked link. They have not been tested. */
export async function recordChange(tx: Transaction, id: string): Promise<void> {
  await tx.$executeRaw`
    UPDATE setup_links SET changed_at = now(), tried_at = NULL, tried_as = NULL WHERE id = ${id}::uuid`
}

/** Ends a locked link, because it was used up. */
export async function endLink(
  tx: Transaction,
  { id, connectionId }: SetupLink,
): Promise<void> {
  const change = Prisma.sql`UPDATE setup_links SET ended_at = now() WHERE id = ${id}::uuid`
  await tx.$executeRaw(withEvents(change, 'setup_link_ended', { connectionId }))
}

/**
 * Stores that a test of a link has succeeded, and the address of the account. Does nothing
 * if the link has ended, or if the connection has other values meanwhile.
 */
export async function recordLinkTest(
  linkId: string,
  { id, settings: { kind, ...settings }, encryptedSecrets }: Connection,
  email: string,
): Promise<void> {
  try {
    await transaction(async (tx) => {
      await lockLink(tx, linkId)
      const current = await tx.connection.count({
        where: { id, kind, settings: { equals: settings }, encryptedSecrets },
      })
      if (current === 0) return

      const change = Prisma.sql`
        UPDATE setup_links SET tried_at = now(), tried_as = ${email} WHERE id = ${linkId}::uuid`
      await tx.$executeRaw(withEvents(change, 'setup_link_tested', { connectionId: id }))
    })
  } catch (error) {
    if (!(error instanceof LinkEnded)) throw error
  }
}
