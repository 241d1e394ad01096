import { setTimeout as sleep } from 'node:timers/promises'
import { env } from '@/lib/settings/env'

/** Resolves like `found`, or rejects after PAGE_DATABASE_TIMEOUT_MS. */
export function lookUpInTime<Found>(found: Promise<Found>): Promise<Found> {
  const late = sleep(env().PAGE_DATABASE_TIMEOUT_MS, null, { ref: false }).then(() => {
    throw new DOMException('the database did not respond in time', 'TimeoutError')
  })
  return Promise.race([found, late])
}
