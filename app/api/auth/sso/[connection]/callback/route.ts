import * as routes from '@/lib/contract/routes'
import { browserCookie, readBrowser } from '@/lib/session/cookie'
import { createAgainCookie, hasBegunAgain } from '@/lib/sso/next-sign-in'
import { finishSignIn, ssoRoute } from '../navigation'

/**
 * Completes a sign-in: verifies what the identity provider sent, and issues a code for
 * this browser.
 */
export const { GET, HEAD, OPTIONS, POST, PUT, PATCH, DELETE } = ssoRoute(
  routes.finishOidc,
  'query',
  async (signIn) => {
    const { request, setCookies } = signIn
    const { headers } = request
    const { searchParams } = new URL(request.url)
    const landing = await finishSignIn(signIn, searchParams, searchParams.get('state'))
    if (landing instanceof Response) return landing

    setCookies([
      browserCookie(readBrowser(headers)),
      ...(hasBegunAgain(headers) ? [createAgainCookie(false)] : []),
    ])

    return landing
  },
)
