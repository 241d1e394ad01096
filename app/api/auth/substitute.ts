import { randomBytes } from 'node:crypto'
import { readRetrySeconds } from '@/lib/database/errors'

/**
 * Returns a page that says why a request cannot be answered. `formTargets` as in
 * `showPlainPage`.
 */
export async function showSubstitute(
  name: 'authorizePage' | 'unavailablePage' | 'singleLogoutPage',
  status: 200 | 400 | 503,
  headers: Headers,
  formTargets?: string[],
): Promise<Response> {
  // only here, because it has the texts of all languages
  const { substitutePage } = await import('@/lib/brand/substitute-page')

  const nonce = randomBytes(16).toString('base64')
  const html = substitutePage(name, headers, nonce)

  return showPlainPage(html, nonce, status, formTargets)
}

/** Returns a page that says that the request can be repeated after an error. */
export async function showUnavailable(
  error: unknown,
  headers: Headers,
): Promise<Response> {
  const page = await showSubstitute('unavailablePage', 503, headers)
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
