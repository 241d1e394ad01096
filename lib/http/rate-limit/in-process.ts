import { AsyncResource } from 'node:async_hooks'
import { RateLimiterMemory, type RateLimiterRes } from 'rate-limiter-flexible'
import type { Verdict } from './limit'
import { platformLimit } from './policies'

/** Pages and routes are separate bundles of one process: what they count, they count together. */
const kept = globalThis as typeof globalThis & { countInMemory?: (client: string) => Promise<RateLimiterRes> }

/** Counts one request of a client in this process. */
export async function countInProcess(client: string): Promise<Verdict> {
  kept.countInMemory ??= makeCounter()
  const count = await kept.countInMemory(client).catch((rejected: unknown) => {
    if (rejected instanceof Error) throw rejected
    return rejected as RateLimiterRes // over the limit
  })
  return {
    allowed: count.consumedPoints <= platformLimit.requests,
    remaining: Math.max(0, platformLimit.requests - count.consumedPoints),
    resetSeconds: Math.max(1, Math.ceil(count.msBeforeNext / 1000)),
  }
}

function makeCounter(): (client: string) => Promise<RateLimiterRes> {
  const memory = new RateLimiterMemory({ points: platformLimit.requests, duration: platformLimit.windowSeconds })
  // Outside the request: the timer of a new client would keep all that Next.js knows of that request, 26 KB, for the window.
  return AsyncResource.bind((client: string) => memory.consume(client))
}
