import { env } from '../settings/env'

/**
 * Whether another site embeds a URL or a browser prefetches it. Such requests do not
 * count against a rate limit.
 */
export function isCrossSite(headers: Headers): boolean {
  const site = headers.get('sec-fetch-site')
  if (site === 'same-origin') return false
  if (headers.has('sec-purpose')) return true // Chromium sends "none" as the site of a prefetch

  const isNavigation = (headers.get('sec-fetch-mode') ?? 'navigate') === 'navigate'

  return (
    site === 'cross-site' &&
    !(isNavigation && (headers.get('sec-fetch-dest') ?? 'document') === 'document')
  )
}

/**
 * Whether the request loads a page into a tab (W3C Fetch Metadata). True if a browser
 * does not send these headers.
 */
export function isNavigation(headers: Headers): boolean {
  const [mode, destination] = [
    headers.get('sec-fetch-mode'),
    headers.get('sec-fetch-dest'),
  ]

  return (
    mode === null ||
    destination === null ||
    (mode === 'navigate' && destination === 'document')
  )
}

/** Responds to requests for which `isCrossSite` is true. */
export function rejectCrossSite(): Response {
  return new Response('Pages of other sites may link to this one, but not load it.\n', {
    status: 403,
    headers: {
      'Cache-Control': 'no-store',
      'Content-Security-Policy': `frame-ancestors 'none'`,
    },
  })
}

/**
 * Whether a page of this site sent the request. True for programs too, because no site
 * can make them send cookies.
 */
export function isSameOrigin(headers: Headers): boolean {
  const site = headers.get('sec-fetch-site')
  if (site !== null) return site === 'same-origin'
  return (headers.get('origin') ?? env().PUBLIC_URL) === env().PUBLIC_URL // browsers before 2023 send only this header
}
