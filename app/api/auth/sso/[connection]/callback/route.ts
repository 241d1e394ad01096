import { route } from '@/lib/http/route'
import { browserCookie, browserOf } from '@/lib/session/cookie'
import { isOidc } from '@/lib/sso/connection'
import { issueSsoCode } from '@/lib/sso/exchange'
import { userOfIdentity } from '@/lib/sso/identity'
import { authenticate } from '@/lib/sso/oidc/sign-in'
import { SignInRejected } from '@/lib/sso/rejection'
import { claimAttempt } from '@/lib/sso/sign-in-attempt'
import { landing, navigate } from '../navigation'

/** Ends a sign-in: verifies what the identity provider sent, and issues a code for this browser. */
export const { GET, HEAD, OPTIONS, POST, PUT, PATCH, DELETE } = route(
  { name: 'sso-callback', method: 'GET' },
  async ({ request, setCookies, ...call }) =>
    navigate(call, async (connection, wayOn) => {
      if (!isOidc(connection)) throw new SignInRejected('connection_kind', 'connection_unavailable')
      const { search, searchParams } = new URL(request.url)
      const browser = browserOf(request.headers)
      const { next, ...secrets } = await claimAttempt({
        state: searchParams.get('state'),
        connectionId: connection.id,
        browser,
      })
      wayOn.next = next
      const { identity, contact } = await authenticate(connection, search, secrets)
      const userId = await userOfIdentity(connection, identity, contact)
      const { secret: code } = await issueSsoCode(userId, {
        browser: browser!,
        identity: { connectionId: connection.id, ...identity },
      })
      call.addToLog({ userId })
      setCookies([browserCookie(browser)])
      return landing({ code, next })
    }),
)
