import { lifetimes } from '../contract/lifetimes'
import { Prisma, prisma } from './prisma'

const batchSize = 1_000
/** A used code must be recognized for as long as the session that it started can live. */
const retentionSeconds = lifetimes.session

/** The time from which the retention of a row counts, and how long that is. */
const tables = {
  exchange_codes: ['expires_at', retentionSeconds],
  reset_tokens: ['expires_at', retentionSeconds],
  sessions: ['expires_at', retentionSeconds],
  sso_attempts: ['expires_at', 60 * 60], // a late way back is then told apart from a forged one
  mails: ['requested_at', retentionSeconds], // none is tried for longer than a day, and the caps look back no further
  password_attempts: ['expires_at', 0], // the window has ended
} as const
type Table = keyof typeof tables

/** Deletes up to `limit` expired rows. Attempts to sign in call it for their table, which an attacker must not fill. */
export function deleteExpired(table: Table, limit: number): Promise<number> {
  const [column, seconds] = tables[table]
  const [rows, time] = [Prisma.raw(table), Prisma.raw(column)]
  return prisma().$executeRaw`
    DELETE FROM ${rows} WHERE ctid = ANY (ARRAY(
      SELECT ctid FROM ${rows} WHERE ${time} < now() - make_interval(secs => ${seconds})
      ORDER BY ${time} LIMIT ${limit} FOR UPDATE SKIP LOCKED))`
}

/** Deletes the expired rows of all tables, within a time, and returns their numbers. Concurrent runs share the work. */
export async function deleteExpiredRows(withinMs = Number.POSITIVE_INFINITY): Promise<Record<string, number>> {
  const endsAt = performance.now() + withinMs
  const deleted: Record<string, number> = {}
  for (const table of Object.keys(tables) as Table[]) {
    deleted[table] = 0
    for (let count = batchSize; count === batchSize && performance.now() < endsAt; deleted[table] += count) {
      count = await deleteExpired(table, batchSize)
    }
  }
  return deleted
}
