import { createHmac } from 'node:crypto'
import type { Ratelimit } from '@upstash/ratelimit'
import type { Redis } from '@upstash/redis'
import { env } from '../../settings/env'
import { inBatches } from './batches'
import type { Verdict } from './limit'
import { platformLimit } from './policies'

const verdictMs = 400 // a verdict takes less than half a second, whatever Redis does

export type CountInRedis = (client: string) => Promise<Verdict>

/** Connects to the Upstash Redis of the settings; null where requests are counted in process. */
export async function connectUpstash(): Promise<CountInRedis | null> {
  const { RATE_LIMIT, UPSTASH_REDIS_REST_URL: url, UPSTASH_REDIS_REST_TOKEN: token } = env()
  if (RATE_LIMIT === 'in-process' || !url || !token) return null
  // Imported here: a process that counts alone should not load them.
  const [{ Ratelimit }, { Redis }] = await Promise.all([import('@upstash/ratelimit'), import('@upstash/redis')])
  const redis = new Redis({
    url,
    token,
    retry: { retries: 0 }, // `false` still means one retry
    signal: () => AbortSignal.timeout(verdictMs), // a function: a plain signal turns into a fabricated result
    enableTelemetry: false,
  })
  const limiter = new Ratelimit({
    redis: checked(redis),
    // One key, one command, and an exact reset.
    limiter: Ratelimit.fixedWindow(platformLimit.requests, `${platformLimit.windowSeconds} s`),
    prefix: 'platform-limit',
    timeout: 0, // its own timeout lets every request through; the signal above ends in an error instead
  })
  return (client) => count(limiter, token, client)
}

async function count(limiter: Ratelimit, token: string, client: string): Promise<Verdict> {
  // Keyed: a plain hash of an IP address can be reversed by trying them all.
  const key = createHmac('sha256', token).update(client).digest('base64url')
  const { success, remaining, reset } = await inTime(limiter.limit(key))
  const resetSeconds = Math.max(1, Math.ceil((reset - Date.now()) / 1000))
  return { allowed: success, remaining: Math.max(0, remaining), resetSeconds }
}

/** The same client with batched calls, and with an error for every result that is no count. */
function checked(redis: Redis): Redis {
  const evalsha = inBatches(async (...parameters: Parameters<Redis['evalsha']>) =>
    counts(await redis.evalsha(...parameters)),
  )
  // The limiter sends the whole script where Redis has forgotten it.
  const evaluate = async (...parameters: Parameters<Redis['eval']>) => counts(await redis.eval(...parameters))
  return Object.create(redis, { evalsha: { value: evalsha }, eval: { value: evaluate } })
}

/** The limiter would take anything else for a client over the limit, and remember that for the window. */
function counts<Result>(result: Result): Result {
  const [used, limit] = Array.isArray(result) ? result : []
  if (!Number.isSafeInteger(used) || used < 1 || limit !== platformLimit.requests)
    throw new TypeError('Redis returned no count')
  return result
}

/** Bounds a whole verdict. The signal bounds each call, and there are two where Redis has forgotten the script. */
function inTime<Result>(result: Promise<Result>): Promise<Result> {
  return new Promise((resolve, reject) => {
    const late = setTimeout(() => reject(new DOMException('Redis is too slow', 'TimeoutError')), verdictMs)
    result.then(resolve, reject).finally(() => clearTimeout(late))
  })
}
