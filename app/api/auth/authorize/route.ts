import {
  type AuthorizationRequest,
  readAuthorizationRequest,
} from '@/lib/client/authorization-request'
import { type Demand, issueAuthorizationCode, readDemand } from '@/lib/client/authorize'
import { type Client, findClient } from '@/lib/client/client'
import { addParameters, isRegistered } from '@/lib/client/redirect-uri'
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
import { explainRefreshToken, type LiveSession } from '@/lib/session/find'
import { env } from '@/lib/settings/env'
import { createAskCookie } from '@/lib/sso/next-sign-in'
import { showSubstitute, showUnavailable } from '../substitute'

const maxStateLength = 2_000

/**
 * Signs a user in to an OpenID client, such as a dashboard on another host: the
 * authorization endpoint of the code flow (OpenID Connect Core §3.1.2).
 */
export const { GET, HEAD, OPTIONS, POST, PUT, PATCH, DELETE } = route(
  { ...routes.authorize, alsoPost: true, setting: 'ID_TOKEN_SIGNING_KEYS' },
  async ({ request, addToLog, setCookies }) => {
    if (request.method === 'POST') return repeatAsGet(request, addToLog)

    try {
      return await authorize(request, addToLog, setCookies)
    } catch (thrown) {
      if (!asUnavailable(thrown)) throw thrown

      // not known to be a client, so that a redirect is forbidden
      log.error({ cause: describeCause(thrown) }, 'a client could not be read')
      return showUnavailable(thrown, request.headers)
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
  setCookies: (values: string[]) => void,
): Promise<Response> {
  const { search, searchParams: query } = new URL(url)

  const found = await findRequester(headers, query)
  if (typeof found === 'string') return explain(headers, found, addToLog)

  const state = query.get('state')
  if (!toNext(search) || (state?.length ?? 0) > maxStateLength)
    return explain(headers, 'url_too_long', addToLog)

  const { client, redirectUri } = found
  addToLog({ client: client.slug })
  const respond = (response: Record<string, string>) =>
    seeOther(callbackUrl(redirectUri, state, response))
  const reject = (error: string, description: string) => {
    addToLog({ check: 'authorization_request' })
    return respond({ error, error_description: description })
  }

  const asked = readAuthorizationRequest(query, client.isPublic)
  if ('error' in asked) return reject(asked.error, asked.description)

  try {
    const session = await findRenewableSession(headers)
    const demand = await readDemand(asked, client, session)
    if (!demand) return reject('invalid_request', 'since is in the future')

    const mayIssue = session && !demand.mustSignIn && asked.prompt !== 'select_account'
    const code = mayIssue
      ? await issueAuthorizationCode(
          session.sessionId,
          client.id,
          redirectUri,
          asked,
          demand.since,
        )
      : null

    if (session && code) {
      addToLog({ userId: session.userId, sessionId: session.sessionId })
      return respond({ code })
    }

    addToLog({ check: await explainNoCode(headers, session, asked, demand) })
    if (asked.prompt === 'none') return respond({ error: 'login_required' })

    // the provider must ask who signs in, although it knows the user
    if (demand.since !== null) setCookies([createAskCookie('login')])

    return askToSignIn(search, session, asked, demand)
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

/** Returns why the browser gets no code, for the log. */
async function explainNoCode(
  headers: Headers,
  session: LiveSession | null,
  { prompt }: AuthorizationRequest,
  { since }: Demand,
): Promise<Check> {
  if (!session) return explainRefreshToken(readCookie(headers, 'refresh'))
  if (since !== null || prompt === 'select_account') return 'prompt'

  return 'session_changed'
}

/** Redirects to the sign-in page, from which the browser returns with the same request. */
function askToSignIn(
  search: string,
  session: LiveSession | null,
  { prompt }: AuthorizationRequest,
  { since }: Demand,
): Response {
  // Without `another`, the page shows the account of a session. It also does that for a
  // live JWT without a usable refresh cookie, with which the browser would return here.
  const showsAccount = prompt === 'select_account' && session !== null && since === null
  const next = toNext(afterSignIn(search, since))

  return seeOther(signInPageUrl(env().SIGN_IN_URL, next, { another: !showsAccount }))
}

/**
 * Returns the query of a request for the time after the sign-in: without what asked for it.
 */
function afterSignIn(search: string, since: number | null): string {
  const query = new URLSearchParams(search)
  const asks = ['prompt', 'max_age', 'id_token_hint'].filter((name) => query.has(name))
  if (asks.length === 0 && since === null) return search // as the client has encoded it

  for (const name of asks) query.delete(name)
  if (since !== null) query.set('since', String(since))

  return `?${query}`
}

/** Returns an authorization request as the destination after a sign-in, or null. */
function toNext(search: string): string | null {
  return nextDestination(
    routes.authorize.path + search,
    env().PUBLIC_URL,
    env().DASHBOARD_URL,
  )
}

/**
 * Returns the redirect URI with the response parameters, including the issuer (RFC 9207).
 */
function callbackUrl(
  redirectUri: string,
  state: string | null,
  response: Record<string, string>,
): string {
  return addParameters(redirectUri, {
    ...response,
    iss: env().PUBLIC_URL,
    ...(state !== null && { state }),
  })
}

/** Responds to a request for which a redirect to the client is forbidden. */
function explain(headers: Headers, check: Check, addToLog: AddToLog): Promise<Response> {
  addToLog({ check })
  return showSubstitute('authorizePage', 400, headers)
}
