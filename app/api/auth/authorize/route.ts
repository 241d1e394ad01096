import { randomBytes } from 'node:crypto'
import { substitutePage } from '@/lib/brand/substitute-page'
import * as routes from '@/lib/contract/routes'
import { nextDestination, signInPageUrl } from '@/lib/http/next-path'
import { type AddToLog, route, seeOther } from '@/lib/http/route'
import { isNavigation } from '@/lib/http/same-origin'
import { describeCause, log } from '@/lib/log/log'
import {
  findRenewableSession,
  issueDashboardCode,
  readAuthorizeRequest,
} from '@/lib/session/authorize'
import { readCookie } from '@/lib/session/cookie'
import { explainRefreshToken } from '@/lib/session/find'
import { env } from '@/lib/settings/env'

/**
 * Signs a user in to a dashboard on another host: the authorization code flow (RFC 6749
 * §4.1) with PKCE (RFC 7636).
 */
export const { GET, HEAD, OPTIONS, POST, PUT, PATCH, DELETE } = route(
  routes.authorize,
  async ({ request: { headers, url }, addToLog }) => {
    const { search } = new URL(url)
    const { DASHBOARD_CALLBACK_URLS, DASHBOARD_URL, PUBLIC_URL } = env()
    const asked = isNavigation(headers)
      ? readAuthorizeRequest(search, DASHBOARD_CALLBACK_URLS)
      : 'not_a_navigation'
    if (typeof asked === 'string') return explain(headers, asked, addToLog)

    const path = routes.authorize.path + search
    const next = nextDestination(path, PUBLIC_URL, DASHBOARD_URL)
    if (!next) return explain(headers, 'state_too_long', addToLog)

    const { redirectUri, state, codeChallenge } = asked
    if (!codeChallenge) {
      addToLog({ check: 'code_challenge' })
      return seeOther(callbackUrl(redirectUri, state, { error: 'invalid_request' }))
    }

    try {
      const session = await findRenewableSession(headers)
      if (!session) {
        addToLog({ check: await explainRefreshToken(readCookie(headers, 'refresh')) })
        return askToSignIn(next)
      }

      const code = await issueDashboardCode(session.sessionId, redirectUri, codeChallenge)
      if (!code) {
        const isOfBrowser = session.familyId === session.sessionId
        addToLog({ check: isOfBrowser ? 'session_changed' : 'dashboard_session' })
        return askToSignIn(next)
      }

      addToLog({ userId: session.userId, sessionId: session.sessionId })

      return seeOther(callbackUrl(redirectUri, state, { code }))
    } catch (thrown) {
      addToLog({ check: 'internal' })
      log.error({ cause: describeCause(thrown) }, 'a dashboard could not get a code')
      const error = 'temporarily_unavailable'
      return seeOther(callbackUrl(redirectUri, state, { error }))
    }
  },
  () => env().DASHBOARD_CALLBACK_URLS.length > 0,
)

/** Redirects to the sign-in page, from which the browser returns to `next`. */
function askToSignIn(next: string): Response {
  // with `another`, because a live JWT would show the account instead of the form
  return seeOther(signInPageUrl(env().SIGN_IN_URL, next, { another: true }))
}

/**
 * Returns the redirect URI with the response parameters, including the issuer (RFC 9207).
 */
function callbackUrl(
  redirectUri: string,
  state: string | null,
  response: Record<string, string>,
): string {
  const parameters = Object.entries({
    ...response,
    iss: env().PUBLIC_URL,
    ...(state !== null && { state }),
  })

  // not URLSearchParams, because it encodes a space as a plus sign, which some clients do
  // not decode
  const query = parameters
    .map(([name, value]) => `${name}=${encodeURIComponent(value)}`)
    .join('&')
  return `${redirectUri}${redirectUri.includes('?') ? '&' : '?'}${query}`
}

/**
 * Responds to a request for which RFC 6749 §4.1.2.1 forbids a redirect to the callback.
 */
function explain(headers: Headers, check: string, addToLog: AddToLog): Response {
  addToLog({ check })
  const nonce = randomBytes(16).toString('base64')
  return new Response(substitutePage('authorizePage', headers, nonce), {
    status: 400,
    headers: {
      'Content-Type': 'text/html; charset=utf-8',
      'Content-Security-Policy': `default-src 'none'; style-src 'nonce-${nonce}'; img-src 'self'; font-src 'self'; frame-ancestors 'none'; base-uri 'none'`,
    },
  })
}
