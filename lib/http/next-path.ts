import { authorize } from '../contract/routes'

const maxLength = 2_048
// leaves space in the URL for a path, the slug of a connection, and a code
const maxParameterLength = 1_900
/**
 * The limit for the authorization request of a client, whose `state` may have 2,000
 * characters. A URL may have 8 KiB.
 */
const maxAuthorizeLength = 7_500
// parsing takes time proportional to the square of the length
const longHost = /^(?:https?:)?\/\/+[^/?#]{254}/i

/**
 * Returns the destination in `?next=`: a path of this site, or a URL of the dashboard's
 * origin. Returns null for other sites, for texts that a browser or proxy might take for
 * another site, for paths that are not pages, and for texts that are too long. Leaves out
 * a fragment that makes the text too long.
 */
export function nextDestination(
  next: unknown,
  origin: string,
  dashboardUrl: string,
): string | null {
  const destination = readDestination(next, origin, dashboardUrl)
  if (destination || typeof next !== 'string' || !next.includes('#')) return destination

  return readDestination(next.slice(0, next.indexOf('#')), origin, dashboardUrl)
}

function readDestination(
  next: unknown,
  origin: string,
  dashboardUrl: string,
): string | null {
  if (typeof next !== 'string' || longHost.test(next) || /[\\\p{Cc}]/u.test(next))
    return null
  if (next.length > (isAuthorize(next) ? maxAuthorizeLength : maxLength)) return null
  if (!/^\/(?!\/)/.test(next) && !isOfDashboard(next, dashboardUrl)) return null

  const {
    href,
    origin: targetOrigin,
    username,
    password,
    pathname,
    search,
    hash,
  } = new URL(next, origin)

  if (username || password || (targetOrigin === origin && !isAllowedPath(pathname)))
    return null

  const destination = targetOrigin === origin ? pathname + search + hash : href

  // checked again, because encoding can make the path longer
  const limit = isAuthorize(destination) ? maxAuthorizeLength : maxParameterLength

  return `${new URLSearchParams({ next: destination })}`.length > limit
    ? null
    : destination
}

function isOfDashboard(next: string, dashboardUrl: string): boolean {
  if (!/^https?:\/\//.test(next) || !URL.canParse(next) || !URL.canParse(dashboardUrl))
    return false
  return new URL(next).origin === new URL(dashboardUrl).origin
}

function isAllowedPath(pathname: string): boolean {
  try {
    return (
      pathname === authorize.path ||
      !/^\/([/\\]|(api|sso|sign-in|sign-out|_next)(\/|$))/.test(
        decodeURIComponent(pathname),
      )
    )
  } catch {
    return false // a malformed % sequence
  }
}

function isAuthorize(next: string): boolean {
  return next.startsWith(`${authorize.path}?`)
}

/**
 * Returns the email address that a client names in its authorization request (`login_hint`
 * of OpenID Connect Core §3.1.2.1), if the destination is one.
 */
export function readLoginHint(next: string | null): string | undefined {
  if (next === null || !isAuthorize(next)) return undefined

  const hint = new URLSearchParams(next.slice(next.indexOf('?'))).get('login_hint')
  return hint && hint.length <= 254 && /^[^\s\p{C}@]+@[^\s\p{C}@]+$/u.test(hint)
    ? hint
    : undefined
}

// the sign-in page, and the start of a connection
const takesNext = /^\/(sign-in|api\/auth\/sso\/[^/?#]+\/start)(\?|$)/

/**
 * Returns the URL of the sign-in page. Adds parameters only to our own pages: `next` is
 * the destination after the sign-in. With `another`, the page never shows the account.
 */
export function signInPageUrl(
  signInUrl: string,
  next: string | null,
  { another = false } = {},
): string {
  if (!takesNext.test(signInUrl)) return signInUrl

  const parameters = [
    another && signInUrl === '/sign-in' && 'another',
    next && `next=${encodeURIComponent(next)}`,
  ].filter(Boolean)
  if (parameters.length === 0) return signInUrl

  const separator = signInUrl.includes('?') ? '&' : '?'

  return signInUrl + separator + parameters.join('&')
}

/**
 * Returns the URL of the forgot-password page. Adds parameters only to our own page.
 * `outcome`: what became of the form.
 */
export function forgotPasswordPageUrl(
  url: string,
  next: string | null,
  outcome?: 'sent' | 'invalid',
): string {
  const parameters = [outcome, next && `next=${encodeURIComponent(next)}`].filter(Boolean)
  return url === '/forgot-password' && parameters.length > 0
    ? `${url}?${parameters.join('&')}`
    : url
}
