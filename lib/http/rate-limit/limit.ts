import { AsyncResource } from 'node:async_hooks'
import { createHmac } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { RateLimiterMemory, type RateLimiterRes } from 'rate-limiter-flexible'
import { describeCause, log } from '../../log/log'
import { env } from '../../settings/env'
import type { Consume, LimiterOptions } from './store'

export const windowSeconds = 15 * 60
const maxWaitMs = 400 // so that countRequest takes less than half a second
const retryIntervalMs = 2_000

export type Verdict = { allowed: boolean; remaining: number; resetSeconds: number }

const connections = {
  redis: async (options: LimiterOptions) =>
    (await import('./redis')).connectRedis(options),
  upstash: async (options: LimiterOptions) =>
    (await import('./upstash')).connectUpstash(options),
}

type Store = { consume: Promise<Consume>; failing: boolean; lastTriedAt: number }

/**
 * On globalThis, because pages and routes are separate bundles, but must share the
 * counters.
 */
const globals = globalThis as typeof globalThis & {
  rateLimitMemory?: Consume
  rateLimitStore?: Store
}

/**
 * Counts a request of a client within half a second. Never throws. While the store fails,
 * counts in this process.
 */
export async function countRequest(client: string): Promise<Verdict> {
  const { RATE_LIMIT, RATE_LIMIT_REQUESTS: points } = env()
  const options = { keyPrefix: 'platform-limit', points, duration: windowSeconds }

  if (!globals.rateLimitMemory) {
    const memory = new RateLimiterMemory(options)
    // AsyncResource.bind, because a new client's timer would otherwise retain the
    // request's Next.js context (26 KB).
    globals.rateLimitMemory = AsyncResource.bind((key) => memory.consume(key))
  }

  if (RATE_LIMIT !== 'in-process')
    globals.rateLimitStore ??= {
      consume: connections[RATE_LIMIT](options),
      failing: false,
      lastTriedAt: 0,
    }

  const store = globals.rateLimitStore
  const isDue =
    store && (!store.failing || performance.now() - store.lastTriedAt >= retryIntervalMs)
  const attempt = isDue ? countInStore(store, client) : null
  const verdict = store?.failing ? null : await attempt

  return verdict ?? toVerdict(globals.rateLimitMemory(client))
}

/**
 * Whether this process counts requests alone because Redis fails. Null if it never shares
 * its counters, or has not counted a request.
 */
export function isCountingAlone(): boolean | null {
  return globals.rateLimitStore?.failing ?? null
}

/**
 * Returns the headers that describe the rate limit
 * (draft-ietf-httpapi-ratelimit-headers-10).
 */
export function rateLimitHeaders({
  remaining,
  resetSeconds,
}: Verdict): Record<string, string> {
  return {
    'RateLimit-Policy': `"platform";q=${env().RATE_LIMIT_REQUESTS};w=${windowSeconds}`,
    RateLimit: `"platform";r=${remaining};t=${resetSeconds}`,
  }
}

/**
 * Counts in the store. Returns null if it fails, is too slow or returns no number. Logs
 * the reason once per outage.
 */
async function countInStore(store: Store, client: string): Promise<Verdict | null> {
  const isRetry = store.failing
  store.lastTriedAt = performance.now()

  try {
    // An HMAC, because anybody can hash all IP addresses and so reverse a plain hash.
    const key = createHmac('sha256', env().SESSION_SIGNING_KEYS.rateLimitKey)
      .update(client)
      .digest('base64url')
    const counted = store.consume.then((consume) => toVerdict(consume(key)))
    const verdict = await Promise.race([counted, sleep(maxWaitMs, null, { ref: false })])
    if (!verdict) throw new DOMException('Redis is too slow', 'TimeoutError')
    if (isRetry && store.failing)
      log.info('Redis is available again: all processes share the platform limit')
    if (isRetry) store.failing = false

    return verdict
  } catch (error) {
    // Some messages end with the command, which contains hashes of clients. Others quote
    // the URL, which may contain a password.
    const reason = String(error)
      .split(/, (?:command was|with args)/)[0]!
      .replace(/\w+:\/\/\S+/g, '…')
    if (!store.failing)
      log.warn(
        { reason, cause: describeCause(error) },
        'Redis is unavailable: each process counts requests separately',
      )

    store.failing = true

    return null
  }
}

async function toVerdict(consumed: Promise<RateLimiterRes>): Promise<Verdict> {
  const { allowed, result } = await consumed.then(
    (accepted) => ({ allowed: true, result: accepted }),
    (rejected: RateLimiterRes | Error) => {
      if (rejected instanceof Error) throw rejected
      return { allowed: false, result: rejected }
    },
  )

  const { remainingPoints: remaining, msBeforeNext } = result

  if (
    !Number.isInteger(remaining + msBeforeNext) ||
    remaining >= env().RATE_LIMIT_REQUESTS
  )
    throw new TypeError('Redis returned no count')

  // Between 1 and the length of a window, even if the clock was set back.
  const resetSeconds = Math.min(
    Math.max(Math.ceil(msBeforeNext / 1000), 1),
    windowSeconds,
  )

  return { allowed, remaining, resetSeconds }
}
