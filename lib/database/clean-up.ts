import { lifetimes } from '../contract/lifetimes'
import { prisma } from './prisma'

const batchSize = 1_000

/**
 * Deletes up to `limit` counters of password sign-ins whose window has ended. Every attempt calls it: an
 * attacker who invents accounts must not fill the table.
 */
export function deleteExpiredAttempts(limit: number): Promise<number> {
  return prisma().$executeRaw`
    DELETE FROM password_attempts WHERE ctid = ANY (ARRAY(
      SELECT ctid FROM password_attempts WHERE expires_at < now()
      ORDER BY expires_at LIMIT ${limit} FOR UPDATE SKIP LOCKED))`
}

const signInRetentionSeconds = 60 * 60 // a late way back is then told apart from a forged one

/**
 * Deletes up to `limit` sign-ins with identity providers an hour after they expired. Every start calls it:
 * a client that only starts them must not fill the table.
 */
export function deleteExpiredSsoAttempts(limit: number): Promise<number> {
  return prisma().$executeRaw`
    DELETE FROM sso_attempts WHERE ctid = ANY (ARRAY(
      SELECT ctid FROM sso_attempts WHERE expires_at < now() - make_interval(secs => ${signInRetentionSeconds})
      ORDER BY expires_at LIMIT ${limit} FOR UPDATE SKIP LOCKED))`
}

/** A used code must be recognised for as long as the session that it started can live. */
const retentionSeconds = lifetimes.session

/**
 * Small batches, so that no lock is held for long. SKIP LOCKED never waits for another transaction.
 */
const batches = {
  exchange_codes: () => prisma().$executeRaw`
    DELETE FROM exchange_codes WHERE ctid = ANY (ARRAY(
      SELECT ctid FROM exchange_codes WHERE expires_at < now() - make_interval(secs => ${retentionSeconds})
      ORDER BY expires_at LIMIT ${batchSize} FOR UPDATE SKIP LOCKED))`,
  reset_tokens: () => prisma().$executeRaw`
    DELETE FROM reset_tokens WHERE ctid = ANY (ARRAY(
      SELECT ctid FROM reset_tokens WHERE expires_at < now() - make_interval(secs => ${retentionSeconds})
      ORDER BY expires_at LIMIT ${batchSize} FOR UPDATE SKIP LOCKED))`,
  sessions: () => prisma().$executeRaw`
    DELETE FROM sessions WHERE ctid = ANY (ARRAY(
      SELECT ctid FROM sessions WHERE expires_at < now() - make_interval(secs => ${retentionSeconds})
      ORDER BY expires_at LIMIT ${batchSize} FOR UPDATE SKIP LOCKED))`,
  sso_attempts: () => deleteExpiredSsoAttempts(batchSize),
  // No mail is tried for longer than a day, and the caps look back no further.
  mails: () => prisma().$executeRaw`
    DELETE FROM mails WHERE ctid = ANY (ARRAY(
      SELECT ctid FROM mails WHERE requested_at < now() - make_interval(secs => ${retentionSeconds})
      ORDER BY requested_at LIMIT ${batchSize} FOR UPDATE SKIP LOCKED))`,
  password_attempts: () => deleteExpiredAttempts(batchSize),
}

/**
 * Deletes rows that expired, and mails that were requested, more than a week ago, sign-in attempts
 * an hour after they expired, and counters of passwords as their window ends. Returns the number of
 * deleted rows per table. Stops after `withinMs` milliseconds; the next run continues. Concurrent
 * runs share the work.
 */
export async function deleteExpiredRows(withinMs = Number.POSITIVE_INFINITY): Promise<Record<string, number>> {
  const endsAt = performance.now() + withinMs
  const deleted: Record<string, number> = {}
  for (const [table, deleteBatch] of Object.entries(batches)) {
    deleted[table] = 0
    for (let count = batchSize; count === batchSize && performance.now() < endsAt; deleted[table] += count) {
      count = await deleteBatch()
    }
  }
  return deleted
}
