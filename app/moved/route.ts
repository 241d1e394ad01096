import { movedToHeader } from '@/lib/http/public-host'

/** Redirects to the host of PUBLIC_URL, for page-proxy.ts, whose own redirects Next.js would make relative. */
export function GET(request: Request): Response {
  return new Response(null, { status: 307, headers: { Location: request.headers.get(movedToHeader)! } })
}
