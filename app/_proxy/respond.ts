import { randomBytes } from 'node:crypto'
import { type NextRequest, NextResponse } from 'next/server'

import { hideSecrets, tokenHashHeader } from '@/lib/http/hide-secrets'
import { readRequestId } from '@/lib/http/request-id'
import { withRequestId } from '@/lib/log/request-context'
import { browserCookie, readBrowser, readCookie, stepCookie } from '@/lib/session/cookie'

import { env, sendsMail } from '@/lib/settings/env'
import { createAskCookie, readAsk } from '@/lib/sso/next-sign-in'
import { makeContentSecurityPolicy } from './content-security-policy'
import { exchangeHeader } from './exchange-header'
import { findPage, hasSessionCookie } from './pages'
import { reject } from './reject'

/**
 * Counts a page request against the rate limit, and responds with the page and its
 * security headers.
 */
export function respond(request: NextRequest): Promise<Response> {
  const requestId = readRequestId(request.headers)
  return withRequestId(requestId, () => respondWithId(request, requestId))
}

async function respondWithId(request: NextRequest, requestId: string): Promise<Response> {
  const nonce = randomBytes(16).toString('base64')
  const policy = makeContentSecurityPolicy(nonce)
  const path = request.nextUrl.pathname.replace(/(?<=.)\/$/, '')

  const response =
    (await reject(request, path, nonce)) ??
    (await forwardToPage(request, requestId, path, nonce, policy))

  response.headers.set('Content-Security-Policy', policy)
  response.headers.set('X-Request-Id', requestId)
  for (const [name, value] of Object.entries(fixedHeaders))
    response.headers.set(name, value)
  if (findPage(path).hasForm) response.headers.set('Referrer-Policy', 'same-origin')

  return response
}

const fixedHeaders = {
  'Cache-Control': process.env.VERCEL ? 'no-store, no-transform' : 'no-store', // bin/server.ts adds no-transform
  'Referrer-Policy': 'no-referrer',
  'X-Robots-Tag': 'noindex',
  'Cross-Origin-Opener-Policy': 'same-origin',
  'Cross-Origin-Resource-Policy': 'same-origin',
  'Permissions-Policy':
    'camera=(), display-capture=(), geolocation=(), microphone=(), payment=(), usb=(), ' +
    'publickey-credentials-get=(self), publickey-credentials-create=(self)',
}

/**
 * Responds with the page. Blanks the secrets in its URL, because Next.js would write them
 * into the HTML.
 */
async function forwardToPage(
  request: NextRequest,
  requestId: string,
  path: string,
  nonce: string,
  policy: string,
): Promise<NextResponse> {
  const headers = new Headers(request.headers)
  headers.set('X-Nonce', nonce)
  headers.set('X-Request-Id', requestId)
  headers.set('Content-Security-Policy', policy) // Next.js reads the nonce from this header

  // With an error, the page shows it, and leaves the code alone.
  const { searchParams } = request.nextUrl
  headers.delete(exchangeHeader)
  if (path === '/sso/callback' && !searchParams.has('error'))
    headers.set(exchangeHeader, 'true')

  const url = request.nextUrl.clone()

  // `notFound()` in the page would render in the browser only. The paths of Next.js's own
  // pages begin with `/_`.
  const isMissing =
    (path === '/forgot-password' && !sendsMail()) ||
    (path === '/setup' && !env().SETUP_LINKS)
  if (isMissing || /^\/(_|moved$)/.test(path)) url.pathname = '/not-found'

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

  for (const cookie of await makeCookies(request, path))
    response.headers.append('Set-Cookie', cookie)

  return response
}

/** Returns the `Set-Cookie` values of a page. */
async function makeCookies(
  { headers, nextUrl: { searchParams } }: NextRequest,
  path: string,
): Promise<string[]> {
  // By this cookie, a repeated request of the same browser is recognized.
  const browser = readBrowser(headers) ? [] : [browserCookie(null)]
  if (path === '/sso/callback') return browser

  // The provider must ask who signs in next, because its session of the previous user may
  // still live.
  if (path === '/' && searchParams.has('signed-out'))
    return (await isSignedIn(headers)) ? [] : [createAskCookie('login')]

  if (path !== '/sign-in') return []

  return searchParams.has('another')
    ? [...browser, ...makeCookiesForAnother(headers)]
    : browser
}

/**
 * Returns the cookies for a sign-in with another account. The provider must ask who signs
 * in if the browser had an account. After a sign-out, it already has to ask more.
 */
function makeCookiesForAnother(headers: Headers): string[] {
  const hadAccount =
    hasSessionCookie(headers) || readCookie(headers, 'challenge') !== null
  const isAsked = readAsk(headers).ask === 'login'

  return [
    stepCookie('challenge', null),
    ...(hadAccount && !isAsked ? [createAskCookie('account')] : []),
  ]
}

/**
 * Whether the browser has a live session. Cookies do not prove it, because a sign-out at
 * a dashboard keeps them.
 */
async function isSignedIn(headers: Headers): Promise<boolean> {
  if (!hasSessionCookie(headers)) return false
  const { findBrowserSession } = await import('@/lib/session/browser')
  return (await findBrowserSession(headers)) !== null
}
