import { setTimeout as sleep } from 'node:timers/promises'
import { describeCause, log } from '@/lib/log/log'
import { env } from '@/lib/settings/env'

/**
 * Resolves to what a page looks up. Rejects without a cause: Next.js would print it, and
 * a cause may quote secrets.
 */
export async function lookUp<Found>(what: string, found: Promise<Found>): Promise<Found> {
  try {
    return await found
  } catch (error) {
    log.error(
      { route: 'page', cause: describeCause(error) },
      `${what} could not be looked up`,
    )
    throw new Error(`${what} could not be looked up`)
  }
}

/** Resolves like `found`, or rejects after PAGE_DATABASE_TIMEOUT_MS. */
export function lookUpInTime<Found>(found: Promise<Found>): Promise<Found> {
  const late = sleep(env().PAGE_DATABASE_TIMEOUT_MS, null, { ref: false }).then(() => {
    throw new DOMException('the database did not respond in time', 'TimeoutError')
  })
  return Promise.race([found, late])
}
