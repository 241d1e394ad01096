import { movedToHeader } from '@/lib/http/public-host'

/**
 * Redirects to the host of PUBLIC_URL. A route, because Next.js would make a redirect
 * from app/_proxy relative.
 */
export function GET(request: Request): Response {
  return new Response(null, {
    status: 307,
    headers: { Location: request.headers.get(movedToHeader)! },
  })
}
