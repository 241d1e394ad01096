import { randomBytes } from 'node:crypto'
import { type NextRequest, NextResponse } from 'next/server'
import { secretNames } from './lib/page/url-secret'

export const config = {
  // Pages, and paths that do not exist. Not the routes, which count their own requests, nor files, which are cached.
  matcher:
    '/((?!api(?:/|$)|sign-out$|_next/static/|\\.well-known/jwks\\.json$|\\.well-known/change-password$|openapi\\.json$|icon\\.svg$|robots\\.txt$).*)',
}

// Not from lib/settings/env.ts: this file is loaded before the first response of every process, and the schema of the settings takes longer than all the rest of it.
const isHttps = !process.env.PUBLIC_URL?.trim().startsWith('http://') // on Vercel, where it may be missing, it is

/**
 * Counts every request for a page against the platform limit, gives every page its security headers, and empties the secrets in the
 * URL that the page is rendered for: they concern the browser alone (see app/_ui/arrival.js), and Next.js would write the query
 * into the HTML. The page still learns that there was one.
 */
export async function proxy(request: NextRequest): Promise<NextResponse> {
  const nonce = randomBytes(16).toString('base64')
  const policy = contentSecurityPolicy(nonce)
  const response = (await rejection(request, nonce)) ?? page(request, nonce, policy)
  response.headers.set('Content-Security-Policy', policy)
  for (const [name, value] of Object.entries(fixedHeaders)) response.headers.set(name, value)
  // The home page has a form: without a referrer, browsers before 2023 would hide from which site it was sent.
  if (request.nextUrl.pathname === '/') response.headers.set('Referrer-Policy', 'same-origin')
  return response
}

/** The response to a client that is over the limit, or to a method that no page accepts; null for any other request. */
async function rejection(request: NextRequest, nonce: string): Promise<NextResponse | null> {
  const [{ countRequest }, { clientAddress }] = await Promise.all([
    import('./lib/http/rate-limit/limit'),
    import('./lib/http/client-address'),
  ])
  const { allowed, resetSeconds } = await countRequest(clientAddress(request))
  if (!allowed) {
    const [{ limitedPage }, { log }] = await Promise.all([import('./lib/page/limited-page'), import('./lib/log')])
    log.info({ method: request.method, route: 'page', status: 429, code: 'RATE_LIMITED' })
    const html = limitedPage(request.headers.get('accept-language'), resetSeconds, nonce)
    return new NextResponse(html, {
      status: 429,
      headers: { 'Content-Type': 'text/html; charset=utf-8', 'Retry-After': String(resetSeconds) },
    })
  }
  if (request.method === 'GET' || request.method === 'HEAD') return null
  return new NextResponse('This page accepts GET and HEAD only.\n', { status: 405, headers: { Allow: 'GET, HEAD' } })
}

function page(request: NextRequest, nonce: string, policy: string): NextResponse {
  const headers = new Headers(request.headers)
  headers.set('X-Nonce', nonce)
  headers.set('Content-Security-Policy', policy) // Next.js reads the nonce of its own scripts from here

  const url = request.nextUrl.clone()
  for (const name of secretNames) if (url.searchParams.getAll(name).some(Boolean)) url.searchParams.set(name, '')
  const changed = url.search !== request.nextUrl.search
  return changed ? NextResponse.rewrite(url, { request: { headers } }) : NextResponse.next({ request: { headers } })
}

const fixedHeaders = {
  'Cache-Control': 'no-store',
  'Referrer-Policy': 'no-referrer',
  'X-Robots-Tag': 'noindex',
  'Cross-Origin-Opener-Policy': 'same-origin',
  'Cross-Origin-Resource-Policy': 'same-origin',
  'Permissions-Policy': 'camera=(), display-capture=(), geolocation=(), microphone=(), payment=(), usb=()',
}

function contentSecurityPolicy(nonce: string): string {
  const development = process.env.NODE_ENV === 'development' // where React evaluates, Next.js styles its overlay, and hot reload has a socket
  return [
    `default-src 'none'`,
    `script-src 'self' 'nonce-${nonce}' 'strict-dynamic'${development ? ` 'unsafe-eval'` : ''}`,
    development ? `style-src 'self' 'unsafe-inline'` : `style-src 'self' 'nonce-${nonce}'`,
    `img-src 'self'${development ? ' data: blob:' : ''}`,
    `font-src 'self'`,
    `connect-src 'self'${development ? ' ws: wss:' : ''}`,
    `form-action 'self'`,
    `base-uri 'none'`,
    `frame-ancestors 'none'`,
    `object-src 'none'`,
    ...(isHttps ? ['upgrade-insecure-requests'] : []),
  ].join('; ')
}
