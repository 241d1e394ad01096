import { openApiDocument } from '@/lib/http/openapi'
import { route } from '@/lib/http/route'

const json = JSON.stringify(openApiDocument)
const headers = {
  'Content-Type': 'application/json',
  'Cache-Control': 'public, max-age=3600',
  'Access-Control-Allow-Origin': '*',
}

/** The contract (OpenAPI 3.1). It may be cached for an hour, and read from any site. */
export const { GET, HEAD, OPTIONS, POST, PUT, PATCH, DELETE } = route(
  { name: 'openapi', method: 'GET' },
  async () => new Response(json, { headers }),
)
