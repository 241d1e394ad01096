import { db } from './db'

const keptDays = 7
const batchSize = 1_000

/**
 * Deletes what expired more than a week ago, in batches that hold no lock for long and wait for none; answers how many rows went, by table.
 * Ends early when `withinMs` have passed: the next run goes on. Two runs at a time share the work.
 * A week, because a code must be recognised when it comes back while the refresh token that it gave is alive, which is seven days; with its session goes a refresh token.
 */
export async function deleteExpiredRows(withinMs = Number.POSITIVE_INFINITY): Promise<Record<string, number>> {
  const endsAt = performance.now() + withinMs
  const deleted: Record<string, number> = {}
  for (const table of ['exchange_codes', 'reset_tokens', 'sessions']) {
    deleted[table] = 0
    for (let count = batchSize; count === batchSize && performance.now() < endsAt; deleted[table] += count) {
      count = await db().$executeRawUnsafe(`
        DELETE FROM ${table} WHERE ctid = ANY (ARRAY(
          SELECT ctid FROM ${table} WHERE expires_at < now() - interval '${keptDays} days'
          ORDER BY expires_at LIMIT ${batchSize} FOR UPDATE SKIP LOCKED))`)
    }
  }
  return deleted
}
