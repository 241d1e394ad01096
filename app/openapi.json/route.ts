import { openApiDocument } from '@/lib/openapi-document'

export const dynamic = 'force-static'

/** The contract (OpenAPI 3.1), made at build time. Anybody may keep it for an hour, and read it from any site. */
export function GET(): Response {
  return Response.json(openApiDocument, {
    headers: { 'Cache-Control': 'public, max-age=3600', 'Access-Control-Allow-Origin': '*', 'X-Content-Type-Options': 'nosniff' },
  })
}
