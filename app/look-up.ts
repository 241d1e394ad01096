import { describeCause, log } from '@/lib/log'

/**
 * Resolves to what a page looks up in the database. Next.js prints the error of a page, and a driver's
 * message may quote anything: throws one that only says what failed, and logs the cause without its
 * message.
 */
export async function lookUp<Found>(what: string, found: Promise<Found>): Promise<Found> {
  try {
    return await found
  } catch (error) {
    log.error({ route: 'page', cause: describeCause(error) }, `${what} could not be looked up`)
    throw new Error(`${what} could not be looked up`)
  }
}
