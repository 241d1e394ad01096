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
import { landing, readDestination, type SignIn, ssoRoute } from '../navigation'

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
    if (searchParams.has('unsolicited')) await rejectLoop(connection.id, browser)

    const again = searchParams.get('again')
    const instead = again === null ? null : await beginAgain(signIn, browser, again)
    if (instead) return instead

    const { ask } = readAsk(headers)
    const secrets = await startAttempt(connection.id, browser, returnTo.next)
    const url = await provider.authorize(connection, secrets, ask)
    setCookies([browserCookie(browser), ...(ask ? [createAskCookie(null)] : [])])

    return url
  },
)

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
