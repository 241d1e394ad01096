import { describeCause, log } from '../../log'
import { countInProcess } from './in-process'
import { platformLimit } from './policies'
import { type CountInRedis, connectUpstash } from './upstash'

const redisRetryIntervalMs = 2_000 // while Redis fails, at most one background attempt per interval

/**
 * Whether a request is within the limit, the requests remaining, and the seconds until the reset.
 */
export type Verdict = { allowed: boolean; remaining: number; resetSeconds: number }

type SharedCounter = { count: CountInRedis; failing: boolean; lastTriedAt: number }

/**
 * On globalThis, because pages and routes are separate bundles of one process and share a
 * connection.
 */
const globals = globalThis as typeof globalThis & { sharedLimit?: Promise<SharedCounter | null> }

/**
 * Counts one request of a client (see client-address.ts) and returns whether it is within the
 * limit. Never throws, and takes less than half a second: while Redis is unavailable, this process
 * counts.
 */
export async function countRequest(client: string): Promise<Verdict> {
  globals.sharedLimit ??= connect()
  const shared = await globals.sharedLimit
  if (!shared) return countInProcess(client)
  if (shared.failing) {
    retryInBackground(shared, client)
    return countInProcess(client)
  }
  try {
    return await shared.count(client)
  } catch (error) {
    if (!shared.failing)
      log.warn(
        { cause: describeCause(error) },
        'Redis does not answer: the platform limit is kept in this process until it does',
      )
    shared.failing = true
    shared.lastTriedAt = performance.now()
    return countInProcess(client)
  }
}

/** Returns the headers that describe the limit (draft-ietf-httpapi-ratelimit-headers-10). */
export function rateLimitHeaders({ remaining, resetSeconds }: Verdict): Record<string, string> {
  const { name, requests, windowSeconds } = platformLimit
  return {
    'RateLimit-Policy': `"${name}";q=${requests};w=${windowSeconds}`,
    RateLimit: `"${name}";r=${remaining};t=${resetSeconds}`,
  }
}

async function connect(): Promise<SharedCounter | null> {
  const count = await connectUpstash()
  return count && { count, failing: false, lastTriedAt: Number.NEGATIVE_INFINITY }
}

/**
 * Retries Redis without delaying a request: the one that triggers it is counted in this process.
 */
function retryInBackground(shared: SharedCounter, client: string): void {
  if (performance.now() - shared.lastTriedAt < redisRetryIntervalMs) return
  shared.lastTriedAt = performance.now()
  shared.count(client).then(
    () => {
      if (shared.failing) log.info('Redis answers again: the platform limit is shared once more')
      shared.failing = false
    },
    () => {},
  )
}
