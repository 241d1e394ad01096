import { AsyncResource } from 'node:async_hooks'
import { createHmac } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { RateLimiterMemory, type RateLimiterRes } from 'rate-limiter-flexible'
import { describeCause, log } from '../../log/log'
import { env } from '../../settings/env'
import type { Consume, NewConsume } from './store'

export const windowSeconds = 15 * 60
const maxWaitMs = 400 // so that countRequest takes less than half a second
const retryIntervalMs = 2_000

/** How many requests are allowed in a window. `name` is that of the policy. */
export type Limit = { name: string; requests: number; windowSeconds: number }

/** Returns the limit of a client, which pages and endpoints share. */
export function platformLimit(): Limit {
  return { name: 'platform', requests: env().RATE_LIMIT_REQUESTS, windowSeconds }
}

/** The limit of the token of a directory: 25 requests a second, as Entra ID sends them. */
export const directoryLimit: Limit = {
  name: 'scim',
  requests: 1_500,
  windowSeconds: 60,
}

/** The limit of a setup link, for tests and for values that are saved. */
export const setupLimit: Limit = { name: 'setup', requests: 30, windowSeconds: 60 * 60 }

export type Verdict = {
  limit: Limit
  allowed: boolean
  remaining: number
  resetSeconds: number
}

const connections = {
  redis: async () => (await import('./redis')).connectRedis(),
  upstash: async () => (await import('./upstash')).connectUpstash(),
}

type Store = {
  newConsume: Promise<NewConsume>
  consume: Record<string, Promise<Consume>> // by the name of the limit
  failing: boolean
  lastTriedAt: number
}

/**
 * On globalThis, because pages and routes are separate bundles, but must share the
 * counters.
 */
const globals = globalThis as typeof globalThis & {
  rateLimitMemory?: Record<string, Consume> // by the name of the limit
  rateLimitStore?: Store
}

/**
 * Counts a request of a client within half a second. Never throws. While the store fails,
 * counts in this process.
 */
export async function countRequest(
  client: string,
  limit = platformLimit(),
): Promise<Verdict> {
  const { RATE_LIMIT } = env()
  if (RATE_LIMIT !== 'in-process')
    globals.rateLimitStore ??= {
      newConsume: connections[RATE_LIMIT](),
      consume: {},
      failing: false,
      lastTriedAt: 0,
    }

  const consumeInMemory = findMemory(limit)
  const store = globals.rateLimitStore
  const isDue =
    store && (!store.failing || performance.now() - store.lastTriedAt >= retryIntervalMs)
  const attempt = isDue ? countInStore(store, client, limit) : null
  const verdict = store?.failing ? null : await attempt

  return verdict ?? toVerdict(consumeInMemory(client), limit)
}

/** Returns what counts in the memory of this process. */
function findMemory(limit: Limit): Consume {
  globals.rateLimitMemory ??= {}
  const known = globals.rateLimitMemory[limit.name]
  if (known) return known

  const memory = new RateLimiterMemory(toOptions(limit))
  // AsyncResource.bind, because a new client's timer would otherwise retain the
  // request's Next.js context (26 KB).
  const consume: Consume = AsyncResource.bind((key) => memory.consume(key))
  globals.rateLimitMemory[limit.name] = consume

  return consume
}

/** All limits have one prefix, which the rules of a Redis user name (docs/deploy.md). */
function toOptions({ requests: points, windowSeconds: duration }: Limit) {
  return { keyPrefix: 'platform-limit', points, duration }
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
  limit: { name, requests, windowSeconds },
  remaining,
  resetSeconds,
}: Verdict): Record<string, string> {
  return {
    'RateLimit-Policy': `"${name}";q=${requests};w=${windowSeconds}`,
    RateLimit: `"${name}";r=${remaining};t=${resetSeconds}`,
  }
}

/**
 * Counts in the store. Returns null if it fails, is too slow or returns no number. Logs
 * the reason once per outage.
 */
async function countInStore(
  store: Store,
  client: string,
  limit: Limit,
): Promise<Verdict | null> {
  const isRetry = store.failing
  store.lastTriedAt = performance.now()

  try {
    // An HMAC, because anybody can hash all IP addresses and so reverse a plain hash.
    const key = createHmac('sha256', env().SESSION_SIGNING_KEYS.rateLimitKey)
      .update(client)
      .digest('base64url')
    const { newConsume } = store
    store.consume[limit.name] ??= newConsume.then((create) => create(toOptions(limit)))
    const counted = store.consume[limit.name]!.then((consume) =>
      toVerdict(consume(key), limit),
    )
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

async function toVerdict(
  consumed: Promise<RateLimiterRes>,
  limit: Limit,
): Promise<Verdict> {
  const { allowed, result } = await consumed.then(
    (accepted) => ({ allowed: true, result: accepted }),
    (rejected: RateLimiterRes | Error) => {
      if (rejected instanceof Error) throw rejected
      return { allowed: false, result: rejected }
    },
  )

  const { remainingPoints: remaining, msBeforeNext } = result

  if (!Number.isInteger(remaining + msBeforeNext) || remaining >= limit.requests)
    throw new TypeError('Redis returned no count')

  // Between 1 and the length of a window, even if the clock was set back.
  const resetSeconds = Math.min(
    Math.max(Math.ceil(msBeforeNext / 1000), 1),
    limit.windowSeconds,
  )

  return { limit, allowed, remaining, resetSeconds }
}
