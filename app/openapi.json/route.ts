import { apiRoute, methodNotAllowed } from '@/lib/api-route'
import { openApiDocument } from '@/lib/openapi-document'

const route = 'openapi'
const json = JSON.stringify(openApiDocument)

/** The contract (OpenAPI 3.1). It may be cached for an hour, and read from any site. */
export const GET = apiRoute(route, async () => {
  const headers = { 'Content-Type': 'application/json', 'Cache-Control': 'public, max-age=3600', 'Access-Control-Allow-Origin': '*' }
  return new Response(json, { headers })
})

const reject = methodNotAllowed(route, 'GET, HEAD')

export { GET as HEAD, reject as DELETE, reject as OPTIONS, reject as PATCH, reject as POST, reject as PUT }
