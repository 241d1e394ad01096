import * as routes from '@/lib/contract/routes'
import { newSecret } from '@/lib/crypto/token'
import { urlAtPublicHost } from '@/lib/http/public-host'
import { findBrowserSession } from '@/lib/session/browser'
import { browserCookie, readBrowser } from '@/lib/session/cookie'
import { env } from '@/lib/settings/env'
import { rejectLoop, startAttempt } from '@/lib/sso/attempt'
import { createStartPath } from '@/lib/sso/connection'
import {
  createAgainCookie,
  createAskCookie,
  hasBegunAgain,
  readAsk,
} from '@/lib/sso/next-sign-in'
import { SignInRejected } from '@/lib/sso/rejection'
import {
  deleteTestCookie,
  hasTestCookie,
  isTestToken,
  readTestBrowser,
} from '@/lib/sso/test-link'
import {
  landing,
  readDestination,
  requireEnabled,
  type SignIn,
  ssoRoute,
} from '../navigation'

/**
 * Starts a sign-in: sets the cookie that identifies the browser, and redirects it to the
 * identity provider.
 */
export const { GET, HEAD, OPTIONS, POST, PUT, PATCH, DELETE } = ssoRoute(
  routes.startSso,
  null,
  async (signIn) => {
    const { request, connection, provider, returnTo, setCookies } = signIn
    const { headers } = request
    const browser = readBrowser(headers) ?? newSecret()
    const { searchParams } = new URL(request.url)

    // Identity providers send `target_link_uri` (OpenID Connect Core §4).
    returnTo.next = readDestination(
      searchParams.get('next') ?? searchParams.get('target_link_uri'),
    )
    const moved = urlAtPublicHost(headers, new URL(request.url))
    if (moved) return moved

    const test = await beginTest(signIn, searchParams)
    if (test) return test

    requireEnabled(connection)
    if (searchParams.has('unsolicited')) await rejectLoop(connection.id, browser)

    const again = searchParams.get('again')
    const instead = again === null ? null : await beginAgain(signIn, browser, again)
    if (instead) return instead

    const { ask } = readAsk(headers)
    const secrets = await startAttempt(connection, browser, returnTo.next)
    const url = await provider.authorize(connection, secrets, ask)
    setCookies([
      browserCookie(browser),
      ...(ask ? [createAskCookie(null)] : []),
      ...(hasTestCookie(headers) ? [deleteTestCookie()] : []),
    ])

    return url
  },
)

/**
 * Returns where to go if this is a test, or if the response of a test did not refer to its
 * request. Otherwise null. Such a test must not become a real sign-in.
 */
async function beginTest(
  signIn: SignIn,
  searchParams: URLSearchParams,
): Promise<string | Response | null> {
  const { request, connection, addToLog, setCookies } = signIn
  const token = searchParams.get('try')

  if (token !== null) {
    const isValid = isTestToken(connection, token)
    if (!isValid) requireEnabled(connection)

    const { showInvalidLink, startTest } = await import('../test-sign-in')
    return isValid ? startTest(signIn, setCookies) : showInvalidLink(connection, addToLog)
  }

  const isUnsolicited = searchParams.has('unsolicited')
  if (!isUnsolicited && !searchParams.has('again')) return null
  if (readTestBrowser(request.headers, connection) === null) return null

  const check = isUnsolicited ? 'unsolicited' : 'state_unknown'
  const { showRejection } = await import('../test-sign-in')
  return showRejection(
    connection,
    new SignInRejected(check, 'response_invalid'),
    addToLog,
  )
}

/**
 * Returns where to go instead of to the provider, after a sign-in that could not be
 * completed. Null if the browser may begin again, which it may once.
 */
async function beginAgain(
  { request: { headers }, connection, returnTo, addToLog, setCookies }: SignIn,
  browser: string,
  again: string,
): Promise<string | null> {
  if (await findBrowserSession(headers)) return returnTo.next ?? env().DASHBOARD_URL

  const isKnown = readBrowser(headers) !== null
  if (!isKnown && again !== 'new') {
    // `again=new` ends the loop of a browser without cookies
    setCookies([browserCookie(browser)])
    return createStartPath(connection.slug, returnTo.next, 'again=new')
  }

  const isOver = !isKnown || hasBegunAgain(headers)
  setCookies([createAgainCookie(!isOver)])
  if (!isOver) return null

  addToLog({ check: 'again' })

  return landing({ error: 'attempt_invalid', ...returnTo })
}
