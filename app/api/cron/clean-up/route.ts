import { createHash, timingSafeEqual } from 'node:crypto'
import { ApiError } from '@/lib/contract/errors'
import { deleteExpiredRows } from '@/lib/database/clean-up'
import { notFound, route } from '@/lib/http/route'
import { env } from '@/lib/settings/env'

const name = 'clean-up'
const timeLimitMs = 30_000

/**
 * Deletes expired rows. Vercel's cron job calls it daily (see vercel.json) with CRON_SECRET as a
 * bearer token. All other clients receive 404.
 */
export const { GET } = route({ name, method: 'GET' }, async ({ request }) => {
  if (!isCron(request)) throw new ApiError('NOT_FOUND')
  return Response.json({ ok: true, deleted: await deleteExpiredRows(timeLimitMs) })
})

export const { HEAD, OPTIONS, POST, PUT, PATCH, DELETE } = notFound(name)

/**
 * Compares hashes: they have equal lengths, as timingSafeEqual requires, whatever the client sent.
 */
function isCron(request: Request): boolean {
  const { CRON_SECRET: secret } = env()
  const authorization = request.headers.get('authorization')
  return (
    secret !== undefined && authorization !== null && timingSafeEqual(hash(authorization), hash(`Bearer ${secret}`))
  )
}

function hash(text: string): Buffer {
  return createHash('sha256').update(text).digest()
}
