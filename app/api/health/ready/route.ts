import { apiRoute, methodNotAllowed } from '@/lib/api-route'
import { db } from '@/lib/db'

const route = 'health-ready'

/** The process can serve: the database answers, with our tables in it. 503 otherwise. */
export const GET = apiRoute(route, async () => {
  await db().$queryRaw`SELECT 1 FROM exchange_codes LIMIT 1`
  return Response.json({ ok: true })
})

const refuse = methodNotAllowed(route, 'GET, HEAD')

export { GET as HEAD, refuse as DELETE, refuse as OPTIONS, refuse as PATCH, refuse as POST, refuse as PUT }
