import { lifetimes } from '../contract/lifetimes'
import { env } from '../settings/env'

/**
 * Returns the name of the session cookie. With https it has the prefix `__Host-`, which prevents
 * subdomains from setting it (RFC 6265bis §4.1.3.2).
 */
export function sessionCookieName(): string {
  return isHttps() ? '__Host-session' : 'session'
}

/**
 * Returns a `Set-Cookie` value that stores a session JWT out of reach of scripts. An empty token
 * deletes the cookie.
 */
export function sessionCookie(token: string): string {
  const seconds = token ? lifetimes.sessionToken : 0
  const attributes = `Path=/; Max-Age=${seconds}; HttpOnly; SameSite=Lax${isHttps() ? '; Secure' : ''}`
  return `${sessionCookieName()}=${token}; ${attributes}`
}

/** Returns the unverified session JWT from a request's cookies, or null if there is none. */
export function sessionTokenOf(request: Request): string | null {
  const prefix = `${sessionCookieName()}=`
  const pair = request.headers
    .get('cookie')
    ?.split(/; */)
    .find((cookie) => cookie.startsWith(prefix))
  return pair?.slice(prefix.length) || null
}

function isHttps(): boolean {
  return env().PUBLIC_URL.startsWith('https://')
}
