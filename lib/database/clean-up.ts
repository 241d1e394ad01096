import { lifetimes } from '../contract/lifetimes'
import { Prisma, prisma } from './prisma'

const batchSize = 1_000
/** A used code must be recognized until the session that it started has expired. */
const retentionSeconds = lifetimes.session

/**
 * For each table, the column with the beginning of a row's retention, and the retention
 * in seconds.
 */
const tables = {
  exchange_codes: ['expires_at', retentionSeconds],
  authorization_codes: ['expires_at', retentionSeconds],
  reset_tokens: ['expires_at', retentionSeconds],
  sessions: ['expires_at', retentionSeconds],
  sso_attempts: ['expires_at', 60 * 60], // until then, the log distinguishes expired sign-ins from forged ones
  rejected_sign_ins: ['last_at', 7 * 24 * 60 * 60],
  mails: ['requested_at', retentionSeconds], // retries and caps need only the emails of one day
  password_attempts: ['expires_at', 0], // the end of the window
  logout_notices: ['requested_at', 24 * 60 * 60], // the last attempt is 71 minutes later
} as const
type Table = keyof typeof tables

/**
 * Deletes up to `limit` expired rows. Every sign-in attempt calls it, so that an attacker
 * can't fill the table.
 */
export function deleteExpired(table: Table, limit: number): Promise<number> {
  const [column, seconds] = tables[table]
  const [rows, time] = [Prisma.raw(table), Prisma.raw(column)]
  return prisma().$executeRaw`
    DELETE FROM ${rows} WHERE ctid = ANY (ARRAY(
      SELECT ctid FROM ${rows} WHERE ${time} < now() - make_interval(secs => ${seconds})
      ORDER BY ${time} LIMIT ${limit} FOR UPDATE SKIP LOCKED))`
}

/**
 * Deletes expired rows within a time limit. Returns the numbers by table. Concurrent runs
 * share the work.
 */
export async function deleteExpiredRows(
  withinMs = Number.POSITIVE_INFINITY,
): Promise<Record<string, number>> {
  const endsAt = performance.now() + withinMs
  const deleted: Record<string, number> = {}

  for (const table of Object.keys(tables) as Table[]) {
    deleted[table] = 0
    for (
      let count = batchSize;
      count === batchSize && performance.now() < endsAt;
      deleted[table] += count
    )
      count = await deleteExpired(table, batchSize)
  }

  return deleted
}
