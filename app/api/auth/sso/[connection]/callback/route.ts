import { route } from '@/lib/http/route'
import { browserCookie, browserOf } from '@/lib/session/cookie'
import { beganAgain, hasBegunAgain } from '@/lib/sso/next-sign-in'
import { finishSignIn, navigate } from '../navigation'

/** Ends a sign-in: verifies what the identity provider sent, and issues a code for this browser. */
export const { GET, HEAD, OPTIONS, POST, PUT, PATCH, DELETE } = route(
  { name: 'sso-callback', method: 'GET' },
  async ({ request, ...call }) =>
    navigate(call, 'query', async (signIn) => {
      const [{ searchParams }, { headers }] = [new URL(request.url), request]
      const landing = await finishSignIn(signIn, searchParams, searchParams.get('state'), headers)
      call.setCookies([browserCookie(browserOf(headers)), ...(hasBegunAgain(headers) ? [beganAgain(false)] : [])])
      return landing
    }),
)
