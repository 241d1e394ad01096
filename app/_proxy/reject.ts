import { type NextRequest, NextResponse } from 'next/server'
import type { SubstituteName } from '@/lib/brand/substitute-page'
import type { Check } from '@/lib/contract/checks'
import { readRetrySeconds } from '@/lib/database/errors'
import { readAddress } from '@/lib/http/address'
import { movedToHeader, urlAtPublicHost } from '@/lib/http/public-host'
import { countRequest } from '@/lib/http/rate-limit/limit'
import { isCrossSite, rejectCrossSite } from '@/lib/http/same-origin'
import { describeCause, log } from '@/lib/log/log'
import { env } from '@/lib/settings/env'
import { lookUpInTime } from '../look-up-in-time'
import { findPage } from './pages'

/** Returns a response to send in place of the page, or null. Counts the request. */
export async function reject(
  request: NextRequest,
  path: string,
  nonce: string,
): Promise<Response | null> {
  const { headers, method } = request
  if (isCrossSite(headers)) return rejectCrossSite()

  const { allowed, resetSeconds } = await countRequest(readAddress(headers, env()))
  if (!allowed) {
    const html = await writePage('rateLimitedPage', headers, nonce, resetSeconds)
    const line = { method, status: 429, check: 'client_requests' } as const
    return substitute(html, 'RATE_LIMITED', line, resetSeconds)
  }

  if (path === '/long-url') {
    const html = await writePage('longUrlPage', headers, nonce)
    const line = { method, status: 414, check: 'url_too_long' } as const
    return substitute(html, 'url_too_long', line)
  }

  if (method !== 'GET' && method !== 'HEAD')
    return new Response('This page accepts GET and HEAD only.\n', {
      status: 405,
      headers: { Allow: 'GET, HEAD' },
    })

  const { isAtPublicHost, needsDatabase } = findPage(path)
  const moved = isAtPublicHost ? urlAtPublicHost(headers, request.nextUrl) : null
  if (moved) return redirect(request, moved)

  return needsDatabase?.(headers) ? rejectWithoutDatabase(request, nonce) : null
}

/** Redirects to PUBLIC_URL through app/moved/route.ts. */
function redirect(request: NextRequest, url: string): Response {
  const headers = new Headers(request.headers)
  headers.set(movedToHeader, url)
  return NextResponse.rewrite(new URL('/moved', request.url), { request: { headers } })
}

/**
 * Returns a 503 if the database does not respond in time, otherwise null. A page itself
 * can't set its status.
 */
async function rejectWithoutDatabase(
  { method, headers }: NextRequest,
  nonce: string,
): Promise<Response | null> {
  const { findUnready } = await import('@/lib/database/readiness')
  try {
    await lookUpInTime(findUnready())
    return null
  } catch (error) {
    const html = await writePage('unavailablePage', headers, nonce)
    const line = { method, status: 503, cause: describeCause(error) }
    return substitute(html, 'SERVICE_UNAVAILABLE', line, readRetrySeconds(error))
  }
}

/** Returns the HTML of a page. Its code has the texts of all languages. */
async function writePage(
  name: SubstituteName,
  headers: Headers,
  nonce: string,
  resetSeconds?: number,
): Promise<string> {
  const { substitutePage } = await import('@/lib/brand/substitute-page')
  return substitutePage(name, headers, nonce, resetSeconds)
}

type Line = { method: string; status: number; check?: Check; cause?: object }

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
