import { AsyncResource } from 'node:async_hooks'
import { createHmac } from 'node:crypto'
import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises'
import type { Ratelimit } from '@upstash/ratelimit'
import type { Redis } from '@upstash/redis'
import { RateLimiterMemory, type RateLimiterRes } from 'rate-limiter-flexible'
import { env } from './env'
import { describeCause, log } from './log'

/** The platform limit: what one client address may ask of all `/api` routes together. */
export const platformLimit = { requests: 2_000, windowSeconds: 15 * 60 }

const redisAnswerMs = 400 // so that a verdict is there within half a second, whatever Redis does
const gatherMs = 50 // how long at most a request waits for the call before it: longer than one takes under load
const redisRetryMs = 2_000 // how often a Redis that failed is tried again, beside the requests

export type Verdict = { allowed: boolean; remaining: number; resetSeconds: number }

/** Counts one request of a client address (as `clientAddress` gives it) and says whether it may pass. Never throws, and answers within half a second whatever Redis does. */
export async function countRequest(address: string): Promise<Verdict> {
  kept.upstash ??= connectUpstash()
  const upstash = await kept.upstash
  if (!upstash) return countInProcess(address)
  if (upstash.failing) {
    tryAgainBeside(upstash, address)
    return countInProcess(address)
  }
  try {
    return await countInRedis(upstash, address)
  } catch (error) {
    if (!upstash.failing) log.warn({ cause: describeCause(error) }, 'Redis does not answer: the platform limit is kept in this process until it does')
    upstash.failing = true
    upstash.lastTriedAt = Date.now()
    return countInProcess(address)
  }
}

/** The headers that tell a client its limit and what is left of it (IETF draft-ietf-httpapi-ratelimit-headers-10). */
export function rateLimitHeaders({ remaining, resetSeconds }: Verdict): Record<string, string> {
  const { requests, windowSeconds } = platformLimit
  return { 'RateLimit-Policy': `"platform";q=${requests};w=${windowSeconds}`, RateLimit: `"platform";r=${remaining};t=${resetSeconds}` }
}

/** Pages and routes are separate bundles of one process: what they count, they count together. */
const kept = globalThis as typeof globalThis & {
  upstash?: Promise<Upstash | null>
  countInMemory?: (address: string) => Promise<RateLimiterRes>
}

function inMemory(): (address: string) => Promise<RateLimiterRes> {
  const memory = new RateLimiterMemory({ points: platformLimit.requests, duration: platformLimit.windowSeconds })
  // Outside the request: the timer of a new address would keep all that Next.js knows of that request, 26 KB, for the window.
  return AsyncResource.bind((address: string) => memory.consume(address))
}

async function countInProcess(address: string): Promise<Verdict> {
  kept.countInMemory ??= inMemory()
  const count = await kept.countInMemory(address).catch((rejected: unknown) => {
    if (rejected instanceof Error) throw rejected
    return rejected as RateLimiterRes // of either bundle's class
  })
  return {
    allowed: count.consumedPoints <= platformLimit.requests,
    remaining: Math.max(0, platformLimit.requests - count.consumedPoints),
    resetSeconds: Math.max(1, Math.ceil(count.msBeforeNext / 1000)),
  }
}

type Upstash = { limiter: Ratelimit; token: string; failing: boolean; lastTriedAt: number }

async function connectUpstash(): Promise<Upstash | null> {
  const { RATE_LIMIT, UPSTASH_REDIS_REST_URL: url, UPSTASH_REDIS_REST_TOKEN: token } = env()
  if (RATE_LIMIT === 'in-process' || !url || !token) return null
  // here, because whoever counts in process should not load them at every start
  const [{ Ratelimit }, { Redis }] = await Promise.all([import('@upstash/ratelimit'), import('@upstash/redis')])
  const redis = new Redis({
    url,
    token,
    retry: { retries: 0 }, // `false` still means one retry
    signal: () => AbortSignal.timeout(redisAnswerMs), // a function: a plain signal turns into an invented answer
    enableTelemetry: false,
  })
  const limiter = new Ratelimit({
    redis: gathering(redis),
    limiter: Ratelimit.fixedWindow(platformLimit.requests, `${platformLimit.windowSeconds} s`), // one key, one command, and an exact reset
    prefix: 'platform-limit',
    timeout: 0, // its own timeout lets everybody through; the signal above ends in an error instead
  })
  return { limiter, token, failing: false, lastTriedAt: 0 }
}

/**
 * The same client, in which who arrives while a call is under way, or in the turn of the event loop in which it ends, goes in the next one,
 * together with all who did: what is asked at once it sends as one pipeline.
 */
function gathering(redis: Redis): Redis {
  let underWay: Promise<unknown> = Promise.resolve()
  const evalsha = async (...asked: Parameters<Redis['evalsha']>) => {
    const before = underWay
    await before
    const answer = redis.evalsha(...asked).then(counts)
    if (underWay === before) underWay = Promise.race([answer.catch(() => {}), sleep(gatherMs)]).then(() => nextTurn())
    return answer
  }
  // Where Redis has forgotten the script, the limiter sends it whole.
  const evaluate = async (...asked: Parameters<Redis['eval']>) => counts(await redis.eval(...asked))
  return Object.create(redis, { evalsha: { value: evalsha }, eval: { value: evaluate } })
}

/** Anything but counts is an outage: the limiter would take it for a client over the limit, and remember that for the window. */
function counts<Result>(result: Result): Result {
  const [used, limit] = Array.isArray(result) ? result : []
  if (!Number.isSafeInteger(used) || used < 1 || limit !== platformLimit.requests) throw new TypeError('Redis returned no count')
  return result
}

async function countInRedis({ limiter, token }: Upstash, address: string): Promise<Verdict> {
  // nobody who sees the keys learns the addresses: without the token a plain hash of so few is soon undone
  const key = createHmac('sha256', token).update(address).digest('base64url')
  const { success, remaining, reset } = await inTime(limiter.limit(key))
  return { allowed: success, remaining: Math.max(0, remaining), resetSeconds: Math.max(1, Math.ceil((reset - Date.now()) / 1000)) }
}

/** Bounds a whole verdict: the signal of the client bounds each call, but there are two where Redis has forgotten the script. */
function inTime<Answer>(answer: Promise<Answer>): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const late = setTimeout(() => reject(new DOMException('Redis is too slow', 'TimeoutError')), redisAnswerMs)
    answer.then(resolve, reject).finally(() => clearTimeout(late))
  })
}

/** Nobody waits for this: the request that triggers it has its verdict from this process. */
function tryAgainBeside(known: Upstash, address: string): void {
  if (Date.now() - known.lastTriedAt < redisRetryMs) return
  known.lastTriedAt = Date.now()
  countInRedis(known, address).then(
    () => {
      if (known.failing) log.info('Redis answers again: the platform limit is shared once more')
      known.failing = false
    },
    () => {},
  )
}
