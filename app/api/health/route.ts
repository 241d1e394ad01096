import { apiRoute, methodNotAllowed } from '@/lib/api-route'

const route = 'health'

/** The process is alive. Says nothing of the database: `/api/health/ready` does. */
export const GET = apiRoute(route, async () => Response.json({ ok: true }))

const refuse = methodNotAllowed(route, 'GET, HEAD')

export { GET as HEAD, refuse as DELETE, refuse as OPTIONS, refuse as PATCH, refuse as POST, refuse as PUT }
