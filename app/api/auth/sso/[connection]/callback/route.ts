import { route } from '@/lib/http/route'
import { browserCookie, browserOf } from '@/lib/session/cookie'
import { beganAgain, hasBegunAgain } from '@/lib/sso/next-sign-in'
import { claimAttempt } from '@/lib/sso/sso-attempt'
import { finishSignIn, navigate, providerWith } from '../navigation'

/** Ends a sign-in: verifies what the identity provider sent, and issues a code for this browser. */
export const { GET, HEAD, OPTIONS, POST, PUT, PATCH, DELETE } = route(
  { name: 'sso-callback', method: 'GET' },
  async ({ request, ...call }) =>
    navigate(call, async (connection, returnTo) => {
      const provider = await providerWith('query', connection)
      const { searchParams } = new URL(request.url)
      const browser = browserOf(request.headers)
      const claimed = await claimAttempt({
        state: searchParams.get('state'),
        connectionId: connection.id,
        browser,
      })
      returnTo.next = claimed.next
      const authenticated = await provider.authenticate(connection, searchParams, claimed)
      const landing = await finishSignIn(call, connection, claimed, authenticated)
      call.setCookies([browserCookie(browser), ...(hasBegunAgain(request.headers) ? [beganAgain(false)] : [])])
      return landing
    }),
)
