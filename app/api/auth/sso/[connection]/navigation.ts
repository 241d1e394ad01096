import { ApiError } from '@/lib/contract/errors'
import { nextDestination } from '@/lib/http/next-path'
import { type AddToLog, route, seeOther } from '@/lib/http/route'
import { describeCause, log } from '@/lib/log/log'
import { browserOf } from '@/lib/session/cookie'
import { env } from '@/lib/settings/env'
import { claimAttempt } from '@/lib/sso/attempt'
import { issueCodeOfIdentity } from '@/lib/sso/code'
import { type Connection, findConnection, startPath } from '@/lib/sso/connection'
import { type Contact, userOfIdentity } from '@/lib/sso/identity'
import { loadSignIn } from '@/lib/sso/kinds'
import { askCookie } from '@/lib/sso/next-sign-in'
import type { ProviderSignIn } from '@/lib/sso/provider'
import { advice, type SignInError, SignInRejected } from '@/lib/sso/rejection'

/**
 * The destination of the user. Set it as soon as it is known, so that an error page gets
 * it too.
 */
type ReturnTo = { next: string | null }

type Work = (signIn: SignIn) => Promise<string>
type SignIn = {
  request: Request
  connection: Connection
  provider: ProviderSignIn
  returnTo: ReturnTo
  addToLog: AddToLog
  setCookies: (values: string[]) => void
}

/**
 * Returns handlers that redirect to the URL from `work` or to an error page. `response`:
 * how the provider responds.
 */
export function ssoRoute(
  definition: { name: string; method: 'GET' | 'POST' },
  response: ProviderSignIn['response'] | null,
  work: Work,
) {
  return route(definition, async (call) => {
    const { request, requestId, params, addToLog, setCookies } = call
    const returnTo: ReturnTo = { next: null }

    // reference.tsx shows the ID
    const explain = (error: SignInError) =>
      seeOther(`${landing({ error, ...returnTo })}#${requestId}`)

    try {
      const connection = await findConnection(params.connection!)
      if (!connection) throw new SignInRejected('connection', 'connection_unavailable')

      addToLog({ connection: connection.slug })
      const provider = await loadSignIn(connection)
      if (response && provider.response !== response)
        throw new SignInRejected('connection_kind', 'connection_unavailable')

      return seeOther(
        await work({ request, connection, provider, returnTo, addToLog, setCookies }),
      )
    } catch (thrown) {
      // The body is too large or not a form, so the client is not a browser that a
      // provider redirected.
      if (thrown instanceof ApiError) throw thrown
      if (thrown instanceof SignInRejected) {
        const { check } = thrown
        addToLog({ check, ...(advice[check] && { advice: advice[check] }) })

        // For example, the user opened a bookmarked provider page. start/route.ts checks
        // the session and stops loops.
        if (thrown.error === 'attempt_invalid')
          return seeOther(
            startPath(params.connection!, returnTo.next ?? thrown.next, 'again'),
          )

        // the provider will let the user choose another account next time, and the page
        // will show the rejected account and a link to the connection
        if (thrown.error === 'no_access') {
          const { account } = thrown
          setCookies([askCookie('account', { account, connection: params.connection! })])
        }

        return explain(thrown.error)
      }

      // A page explains the error, because a user can't read JSON.
      addToLog({ check: 'internal' })
      log.error({ cause: describeCause(thrown) }, 'a sign-in failed')

      return explain('unavailable')
    }
  })
}

/**
 * Returns the destination from a link or a provider's portal: an allowed `next` or our
 * own URL. Otherwise null.
 */
export function destinationOf(given: string | null): string | null {
  const { PUBLIC_URL, DASHBOARD_URL } = env()
  const text = given?.trim() ?? ''
  const path = text.startsWith(`${PUBLIC_URL}/`) ? text.slice(PUBLIC_URL.length) : text
  return nextDestination(path, PUBLIC_URL, DASHBOARD_URL)
}

/**
 * Uses up the sign-in attempt of a response. Returns the URL of the landing page, with a
 * code for the browser.
 */
export async function finishSignIn(
  signIn: SignIn,
  response: URLSearchParams,
  state: string | null,
): Promise<string> {
  const { request, connection, provider, returnTo, addToLog } = signIn
  const presented = {
    state,
    browser: browserOf(request.headers),
    mayLackCookies: provider.response === 'form',
  }

  const claimed = await claimAttempt({ ...presented, connectionId: connection.id })
  returnTo.next = claimed.next
  const authenticated = await provider.authenticate(connection, response, claimed)
  const { identity, account, sessionEnd } = authenticated

  // at most one call, because it may send a request
  let asked: Promise<Contact> | undefined
  const contact = () => {
    asked ??= authenticated.contact()
    return asked
  }

  const userId = await userOfIdentity(connection, identity, contact).catch(
    async (thrown) => {
      if (thrown instanceof SignInRejected)
        thrown.account = (await contact().catch(() => null))?.email ?? account
      throw thrown
    },
  )

  const { secret: code } = await issueCodeOfIdentity(userId, connection.id, identity, {
    browserHash: claimed.browserHash,
    renewableUntil: sessionEnd,
    sessionHours: connection.sessionHours,
    amr: authenticated.amr,
  })

  addToLog({ userId })

  return landing({ code, ...returnTo })
}

export function landing(
  outcome: ({ error: SignInError } | { code: string }) & ReturnTo,
): string {
  const present = Object.entries(outcome).filter(([, value]) => value !== null)
  return `/sso/callback?${new URLSearchParams(present as [string, string][])}`
}
