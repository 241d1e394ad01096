import { env } from '../settings/env'

/**
 * Returns one of our URLs for a connection. For SAML, the URL of `metadata` is also our
 * entity ID.
 */
export function ssoUrl(
  slug: string,
  endpoint: 'start' | 'callback' | 'acs' | 'metadata',
): string {
  return `${env().PUBLIC_URL}/api/auth/sso/${slug}/${endpoint}`
}
