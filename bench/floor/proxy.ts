import { randomBytes } from 'node:crypto'
import { type NextRequest, NextResponse } from 'next/server'

export const config = { matcher: '/((?!api/|_next/static/).*)' }

/**
 * Sets a content security policy with a new nonce for each request, as every page with a
 * strict policy needs.
 */
export function proxy(request: NextRequest): NextResponse {
  const policy = `default-src 'none'; script-src 'self' 'nonce-${randomBytes(16).toString('base64')}' 'strict-dynamic'`
  const headers = new Headers(request.headers)
  headers.set('Content-Security-Policy', policy)
  const response = NextResponse.next({ request: { headers } })
  response.headers.set('Content-Security-Policy', policy)
  return response
}
