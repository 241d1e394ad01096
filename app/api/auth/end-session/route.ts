import { randomBytes } from 'node:crypto'
import { signOutPage } from '@/lib/brand/sign-out-page'
import { readSignOut, type SignOutTarget, targetUrl } from '@/lib/client/end-session'
import { verifyIdToken } from '@/lib/client/id-token'
import * as routes from '@/lib/contract/routes'
import { asUnavailable } from '@/lib/database/errors'
import { readForm } from '@/lib/http/body'
import { presentedSessionIds } from '@/lib/http/caller'
import { type AddToLog, route, seeOther } from '@/lib/http/route'
import { isSameOrigin } from '@/lib/http/same-origin'
import { describeCause, log } from '@/lib/log/log'
import { findBrowserSession } from '@/lib/session/browser'
import { deletedSessionCookies } from '@/lib/session/cookie'
import { endSessions } from '@/lib/session/revoke'
import { createAskCookie } from '@/lib/sso/next-sign-in'
import { noticeClientsLater } from '../notice-clients'
import { showPlainPage, showUnavailable } from '../substitute'

type Call = {
  request: Request
  addToLog: AddToLog
  setCookies: (values: string[]) => void
}

/**
 * Signs a user out for a client (OpenID Connect RP-Initiated Logout). Asks the user if the
 * ID token of the client does not belong to the session of the browser.
 */
export const { GET, HEAD, OPTIONS, POST, PUT, PATCH, DELETE } = route(
  {
    ...routes.signOutForClient,
    alsoPost: true,
    setting: 'ID_TOKEN_SIGNING_KEYS',
    readPresented: ({ url }: Request) =>
      verifyIdToken(new URL(url).searchParams.get('id_token_hint') ?? ''),
  },
  async (call) => {
    const { request } = call
    const given =
      request.method === 'POST'
        ? await readForm(request)
        : new URL(request.url).searchParams
    const isConfirmed = given.has('confirmed') && isSameOrigin(request.headers)

    // A POST of another site has no cookies, because they are `SameSite=Lax`.
    if (request.method === 'POST' && !isConfirmed)
      return seeOther(`${routes.signOutForClient.path}?${given}`)

    try {
      return await endSession(call, given, request.method === 'POST')
    } catch (thrown) {
      if (!asUnavailable(thrown)) throw thrown

      // the cookies stay, so that the user can repeat the request
      log.error({ cause: describeCause(thrown) }, 'a session could not be ended')
      return showUnavailable(thrown, request.headers)
    }
  },
)

async function endSession(
  { request: { headers }, addToLog, setCookies }: Call,
  given: URLSearchParams,
  isConfirmed: boolean,
): Promise<Response> {
  const { sessionId, target, check } = await readSignOut(given)
  if (target) addToLog({ client: target.client })
  if (check) addToLog({ check })

  const confirmed = isConfirmed ? await presentedSessionIds(headers) : []
  const ids = sessionId === null ? confirmed : [sessionId, ...confirmed]
  await endSessions(ids)
  noticeClientsLater()

  // not the session of the ID token, or there is none
  const session = await findBrowserSession(headers)
  if (session) return ask(headers, session.email, target)

  // the provider must ask who signs in next, because it still knows the user
  setCookies([...deletedSessionCookies(), createAskCookie('login')])

  return seeOther(target ? targetUrl(target) : '/?signed-out')
}

/** Shows the page that asks the user. Its form leads to the target. */
function ask(headers: Headers, email: string, target: SignOutTarget | null): Response {
  const nonce = randomBytes(16).toString('base64')
  const fields = {
    confirmed: 'true',
    ...(target && { client_id: target.client, post_logout_redirect_uri: target.uri }),
    ...(target?.state && { state: target.state }),
  }
  const html = signOutPage(headers, nonce, email, routes.signOutForClient.path, fields)

  // browsers apply `form-action` to the redirect too
  const targets = [`'self'`, ...(target ? [new URL(target.uri).origin] : [])]

  return showPlainPage(html, nonce, 200, targets)
}
