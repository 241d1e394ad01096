import { invalid } from '@/lib/contract/errors'
import * as routes from '@/lib/contract/routes'
import { cleanEmail } from '@/lib/contract/typed-text'
import { readForm } from '@/lib/http/body'
import { nextDestination } from '@/lib/http/next-path'
import { route } from '@/lib/http/route'
import { env } from '@/lib/settings/env'
import { findConnectionByEmail, readDomain } from '@/lib/sso/connection'

/**
 * Finds the connection of an email address. Redirects within this site, as `form-action`
 * demands. Scripts get JSON.
 */
export const { GET, HEAD, OPTIONS, POST, PUT, PATCH, DELETE } = route(
  routes.findSsoConnection,
  async ({ request, addToLog }) => {
    const form = await readForm(request)
    const { PUBLIC_URL, DASHBOARD_URL, PASSWORD_SIGN_IN } = env()
    const email = cleanEmail(form.get('email') ?? '')
    const isAddress = /^[^@]+@[^@]+$/.test(email) && readDomain(email) !== null
    const connection = isAddress ? await findConnectionByEmail(email) : null
    const next = nextDestination(form.get('next'), PUBLIC_URL, DASHBOARD_URL)
    const unknown = PASSWORD_SIGN_IN ? 'step=password' : 'error=unknown'
    const otherwise = isAddress ? unknown : 'error=email'
    const returnTo = new URLSearchParams(connection ? { connection } : otherwise)
    if (next) returnTo.set('next', next)

    if (request.headers.get('accept') === 'application/json') {
      if (!isAddress)
        throw invalid(
          ['email'],
          'invalid_email',
          'Enter one email address, like name@example.com.',
        )
      return Response.json({ ok: true, returnTo: connection && `/sign-in?${returnTo}` })
    }

    if (returnTo.has('error'))
      addToLog({ check: isAddress ? 'connection' : 'invalid_email' })

    return new Response(null, {
      status: 303,
      headers: { Location: `/sign-in?${returnTo}` },
    })
  },
)
