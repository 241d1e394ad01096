import { randomBytes } from 'node:crypto'
import { substitutePage } from '@/lib/brand/substitute-page'
import { readRetrySeconds } from '@/lib/database/errors'

/** Returns a page that says why a request cannot be answered. */
export function showSubstitute(
  name: 'authorizePage' | 'unavailablePage',
  status: 400 | 503,
  headers: Headers,
): Response {
  const nonce = randomBytes(16).toString('base64')
  return showPlainPage(substitutePage(name, headers, nonce), nonce, status)
}

/** Returns a page that says that the request can be repeated after an error. */
export function showUnavailable(error: unknown, headers: Headers): Response {
  const page = showSubstitute('unavailablePage', 503, headers)
  page.headers.set('Retry-After', String(readRetrySeconds(error)))
  return page
}

/**
 * Returns a page from `plainPage`, whose scripts and styles have this nonce. `formTargets`:
 * the origins that its form leads to.
 */
export function showPlainPage(
  html: string,
  nonce: string,
  status = 200,
  formTargets: string[] = [],
): Response {
  const policy = [
    `default-src 'none'`,
    `script-src 'nonce-${nonce}'`,
    `style-src 'nonce-${nonce}'`,
    `img-src 'self'`,
    `font-src 'self'`,
    `form-action ${formTargets.join(' ') || `'none'`}`,
    `frame-ancestors 'none'`,
    `base-uri 'none'`,
  ]

  return new Response(html, {
    status,
    headers: {
      'Content-Type': 'text/html; charset=utf-8',
      'Content-Security-Policy': policy.join('; '),
    },
  })
}
