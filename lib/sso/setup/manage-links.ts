// What only commands do with setup links. The server uses link.ts.
import { hashSecret, newSecret } from '../../crypto/token'
import { Prisma, prisma, type Transaction } from '../../database/prisma'
import { recordEvents, withEvents } from '../../event/record'
import { env } from '../../settings/env'
import type { Connection } from '../connection'

/** The path of the page. The secret is in the fragment, which no server gets. */
export const setupPath = '/setup'

/**
 * Makes a link, which is valid for some days, and returns its URL. Only the hash of its
 * secret is stored. The earlier link of the connection ends. Needs the role of commands.
 */
export async function createLink(
  tx: Transaction,
  connectionId: string,
  { mayActivate, days }: { mayActivate: boolean; days: number },
): Promise<string> {
  await endLinks(tx, connectionId)
  const secret = newSecret()
  const change = Prisma.sql`
    INSERT INTO setup_links (connection_id, secret_hash, may_activate, expires_at)
    VALUES (${connectionId}::uuid, ${hashSecret(secret)}, ${mayActivate}, now() + make_interval(days => ${days}::int))`
  await tx.$executeRaw(withEvents(change, 'setup_link_issued', { connectionId }))

  return `${env().PUBLIC_URL}${setupPath}#${secret}`
}

/** Ends the links of a connection. Returns how many were still valid. */
export async function endLinks(tx: Transaction, connectionId: string): Promise<number> {
  const live = Prisma.sql`FROM ended WHERE "wasLive"`

  return tx.$executeRaw`
    WITH ended AS (
      UPDATE setup_links SET ended_at = now() WHERE connection_id = ${connectionId}::uuid AND ended_at IS NULL
      RETURNING expires_at > now() AS "wasLive"
    )${recordEvents('setup_link_ended', { connectionId }, live)}
    SELECT 1 ${live}`
}

/** A link as commands show it, the newest first. */
export function listLinks({ id }: Pick<Connection, 'id'>) {
  return prisma().setupLink.findMany({
    where: { connectionId: id },
    orderBy: { createdAt: 'desc' },
    omit: { secretHash: true, connectionId: true },
  })
}
