import { route } from '@/lib/http/route'
import { browserCookie, browserOf } from '@/lib/session/cookie'
import { beganAgain, hasBegunAgain } from '@/lib/sso/next-sign-in'
import { finishSignIn, navigate } from '../navigation'

/** Ends a sign-in: verifies what the identity provider sent, and issues a code for this browser. */
export const { GET, HEAD, OPTIONS, POST, PUT, PATCH, DELETE } = route(
  { name: 'sso-callback', method: 'GET' },
  async ({ request, ...call }) =>
    navigate(call, 'query', async (signIn) => {
      const { searchParams } = new URL(request.url)
      const browser = browserOf(request.headers)
      const state = searchParams.get('state')
      const landing = await finishSignIn(signIn, call.addToLog, searchParams, { state, browser })
      call.setCookies([browserCookie(browser), ...(hasBegunAgain(request.headers) ? [beganAgain(false)] : [])])
      return landing
    }),
)
