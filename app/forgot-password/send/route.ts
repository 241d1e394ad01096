import { after } from 'next/server'
import { parseEmail } from '@/lib/contract/email-address'
import { ApiError } from '@/lib/contract/errors'
import * as routes from '@/lib/contract/routes'
import { readForm } from '@/lib/http/body'
import { forgotPasswordPageUrl, nextDestination } from '@/lib/http/next-path'
import { route, seeOther } from '@/lib/http/route'
import { isSameOrigin } from '@/lib/http/same-origin'
import { mailResetLink } from '@/lib/password/forgot'
import { env } from '@/lib/settings/env'

/**
 * Emails a reset link to the address in the form of the forgot-password page. Works
 * without scripts.
 */
export const { GET, HEAD, OPTIONS, POST, PUT, PATCH, DELETE } = route(
  { ...routes.sendResetLink, setting: 'SMTP_URL' },
  async ({ request, caller, addToLog }) => {
    if (!isSameOrigin(request.headers))
      throw new ApiError('ORIGIN_REJECTED', { check: 'other_site' })

    const form = await readForm(request)
    const email = form.get('email') ?? ''
    const { PUBLIC_URL, DASHBOARD_URL } = env()
    const next = nextDestination(form.get('next'), PUBLIC_URL, DASHBOARD_URL)

    try {
      const emails = parseEmail(email)
      after(() => mailResetLink(emails, caller))
      return seeOther(forgotPasswordPageUrl('/forgot-password', next, 'sent'))
    } catch (error) {
      if (!(error instanceof ApiError)) throw error

      addToLog({ check: 'invalid_email' })
      return seeOther(forgotPasswordPageUrl('/forgot-password', next, 'invalid'))
    }
  },
)
