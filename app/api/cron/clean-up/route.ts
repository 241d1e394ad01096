import { ApiError } from '@/lib/contract/errors'
import { deleteExpiredRows } from '@/lib/database/clean-up'
import { isCron } from '@/lib/http/cron'
import { notFound, route } from '@/lib/http/route'
import { logExpiringCertificates } from '@/lib/sso/certificate-warnings'

const name = 'clean-up'
const timeLimitMs = 30_000

/**
 * Deletes expired rows, and logs certificates that end soon. Vercel's cron job calls it daily (see vercel.json) with CRON_SECRET as a
 * bearer token. All other clients receive 404.
 */
export const { GET } = route({ name, method: 'GET' }, async ({ request }) => {
  if (!isCron(request)) throw new ApiError('NOT_FOUND')
  const deleted = await deleteExpiredRows(timeLimitMs)
  await logExpiringCertificates()
  return Response.json({ ok: true, deleted })
})

export const { HEAD, OPTIONS, POST, PUT, PATCH, DELETE } = notFound(name)
