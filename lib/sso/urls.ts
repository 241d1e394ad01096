import * as z from 'zod'
import { env, isHttps } from '../settings/env'
import { isLoopback } from '../settings/loopback'

/**
 * Returns one of our URLs for a connection. For SAML, the URL of `metadata` is also our
 * entity ID.
 */
export function ssoUrl(
  slug: string,
  endpoint: 'start' | 'callback' | 'acs' | 'metadata' | 'backchannel-logout',
): string {
  return `${env().PUBLIC_URL}/api/auth/sso/${slug}/${endpoint}`
}

/**
 * A URL of an identity provider. http is allowed only on this machine. If PUBLIC_URL has
 * https, it must be on this machine too, so that no network is involved.
 */
export const ProviderUrl = z
  .url({
    protocol: /^https?$/,
    error: 'must be a URL that begins with https://',
    abort: true,
  })
  .refine(
    (value) =>
      /^https:/i.test(value) ||
      (isLoopback(readHost(value)) &&
        (!isHttps() || isLoopback(readHost(process.env.PUBLIC_URL ?? '')))),
    'must begin with https://',
  )

/**
 * Set if the holder of a setup link entered the URLs of a connection. Then our requests
 * to the provider may only lead to public addresses.
 */
export const publicOnly = z.literal(true).optional()

/** Returns the host name in a URL, or an empty text. */
export function readHost(url: string): string {
  return URL.canParse(url) ? new URL(url).hostname : ''
}
