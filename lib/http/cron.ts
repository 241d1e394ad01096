import { createHash, timingSafeEqual } from 'node:crypto'
import { ApiError } from '../contract/errors'
import { env } from '../settings/env'
import { notFound, route } from './route'

/** Returns the handlers of a job that Vercel’s cron calls, with CRON_SECRET as a bearer token. Others receive 404. */
export function cronRoute(name: string, work: () => Promise<object>) {
  const { GET } = route({ name, method: 'GET' }, async ({ request }) => {
    if (!isCron(request)) throw new ApiError('NOT_FOUND')
    return Response.json({ ok: true, ...(await work()) })
  })
  return { ...notFound(name), GET }
}

function isCron({ headers }: Request): boolean {
  const { CRON_SECRET: secret } = env()
  const authorization = headers.get('authorization')
  if (secret === undefined || authorization === null) return false
  return timingSafeEqual(hash(authorization), hash(`Bearer ${secret}`))
}

/** Hashes have equal lengths, as timingSafeEqual requires, whatever the client sent. */
function hash(text: string): Buffer {
  return createHash('sha256').update(text).digest()
}
