import { cookies } from 'next/headers'
import { texts } from '@/lib/page/language'
import { sessionCookieName } from '@/lib/session/cookie'
import { findSession } from '@/lib/session/find'
import { env } from '@/lib/settings/env'
import { LocalTime } from './_ui/local-time'
import { Screen } from './_ui/screen'

/** Who is signed in here, and until when. Stands in for a dashboard where there is none, and lets people sign out. */
export default async function HomePage() {
  const { app, language, home, shared } = await texts()
  const { DASHBOARD_URL, SIGN_IN_URL, FORGOT_PASSWORD_URL } = env()
  const token = (await cookies()).get(sessionCookieName())?.value
  const session = token ? await findSession(token) : null

  if (!session) {
    return (
      <Screen app={app} title={home.signedOut} icon="lock">
        <p>
          {home.signedOutBody} {isHere(SIGN_IN_URL) && home.signedOutWithoutLink}
        </p>
        <div className="actions">
          {!isHere(SIGN_IN_URL) && (
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
        {!isHere(DASHBOARD_URL) && (
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

function isHere(place: string): boolean {
  return place === '/' || place === `${env().PUBLIC_URL}/`
}
