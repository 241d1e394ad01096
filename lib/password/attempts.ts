import { createHmac } from 'node:crypto'
import {
  ApiError,
  tooManyCodesMessage,
  tooManyPasswordsMessage,
} from '../contract/errors'
import { passwordLimits } from '../contract/lifetimes'
import { deleteExpired } from '../database/clean-up'
import { isUnexpired } from '../database/conditions'
import { NothingChanged } from '../database/errors'
import { Prisma, prisma } from '../database/prisma'
import { env } from '../settings/env'

/**
 * Who tries a password or a code, and for which account. `browser` is the ID of a browser
 * that signed in before.
 */
export type Attempt =
  | { account: string; subnet: string; browser: string | null }
  | { secondFactorOf: string }

/**
 * The counters of an attempt, and the latest end of their windows, in seconds since 1970.
 */
export type Counted = { keys: string[]; endsAt: number }

type Counter = {
  key: string
  count: number
  isCounted: boolean
  endsAt: number
  waitSeconds: number
}

// An attempt adds at most three rows, so deleting up to ten expired rows each time keeps
// the table small.
const deletedPerAttempt = 10

/**
 * Counts an attempt. Call it before any other work, for unknown accounts too. Throws
 * RATE_LIMITED.
 */
export async function consumeAttempt(attempt: Attempt): Promise<Counted> {
  const counters = countersOf(attempt)
  const keys = counters.map(({ key }) => key)
  const limits = counters.map(({ limit }) => String(limit))

  // One statement increases all counters, or none if a limit is reached. So rejected
  // attempts of a network do not use up the limit of an account. The rows are locked in a
  // fixed order, so that two statements can't deadlock.
  const rows = await prisma().$queryRaw<Counter[]>`
    WITH reached AS MATERIALIZED (
      SELECT encode(key_hash, 'hex') AS key, count + 1 AS count, expires_at, false AS is_counted
      FROM password_attempts
      WHERE key_hash = ANY (ARRAY(SELECT decode(key, 'hex') FROM unnest(${keys}::text[]) AS given (key))) AND ${isUnexpired}
        AND count >= (SELECT most FROM unnest(${keys}::text[], ${limits}::int[]) AS given (key, most) WHERE key = encode(key_hash, 'hex'))
    ), counted AS (
      INSERT INTO password_attempts AS stored (key_hash, count, expires_at)
      SELECT decode(key, 'hex'), 1, now() + make_interval(secs => ${passwordLimits.windowSeconds})
      FROM unnest(${keys}::text[]) AS given (key)
      WHERE NOT EXISTS (SELECT FROM reached) ORDER BY 1
      ON CONFLICT (key_hash) DO UPDATE SET
        count = CASE WHEN stored.expires_at > now() THEN stored.count + 1 ELSE 1 END,
        expires_at = CASE WHEN stored.expires_at > now() THEN stored.expires_at ELSE EXCLUDED.expires_at END
      RETURNING encode(key_hash, 'hex') AS key, count, expires_at, true AS is_counted
    )
    SELECT key, count, is_counted AS "isCounted", extract(epoch FROM max(expires_at) OVER ())::float8 AS "endsAt",
      ceil(extract(epoch FROM expires_at - now()))::int AS "waitSeconds"
    FROM (SELECT * FROM reached UNION ALL SELECT * FROM counted) AS every`.catch(
    NothingChanged.rethrow,
  )

  deleteExpired('password_attempts', deletedPerAttempt).catch(() => {}) // a later attempt deletes the rest

  const exceeded = rows.filter(
    ({ key, count }) => count > counters.find((counter) => counter.key === key)!.limit,
  )
  const counted = { keys, endsAt: rows[0]!.endsAt }
  if (exceeded.length === 0) return counted

  // The statement counts an attempt above a limit if its snapshot lacks concurrent
  // attempts.
  if (rows.some(({ isCounted }) => isCounted)) await releaseAttempt(counted)

  throw new ApiError('RATE_LIMITED', {
    message: 'account' in attempt ? tooManyPasswordsMessage : tooManyCodesMessage,
    retryAfterSeconds: Math.max(1, ...exceeded.map(({ waitSeconds }) => waitSeconds)),
  })
}

/**
 * Returns the CTE that subtracts a successful attempt. Does not change windows that began
 * after it was counted.
 */
export function refundAttempt(
  { keys, endsAt }: Counted,
  condition: Prisma.Sql = Prisma.sql`true`,
): Prisma.Sql {
  return Prisma.sql`
    refunded AS (
      UPDATE password_attempts SET count = count - 1 WHERE key_hash = ANY (ARRAY(
        SELECT key_hash FROM password_attempts
        WHERE key_hash = ANY (ARRAY(SELECT decode(key, 'hex') FROM unnest(${keys}::text[]) AS given (key)))
          AND count > 0 AND ${isUnexpired} AND expires_at <= to_timestamp(${endsAt}) AND ${condition}
        ORDER BY key_hash FOR NO KEY UPDATE))
      RETURNING 1
    )`
}

/**
 * Subtracts an attempt, and deletes rows with a count of 0, because no rate limit applies
 * to such rows.
 */
export async function releaseAttempt(counted: Counted): Promise<void> {
  try {
    await prisma().$executeRaw`WITH ${refundAttempt(counted)} SELECT 1 FROM refunded`
    await prisma().$executeRaw`
      DELETE FROM password_attempts WHERE count = 0 AND key_hash = ANY (ARRAY(
        SELECT key_hash FROM password_attempts
        WHERE key_hash = ANY (ARRAY(SELECT decode(key, 'hex') FROM unnest(${counted.keys}::text[]) AS given (key))) AND count = 0
        ORDER BY key_hash FOR UPDATE))`
  } catch {} // the attempt stays counted
}

/**
 * Returns the counters of an attempt. Recognized browsers have their own, so strangers
 * can't lock the user out.
 */
function countersOf(attempt: Attempt) {
  const {
    perAccountAndNetwork,
    perAccount,
    perNetwork,
    perKnownBrowser,
    perSecondFactor,
  } = passwordLimits

  if ('secondFactorOf' in attempt)
    return [counter(perSecondFactor, 'second factor', attempt.secondFactorOf)]

  const { account, subnet, browser } = attempt
  if (browser !== null)
    return [
      counter(perKnownBrowser, 'browser', account, browser),
      counter(perAccount, 'browsers', account),
    ]

  return [
    counter(perAccountAndNetwork, 'account and network', account, subnet),
    counter(perAccount, 'account', account),
    counter(perNetwork, 'network', subnet),
  ]
}

/**
 * Returns a counter. Its key is an HMAC, so that the table does not show who tried to
 * sign in, or from where.
 */
function counter(limit: number, ...what: string[]) {
  const { attemptKey } = env().SESSION_SIGNING_KEYS
  return {
    key: createHmac('sha256', attemptKey).update(JSON.stringify(what)).digest('hex'),
    limit,
  }
}
