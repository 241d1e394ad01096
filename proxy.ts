import { randomBytes } from 'node:crypto'
import { type NextRequest, NextResponse } from 'next/server'
import { brandFiles } from './app/_ui/brand-files'
import { hideSecrets } from './lib/page/hide-secrets'
import { tokenHashHeader } from './lib/page/url-secret'
import { browserCookie, browserOf, cookieOf } from './lib/session/cookie'
import { isHttps } from './lib/settings/https'
import { askCookie } from './lib/sso/next-sign-in'

export const config = {
  // Pages, and paths that do not exist. Excludes the routes, which count their own requests, and
  // files, which are cached.
  matcher:
    '/((?!api(?:/|$)|sign-out$|forgot-password/send$|_next/static/|\\.well-known/(?:widget-)?jwks\\.json/?$|\\.well-known/change-password/?$|openapi\\.json/?$|icon\\.svg$|favicon\\.ico$|robots\\.txt$).*)',
}

const retryAfterSeconds = 5

// Files like those that the matcher excludes, but known only to the build.
const brandPaths = Object.values(brandFiles())

/**
 * Counts every page request against the platform limit, sets the security headers, and responds in
 * place of pages that need the database while it is unavailable. Blanks the secrets in the URL that
 * Next.js renders: Next.js would write the query into the HTML, and only the browser needs them (see
 * app/_ui/url-secrets.inline.js). The page still sees that a secret is present.
 */
export async function proxy(request: NextRequest): Promise<Response> {
  const { pathname } = request.nextUrl
  if (brandPaths.includes(pathname)) return NextResponse.next()
  // It has the policy of the page that it shows.
  if (process.env.HAS_PREVIEW && /^\/preview(\/|$)/.test(pathname)) return NextResponse.next()
  const nonce = randomBytes(16).toString('base64')
  const policy = contentSecurityPolicy(nonce)
  const response = (await rejectionOf(request, nonce)) ?? (await forwardToPage(request, nonce, policy))
  response.headers.set('Content-Security-Policy', policy)
  for (const [name, value] of Object.entries(fixedHeaders)) response.headers.set(name, value)
  // These pages have a form: without a referrer, browsers before 2023 would hide which site sent it.
  if (['/', '/forgot-password'].includes(pathname)) response.headers.set('Referrer-Policy', 'same-origin')
  return response
}

/**
 * Returns the response for a part of another site's page, a client over the limit, a URL that
 * bin/server.ts found too long, a method that no page accepts, a form at another host than that of
 * PUBLIC_URL, or a page that needs the database while it is unavailable. Otherwise returns null.
 */
async function rejectionOf(request: NextRequest, nonce: string): Promise<Response | null> {
  const [{ countRequest }, { clientKey }, { isCrossSite, rejectCrossSite }] = await Promise.all([
    import('./lib/http/rate-limit/limit'),
    import('./lib/http/client-key'),
    import('./lib/http/same-origin'),
  ])
  if (isCrossSite(request.headers)) return rejectCrossSite()
  const { allowed, resetSeconds } = await countRequest(clientKey(request))
  if (!allowed) {
    const [{ rateLimitedPage }, { log }] = await Promise.all([
      import('./lib/page/rate-limited-page'),
      import('./lib/log'),
    ])
    log.info({ method: request.method, route: 'page', status: 429, code: 'RATE_LIMITED' })
    const html = rateLimitedPage(request.headers, resetSeconds, nonce)
    return new NextResponse(html, {
      status: 429,
      headers: { 'Content-Type': 'text/html; charset=utf-8', 'Retry-After': String(resetSeconds) },
    })
  }
  if (request.nextUrl.pathname === '/long-url') {
    const [{ longUrlPage }, { log }] = await Promise.all([import('./lib/page/rate-limited-page'), import('./lib/log')])
    log.info({ method: request.method, route: 'page', status: 414, code: 'url_too_long' })
    const headers = { 'Content-Type': 'text/html; charset=utf-8' }
    return new NextResponse(longUrlPage(request.headers, nonce), { status: 414, headers })
  }
  if (request.method !== 'GET' && request.method !== 'HEAD')
    return new NextResponse('This page accepts GET and HEAD only.\n', { status: 405, headers: { Allow: 'GET, HEAD' } })
  if (/^\/(sign-in|forgot-password)\/?$/.test(request.nextUrl.pathname)) {
    const { movedToHeader, urlAtPublicHost } = await import('./lib/http/public-host')
    const moved = urlAtPublicHost(request.headers, request.nextUrl)
    if (moved) {
      const headers = new Headers(request.headers)
      headers.set(movedToHeader, moved)
      return NextResponse.rewrite(new URL('/moved', request.url), { request: { headers } })
    }
  }
  return readsDatabase(request) ? unavailability(request, nonce) : null
}

/** Whether a page can't be rendered without the database. */
function readsDatabase({ nextUrl: { pathname }, headers }: NextRequest): boolean {
  if (pathname === '/') return hasSession(headers)
  return /^\/sign-in\/?$/.test(pathname)
}

/** Returns a 503 if the database does not respond in time, else null. A page can't set its status. */
async function unavailability({ method, headers }: NextRequest, nonce: string): Promise<NextResponse | null> {
  const [{ inTime }, { isUsable }] = await Promise.all([import('./app/look-up'), import('./lib/database/readiness')])
  try {
    await inTime(isUsable())
    return null
  } catch (error) {
    const [{ unavailablePage }, { describeCause, log }] = await Promise.all([
      import('./lib/page/rate-limited-page'),
      import('./lib/log'),
    ])
    const cause = describeCause(error)
    log.error({ method, route: 'page', status: 503, code: 'SERVICE_UNAVAILABLE', cause })
    return new NextResponse(unavailablePage(headers, nonce), {
      status: 503,
      headers: { 'Content-Type': 'text/html; charset=utf-8', 'Retry-After': String(retryAfterSeconds) },
    })
  }
}

async function forwardToPage(request: NextRequest, nonce: string, policy: string): Promise<NextResponse> {
  const { sendsMail } = await import('./lib/settings/env')
  const { pathname } = request.nextUrl
  // Not `notFound()` in the page: Next.js then renders in the browser only. Its own pages begin with `/_`. This file
  // alone leads to `/moved`.
  const isAbsent =
    pathname.startsWith('/_') || pathname === '/moved' || (/^\/forgot-password\/?$/.test(pathname) && !sendsMail())
  const response = rewritten(request, isAbsent ? '/not-found' : pathname, nonce, policy)
  const isCallback = /^\/sso\/callback\/?$/.test(pathname)
  // so that a code that is posted twice is known to come from one browser
  if (isCallback && !browserOf(request.headers)) response.headers.append('Set-Cookie', browserCookie(null))
  // The next sign-in asks who it is: at a shared computer, the provider still knows the user before.
  if (pathname === '/' && request.nextUrl.searchParams.has('signed-out') && !(await isSignedIn(request.headers)))
    response.headers.append('Set-Cookie', askCookie('login'))
  return response
}

/** Whether the browser has a live session: after a sign-out at a dashboard, it still has the cookies. */
async function isSignedIn(headers: Headers): Promise<boolean> {
  if (!hasSession(headers)) return false
  const { findBrowserSession } = await import('./lib/session/authorize')
  return (await findBrowserSession(headers)) !== null
}

/** Whether the browser has cookies of a session, which may have ended. */
function hasSession(headers: Headers): boolean {
  return Boolean(cookieOf(headers, 'session') ?? cookieOf(headers, 'refresh'))
}

function rewritten(request: NextRequest, pathname: string, nonce: string, policy: string): NextResponse {
  const headers = new Headers(request.headers)
  headers.set('X-Nonce', nonce)
  // Next.js reads the nonce for its own scripts from this header
  headers.set('Content-Security-Policy', policy)
  const url = request.nextUrl.clone()
  url.pathname = pathname
  // Elsewhere, bin/server.ts has done so: Next.js itself writes the URL that it receives into the HTML.
  if (process.env.VERCEL) setTokenHash(headers, hideSecrets(url.searchParams))
  return url.href === request.nextUrl.href
    ? NextResponse.next({ request: { headers } })
    : NextResponse.rewrite(url, { request: { headers } })
}

function setTokenHash(headers: Headers, hash: string | null): void {
  headers.delete(tokenHashHeader)
  if (hash) headers.set(tokenHashHeader, hash)
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
  // In development, React uses eval, Next.js styles its overlay, and hot reload uses a WebSocket.
  const isDevelopment = process.env.NODE_ENV === 'development'
  return [
    `default-src 'none'`,
    `script-src 'self' 'nonce-${nonce}' 'strict-dynamic'${isDevelopment ? ` 'unsafe-eval'` : ''}`,
    isDevelopment ? `style-src 'self' 'unsafe-inline'` : `style-src 'self' 'nonce-${nonce}'`,
    `img-src 'self'${isDevelopment ? ' data: blob:' : ''}`,
    `font-src 'self'`,
    `worker-src 'self'`,
    `connect-src 'self'${isDevelopment ? ' ws: wss:' : ''}`,
    `form-action 'self'`,
    `base-uri 'none'`,
    `frame-ancestors 'none'`,
    `object-src 'none'`,
    ...(isHttps() ? ['upgrade-insecure-requests'] : []),
  ].join('; ')
}
