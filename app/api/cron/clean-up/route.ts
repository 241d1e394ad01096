import { createHash, timingSafeEqual } from 'node:crypto'
import { ApiError } from '@/lib/contract/errors'
import { deleteExpiredRows } from '@/lib/database/clean-up'
import { notFound, route } from '@/lib/http/route'
import { env } from '@/lib/settings/env'

const name = 'clean-up'
const workMs = 30_000

/** What Vercel's cron calls once a day (see vercel.json), with CRON_SECRET as a bearer token. For every other client it does not exist. */
export const { GET } = route({ name, method: 'GET' }, async ({ request }) => {
  if (!isCron(request)) throw new ApiError('NOT_FOUND')
  return Response.json({ ok: true, deleted: await deleteExpiredRows(workMs) })
})

export const { HEAD, OPTIONS, POST, PUT, PATCH, DELETE } = notFound(name)

/** Compares hashes: they have one length whatever was sent, and the time tells nothing. */
function isCron(request: Request): boolean {
  const { CRON_SECRET } = env()
  const given = request.headers.get('authorization')
  return CRON_SECRET !== undefined && given !== null && timingSafeEqual(hash(given), hash(`Bearer ${CRON_SECRET}`))
}

function hash(text: string): Buffer {
  return createHash('sha256').update(text).digest()
}
