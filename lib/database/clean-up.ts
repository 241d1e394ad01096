import { lifetimes } from '../contract/lifetimes'
import { sql } from './sql'

/** A reused code must be recognised as long as the refresh token that it gave may be valid. */
const keptSeconds = lifetimes.refreshToken
const batchSize = 1_000

/** Small batches hold no lock for long, and wait for none. */
const batches = {
  exchange_codes: () => sql`
    DELETE FROM exchange_codes WHERE ctid = ANY (ARRAY(
      SELECT ctid FROM exchange_codes WHERE expires_at < now() - make_interval(secs => ${keptSeconds})
      ORDER BY expires_at LIMIT ${batchSize} FOR UPDATE SKIP LOCKED))
    RETURNING 1`,
  reset_tokens: () => sql`
    DELETE FROM reset_tokens WHERE ctid = ANY (ARRAY(
      SELECT ctid FROM reset_tokens WHERE expires_at < now() - make_interval(secs => ${keptSeconds})
      ORDER BY expires_at LIMIT ${batchSize} FOR UPDATE SKIP LOCKED))
    RETURNING 1`,
  /** Their refresh tokens are deleted with them. */
  sessions: () => sql`
    DELETE FROM sessions WHERE ctid = ANY (ARRAY(
      SELECT ctid FROM sessions WHERE expires_at < now() - make_interval(secs => ${keptSeconds})
      ORDER BY expires_at LIMIT ${batchSize} FOR UPDATE SKIP LOCKED))
    RETURNING 1`,
}

/**
 * Deletes what expired more than a week ago and returns the number of deleted rows by table. Stops early after `withinMs`; the next
 * run continues. Two concurrent runs share the work.
 */
export async function deleteExpiredRows(withinMs = Number.POSITIVE_INFINITY): Promise<Record<string, number>> {
  const endsAt = performance.now() + withinMs
  const deleted: Record<string, number> = {}
  for (const [table, deleteBatch] of Object.entries(batches)) {
    deleted[table] = 0
    for (let count = batchSize; count === batchSize && performance.now() < endsAt; deleted[table] += count) {
      count = (await deleteBatch()).length
    }
  }
  return deleted
}
