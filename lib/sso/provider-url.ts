import { z } from 'zod'
import { isHttps } from '../settings/env'
import { isLoopback } from '../settings/loopback'

/**
 * A URL of an identity provider. http is allowed only on this machine, and only if
 * PUBLIC_URL uses http too.
 */
export const ProviderUrl = z
  .url({ protocol: /^https?$/, error: 'must be a URL that begins with https://' })
  .refine(
    (value) => /^https:/i.test(value) || (!isHttps() && isLoopback(hostOf(value))),
    'must begin with https://',
  )

/** Returns the host name in a URL, or an empty text. */
export function hostOf(url: string): string {
  return URL.canParse(url) ? new URL(url).hostname : ''
}
