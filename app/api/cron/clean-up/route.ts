import { createHash, timingSafeEqual } from 'node:crypto'
import { apiRoute } from '@/lib/api-route'
import { env } from '@/lib/env'
import { Refusal } from '@/lib/errors'
import { deleteExpiredRows } from '@/lib/expired-rows'

const route = 'clean-up'
const workMs = 30_000

/** What Vercel's cron calls once a day (see vercel.json), with CRON_SECRET as a bearer token. To anybody else there is no such address. */
export const GET = apiRoute(route, async (request) => {
  if (!isCron(request)) throw new Refusal('NOT_FOUND')
  return Response.json({ ok: true, deleted: await deleteExpiredRows(workMs) })
})

const refuse = apiRoute(route, async () => {
  throw new Refusal('NOT_FOUND')
})

export { refuse as DELETE, refuse as HEAD, refuse as OPTIONS, refuse as PATCH, refuse as POST, refuse as PUT }

/** Compares hashes, which have one length whatever was sent, in a time that tells nothing. */
function isCron(request: Request): boolean {
  const { CRON_SECRET } = env()
  const given = request.headers.get('authorization')
  return CRON_SECRET !== undefined && given !== null && timingSafeEqual(hash(given), hash(`Bearer ${CRON_SECRET}`))
}

function hash(text: string): Buffer {
  return createHash('sha256').update(text).digest()
}
