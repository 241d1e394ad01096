import { env } from '../settings/env'

/**
 * Whether the request came from a page of this site. Browsers send `Sec-Fetch-Site`; those before
 * 2023 send only `Origin`. A client without either header is not a browser, so it has no cookie
 * that another site could use.
 */
export function isSameOrigin(headers: Headers): boolean {
  const site = headers.get('sec-fetch-site')
  if (site !== null) return site === 'same-origin'
  return (headers.get('origin') ?? env().PUBLIC_URL) === env().PUBLIC_URL
}
