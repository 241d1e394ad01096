import { openApiDocument } from '@/lib/http/openapi'
import { route } from '@/lib/http/route'

const json = JSON.stringify(openApiDocument)
const headers = {
  'Content-Type': 'application/json',
  'Cache-Control': 'public, max-age=3600',
  'Access-Control-Allow-Origin': '*',
}

/** The contract as an OpenAPI 3.1 document. Cacheable for one hour, readable from any origin. */
export const { GET, HEAD, OPTIONS, POST, PUT, PATCH, DELETE } = route(
  { name: 'openapi', method: 'GET' },
  async () => new Response(json, { headers }),
)
