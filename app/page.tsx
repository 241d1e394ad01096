import { headers } from 'next/headers'
import { lookUp } from '@/app/look-up'
import * as routes from '@/lib/contract/routes'
import {
  forgotPasswordPageUrl,
  nextDestination,
  signInPageUrl,
} from '@/lib/http/next-path'
import { readCookie } from '@/lib/session/cookie'
import { findRefreshableSession, findSession, type LiveSession } from '@/lib/session/find'
import { env } from '@/lib/settings/env'
import type { Texts } from '@/lib/texts/en'
import { readLocale } from '@/lib/texts/language'
import { texts } from '@/lib/texts/page-texts'
import { Address } from './_ui/address'
import sessionScript from './_ui/inline/session.inline.js?raw'
import { Actions, Screen } from './_ui/screen'
import { LocalTimes, Time } from './_ui/time'

/**
 * Shows who is signed in. A dashboard can replace this page. Dashboards send users to
 * `/?next=…` to renew sessions.
 */
export default async function HomePage({ searchParams }: PageProps<'/'>) {
  const requestHeaders = await headers()
  const valid = await findValidSession(requestHeaders)
  const session = valid ?? (await findExpiredSession(requestHeaders))

  const pageTexts = await texts()
  const { next: wanted, 'signed-out': signedOut } = await searchParams
  const next = nextDestination(wanted, env().PUBLIC_URL, env().DASHBOARD_URL)

  if (!session)
    return <SignedOut texts={pageTexts} next={next} isNew={signedOut !== undefined} />

  return (
    <>
      <script
        nonce={requestHeaders.get('x-nonce') ?? undefined}
        data-refresh-path={routes.refreshSession.path}
        data-renew={!valid || next ? '' : undefined}
        data-next={next ?? undefined}
        suppressHydrationWarning
        dangerouslySetInnerHTML={{ __html: sessionScript }}
      />
      <SignedIn {...{ session, next, requestHeaders }} texts={pageTexts} />
    </>
  )
}

async function findValidSession(requestHeaders: Headers): Promise<LiveSession | null> {
  const token = readCookie(requestHeaders, 'session')
  return token ? lookUp('a session', findSession(token)) : null
}

/** Returns the session that the script of this page can renew, or null. */
async function findExpiredSession(requestHeaders: Headers): Promise<LiveSession | null> {
  const token = readCookie(requestHeaders, 'refresh')
  return token ? lookUp('a session', findRefreshableSession(token)) : null
}

/** `isNew`: the user has just signed out. */
function SignedOut({
  texts: { app, home, shared },
  next,
  isNew,
}: {
  texts: Texts
  next: string | null
  isNew: boolean
}) {
  const { SIGN_IN_URL, FORGOT_PASSWORD_URL } = env()
  const hasLink = !isThisPage(SIGN_IN_URL)

  return (
    <Screen app={app} title={isNew ? home.justSignedOut : home.signedOut}>
      <p>
        {home.signedOutBody} {!hasLink && home.signedOutWithoutLink}
      </p>
      {hasLink && <Actions links={[[signInPageUrl(SIGN_IN_URL, next), shared.signIn]]} />}
      {FORGOT_PASSWORD_URL && (
        <p className="note">
          <a href={forgotPasswordPageUrl(FORGOT_PASSWORD_URL, next)}>
            {home.forgotPassword}
          </a>
        </p>
      )}
      {process.env.NODE_ENV === 'development' && (
        <p className="note">
          <a href="/preview">Development</a>
        </p>
      )}
    </Screen>
  )
}

function SignedIn({
  texts,
  session,
  next,
  requestHeaders,
}: {
  texts: Texts
  session: LiveSession
  next: string | null
  requestHeaders: Headers
}) {
  const { app, home } = texts
  const locale = readLocale(requestHeaders)

  return (
    <Screen app={app} title={home.signedIn} icon="good">
      <dl className="facts">
        <dt>{home.as}</dt>
        <dd>
          <Address email={session.email} />
        </dd>
        <dt>{home.until}</dt>
        <dd>
          <Time instant={session.endsAt.toISOString()} locale={locale} />
        </dd>
      </dl>
      <LocalTimes nonce={requestHeaders.get('x-nonce')} locale={locale} />
      <NextSteps texts={texts} next={next} />
    </Screen>
  )
}

/** Where the user can go. A form, because one button signs out. */
function NextSteps({
  texts: { account, home, shared },
  next,
}: {
  texts: Texts
  next: string | null
}) {
  const { DASHBOARD_URL } = env()
  const destination = next ?? (isThisPage(DASHBOARD_URL) ? null : DASHBOARD_URL)

  return (
    <form
      id="sign-out"
      className="actions"
      method="post"
      action={routes.signOutOfPages.path}
    >
      {destination && (
        <a className="button" href={destination}>
          {next ? shared.goOn : home.open}
        </a>
      )}
      <a className="button quiet" href="/account">
        {account.title}
      </a>
      <button className="button quiet" type="submit">
        {home.signOut}
      </button>
    </form>
  )
}

function isThisPage(url: string): boolean {
  return url === '/' || url === `${env().PUBLIC_URL}/`
}
