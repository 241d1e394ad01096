import { ApiError } from '@/lib/contract/errors'
import { deleteExpiredRows } from '@/lib/database/clean-up'
import { isCron } from '@/lib/http/cron'
import { notFound, route } from '@/lib/http/route'

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
