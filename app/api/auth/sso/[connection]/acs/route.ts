import { showSubstitute } from '@/app/api/auth/substitute'
import * as routes from '@/lib/contract/routes'
import { readForm } from '@/lib/http/body'
import { createStartPath } from '@/lib/sso/connection'
import { createAgainCookie } from '@/lib/sso/next-sign-in'
import { isLogoutMessage } from '@/lib/sso/saml/logout'
import {
  finishSignIn,
  readDestination,
  requireEnabled,
  type SignIn,
  ssoRoute,
} from '../navigation'

const maxFormBytes = 350 * 1024 // a document of 256 KiB in base64

const responses = ssoRoute(routes.finishSaml, 'form', async (signIn) => {
  const { request, connection, addToLog, setCookies } = signIn
  const form = await readForm(request, maxFormBytes)
  if (isLogoutMessage(form)) return refuseLogout(signIn)

  const state = form.get('RelayState') ?? ''

  if (!/^[\w-]{43}$/.test(state)) {
    // A tile in the provider's portal sent a response without a request. Starts a
    // sign-in to the tile's destination.
    addToLog({ check: 'unsolicited' })
    return createStartPath(connection.slug, readDestination(state), 'unsolicited')
  }

  const landing = await finishSignIn(signIn, form, state)
  if (landing instanceof Response) return landing

  setCookies([createAgainCookie(false)])

  return landing
})

const logoutMessages = ssoRoute(
  { ...routes.finishSaml, method: 'GET' },
  'form',
  async (signIn) => refuseLogout(signIn),
)

/**
 * Completes a SAML sign-in. The cross-site POST contains no cookies of ours, so the
 * exchange checks the browser.
 */
export const { HEAD, OPTIONS, POST, PUT, PATCH, DELETE } = responses

/** Accepts only messages of single logout, which providers send by redirect too. */
export const GET: typeof responses.GET = (request, context) => {
  const isLogout = isLogoutMessage(new URL(request.url).searchParams)
  return (isLogout ? logoutMessages : responses).GET(request, context)
}

/** Responds with a page that tells the user to sign out here, and starts no sign-in. */
async function refuseLogout(signIn: SignIn): Promise<Response> {
  const { request, connection, addToLog } = signIn

  requireEnabled(connection)
  addToLog({ check: 'saml_logout' })
  return showSubstitute('singleLogoutPage', 200, request.headers, ["'self'"])
}
