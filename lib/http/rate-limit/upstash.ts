import { Ratelimit } from '@upstash/ratelimit'
import { Redis } from '@upstash/redis'
import { RateLimiterRes } from 'rate-limiter-flexible'
import { env } from '../../settings/env'
import type { Consume, LimiterOptions, NewConsume } from './store'

/**
 * Connects to an Upstash Redis over HTTP. Its client sends concurrent commands in one
 * request.
 */
export function connectUpstash(): NewConsume {
  const { UPSTASH_REDIS_REST_URL: url, UPSTASH_REDIS_REST_TOKEN: token } = env()
  const signal = () => AbortSignal.timeout(400)
  const redis = new Redis({ url, token, retry: false, signal, enableTelemetry: false })

  return (options) => consumeAt(redis, options)
}

function consumeAt(
  redis: Redis,
  { keyPrefix, points, duration }: LimiterOptions,
): Consume {
  const blockedUntil = new Map<string, number>()

  const limiter = new Ratelimit({
    redis,
    limiter: Ratelimit.fixedWindow(points, `${duration} s`),
    prefix: keyPrefix,
    ephemeralCache: blockedUntil,
    enableTelemetry: false,
  })

  return async (key) => {
    const { success, remaining, reset } = await limiter.limit(String(key))
    const result = new RateLimiterRes(remaining, reset - Date.now())

    // Otherwise, a result without a number would block the client, and a clock set back
    // would block it for too long.
    if (Number.isNaN(remaining) || result.msBeforeNext > duration * 1000)
      blockedUntil.clear()
    if (!success) throw result

    return result
  }
}
