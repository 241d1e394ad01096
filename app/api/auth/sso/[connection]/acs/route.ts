import * as routes from '@/lib/contract/routes'
import { readForm } from '@/lib/http/body'
import { createStartPath } from '@/lib/sso/connection'
import { createAgainCookie } from '@/lib/sso/next-sign-in'
import { finishSignIn, readDestination, ssoRoute } from '../navigation'

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
      return createStartPath(connection.slug, readDestination(state), 'unsolicited')
    }

    const landing = await finishSignIn(signIn, form, state)
    setCookies([createAgainCookie(false)])

    return landing
  },
)
