import * as routes from '@/lib/contract/routes'
import { openApiDocument } from '@/lib/http/openapi'
import { route } from '@/lib/http/route'

/**
 * The contract as an OpenAPI 3.1 document. Caches may store it for one hour. Pages of any
 * origin can read it.
 */
export const { GET, HEAD, OPTIONS, POST, PUT, PATCH, DELETE } = route(
  { ...routes.getOpenApi, publicSeconds: 3600 },
  async ({ respond }) => respond(openApiDocument),
)
