import { ApiError } from '@/lib/contract/errors'
import { isCron } from '@/lib/http/cron'
import { notFound, route } from '@/lib/http/route'
import { sendDueMails } from '@/lib/mail/sender'
import { sendsMail } from '@/lib/settings/env'

const name = 'mail'
const timeLimitMs = 20_000

/**
 * Sends the mails that are due. Vercel's cron job calls it (see vercel.json) with CRON_SECRET as a
 * bearer token. All other clients receive 404.
 */
export const { GET } = route({ name, method: 'GET' }, async ({ request }) => {
  if (!isCron(request)) throw new ApiError('NOT_FOUND')
  return Response.json({ ok: true, tried: sendsMail() ? await sendDueMails(timeLimitMs) : 0 })
})

export const { HEAD, OPTIONS, POST, PUT, PATCH, DELETE } = notFound(name)
