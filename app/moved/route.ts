import { movedToHeader } from '@/lib/http/public-host'

/** Redirects to the host of PUBLIC_URL, for proxy.ts: Next.js makes its redirects relative, which stay at the host. */
export function GET(request: Request): Response {
  return new Response(null, { status: 307, headers: { Location: request.headers.get(movedToHeader)! } })
}
