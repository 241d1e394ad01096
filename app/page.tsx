import { cookies } from 'next/headers'
import { texts } from '@/lib/page/language'
import { sessionCookieName } from '@/lib/session/cookie'
import { findSession } from '@/lib/session/find'
import { env } from '@/lib/settings/env'
import { LocalTime } from './_ui/local-time'
import { Screen } from './_ui/screen'

/** Shows who is signed in, until when, and a sign-out button. A placeholder for a dashboard. */
export default async function HomePage() {
  const { app, language, home, shared } = await texts()
  const { DASHBOARD_URL, SIGN_IN_URL, FORGOT_PASSWORD_URL } = env()
  const token = (await cookies()).get(sessionCookieName())?.value
  const session = token ? await findSession(token) : null

  if (!session) {
    return (
      <Screen app={app} title={home.signedOut} icon="lock">
        <p>
          {home.signedOutBody} {isThisPage(SIGN_IN_URL) && home.signedOutWithoutLink}
        </p>
        <div className="actions">
          {!isThisPage(SIGN_IN_URL) && (
            <a className="button" href={SIGN_IN_URL}>
              {shared.signIn}
            </a>
          )}
          {FORGOT_PASSWORD_URL && (
            <a className="button quiet" href={FORGOT_PASSWORD_URL}>
              {home.forgotPassword}
            </a>
          )}
        </div>
      </Screen>
    )
  }
  return (
    <Screen app={app} title={home.signedIn} icon="good">
      <dl className="facts">
        <dt>{home.as}</dt>
        <dd>{session.email}</dd>
        <dt>{home.until}</dt>
        <dd>
          <LocalTime instant={session.expiresAt.toISOString()} language={language} />
        </dd>
      </dl>
      <form className="actions" method="post" action="/sign-out">
        {!isThisPage(DASHBOARD_URL) && (
          <a className="button" href={DASHBOARD_URL}>
            {home.open}
          </a>
        )}
        <button className="button quiet" type="submit">
          {home.signOut}
        </button>
      </form>
    </Screen>
  )
}

function isThisPage(url: string): boolean {
  return url === '/' || url === `${env().PUBLIC_URL}/`
}
