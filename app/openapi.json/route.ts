import { openApiDocument } from '@/lib/http/openapi'
import { route } from '@/lib/http/route'

/** The contract as an OpenAPI 3.1 document. Cacheable for one hour, readable from any origin. */
export const { GET, HEAD, OPTIONS, POST, PUT, PATCH, DELETE } = route(
  { name: 'openapi', method: 'GET', publicSeconds: 3600 },
  async ({ respond }) => respond(openApiDocument),
)
