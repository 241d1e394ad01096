import { env } from '../settings/env'

/** Returns the URL to which the OpenID provider of a connection sends the browser back. */
export function redirectUri(slug: string): string {
  return `${env().PUBLIC_URL}/api/auth/sso/${slug}/callback`
}

/** Returns the URL to which a SAML provider posts its responses (assertion consumer service). */
export function acsUrl(slug: string): string {
  return `${env().PUBLIC_URL}/api/auth/sso/${slug}/acs`
}

/** Returns our entity ID at a SAML provider, which is also the URL of our metadata. */
export function entityId(slug: string): string {
  return `${env().PUBLIC_URL}/api/auth/sso/${slug}/metadata`
}
