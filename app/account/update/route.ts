import { after } from 'next/server'
import { ApiError } from '@/lib/contract/errors'
import * as routes from '@/lib/contract/routes'
import { readForm } from '@/lib/http/body'
import { route, seeOther } from '@/lib/http/route'
import { isSameOrigin } from '@/lib/http/same-origin'
import { describeCause, log } from '@/lib/log/log'
import { sendAfterRequest } from '@/lib/mail/sender'
import { changePassword } from '@/lib/password/change'
import { findBrowserSession } from '@/lib/session/authorize'
import { endListedSession } from '@/lib/session/list'
import { endOtherSessions } from '@/lib/session/revoke'
import { env, sendsMail } from '@/lib/settings/env'

/**
 * Handles the forms of the account page, from this site only. Works without scripts, and
 * with an expired JWT.
 */
export const { GET, HEAD, OPTIONS, POST, PUT, PATCH, DELETE } = route(
  routes.updateAccount,
  async ({ request, caller, addToLog }) => {
    const { headers } = request
    if (!isSameOrigin(headers)) throw new ApiError('ORIGIN_REJECTED')

    const session = await findBrowserSession(headers)
    if (!session) return seeOther('/?next=/account')

    addToLog({ userId: session.userId, sessionId: session.sessionId })
    const form = await readForm(request)

    const currentPassword = form.get('current')
    const password = form.get('password')
    const id = form.get('session')

    if (env().PASSWORD_SIGN_IN && currentPassword !== null && password !== null) {
      const changing = changePassword(session, { currentPassword, password }, caller)

      const problem = await changing.then(() => null, nameProblem)
      if (problem) return seeOther(`/account?problem=${problem}`)
      if (sendsMail()) after(sendAfterRequest)

      return seeOther('/account?done=changed')
    }

    if (id !== null) await endListedSession(session, id)
    else await endOtherSessions(session)

    return seeOther(`/account?done=${id === null ? 'others' : 'ended'}`)
  },
)

/**
 * Returns the name of the text that explains why the password was not changed, or that
 * the outcome is unknown.
 */
function nameProblem(error: unknown): string {
  if (error instanceof ApiError) {
    const { code, details } = error
    if (code === 'SIGN_IN_INVALID') return 'wrong'
    if (code === 'RATE_LIMITED') return 'limited'
    if (details.issues) return details.issues[0]!.code
  }

  log.error(
    { route: 'account-page', cause: describeCause(error) },
    'a password could not be changed',
  )

  return 'unknown'
}
