import { headers } from 'next/headers'
import { lookUp } from '@/app/look-up'
import * as routes from '@/lib/contract/routes'
import { nextDestination, signInPageUrl } from '@/lib/http/next-path'
import { cookieOf } from '@/lib/session/cookie'
import { findRefreshableSession, findSession } from '@/lib/session/find'
import { env } from '@/lib/settings/env'
import { localeOf, texts } from '@/lib/texts/language'
import { Address } from './_ui/address'
import sessionScript from './_ui/inline/session.inline.js?raw'
import { Actions, Screen } from './_ui/screen'
import { LocalTimes, Time } from './_ui/time'

/**
 * Shows who is signed in. A dashboard can replace this page. Dashboards send users to
 * `/?next=…` to renew sessions.
 */
export default async function HomePage({ searchParams }: PageProps<'/'>) {
  const { app, account, home, shared } = await texts()
  const { DASHBOARD_URL, SIGN_IN_URL, FORGOT_PASSWORD_URL, PUBLIC_URL } = env()
  const requestHeaders = await headers()
  const token = cookieOf(requestHeaders, 'session')
  const refreshToken = cookieOf(requestHeaders, 'refresh')
  const valid = token ? await lookUp('a session', findSession(token)) : null

  const session =
    valid ??
    (refreshToken
      ? await lookUp('a session', findRefreshableSession(refreshToken))
      : null)

  const { next: wanted, 'signed-out': signedOut } = await searchParams
  const next = nextDestination(wanted, PUBLIC_URL, DASHBOARD_URL)

  if (!session) {
    return (
      <Screen
        app={app}
        title={signedOut === undefined ? home.signedOut : home.justSignedOut}
      >
        <p>
          {home.signedOutBody} {isThisPage(SIGN_IN_URL) && home.signedOutWithoutLink}
        </p>
        {!isThisPage(SIGN_IN_URL) && (
          <Actions links={[[signInPageUrl(SIGN_IN_URL, next), shared.signIn]]} />
        )}
        {FORGOT_PASSWORD_URL && (
          <p className="note">
            <a href={FORGOT_PASSWORD_URL}>{home.forgotPassword}</a>
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

  const locale = localeOf(requestHeaders)
  const nonce = requestHeaders.get('x-nonce')
  const destination = next ?? (isThisPage(DASHBOARD_URL) ? null : DASHBOARD_URL)

  return (
    <>
      <script
        nonce={nonce ?? undefined}
        data-refresh-path={routes.refreshSession.path}
        data-renew={!valid || next ? '' : undefined}
        data-next={next ?? undefined}
        suppressHydrationWarning
        dangerouslySetInnerHTML={{ __html: sessionScript }}
      />
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
        <LocalTimes nonce={nonce} locale={locale} />
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
      </Screen>
    </>
  )
}

function isThisPage(url: string): boolean {
  return url === '/' || url === `${env().PUBLIC_URL}/`
}
