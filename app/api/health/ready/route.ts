import { apiRoute, methodNotAllowed } from '@/lib/api-route'
import { db } from '@/lib/db'
import { Refusal } from '@/lib/errors'

const route = 'health-ready'

/** The process can serve: the database answers, has our tables, and can be written to. 503 otherwise. */
export const GET = apiRoute(route, async () => {
  const [database] = await db().$queryRaw<[{ usable: boolean }]>`
    SELECT to_regclass('exchange_codes') IS NOT NULL AND NOT current_setting('transaction_read_only')::bool AS usable`
  if (!database.usable) throw new Refusal('SERVICE_UNAVAILABLE', { headers: { 'Retry-After': '5' } })
  return Response.json({ ok: true })
})

const refuse = methodNotAllowed(route, 'GET, HEAD')

export { GET as HEAD, refuse as DELETE, refuse as OPTIONS, refuse as PATCH, refuse as POST, refuse as PUT }
