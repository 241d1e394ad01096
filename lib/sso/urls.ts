import { env } from '../settings/env'

/** Returns a URL of ours for a connection. With SAML, `metadata` is also our entity ID. */
export function ssoUrl(slug: string, endpoint: 'start' | 'callback' | 'acs' | 'metadata'): string {
  return `${env().PUBLIC_URL}/api/auth/sso/${slug}/${endpoint}`
}
