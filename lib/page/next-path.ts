import { authorize } from '../contract/paths'

const maxLength = 2_048
const maxParameterLength = 1_900 // leaves room for a path, the slug of a connection, and a code
/** Where the sign-in for a dashboard goes on. Its `state` can have 1,000 characters, and a URL 8 KiB. */
const maxAuthorizeLength = 7_500
const longHost = /^(?:https?:)?\/\/+[^/?#]{254}/i // parsing one takes time with the square of its length
const excludedPaths = /^\/(api|sso|sign-in|sign-out|_next)(\/|$)/

/**
 * Returns the path of this site that `?next=` names, rebuilt from its parts. Returns null for a
 * value that a browser or a proxy might read as another site, and for paths that are not pages, but for
 * the endpoint that signs users in to a dashboard.
 */
export function nextPath(next: unknown, origin: string): string | null {
  if (typeof next !== 'string' || isTooLong(next) || !next.startsWith('/') || /[\\\p{Cc}]/u.test(next)) return null
  try {
    const { origin: targetOrigin, pathname, search, hash } = new URL(next, origin)
    const decodedPath = decodeURIComponent(pathname)
    if (targetOrigin !== origin || /^\/[/\\]/.test(decodedPath)) return null
    if (pathname !== authorize && excludedPaths.test(decodedPath)) return null
    return pathname + search + hash
  } catch {
    return null // not a URL, or a malformed % sequence
  }
}

/**
 * Returns where `?next=` leads: a path of this site, or a URL of the dashboard's origin. Returns null for any other
 * value, and for what would be too long as a parameter: encoding can make it longer than it was.
 */
export function nextDestination(next: unknown, origin: string, dashboardUrl: string): string | null {
  const destination = allowedDestination(next, origin, dashboardUrl)
  if (destination === null) return null
  const limit = isAuthorize(destination) ? maxAuthorizeLength : maxParameterLength
  return `${new URLSearchParams({ next: destination })}`.length > limit ? null : destination
}

function allowedDestination(next: unknown, origin: string, dashboardUrl: string): string | null {
  const path = nextPath(next, origin)
  if (path !== null || typeof next !== 'string' || isTooLong(next) || !/^https?:\/\//.test(next)) return path
  if (/[\\\p{Cc}]/u.test(next) || !URL.canParse(next) || !URL.canParse(dashboardUrl)) return null
  const { href, origin: targetOrigin, username, password, pathname, search, hash } = new URL(next)
  if (targetOrigin !== new URL(dashboardUrl).origin || username || password) return null
  return targetOrigin === origin ? nextPath(pathname + search + hash, origin) : href
}

function isTooLong(next: string): boolean {
  return next.length > (isAuthorize(next) ? maxAuthorizeLength : maxLength) || longHost.test(next)
}

function isAuthorize(next: string): boolean {
  return next.startsWith(`${authorize}?`)
}

/** Returns the URL of a link to the sign-in page that leads on to `next`. Only our own page knows the parameter. */
export function signInPageUrl(signInUrl: string, next: string | null): string {
  return next && signInUrl === '/sign-in' ? `/sign-in?next=${encodeURIComponent(next)}` : signInUrl
}
