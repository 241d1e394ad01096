// The secrets that commands issue, list and revoke: tokens of widgets and directories,
// secrets of clients.
import { Prisma, prisma, type Transaction } from './prisma'

/** A condition on a row of these tables: whether the secret is valid. */
export const isSecretLive = Prisma.sql`revoked_at IS NULL AND (expires_at IS NULL OR expires_at > now())`

/** For each table, the column with the ID of the widget, client or connection. */
const owners = {
  widget_tokens: 'widget_id',
  client_secrets: 'client_id',
  scim_tokens: 'connection_id',
} as const
type Table = keyof typeof owners

/**
 * Makes the live secrets of an owner expire after `keepSeconds`, unless they
 * expire earlier.
 */
export async function expireSecrets(
  tx: Transaction,
  table: Table,
  ownerId: string,
  keepSeconds: number,
): Promise<void> {
  const [rows, owner] = identify(table)
  await tx.$executeRaw`
    UPDATE ${rows} SET expires_at = least(expires_at, now() + make_interval(secs => ${keepSeconds}))
    WHERE ${owner} = ${ownerId} AND ${isSecretLive}`
}

/**
 * Revokes the live secrets that end with `hint`. Returns their number. `record` adds the
 * events to the statement, and must not change its row count.
 */
export function revokeSecrets(
  table: Table,
  ownerId: string,
  hint: string,
  record: (change: Prisma.Sql) => Prisma.Sql,
): Promise<number> {
  const [rows, owner] = identify(table)
  const change = Prisma.sql`
    UPDATE ${rows} SET revoked_at = now() WHERE ${owner} = ${ownerId} AND hint = ${hint} AND ${isSecretLive}`
  return prisma().$executeRaw(record(change))
}

/** Returns the number of valid secrets, by the database's clock. */
export async function countLiveSecrets(table: Table, ownerId: string): Promise<number> {
  const [rows, owner] = identify(table)
  const [row] = await prisma().$queryRaw<{ count: number }[]>`
    SELECT count(*)::int AS count FROM ${rows} WHERE ${owner} = ${ownerId} AND ${isSecretLive}`
  return row!.count
}

function identify(table: Table): [rows: Prisma.Sql, owner: Prisma.Sql] {
  return [Prisma.raw(table), Prisma.raw(owners[table])]
}
