import { headers } from 'next/headers'
import { readRequestId } from '@/lib/http/request-id'
import { describeCause, log } from '@/lib/log/log'

/**
 * Resolves to what a page looks up. Rejects without a cause: Next.js would print it, and
 * a cause may quote secrets.
 */
export async function lookUp<Found>(what: string, found: Promise<Found>): Promise<Found> {
  try {
    return await found
  } catch (error) {
    await logFailedLookUp(what, error)
    throw new Error(`${what} could not be looked up`)
  }
}

/** Logs why a page could not look something up, with the ID of its request. */
export async function logFailedLookUp(what: string, error: unknown): Promise<void> {
  const requestId = readRequestId(await headers()) // from app/_proxy/respond.ts
  const line = { requestId, route: 'page', cause: describeCause(error) }
  log.error(line, `${what} could not be looked up`)
}
