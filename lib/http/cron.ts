import { createHash, timingSafeEqual } from 'node:crypto'
import { env } from '../settings/env'

/** Whether a request comes from Vercel’s cron, which sends CRON_SECRET as a bearer token. */
export function isCron({ headers }: Request): boolean {
  const { CRON_SECRET: secret } = env()
  const authorization = headers.get('authorization')
  return (
    secret !== undefined && authorization !== null && timingSafeEqual(hash(authorization), hash(`Bearer ${secret}`))
  )
}

/**
 * Hashes have equal lengths, as timingSafeEqual requires, whatever the client sent.
 */
function hash(text: string): Buffer {
  return createHash('sha256').update(text).digest()
}
