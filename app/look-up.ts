import { setTimeout as sleep } from 'node:timers/promises'
import { describeCause, log } from '@/lib/log'
import { env } from '@/lib/settings/env'

/**
 * Resolves to what a page looks up in the database. Next.js prints the error of a page, and a driver's message may
 * quote anything: throws one that only says what failed, and logs the cause without its message.
 */
export async function lookUp<Found>(what: string, found: Promise<Found>): Promise<Found> {
  try {
    return await found
  } catch (error) {
    log.error({ route: 'page', cause: describeCause(error) }, `${what} could not be looked up`)
    throw new Error(`${what} could not be looked up`)
  }
}

/** Resolves to what is looked up, or rejects after PAGE_DATABASE_TIMEOUT_MS. */
export async function inTime<Found>(found: Promise<Found>): Promise<Found> {
  const late = Symbol('late')
  const first = await Promise.race([found, sleep(env().PAGE_DATABASE_TIMEOUT_MS, late, { ref: false })])
  if (first === late) throw new DOMException('the database did not respond in time', 'TimeoutError')
  return first as Found
}
