import { ApiError } from '@/lib/contract/errors'
import { nextDestination } from '@/lib/http/next-path'
import { type AddToLog, route, seeOther } from '@/lib/http/route'
import { describeCause, log } from '@/lib/log/log'
import { readBrowser } from '@/lib/session/cookie'
import { env } from '@/lib/settings/env'
import { type ClaimedAttempt, claimAttempt } from '@/lib/sso/attempt'
import { warnAboutClock } from '@/lib/sso/clock'
import { issueIdentityCode } from '@/lib/sso/code'
import {
  type Connection,
  createStartPath,
  type FoundConnection,
  findAnyConnection,
} from '@/lib/sso/connection'
import { type Contact, findOrLinkUser } from '@/lib/sso/identity'
import { loadSignIn } from '@/lib/sso/kinds'
import { createAskCookie } from '@/lib/sso/next-sign-in'
import type { Authenticated, ProviderSignIn } from '@/lib/sso/provider'
import { recordRejected } from '@/lib/sso/rejected'
import { advice, type SignInError, SignInRejected } from '@/lib/sso/rejection'
import { deleteTestCookie, readTestBrowser } from '@/lib/sso/test-link'
import { recordFailureLater } from '../../failed-sign-in'

/**
 * The destination of the user. Set it as soon as it is known, so that an error page gets
 * it too.
 */
type ReturnTo = { next: string | null }

/** Returns the URL to redirect to, or a page. */
type Work = (signIn: SignIn) => Promise<string | Response>
export type SignIn = {
  request: Request
  connection: FoundConnection
  provider: ProviderSignIn
  returnTo: ReturnTo
  addToLog: AddToLog
  setCookies: (values: string[]) => void
}

/**
 * Returns handlers that redirect to the URL from `work` or to an error page, or respond
 * with its page. `response`: how the provider responds. `work` gets disabled connections
 * too, because tests work on them: it calls `requireEnabled` for anything else.
 */
export function ssoRoute(
  definition: { name: string; method: 'GET' | 'POST' },
  response: ProviderSignIn['response'] | null,
  work: Work,
) {
  return route(definition, async (call) => {
    const { request, requestId, params, addToLog, setCookies } = call
    const slug = params.connection!
    const returnTo: ReturnTo = { next: null }

    try {
      const connection = await findAnyConnection(slug)
      if (!connection) throw new SignInRejected('connection', 'connection_unavailable')

      addToLog({ connection: connection.slug })
      const provider = await loadSignIn(connection)
      if (response && provider.response !== response)
        throw new SignInRejected('connection_kind', 'connection_unavailable')

      const signIn = { request, connection, provider, returnTo, addToLog, setCookies }

      const result = await work(signIn)

      return typeof result === 'string' ? seeOther(result) : result
    } catch (thrown) {
      // The body is too large or not a form, so the client is not a browser that a
      // provider redirected.
      if (thrown instanceof ApiError) throw thrown

      const error = toSignInError(thrown, addToLog)

      // For example, the user opened a bookmarked provider page. start/route.ts checks
      // the session and stops loops.
      if (error.error === 'attempt_invalid')
        return seeOther(createStartPath(slug, returnTo.next ?? error.next, 'again'))

      // the provider will let the user choose another account next time, and the page
      // will show the rejected account and a link to the connection
      if (error.error === 'no_access')
        setCookies([
          createAskCookie('account', { account: error.account, connection: slug }),
        ])

      // A page explains the error, because a user can't read JSON. reference.tsx shows
      // the ID.
      return seeOther(`${landing({ error: error.error, ...returnTo })}#${requestId}`)
    }
  })
}

/** Throws SignInRejected if a connection is disabled. */
export function requireEnabled({ isDisabled }: FoundConnection): void {
  if (isDisabled) throw new SignInRejected('connection', 'connection_unavailable')
}

/** Returns why a sign-in was rejected, and logs it. Any other error is `unavailable`. */
function toSignInError(thrown: unknown, addToLog: AddToLog): SignInRejected {
  if (thrown instanceof SignInRejected) {
    const { check } = thrown
    addToLog({ check, ...(advice[check] && { advice: advice[check] }) })
    return thrown
  }

  addToLog({ check: 'internal' })
  log.error({ cause: describeCause(thrown) }, 'a sign-in failed')

  return new SignInRejected('internal', 'unavailable')
}

/**
 * Returns the destination from a link or a provider's portal: an allowed `next` or our
 * own URL. Otherwise null.
 */
export function readDestination(given: string | null): string | null {
  const { PUBLIC_URL, DASHBOARD_URL } = env()
  const text = given?.trim() ?? ''
  const path = text.startsWith(`${PUBLIC_URL}/`) ? text.slice(PUBLIC_URL.length) : text
  return nextDestination(path, PUBLIC_URL, DASHBOARD_URL)
}

/**
 * Uses up the sign-in attempt of a response. Returns the URL of the landing page, with a
 * code for the browser. For a test, returns the page with its result.
 */
export async function finishSignIn(
  signIn: SignIn,
  response: URLSearchParams,
  state: string | null,
): Promise<string | Response> {
  const { connection, provider, returnTo, addToLog, setCookies } = signIn

  const claimed = await claim(signIn, response, state)
  if (claimed instanceof Response) return claimed

  if (claimed.isTest) {
    setCookies([deleteTestCookie()])
    const { finishTest } = await import('./test-sign-in')
    return finishTest({ connection, provider, addToLog }, response, claimed)
  }

  returnTo.next = claimed.next
  if (claimed.issuer !== null && claimed.issuer !== connection.settings.issuer)
    throw new SignInRejected('connection_changed', 'attempt_invalid')

  const { userId, authenticated } = await recordRejection(connection, async () => {
    const authenticated = await provider.authenticate(connection, response, claimed)
    warnAboutClock(connection.slug, authenticated.issuedAt)

    return { userId: await findUser(connection, authenticated), authenticated }
  })

  const { identity, sessionEnd, amr, providerSession = null } = authenticated
  const { secret: code } = await issueIdentityCode(userId, connection.id, identity, {
    browserHash: claimed.browserHash,
    renewableUntil: sessionEnd,
    sessionHours: connection.sessionHours,
    amr: amr ?? null,
    providerSession,
  })

  addToLog({ userId })

  return landing({ code, ...returnTo })
}

/**
 * Claims the attempt. If that fails, an error that the provider sent is the reason, and
 * starting again would only repeat it. Uses nothing else of such a response. In a test,
 * returns a page.
 */
async function claim(
  { request: { headers }, connection, provider, addToLog }: SignIn,
  response: URLSearchParams,
  state: string | null,
): Promise<ClaimedAttempt | Response> {
  const testBrowser = readTestBrowser(headers, connection)

  try {
    return await claimAttempt({
      state,
      connectionId: connection.id,
      browser: readBrowser(headers),
      testBrowser,
      mayLackCookies: provider.response === 'form',
      onlyTests: connection.isDisabled,
    })
  } catch (thrown) {
    if (!(thrown instanceof SignInRejected)) throw thrown

    const rejection = provider.readError?.(response) ?? thrown
    if (!thrown.isTest && testBrowser === null) {
      requireEnabled(connection)
      throw rejection
    }

    const { showRejection } = await import('./test-sign-in')
    return showRejection(connection, rejection, addToLog, { response })
  }
}

/**
 * Runs `work`, the end of a sign-in that began here. Its rejection is an event, and is
 * stored for operators if the account is known.
 */
async function recordRejection<Result>(
  { id }: Connection,
  work: () => Promise<Result>,
): Promise<Result> {
  try {
    return await work()
  } catch (thrown) {
    if (thrown instanceof SignInRejected) {
      const { check, identity } = thrown
      await recordFailureLater({ method: 'sso', connectionId: id, identity }, check)

      await recordRejected(id, thrown).catch((error) =>
        log.error(
          { cause: describeCause(error) },
          'a rejected sign-in could not be stored',
        ),
      )
    }

    throw thrown
  }
}

/** Returns the ID of the user. A rejection gets the name of the account, for its page. */
async function findUser(
  connection: Connection,
  authenticated: Authenticated,
): Promise<string> {
  const { identity, account } = authenticated

  // at most one call, because it may send a request
  let asked: Promise<Contact> | undefined
  const contact = () => {
    asked ??= authenticated.contact()
    return asked
  }

  try {
    return await findOrLinkUser(connection, identity, contact)
  } catch (thrown) {
    if (thrown instanceof SignInRejected) {
      const known = await contact().catch(() => null)
      thrown.account = known?.email ?? account
      thrown.identity = identity
    }
    throw thrown
  }
}

/** Returns the path of the landing page with the outcome of a sign-in. */
export function landing(
  outcome: ({ error: SignInError } | { code: string }) & ReturnTo,
): string {
  const present = Object.entries(outcome).filter(([, value]) => value !== null)
  return `/sso/callback?${new URLSearchParams(present as [string, string][])}`
}
