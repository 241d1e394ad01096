import { after } from 'next/server'
import { noticeClientsLater } from '@/app/api/auth/notice-clients'
import type { Caller } from '@/lib/contract/caller'
import { ApiError } from '@/lib/contract/errors'
import * as routes from '@/lib/contract/routes'
import { readForm } from '@/lib/http/body'
import { route, seeOther } from '@/lib/http/route'
import { isSameOrigin } from '@/lib/http/same-origin'
import { describeCause, log } from '@/lib/log/log'
import { sendAfterRequest } from '@/lib/mail/sender'
import { changePassword } from '@/lib/password/change'
import { findBrowserSession } from '@/lib/session/browser'
import { readCookie } from '@/lib/session/cookie'
import { explainRefreshToken, type LiveSession } from '@/lib/session/find'
import { requireFreshSession } from '@/lib/session/fresh'
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
    if (!isSameOrigin(headers))
      throw new ApiError('ORIGIN_REJECTED', { check: 'other_site' })

    const session = await findBrowserSession(headers)
    if (!session) {
      addToLog({ check: await explainRefreshToken(readCookie(headers, 'refresh')) })
      return seeOther('/?next=/account')
    }

    addToLog({ userId: session.userId, sessionId: session.sessionId })
    const form = await readForm(request)

    const currentPassword = form.get('current')
    const password = form.get('password')
    const id = form.get('session')
    const passkeyId = form.get('passkey') ?? form.get('removedPasskey')

    if (env().PASSWORD_SIGN_IN && currentPassword !== null && password !== null) {
      if (currentPassword === '') {
        addToLog({ check: 'wrong_password' })
        return seeOther('/account?problem=wrong') // without an attempt
      }

      const changing = changePassword(session, { currentPassword, password }, caller)

      const problem = await changing.then(() => null, nameProblem)
      if (problem) {
        addToLog({ check: problem.check })
        return seeOther(`/account?problem=${problem.name}`)
      }
      if (sendsMail()) after(sendAfterRequest)
      noticeClientsLater()

      return seeOther('/account?done=changed')
    }

    if (passkeyId !== null) {
      addToLog({ factor: 'passkey' })
      const given = { passkeyId, name: form.get('name') }
      const url = await changePasskey(headers, session, given, caller).catch((error) => {
        const problem = namePasskeyProblem(error)
        addToLog({ check: problem.check })
        return `/account?problem=${problem.name}`
      })

      if (sendsMail()) after(sendAfterRequest)
      noticeClientsLater()

      return seeOther(url)
    }

    if (id !== null) await endListedSession(session, id)
    else await endOtherSessions(session)
    noticeClientsLater()

    return seeOther(`/account?done=${id === null ? 'others' : 'ended'}`)
  },
)

/**
 * Returns the name of the text that explains why the password was not changed, or that
 * the outcome is unknown. `check` is the reason for the log.
 */
function nameProblem(error: unknown): { name: string; check: string } {
  if (error instanceof ApiError) {
    const { code, details } = error
    const issue = details.issues?.[0]?.code
    const check = details.check ?? issue ?? 'internal'
    if (code === 'SIGN_IN_INVALID') return { name: 'wrong', check }
    if (code === 'RATE_LIMITED') return { name: 'limited', check }
    if (issue) return { name: issue, check }
  }

  log.error(
    { route: 'account-page', cause: describeCause(error) },
    'a password could not be changed',
  )

  return { name: 'unknown', check: 'internal' }
}

/**
 * Renames a passkey, or removes it if `name` is null. Returns the URL of the account page.
 * Throws as in the contract.
 */
async function changePasskey(
  headers: Headers,
  session: LiveSession,
  { passkeyId, name }: { passkeyId: string; name: string | null },
  caller: Caller,
): Promise<string> {
  if (!env().PASSKEYS) return '/account'

  const { removePasskey, renamePasskey } = await import('@/lib/passkey/manage')
  if (name !== null) {
    await renamePasskey(session, { passkeyId, name })
    return '/account?done=passkeyRenamed'
  }

  await removePasskey(await requireFreshSession(headers), { passkeyId }, caller)

  return '/account?done=passkeyRemoved'
}

/**
 * Returns the name of the text that explains why a passkey was not changed. `check` is the
 * reason for the log. Throws any other error.
 */
function namePasskeyProblem(error: unknown): { name: string; check: string } {
  if (!(error instanceof ApiError)) throw error

  const { code, details } = error
  if (code === 'SIGN_IN_AGAIN')
    return { name: 'signInAgain', check: details.check ?? code }
  if (code === 'VALIDATION_ERROR') return { name: 'passkeyName', check: 'invalid_name' }
  throw error
}
