import { randomBytes } from 'node:crypto'
import { type NextRequest, NextResponse } from 'next/server'
import { tokenHashHeader } from '@/app/_ui/url-secret'
import { substitutePage } from '@/lib/brand/substitute-page'
import { clientKey } from '@/lib/http/client-key'
import { hideSecrets } from '@/lib/http/hide-secrets'
import { movedToHeader, urlAtPublicHost } from '@/lib/http/public-host'
import { countRequest } from '@/lib/http/rate-limit/limit'
import { isCrossSite, rejectCrossSite } from '@/lib/http/same-origin'
import { describeCause, log } from '@/lib/log/log'
import { browserCookie, browserOf, challengeCookie, cookieOf } from '@/lib/session/cookie'
import { isHttps, sendsMail } from '@/lib/settings/env'
import { askCookie, askOf } from '@/lib/sso/next-sign-in'
import { inTime } from '../look-up'

/**
 * Counts a page request against the rate limit, and responds with the page and its
 * security headers.
 */
export async function respond(request: NextRequest): Promise<Response> {
  const nonce = randomBytes(16).toString('base64')
  const policy = contentSecurityPolicy(nonce)
  const path = request.nextUrl.pathname.replace(/(?<=.)\/$/, '')
  const response =
    (await rejectionOf(request, path, nonce)) ??
    (await forwardToPage(request, path, nonce, policy))
  response.headers.set('Content-Security-Policy', policy)
  for (const [name, value] of Object.entries(fixedHeaders))
    response.headers.set(name, value)
  // These pages have a form. Without a referrer, browsers before 2023 would not send the
  // form's origin.
  if (['/', '/account', '/forgot-password'].includes(path))
    response.headers.set('Referrer-Policy', 'same-origin')
  return response
}

/** Returns a response to send in place of the page, or null. */
async function rejectionOf(
  request: NextRequest,
  path: string,
  nonce: string,
): Promise<Response | null> {
  const { headers, method, nextUrl } = request
  if (isCrossSite(headers)) return rejectCrossSite()
  const { allowed, resetSeconds } = await countRequest(clientKey(request))
  if (!allowed) {
    const html = substitutePage('rateLimitedPage', headers, nonce, resetSeconds)
    return substitute(html, 'RATE_LIMITED', { method, status: 429 }, resetSeconds)
  }
  if (path === '/long-url')
    return substitute(substitutePage('longUrlPage', headers, nonce), 'url_too_long', {
      method,
      status: 414,
    })
  if (method !== 'GET' && method !== 'HEAD')
    return new Response('This page accepts GET and HEAD only.\n', {
      status: 405,
      headers: { Allow: 'GET, HEAD' },
    })
  const moved =
    ['/sign-in', '/forgot-password'].includes(path) && urlAtPublicHost(headers, nextUrl)
  if (moved) {
    const forwarded = new Headers(headers)
    forwarded.set(movedToHeader, moved)
    return NextResponse.rewrite(new URL('/moved', request.url), {
      request: { headers: forwarded },
    })
  }
  const needsDatabase =
    path === '/sign-in' || (['/', '/account'].includes(path) && hasSession(headers))
  return needsDatabase ? unavailability(request, nonce) : null
}

/**
 * Returns a 503 if the database does not respond in time, otherwise null. A page itself
 * can't set its status.
 */
async function unavailability(
  { method, headers }: NextRequest,
  nonce: string,
): Promise<Response | null> {
  const { isUsable } = await import('@/lib/database/readiness')
  try {
    await inTime(isUsable())
    return null
  } catch (error) {
    const line = { method, status: 503, cause: describeCause(error) }
    return substitute(
      substitutePage('unavailablePage', headers, nonce),
      'SERVICE_UNAVAILABLE',
      line,
      5,
    )
  }
}

type Line = { method: string; status: number; cause?: object }

/** Responds with a page in place of the requested one, and logs why. */
function substitute(
  html: string,
  code: string,
  line: Line,
  retryAfterSeconds?: number,
): Response {
  log[line.cause ? 'error' : 'info']({ ...line, route: 'page', code })
  const headers = new Headers({ 'Content-Type': 'text/html; charset=utf-8' })
  if (retryAfterSeconds) headers.set('Retry-After', String(retryAfterSeconds))
  return new Response(html, { status: line.status, headers })
}

/** Whether the browser has cookies of a session, which may have ended. */
function hasSession(headers: Headers): boolean {
  return Boolean(cookieOf(headers, 'session') ?? cookieOf(headers, 'refresh'))
}

/**
 * Whether the browser has a live session. Cookies do not prove it, because a sign-out at
 * a dashboard keeps them.
 */
async function isSignedIn(headers: Headers): Promise<boolean> {
  if (!hasSession(headers)) return false
  const { findBrowserSession } = await import('@/lib/session/authorize')
  return (await findBrowserSession(headers)) !== null
}

/**
 * Responds with the page. Blanks the secrets in its URL, because Next.js would write them
 * into the HTML.
 */
async function forwardToPage(
  request: NextRequest,
  path: string,
  nonce: string,
  policy: string,
): Promise<NextResponse> {
  const { searchParams } = request.nextUrl
  const headers = new Headers(request.headers)
  headers.set('X-Nonce', nonce)
  headers.set('Content-Security-Policy', policy) // Next.js reads the nonce from this header
  const url = request.nextUrl.clone()
  // `notFound()` in the page would render in the browser only. The paths of Next.js's own
  // pages begin with `/_`.
  if (/^\/(_|moved$)/.test(path) || (path === '/forgot-password' && !sendsMail()))
    url.pathname = '/not-found'
  // Outside Vercel, bin/server.ts has already hidden the secrets.
  if (process.env.VERCEL) {
    const hash = hideSecrets(url.searchParams)
    headers.delete(tokenHashHeader)
    if (hash) headers.set(tokenHashHeader, hash)
  }
  const response =
    url.href === request.nextUrl.href
      ? NextResponse.next({ request: { headers } })
      : NextResponse.rewrite(url, { request: { headers } })
  // With this cookie, a code that one browser posts twice does not count as stolen.
  if (path === '/sso/callback' && !browserOf(request.headers))
    response.headers.append('Set-Cookie', browserCookie(null))
  // The provider must ask who signs in next, because its session of the previous user may
  // still live.
  if (
    path === '/' &&
    searchParams.has('signed-out') &&
    !(await isSignedIn(request.headers))
  )
    response.headers.append('Set-Cookie', askCookie('login'))
  if (path === '/sign-in' && searchParams.has('another'))
    for (const cookie of cookiesForAnother(request.headers))
      response.headers.append('Set-Cookie', cookie)
  return response
}

/**
 * Returns the cookies for a sign-in with another account. The provider must ask who signs
 * in if the browser had an account. After a sign-out, it already has to ask more.
 */
function cookiesForAnother(headers: Headers): string[] {
  const hadAccount = hasSession(headers) || cookieOf(headers, 'challenge') !== null
  const isAsked = askOf(headers).ask === 'login'
  return [
    challengeCookie(null),
    ...(hadAccount && !isAsked ? [askCookie('account')] : []),
  ]
}

const fixedHeaders = {
  'Cache-Control': process.env.VERCEL ? 'no-store, no-transform' : 'no-store', // bin/server.ts adds no-transform
  'Referrer-Policy': 'no-referrer',
  'X-Robots-Tag': 'noindex',
  'Cross-Origin-Opener-Policy': 'same-origin',
  'Cross-Origin-Resource-Policy': 'same-origin',
  'Permissions-Policy':
    'camera=(), display-capture=(), geolocation=(), microphone=(), payment=(), usb=()',
}

function contentSecurityPolicy(nonce: string): string {
  // In development, React uses eval, Next.js styles its overlay, and hot reload uses a
  // WebSocket.
  const isDevelopment = process.env.NODE_ENV === 'development'
  return [
    `default-src 'none'`,
    `script-src 'self' 'nonce-${nonce}' 'strict-dynamic'${isDevelopment ? ` 'unsafe-eval'` : ''}`,
    isDevelopment
      ? `style-src 'self' 'unsafe-inline'`
      : `style-src 'self' 'nonce-${nonce}'`,
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
