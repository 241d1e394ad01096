import { log } from '../log/log'
import { env } from '../settings/env'

/** The header in which app/_proxy/respond.ts passes the URL to app/moved/route.ts. */
export const movedToHeader = 'x-moved-to'

const marker = 'moved'
// URLs with these parameters are not redirected, because they contain a secret, or a form
// redirects to them. After a form is sent, the CSP directive `form-action` forbids a
// redirect to another host.
const stayWith = ['code', 'token', 'sent', 'invalid', 'error']
// no secret has this form
const hostPattern = /^[a-z0-9-]{1,40}(\.[a-z0-9-]{1,40}){0,9}(:\d{1,5})?$/

// On globalThis, because proxy.ts and the routes are bundled separately.
const globals = globalThis as typeof globalThis & { hasWarnedOfHost?: boolean }

/**
 * Returns the URL at PUBLIC_URL for a request to another host, such as www, otherwise
 * null. Cookies of the other host would be missing later at PUBLIC_URL. If the host still
 * differs after a redirect, returns null and logs one warning.
 */
export function urlAtPublicHost(
  headers: Headers,
  { pathname, search, searchParams }: URL,
): string | null {
  const { PUBLIC_URL } = env()
  const given = `http://${headers.get('host') ?? ''}`

  // Ignores the port, because cookies do not depend on it, and some proxies remove it.
  if (!URL.canParse(given) || new URL(given).hostname === new URL(PUBLIC_URL).hostname)
    return null

  if (
    process.env.VERCEL_ENV === 'preview' ||
    stayWith.some((name) => searchParams.has(name))
  )
    return null

  if (!searchParams.has(marker))
    return `${PUBLIC_URL}${pathname}${search}${search ? '&' : '?'}${marker}`

  if (!globals.hasWarnedOfHost) {
    globals.hasWarnedOfHost = true
    const { host } = new URL(given)
    log.warn(
      hostPattern.test(host) ? { host } : {},
      'requests to PUBLIC_URL arrive with another Host: the proxy in front has to pass on the Host that it received',
    )
  }

  return null
}
