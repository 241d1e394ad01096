import { readForm } from '@/lib/http/body'
import { route } from '@/lib/http/route'
import { browserOf } from '@/lib/session/cookie'
import { isSaml, startPath } from '@/lib/sso/connection'
import { issueSsoCode } from '@/lib/sso/exchange'
import { userOfIdentity } from '@/lib/sso/identity'
import { SignInRejected } from '@/lib/sso/rejection'
import { authenticateSaml } from '@/lib/sso/saml/sign-in'
import { claimAttempt } from '@/lib/sso/sign-in-attempt'
import { landing, navigate } from '../navigation'

const maxFormBytes = 350 * 1024 // a document of 256 KiB in base64

/**
 * Ends a sign-in with SAML (assertion consumer service): verifies the posted response, and issues a
 * code for the browser that began it. The provider's form is a cross-site POST, with which browsers
 * send no cookies of ours, so that only the exchange of the code sees which browser this is.
 */
export const { GET, HEAD, OPTIONS, POST, PUT, PATCH, DELETE } = route(
  { name: 'sso-acs', method: 'POST' },
  async ({ request, ...call }) =>
    navigate(call, async (connection, wayOn) => {
      if (!isSaml(connection)) throw new SignInRejected('connection_kind', 'connection_unavailable')
      const form = await readForm(request, maxFormBytes)
      const state = form.get('RelayState') ?? ''
      if (!/^[\w-]{43}$/.test(state)) {
        // A tile in the provider's portal. Nothing is read: the user signs in at our own request.
        call.addToLog({ check: 'unsolicited' })
        return `${startPath(connection.slug)}?unsolicited`
      }
      const browser = browserOf(request.headers)
      const { next, browserHash, ...secrets } = await claimAttempt({
        state,
        connectionId: connection.id,
        browser,
        mayLackCookies: true,
      })
      wayOn.next = next
      const response = form.get('SAMLResponse') ?? ''
      const { identity, contact, sessionEnd } = await authenticateSaml(connection, response, secrets)
      const userId = await userOfIdentity(connection, identity, contact)
      const { secret: code } = await issueSsoCode(userId, {
        browserHash,
        identity: { connectionId: connection.id, ...identity },
        ...(sessionEnd && { renewableUntil: sessionEnd }),
      })
      call.addToLog({ userId })
      return landing({ code, next })
    }),
)
