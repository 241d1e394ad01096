import { describeCause, log } from '../../log'
import { countInProcess } from './in-process'
import { platformLimit } from './policies'
import { type CountInRedis, connectUpstash } from './upstash'

const redisRetryMs = 2_000 // how often a Redis that failed is tried again, beside the requests

export type Verdict = { allowed: boolean; remaining: number; resetSeconds: number }

type Shared = { count: CountInRedis; failing: boolean; lastTriedAt: number }

/** Pages and routes are separate bundles of one process, which share one connection. */
const kept = globalThis as typeof globalThis & { sharedLimit?: Promise<Shared | null> }

/**
 * Counts one request of a client (see client-address.ts) and says whether it may pass. Never throws, and takes less than half a
 * second: without Redis, this process counts.
 */
export async function countRequest(client: string): Promise<Verdict> {
  kept.sharedLimit ??= connect()
  const shared = await kept.sharedLimit
  if (!shared) return countInProcess(client)
  if (shared.failing) {
    retryBeside(shared, client)
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
    shared.lastTriedAt = Date.now()
    return countInProcess(client)
  }
}

/** The headers that tell a client its limit and the rest of it (draft-ietf-httpapi-ratelimit-headers-10). */
export function rateLimitHeaders({ remaining, resetSeconds }: Verdict): Record<string, string> {
  const { name, requests, windowSeconds } = platformLimit
  return {
    'RateLimit-Policy': `"${name}";q=${requests};w=${windowSeconds}`,
    RateLimit: `"${name}";r=${remaining};t=${resetSeconds}`,
  }
}

async function connect(): Promise<Shared | null> {
  const count = await connectUpstash()
  return count && { count, failing: false, lastTriedAt: 0 }
}

/** No request waits for this: the one that triggers it has its verdict from this process. */
function retryBeside(shared: Shared, client: string): void {
  if (Date.now() - shared.lastTriedAt < redisRetryMs) return
  shared.lastTriedAt = Date.now()
  shared.count(client).then(
    () => {
      if (shared.failing) log.info('Redis answers again: the platform limit is shared once more')
      shared.failing = false
    },
    () => {},
  )
}
