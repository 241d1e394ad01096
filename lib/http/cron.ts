import { createHash, timingSafeEqual } from 'node:crypto'
import { env } from '../settings/env'
import { route } from './route'

/**
 * Returns the handlers of a job that Vercel’s cron calls. Responds with 404 without
 * CRON_SECRET as a bearer token.
 */
export function cronRoute(
  definition: { name: string; method: 'GET' },
  work: () => Promise<object>,
) {
  return route(
    definition,
    async () => Response.json({ ok: true, ...(await work()) }),
    isCron,
  )
}

function isCron({ method, headers }: Request): boolean {
  const { CRON_SECRET: secret } = env()
  if (method !== 'GET' || secret === undefined) return false

  // Compares hashes, because timingSafeEqual requires equal lengths.
  const hash = (text: string) => createHash('sha256').update(text).digest()

  return timingSafeEqual(
    hash(headers.get('authorization') ?? ''),
    hash(`Bearer ${secret}`),
  )
}
