import { route } from '@/lib/http/route'
import { newSecret } from '@/lib/secret'
import { browserCookie, browserOf } from '@/lib/session/cookie'
import { providerOf } from '@/lib/sso/kinds'
import { askNoMore, askOf } from '@/lib/sso/next-sign-in'
import { rejectLoop, startAttempt } from '@/lib/sso/sso-attempt'
import { destinationOf, navigate } from '../navigation'

/** Starts a sign-in: remembers the browser, and redirects it to the identity provider. */
export const { GET, HEAD, OPTIONS, POST, PUT, PATCH, DELETE } = route(
  { name: 'sso-start', method: 'GET' },
  async ({ request, ...call }) =>
    navigate(call, async (connection, returnTo) => {
      const browser = browserOf(request.headers) ?? newSecret()
      const { searchParams } = new URL(request.url)
      // The second one is that of OpenID providers (OpenID Connect Core §4).
      returnTo.next = destinationOf(searchParams.get('next') ?? searchParams.get('target_link_uri'))
      if (searchParams.has('unsolicited')) await rejectLoop(connection.id, browser)
      const { ask } = askOf(request.headers)
      const secrets = await startAttempt(connection.id, browser, returnTo.next)
      const url = await (await providerOf(connection)).authorize(connection, secrets, ask)
      call.setCookies([browserCookie(browser), ...(ask ? [askNoMore()] : [])])
      return url
    }),
)
