import { lifetimes } from '../contract/lifetimes'
import { env } from '../settings/env'

/** The name of the session cookie. `__Host-` (RFC 6265bis §4.1.3.2) keeps subdomains from setting it, and needs https. */
export function sessionCookieName(): string {
  return isHttps() ? '__Host-session' : 'session'
}

/** A `Set-Cookie` value that stores a session JWT where no script can read it. An empty token removes the cookie. */
export function sessionCookie(token: string): string {
  const seconds = token ? lifetimes.sessionToken : 0
  return `${sessionCookieName()}=${token}; Path=/; Max-Age=${seconds}; HttpOnly; SameSite=Lax${isHttps() ? '; Secure' : ''}`
}

/** The session JWT in a request's cookies, unverified; null if there is none. */
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
