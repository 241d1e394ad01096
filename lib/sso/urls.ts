import { env } from '../settings/env'

/**
 * Returns a URL of ours for a connection: where sign-ins `start`, to which the provider sends the browser back
 * (`callback`, or with SAML `acs`), or our SAML `metadata`, which is also our entity ID.
 */
export function ssoUrl(slug: string, endpoint: 'start' | 'callback' | 'acs' | 'metadata'): string {
  return `${env().PUBLIC_URL}/api/auth/sso/${slug}/${endpoint}`
}
