import { randomBytes } from 'node:crypto'
import { type NextRequest, NextResponse } from 'next/server'
import { secretNames } from './lib/arrived-secret'

export const config = {
  // Pages, and whatever is not found. Not the routes that answer by themselves, nor files, which are cached.
  matcher: '/((?!api(?:/|$)|_next/static/|\\.well-known/jwks\\.json$|\\.well-known/change-password$|openapi\\.json$|icon\\.svg$|robots\\.txt$).*)',
}

// Not from lib/env.ts: this file is loaded before the first answer of every process, and the schema of the settings takes longer than all the rest of it.
const isHttps = !process.env.PUBLIC_URL?.trim().startsWith('http://') // on Vercel, where it may be missing, it is

/**
 * Gives every page its security headers, and empties the secrets in the address that the page is rendered for: they concern the browser
 * alone (see lib/arrived-secret.ts), and Next.js would write the query into the HTML. The page still learns that there was one.
 */
export function proxy(request: NextRequest): NextResponse {
  const nonce = randomBytes(16).toString('base64')
  const policy = contentSecurityPolicy(nonce)
  const headers = new Headers(request.headers)
  headers.set('X-Nonce', nonce)
  headers.set('Content-Security-Policy', policy) // Next.js reads the nonce of its own scripts from here

  const url = request.nextUrl.clone()
  for (const name of secretNames) if (url.searchParams.get(name)) url.searchParams.set(name, '')
  const answer =
    url.search === request.nextUrl.search ? NextResponse.next({ request: { headers } }) : NextResponse.rewrite(url, { request: { headers } })

  answer.headers.set('Content-Security-Policy', policy)
  for (const [name, value] of Object.entries(fixedHeaders)) answer.headers.set(name, value)
  if (isHttps) answer.headers.set('Strict-Transport-Security', 'max-age=63072000; includeSubDomains')
  return answer
}

const fixedHeaders = {
  'Cache-Control': 'no-store',
  'Referrer-Policy': 'no-referrer',
  'X-Content-Type-Options': 'nosniff',
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
