import { parseForm } from '@/lib/http/body'
import { route } from '@/lib/http/route'
import { nextDestination } from '@/lib/page/next-path'
import { env } from '@/lib/settings/env'
import { domainOf, findConnectionOfEmail } from '@/lib/sso/connection'

/**
 * Receives the form of the sign-in page, and redirects to the screen that leads on: the policy of the
 * page lets no form end at another site. The e-mail address appears in no URL.
 */
export const { GET, HEAD, OPTIONS, POST, PUT, PATCH, DELETE } = route(
  { name: 'sso-find', method: 'POST' },
  async ({ request }) => {
    const form = await parseForm(request)
    const { PUBLIC_URL, DASHBOARD_URL } = env()
    const email = form.get('email') ?? ''
    const isAddress = /^[^@]+@[^@]+$/.test(email) && domainOf(email) !== null
    const connection = isAddress ? await findConnectionOfEmail(email) : null
    const next = nextDestination(form.get('next'), PUBLIC_URL, DASHBOARD_URL)
    const wayOn = new URLSearchParams(connection ? { connection } : { error: isAddress ? 'unknown' : 'email' })
    if (next) wayOn.set('next', next)
    return new Response(null, { status: 303, headers: { Location: `/sign-in?${wayOn}` } })
  },
)
