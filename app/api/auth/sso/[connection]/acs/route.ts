import * as routes from '@/lib/contract/routes'
import { readForm } from '@/lib/http/body'
import { startPath } from '@/lib/sso/connection'
import { beganAgain } from '@/lib/sso/next-sign-in'
import { destinationOf, finishSignIn, ssoRoute } from '../navigation'

const maxFormBytes = 350 * 1024 // a document of 256 KiB in base64

/**
 * Completes a SAML sign-in. The cross-site POST contains no cookies of ours, so the
 * exchange checks the browser.
 */
export const { GET, HEAD, OPTIONS, POST, PUT, PATCH, DELETE } = ssoRoute(
  routes.finishSaml,
  'form',
  async (signIn) => {
    const { request, connection, addToLog, setCookies } = signIn
    const form = await readForm(request, maxFormBytes)
    const state = form.get('RelayState') ?? ''

    if (!/^[\w-]{43}$/.test(state)) {
      // A tile in the provider's portal sent a response without a request. Starts a
      // sign-in to the tile's destination.
      addToLog({ check: 'unsolicited' })
      return startPath(connection.slug, destinationOf(state), 'unsolicited')
    }

    const landing = await finishSignIn(signIn, form, state)
    setCookies([beganAgain(false)])

    return landing
  },
)
