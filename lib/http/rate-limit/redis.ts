import { Redis } from 'ioredis'
import { RateLimiterRedis } from 'rate-limiter-flexible'
import { env } from '../../settings/env'
import type { NewConsume } from './store'

/**
 * Connects to the Redis server at REDIS_URL. Connects again whenever the connection is
 * lost.
 */
export async function connectRedis(): Promise<NewConsume> {
  let lastError = new Error('Redis closed the connection')
  const redis = new Redis(env().REDIS_URL!, {
    lazyConnect: true,
    enableOfflineQueue: false,
    // this process has counted these requests in memory
    autoResendUnfulfilledCommands: false,
    commandTimeout: 400,
    socketTimeout: 2_000, // ends a connection that died silently
    reconnectOnError(error) {
      // After a failover, the old primary keeps its connections, but accepts no writes.
      // Before Redis 7, the message of a script has a prefix.
      const isReplica = /\bREADONLY\b/.test(error.message)
      if (isReplica) lastError = error
      return isReplica
    },
  })

  redis.on('error', (error: Error) => {
    lastError = error
  })
  await redis.connect().catch(() => {})

  return (options) => {
    const limiter = new RateLimiterRedis({ storeClient: redis, ...options })

    return (key) =>
      limiter.consume(key).catch((error: unknown) => {
        throw redis.status === 'ready' ? error : lastError // only lastError has the reason
      })
  }
}
