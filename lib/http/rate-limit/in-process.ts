import { AsyncResource } from 'node:async_hooks'
import { RateLimiterMemory, type RateLimiterRes } from 'rate-limiter-flexible'
import type { Verdict } from './limit'
import { platformLimit, secondsLeft } from './policies'

/**
 * On globalThis, because pages and routes are separate bundles of one process and share one
 * counter.
 */
const globals = globalThis as typeof globalThis & { countInMemory?: (client: string) => Promise<RateLimiterRes> }

/** Counts one request of a client in this process. Other processes do not see it. */
export async function countInProcess(client: string): Promise<Verdict> {
  globals.countInMemory ??= createCounter()
  const count = await globals.countInMemory(client).catch((rejected: unknown) => {
    if (rejected instanceof Error) throw rejected
    return rejected as RateLimiterRes // over the limit
  })
  return {
    allowed: count.consumedPoints <= platformLimit.requests,
    remaining: Math.max(0, platformLimit.requests - count.consumedPoints),
    resetSeconds: secondsLeft(count.msBeforeNext),
  }
}

function createCounter(): (client: string) => Promise<RateLimiterRes> {
  const memory = new RateLimiterMemory({ points: platformLimit.requests, duration: platformLimit.windowSeconds })
  // Bound outside the request: the timer of a new client would otherwise retain the request's
  // Next.js context (26 KB) for the whole window.
  return AsyncResource.bind((client: string) => memory.consume(client))
}
