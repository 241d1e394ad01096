import { lifetimes } from '../contract/lifetimes'
import { env } from '../settings/env'
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
  setup_links: ['expires_at', 30 * 24 * 60 * 60], // until then, `show` lists what was entered
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
    // without the setting, the server may not read the table
    if (table === 'setup_links' && !env().SETUP_LINKS) continue

    deleted[table] = 0
    for (
      let count = batchSize;
      count === batchSize && performance.now() < endsAt;
      deleted[table] += count
    )
      count = await deleteExpired(table, batchSize)
  }

  const { EVENTS_DAYS } = env()
  if (EVENTS_DAYS > 0) deleted.events = await deleteEvents(EVENTS_DAYS, endsAt)

  return deleted
}

/**
 * Deletes events older than this number of days, until a time as of `performance.now()`.
 * Returns their number. Only the function of the database may delete them: it keeps those
 * of the past 30 days, whatever it is given.
 */
async function deleteEvents(days: number, endsAt: number): Promise<number> {
  let deleted = 0
  for (let count = batchSize; count === batchSize && performance.now() < endsAt; ) {
    const [row] = await prisma().$queryRaw<{ count: number }[]>`
      SELECT delete_events(${days}::int, ${batchSize}::int) AS count`
    count = row!.count
    deleted += count
  }

  if (deleted > 0)
    await prisma().$executeRaw`
      INSERT INTO events (kind, actor, count) VALUES ('events_deleted', 'clean-up', ${deleted})`

  return deleted
}
