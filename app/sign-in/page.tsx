import { headers } from 'next/headers'
import { Screen } from '@/app/_ui/screen'
import { texts } from '@/lib/page/language'
import { nextDestination } from '@/lib/page/next-path'
import { env } from '@/lib/settings/env'
import { findConnection, signInChoices, startPath } from '@/lib/sso/connection'
import continueScript from './continue.js?raw'
import { EmailForm } from './email-form'

/**
 * Where a user signs in: `/sign-in?next=…`. The e-mail address leads to the organisation's identity
 * provider (`?connection=…`); listed connections have a button. Works without scripts.
 */
export default async function SignInPage({ searchParams }: PageProps<'/sign-in'>) {
  const parameters = await searchParams
  const { app, home, shared, signIn } = await texts()
  const { DASHBOARD_URL, PUBLIC_URL } = env()
  const next = nextDestination(parameters.next, PUBLIC_URL, DASHBOARD_URL)

  const chosen = typeof parameters.connection === 'string' ? await findConnection(parameters.connection) : null
  if (chosen) {
    return (
      <>
        <Screen app={app} title={signIn.going} tab={shared.signIn} icon="lock">
          <p>{signIn.goingBody.replace('{name}', () => chosen.name)}</p>
          <div className="actions">
            {/* not a <Link>, which would be prefetched */}
            <a className="button" id="continue" href={startPath(chosen.slug, next)}>
              {shared.goOn}
            </a>
          </div>
        </Screen>
        <script
          nonce={(await headers()).get('x-nonce') ?? undefined}
          suppressHydrationWarning
          dangerouslySetInnerHTML={{ __html: continueScript }}
        />
      </>
    )
  }

  const { listed, any } = await signInChoices()
  if (!any) {
    return (
      <Screen app={app} title={shared.signIn} icon="lock">
        <p>{home.signedOutWithoutLink}</p>
      </Screen>
    )
  }
  const { error } = parameters
  return (
    <>
      <EmailForm
        {...{ app, next }}
        title={shared.signIn}
        texts={signIn}
        error={error === undefined ? undefined : error === 'email' ? signIn.invalidEmail : signIn.unknownEmail}
      />
      {listed.length > 0 && (
        <ul className="choices">
          {listed.map(({ slug, name }) => (
            <li key={slug}>
              <a className="button quiet wide" href={startPath(slug, next)}>
                {signIn.with.replace('{name}', () => name)}
              </a>
            </li>
          ))}
        </ul>
      )}
    </>
  )
}
