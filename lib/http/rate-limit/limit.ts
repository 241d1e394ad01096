import { AsyncResource } from 'node:async_hooks'
import { createHmac } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { type RateLimiterAbstract, RateLimiterMemory, type RateLimiterRes } from 'rate-limiter-flexible'
import { describeCause, log } from '../../log'
import { env } from '../../settings/env'

export const windowSeconds = 15 * 60
const maxWaitMs = 400 // countRequest promises less than half a second
const retryIntervalMs = 2_000

/** Counts one request under a key, as rate-limiter-flexible does: over the limit, it rejects with the result. */
export type Consume = RateLimiterAbstract['consume']

export type LimiterOptions = { keyPrefix: string; points: number; duration: number }

export type Verdict = { allowed: boolean; remaining: number; resetSeconds: number }

const connections = {
  redis: async (options: LimiterOptions) => (await import('./redis')).connectRedis(options),
  upstash: async (options: LimiterOptions) => (await import('./upstash')).connectUpstash(options),
}

type Store = { consume: Promise<Consume>; failing: boolean; lastTriedAt: number }

/** On globalThis, because pages and routes are separate bundles of one process and share the counters. */
const globals = globalThis as typeof globalThis & { rateLimitMemory?: Consume; rateLimitStore?: Store }

/** Counts a request of a client, within half a second. Never throws: while the store fails, counts in this process. */
export async function countRequest(client: string): Promise<Verdict> {
  const { RATE_LIMIT, RATE_LIMIT_REQUESTS: points } = env()
  const options = { keyPrefix: 'platform-limit', points, duration: windowSeconds }
  if (!globals.rateLimitMemory) {
    const memory = new RateLimiterMemory(options)
    // Bound: otherwise the timer of a new client would retain its request's Next.js context (26 KB) for the window.
    globals.rateLimitMemory = AsyncResource.bind((key) => memory.consume(key))
  }
  if (RATE_LIMIT !== 'in-process')
    globals.rateLimitStore ??= { consume: connections[RATE_LIMIT](options), failing: false, lastTriedAt: 0 }
  const store = globals.rateLimitStore
  const isDue = store && (!store.failing || performance.now() - store.lastTriedAt >= retryIntervalMs)
  const attempt = isDue ? countInStore(store, client) : null
  return (!store?.failing && (await attempt)) || verdictOf(globals.rateLimitMemory(client))
}

/** Returns the headers that describe the limit (draft-ietf-httpapi-ratelimit-headers-10). */
export function rateLimitHeaders({ remaining, resetSeconds }: Verdict): Record<string, string> {
  return {
    'RateLimit-Policy': `"platform";q=${env().RATE_LIMIT_REQUESTS};w=${windowSeconds}`,
    RateLimit: `"platform";r=${remaining};t=${resetSeconds}`,
  }
}

/** Returns null if the store fails, is too slow or returns no number. Logs the reason once per outage. */
async function countInStore(store: Store, client: string): Promise<Verdict | null> {
  const isRetry = store.failing
  store.lastTriedAt = performance.now()
  try {
    // Keyed, because a plain hash of an IP address can be reversed by hashing every IP address.
    const key = createHmac('sha256', env().SESSION_SIGNING_KEYS.rateLimitKey).update(client).digest('base64url')
    const counted = store.consume.then((consume) => verdictOf(consume(key)))
    const verdict = await Promise.race([counted, sleep(maxWaitMs, null, { ref: false })])
    if (!verdict) throw new DOMException('Redis is too slow', 'TimeoutError')
    if (isRetry && store.failing) log.info('Redis is available again: all processes share the platform limit')
    if (isRetry) store.failing = false
    return verdict
  } catch (error) {
    // Some messages end with the command, which holds the hashes of clients.
    const reason = String(error).split(/, (?:command was|with args)/)[0]
    if (!store.failing) log.warn({ reason, cause: describeCause(error) }, 'Redis is unavailable: each process counts')
    store.failing = true
    return null
  }
}

async function verdictOf(consumed: Promise<RateLimiterRes>): Promise<Verdict> {
  let allowed = true
  const { remainingPoints: remaining, msBeforeNext } = await consumed.catch((rejected: unknown) => {
    if (rejected instanceof Error) throw rejected
    allowed = false
    return rejected as RateLimiterRes
  })
  if (!Number.isInteger(remaining + msBeforeNext) || remaining >= env().RATE_LIMIT_REQUESTS)
    throw new TypeError('Redis returned no count')
  // At least 1, and no more than a window has, after the clock was set back.
  const resetSeconds = Math.min(Math.max(Math.ceil(msBeforeNext / 1000), 1), windowSeconds)
  return { allowed, remaining, resetSeconds }
}
