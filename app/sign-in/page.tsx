import { headers } from 'next/headers'
import { EmailField } from '@/app/_ui/email-field'
import { NeedsScript } from '@/app/_ui/needs-script'
import { Screen } from '@/app/_ui/screen'
import { lookUp } from '@/app/look-up'
import * as paths from '@/lib/contract/paths'
import { texts } from '@/lib/page/language'
import { nextDestination } from '@/lib/page/next-path'
import type { Texts } from '@/lib/page/texts/en'
import { env } from '@/lib/settings/env'
import { findConnection, signInChoices, startPath } from '@/lib/sso/connection'
import continueScript from './continue.inline.js?raw'
import { SignInForm } from './sign-in-form'

/**
 * Where a user signs in: `/sign-in?next=…`. The e-mail address leads to the organisation's identity provider
 * (`?connection=…`); listed connections have a button. Works without scripts, but for a password (PASSWORD_SIGN_IN).
 */
export default async function SignInPage({ searchParams }: PageProps<'/sign-in'>) {
  const parameters = await searchParams
  const { app, language, home, passwordField, shared, signIn, sso } = await texts()
  const { DASHBOARD_URL, FORGOT_PASSWORD_URL, PASSWORD_SIGN_IN, PUBLIC_URL } = env()
  const next = nextDestination(parameters.next, PUBLIC_URL, DASHBOARD_URL)

  const { connection } = parameters
  const chosen = typeof connection === 'string' ? await lookUp('a connection', findConnection(connection)) : null
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

  const { listed, any } = await lookUp('the connections', signInChoices())
  if (!any && !PASSWORD_SIGN_IN) {
    return (
      <Screen app={app} title={shared.signIn} icon="lock">
        <p>{home.signedOutWithoutLink}</p>
      </Screen>
    )
  }
  const { error } = parameters
  const emailFirst = any && parameters.step !== 'password'
  const form = PASSWORD_SIGN_IN ? (
    <SignInForm
      {...{ app, language, shared, next, emailFirst }}
      sentNoAddress={emailFirst && error === 'email'}
      texts={signIn}
      passwordTexts={{ ...passwordField, label: signIn.password, errorPrefix: signIn.errorPrefix }}
      destination={next ?? DASHBOARD_URL}
      forgotPasswordUrl={FORGOT_PASSWORD_URL}
    />
  ) : (
    <EmailForm
      {...{ app, next }}
      title={shared.signIn}
      texts={signIn}
      error={error === undefined ? undefined : error === 'email' ? signIn.invalidEmail : signIn.unknownEmail}
    />
  )
  return (
    <>
      {PASSWORD_SIGN_IN && !emailFirst ? (
        <NeedsScript shared={shared} texts={sso}>
          {form}
        </NeedsScript>
      ) : (
        form
      )}
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

type EmailFormProperties = { app: string; title: string; texts: Texts['signIn']; next: string | null; error?: string }

/** Asks for the e-mail address, whose domain names the identity provider. */
function EmailForm({ app, title, texts, next, error }: EmailFormProperties) {
  return (
    <>
      <title>{`${error ? texts.errorPrefix : ''}${title} – ${app}`}</title>
      <h1>{title}</h1>
      <p>{texts.body}</p>
      <form method="post" action={paths.findSsoConnection}>
        {next && <input type="hidden" name="next" value={next} />}
        <EmailField texts={texts} error={error} />
        <button className="button wide" type="submit">
          {texts.submit}
        </button>
      </form>
    </>
  )
}
