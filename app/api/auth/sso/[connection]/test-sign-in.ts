import { randomBytes } from 'node:crypto'
import { showPlainPage } from '@/app/api/auth/substitute'
import { addToOrigin } from '@/lib/event/origin'
import type { AddToLog } from '@/lib/http/route'
import { describeCause, log } from '@/lib/log/log'
import { type ClaimedAttempt, startAttempt } from '@/lib/sso/attempt'
import type { Connection } from '@/lib/sso/connection'
import type { ProviderSignIn } from '@/lib/sso/provider'
import { SignInRejected } from '@/lib/sso/rejection'
import { createTestCookie } from '@/lib/sso/test-link'
import { type Report, reportRejection, testSignIn } from '@/lib/sso/test-sign-in'
import { invalidTestPage, reportPage } from './report-page'

type Test = {
  connection: Connection
  provider: ProviderSignIn
  addToLog: AddToLog
  /** The setup link that begins the test, if any. */
  setupLinkId?: string
}

/**
 * Starts a test sign-in. Returns the URL of the provider, or a page that explains why the
 * test can't start. The test has a browser ID of its own, and sets only its cookie.
 */
export async function startTest(
  { connection, provider, addToLog, setupLinkId }: Test,
  setCookies: (values: string[]) => void,
): Promise<string | Response> {
  addToLog({ try: true })

  try {
    const { browser, cookie } = createTestCookie(connection)
    const secrets = await startAttempt(connection, browser, null, true, setupLinkId)
    const url = await provider.authorize(connection, secrets, null)
    setCookies([cookie])

    return url
  } catch (thrown) {
    if (!(thrown instanceof SignInRejected))
      log.error({ cause: describeCause(thrown) }, 'a test sign-in failed')

    const rejection =
      thrown instanceof SignInRejected
        ? thrown
        : new SignInRejected('internal', 'unavailable')

    const isSetup = setupLinkId !== undefined
    return showRejection(connection, rejection, addToLog, { isSetup })
  }
}

/** Verifies the response to a claimed test, and returns a page with the result. */
export async function finishTest(
  { connection, provider, addToLog }: Test,
  response: URLSearchParams,
  claimed: ClaimedAttempt,
): Promise<Response> {
  const { issuer } = connection.settings
  const isSetup = claimed.setupLinkId !== null
  if (claimed.issuer !== null && claimed.issuer !== issuer) {
    const changed = new SignInRejected('connection_changed', 'attempt_invalid')
    return showRejection(connection, changed, addToLog, { isSetup })
  }

  if (isSetup) {
    addToLog({ setup: 'tested' })
    addToOrigin({ actor: 'setup-link', connectionId: connection.id })
  }

  const report = await testSignIn(connection, provider, response, claimed)

  return show(report, addToLog, isSetup)
}

/** Returns the page of a test that failed before its response could be verified. */
export async function showRejection(
  connection: Connection,
  rejection: SignInRejected,
  addToLog: AddToLog,
  { response, isSetup = false }: { response?: URLSearchParams; isSetup?: boolean } = {},
): Promise<Response> {
  const report = await reportRejection(connection, rejection, response)
  return show(report, addToLog, isSetup)
}

function show(report: Report, addToLog: AddToLog, isSetup: boolean): Response {
  const { outcome } = report
  addToLog({ try: true, ...('check' in outcome && { check: outcome.check }) })

  const nonce = randomBytes(16).toString('base64')
  return showPlainPage(reportPage(report, nonce, isSetup), nonce)
}

/** Returns the page for a link that is invalid or has expired. */
export function showInvalidLink({ slug }: Connection, addToLog: AddToLog): Response {
  addToLog({ try: true, check: 'test_link' })

  const nonce = randomBytes(16).toString('base64')
  return showPlainPage(invalidTestPage(slug, nonce), nonce, 400)
}
