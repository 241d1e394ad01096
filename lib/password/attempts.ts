import { createHmac } from 'node:crypto'
import type { Check } from '../contract/checks'
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
  | { account: string; network: string; browser: string | null }
  | { secondFactorOf: string }

/**
 * The counters of an attempt, and the latest end of their windows, in seconds since 1970.
 */
export type Counted = { keys: string[]; endsAt: number }

/** `check`: the reason in the log of an attempt above the limit. */
type Limit = { key: string; limit: number; check: Check }

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
  const limits = listLimits(attempt)
  const counters = await count(limits)
  deleteExpired('password_attempts', deletedPerAttempt).catch(() => {}) // a later attempt deletes the rest

  const limitByKey = new Map(limits.map((limit) => [limit.key, limit]))
  const exceeded = counters.filter(({ key, count }) => count > limitByKey.get(key)!.limit)
  const counted = { keys: [...limitByKey.keys()], endsAt: counters[0]!.endsAt }
  if (exceeded.length === 0) return counted

  // The statement counts an attempt above a limit if its snapshot lacks concurrent
  // attempts.
  if (counters.some(({ isCounted }) => isCounted)) await releaseAttempt(counted)

  throw new ApiError('RATE_LIMITED', {
    message: 'account' in attempt ? tooManyPasswordsMessage : tooManyCodesMessage,
    retryAfterSeconds: Math.max(1, ...exceeded.map(({ waitSeconds }) => waitSeconds)),
    check: limitByKey.get(exceeded[0]!.key)!.check,
  })
}

/**
 * Increases all counters, or none if a limit is reached. Returns the increased ones, or
 * those that are full.
 */
async function count(limited: Limit[]): Promise<Counter[]> {
  const keys = limited.map(({ key }) => key)
  const limits = limited.map(({ limit }) => String(limit))

  // One statement, so that rejected attempts of a network do not use up the limit of an
  // account. The rows are locked in a fixed order, so that two statements can't deadlock.
  return prisma().$queryRaw<Counter[]>`
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
function listLimits(attempt: Attempt): Limit[] {
  const {
    perAccountAndNetwork,
    perAccount,
    perNetwork,
    perKnownBrowser,
    perSecondFactor,
  } = passwordLimits

  if ('secondFactorOf' in attempt)
    return [
      limitBy('second_factor_limit', perSecondFactor, [
        'second factor',
        attempt.secondFactorOf,
      ]),
    ]

  const { account, network, browser } = attempt
  if (browser !== null)
    return [
      limitBy('browser_limit', perKnownBrowser, ['browser', account, browser]),
      limitBy('browsers_limit', perAccount, ['browsers', account]),
    ]

  return [
    limitBy('account_network_limit', perAccountAndNetwork, [
      'account and network',
      account,
      network,
    ]),
    limitBy('account_limit', perAccount, ['account', account]),
    limitBy('network_limit', perNetwork, ['network', network]),
  ]
}

function limitBy(check: Check, limit: number, what: string[]): Limit {
  return { key: makeKey(what), limit, check }
}

/**
 * Returns the key of a counter, in hex. It is an HMAC, so that the table does not show
 * who tried to sign in, or from where.
 */
export function makeKey(what: (string | null)[]): string {
  const { attemptKey } = env().SESSION_SIGNING_KEYS
  return createHmac('sha256', attemptKey).update(JSON.stringify(what)).digest('hex')
}
