import { createHmac } from 'node:crypto'
import type { Ratelimit } from '@upstash/ratelimit'
import type { Redis, Requester } from '@upstash/redis'
import { fetchBounded } from '../../outgoing'
import { env } from '../../settings/env'
import { inBatches } from './batches'
import type { Verdict } from './limit'
import { platformLimit, secondsLeft } from './policies'

const verdictTimeoutMs = 400 // countRequest promises less than half a second
const maxBytes = 256 * 1024 // ten thousand counts

/** Counts one request in Redis. Rejects if Redis fails or is too slow. */
export type CountInRedis = (client: string) => Promise<Verdict>

/**
 * Connects to the Upstash Redis in the settings. Returns null if requests are counted in process.
 */
export async function connectUpstash(): Promise<CountInRedis | null> {
  const { RATE_LIMIT, UPSTASH_REDIS_REST_URL: url, UPSTASH_REDIS_REST_TOKEN: token } = env()
  if (RATE_LIMIT === 'in-process' || !url || !token) return null
  // Imported here, so that a process that counts on its own does not load them.
  const [{ Ratelimit }, { Redis }] = await Promise.all([import('@upstash/ratelimit'), import('@upstash/redis')])
  class PipeliningRedis extends Redis {
    readonly pipelining = () => this.autoPipeline() // on by default with Upstash's own requester only
  }
  const redis = new PipeliningRedis(limitedRequester(url, token))
  const blockedUntil = new Map<string, number>()
  const limiter = new Ratelimit({
    redis: withValidation(redis.pipelining()),
    // A fixed window needs one key and one command, and its reset time is exact.
    limiter: Ratelimit.fixedWindow(platformLimit.requests, `${platformLimit.windowSeconds} s`),
    prefix: 'platform-limit',
    ephemeralCache: blockedUntil,
    // its own timeout would admit every request; that of `limitedRequester` causes an error instead
    timeout: 0,
  })
  return (client) => count(limiter, blockedUntil, token, client)
}

/** Sends commands to Upstash, without retries. Upstash's own requester reads responses of any size. */
function limitedRequester(url: string, token: string): Requester {
  const headers = { Authorization: `Bearer ${token}`, 'Content-Type': 'application/json' }
  return {
    request: async ({ path = [], body }) => {
      const options = {
        method: 'POST',
        headers,
        body: JSON.stringify(body),
        signal: AbortSignal.timeout(verdictTimeoutMs),
      }
      const response = await fetchBounded([url.replace(/\/$/, ''), ...path].join('/'), options, maxBytes)
      const results = await response.json()
      if (!response.ok) throw new Error(String(results?.error))
      return results
    },
  }
}

async function count(
  limiter: Ratelimit,
  blockedUntil: Map<string, number>,
  token: string,
  client: string,
): Promise<Verdict> {
  // An HMAC, because a plain hash of an IP address can be reversed by hashing every IP address.
  const key = createHmac('sha256', token).update(client).digest('base64url')
  const { success, remaining, reset } = await withTimeout(limiter.limit(key))
  const ms = reset - Date.now()
  if (ms > platformLimit.windowSeconds * 1000) blockedUntil.clear() // the clock was set back
  return { allowed: success, remaining: Math.max(0, remaining), resetSeconds: secondsLeft(ms) }
}

/** Returns a Redis client that batches calls and throws for any result that is not a count. */
function withValidation(redis: Redis): Redis {
  const evalsha = inBatches(async (...parameters: Parameters<Redis['evalsha']>) =>
    validCount(await redis.evalsha(...parameters)),
  )
  // The limiter sends the whole script if Redis no longer has it cached.
  const evaluate = async (...parameters: Parameters<Redis['eval']>) => validCount(await redis.eval(...parameters))
  return Object.create(redis, { evalsha: { value: evalsha }, eval: { value: evaluate } })
}

/**
 * The limiter would treat any other result as over the limit, and reject the client for the whole
 * window.
 */
function validCount<Result>(result: Result): Result {
  const [used, limit] = Array.isArray(result) ? result : []
  if (!Number.isSafeInteger(used) || used < 1 || limit !== platformLimit.requests)
    throw new TypeError('Redis returned no count')
  return result
}

/**
 * Limits the time for a verdict. The signal limits each call only, and a verdict needs two if Redis
 * no longer has the script cached.
 */
function withTimeout<Result>(result: Promise<Result>): Promise<Result> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => reject(new DOMException('Redis is too slow', 'TimeoutError')), verdictTimeoutMs)
    result.then(resolve, reject).finally(() => clearTimeout(timer))
  })
}
