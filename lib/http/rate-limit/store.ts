import type { RateLimiterAbstract } from 'rate-limiter-flexible'

/**
 * Counts one request under a key, like rate-limiter-flexible. Rejects with the result if
 * the limit is exceeded.
 */
export type Consume = RateLimiterAbstract['consume']

/** Returns what counts by one limit. All limits share the connection to the store. */
export type NewConsume = (options: LimiterOptions) => Consume

export type LimiterOptions = { keyPrefix: string; points: number; duration: number }
