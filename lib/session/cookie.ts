import { lifetimes } from '../contract/lifetimes'
import { newSecret } from '../crypto/token'
import { isHttps } from '../settings/env'
import type { cookieNames } from './cookie-names'
import type { SessionTokens } from './tokens'

type CookieName = (typeof cookieNames)[number]

/**
 * Returns the full name of a cookie. The prefix prevents subdomains from setting it (RFC
 * 6265bis §4.1.3.2).
 */
export function cookieName(name: CookieName): string {
  return isHttps() ? `__Host-${name}` : name
}

/**
 * Returns the `Set-Cookie` values that store the tokens of a session. Scripts can't read
 * them.
 */
export function sessionCookies({
  token,
  tokenSeconds,
  refreshToken,
  sessionSeconds,
}: SessionTokens): string[] {
  return [
    setCookie('session', token, tokenSeconds),
    setCookie('refresh', refreshToken, sessionSeconds),
  ]
}

/** Returns the `Set-Cookie` values that delete the tokens of a session. */
export function deletedSessionCookies(): string[] {
  return [setCookie('session', '', 0), setCookie('refresh', '', 0)]
}

/**
 * Returns the `Set-Cookie` value that identifies a browser during a sign-in. Reuses the
 * current ID, if any.
 */
export function browserCookie(current: string | null): string {
  return setCookie('browser', current ?? newSecret(), lifetimes.browser)
}

/** Returns the ID in the cookie from `browserCookie`, or null. */
export function readBrowser(headers: Headers): string | null {
  const value = readCookie(headers, 'browser')
  return value && /^[\w-]{43}$/.test(value) ? value : null
}

/**
 * Returns the `Set-Cookie` value by which lib/password/known-browser.ts recognizes a
 * browser.
 */
export function knownBrowserCookie(value: string): string {
  return setCookie('known', value, lifetimes.knownBrowser)
}

/**
 * Returns the cookie that stores a challenge, or the encrypted secret of a new second
 * factor, so that the page can be reloaded. Null deletes the cookie.
 */
export function stepCookie(
  name: 'challenge' | 'enrolment',
  value: string | null,
): string {
  return setCookie(name, value ?? '', value ? lifetimes.secondFactorStep : 0)
}

/** Returns the unverified value of a request's cookie, or null if there is none. */
export function readCookie(headers: Headers, name: CookieName): string | null {
  const prefix = `${cookieName(name)}=`
  const cookies = headers.get('cookie')?.split(/; */) ?? []
  return cookies.find((cookie) => cookie.startsWith(prefix))?.slice(prefix.length) || null
}

/**
 * Returns a `Set-Cookie` value. The cookie is for this host only, and scripts can't read
 * it.
 */
export function setCookie(name: CookieName, value: string, seconds: number): string {
  const secure = isHttps() ? '; Secure' : ''
  return `${cookieName(name)}=${value}; Path=/; Max-Age=${seconds}; HttpOnly; SameSite=Lax${secure}`
}
