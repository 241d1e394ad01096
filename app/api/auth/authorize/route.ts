import { randomBytes } from 'node:crypto'
import { substitutePage } from '@/lib/brand/substitute-page'
import {
  type AuthorizationRequest,
  readAuthorizationRequest,
} from '@/lib/client/authorization-request'
import { issueAuthorizationCode } from '@/lib/client/authorize'
import { type Client, findClient } from '@/lib/client/client'
import { isRegistered } from '@/lib/client/redirect-uri'
import type { Check } from '@/lib/contract/checks'
import { ApiError } from '@/lib/contract/errors'
import * as routes from '@/lib/contract/routes'
import { asUnavailable } from '@/lib/database/errors'
import { readForm } from '@/lib/http/body'
import { nextDestination, signInPageUrl } from '@/lib/http/next-path'
import { type AddToLog, route, seeOther } from '@/lib/http/route'
import { isNavigation } from '@/lib/http/same-origin'
import { describeCause, log } from '@/lib/log/log'
import { findRenewableSession } from '@/lib/session/browser'
import { readCookie } from '@/lib/session/cookie'
import { explainRefreshToken } from '@/lib/session/find'
import { env } from '@/lib/settings/env'

const maxStateLength = 2_000

/**
 * Signs a user in to an OpenID client, such as a dashboard on another host: the
 * authorization endpoint of the code flow (OpenID Connect Core §3.1.2).
 */
export const { GET, HEAD, OPTIONS, POST, PUT, PATCH, DELETE } = route(
  { ...routes.authorize, alsoPost: true, setting: 'ID_TOKEN_SIGNING_KEYS' },
  async ({ request, addToLog }) => {
    if (request.method === 'POST') return repeatAsGet(request, addToLog)

    try {
      return await authorize(request, addToLog)
    } catch (thrown) {
      if (!asUnavailable(thrown)) throw thrown

      // not known to be a client, so that a redirect is forbidden
      log.error({ cause: describeCause(thrown) }, 'a client could not be read')
      return showPage('unavailablePage', 503, request.headers)
    }
  },
)

/**
 * Redirects to the GET with the same parameters. A POST of another site has no cookies,
 * because they are `SameSite=Lax`.
 */
async function repeatAsGet(request: Request, addToLog: AddToLog): Promise<Response> {
  try {
    return seeOther(`${routes.authorize.path}?${await readForm(request)}`)
  } catch (error) {
    const check = error instanceof ApiError ? error.details.check : undefined
    return explain(request.headers, check ?? 'content_type', addToLog)
  }
}

async function authorize(
  { headers, url }: Request,
  addToLog: AddToLog,
): Promise<Response> {
  const { search, searchParams: query } = new URL(url)
  const next = nextDestination(
    routes.authorize.path + search,
    env().PUBLIC_URL,
    env().DASHBOARD_URL,
  )

  const found = await findRequester(headers, query)
  if (typeof found === 'string') return explain(headers, found, addToLog)

  const state = query.get('state')
  if (!next || (state?.length ?? 0) > maxStateLength)
    return explain(headers, 'url_too_long', addToLog)

  const { client, redirectUri } = found
  addToLog({ client: client.slug })
  const respond = (response: Record<string, string>) =>
    seeOther(callbackUrl(redirectUri, state, response))

  const asked = readAuthorizationRequest(query, client.isPublic)
  if ('error' in asked) {
    addToLog({ check: 'authorization_request' })
    return respond({ error: asked.error, error_description: asked.description })
  }

  try {
    const session = await findRenewableSession(headers)
    const code = session
      ? await issueAuthorizationCode(session.sessionId, client.id, redirectUri, asked)
      : null

    if (session && code) {
      addToLog({ userId: session.userId, sessionId: session.sessionId })
      return respond({ code })
    }

    const why = await explainRefreshToken(readCookie(headers, 'refresh'))
    addToLog({ check: session ? 'session_changed' : why })

    return askToSignIn(asked, next, respond)
  } catch (thrown) {
    addToLog({ check: 'internal' })
    log.error({ cause: describeCause(thrown) }, 'a client could not get a code')
    const error = asUnavailable(thrown) ? 'temporarily_unavailable' : 'server_error'
    return respond({ error })
  }
}

/**
 * Returns the client and its redirect URI, or the reason why a redirect is forbidden (RFC
 * 6749 §4.1.2.1).
 */
async function findRequester(
  headers: Headers,
  query: URLSearchParams,
): Promise<{ client: Client; redirectUri: string } | Check> {
  if (!isNavigation(headers)) return 'not_a_navigation'

  const [slug = '', ...otherSlugs] = query.getAll('client_id')
  const [redirectUri = '', ...otherUris] = query.getAll('redirect_uri')
  if (otherSlugs.length > 0 || !/^[\w-]+$/.test(slug)) return 'client_unknown'

  const client = await findClient(slug)
  if (!client) return 'client_unknown'
  if (client.disabledAt) return 'client_disabled'
  if (otherUris.length > 0 || !isRegistered(client, redirectUri))
    return 'redirect_uri_unknown'

  return { client, redirectUri }
}

/** Redirects to the sign-in page, from which the browser returns to `next`. */
function askToSignIn(
  { isSilent }: AuthorizationRequest,
  next: string,
  respond: (response: Record<string, string>) => Response,
): Response {
  if (isSilent) return respond({ error: 'login_required' })

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

/** Responds to a request for which a redirect to the client is forbidden. */
function explain(headers: Headers, check: Check, addToLog: AddToLog): Response {
  addToLog({ check })
  return showPage('authorizePage', 400, headers)
}

function showPage(
  name: 'authorizePage' | 'unavailablePage',
  status: number,
  headers: Headers,
): Response {
  const nonce = randomBytes(16).toString('base64')
  const policy = `default-src 'none'; script-src 'nonce-${nonce}'; style-src 'nonce-${nonce}'; img-src 'self'; font-src 'self'; frame-ancestors 'none'; base-uri 'none'`

  return new Response(substitutePage(name, headers, nonce), {
    status,
    headers: {
      'Content-Type': 'text/html; charset=utf-8',
      'Content-Security-Policy': policy,
      ...(status === 503 && { 'Retry-After': '5' }),
    },
  })
}
