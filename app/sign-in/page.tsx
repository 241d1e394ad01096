import { headers } from 'next/headers'
import { Address } from '@/app/_ui/address'
import { NeedsScript } from '@/app/_ui/needs-script'
import { Actions, Screen } from '@/app/_ui/screen'
import { lookUp } from '@/app/look-up'
import { nextDestination, signInPageUrl } from '@/lib/http/next-path'
import { findBrowserChallenge } from '@/lib/second-factor/challenge'
import { findBrowserSession } from '@/lib/session/authorize'
import { env } from '@/lib/settings/env'
import { findConnection, signInChoices, startPath } from '@/lib/sso/connection'
import { texts } from '@/lib/texts/language'
import continueScript from '../_ui/inline/continue.inline.js?raw'
import { SecondFactorForm } from './second-factor-form'
import { SignInForm } from './sign-in-form'

/**
 * The page to sign in, or to continue to a provider (`?connection=`). Passwords and
 * second factors need scripts.
 */
export default async function SignInPage({ searchParams }: PageProps<'/sign-in'>) {
  const parameters = await searchParams
  const { app, language, home, passwordField, secondFactor, shared, signIn, sso } =
    await texts()
  const { DASHBOARD_URL, FORGOT_PASSWORD_URL, PASSWORD_SIGN_IN, PUBLIC_URL } = env()
  const next = nextDestination(parameters.next, PUBLIC_URL, DASHBOARD_URL)

  const { connection } = parameters
  const chosen =
    typeof connection === 'string'
      ? await lookUp('a connection', findConnection(connection))
      : null

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

  const { another, error, step } = parameters
  const isStart = [another, error, step].every((parameter) => parameter === undefined)

  // At this URL, kept-email.inline.js deletes the address, and page-proxy.ts makes the
  // provider ask who signs in.
  const anotherUrl = signInPageUrl('/sign-in', next, { another: true })
  const challenged = isStart
    ? await lookUp('a challenge', findBrowserChallenge(await headers()))
    : null

  if (challenged) {
    return (
      <NeedsScript shared={shared} texts={sso}>
        <SecondFactorForm
          {...{ app, language, shared, ...challenged }}
          texts={{ ...signIn, ...secondFactor }}
          destination={next ?? DASHBOARD_URL}
          anotherUrl={anotherUrl}
        />
      </NeedsScript>
    )
  }

  const session = isStart
    ? await lookUp('a session', findBrowserSession(await headers()))
    : null

  if (session) {
    return (
      <Screen app={app} title={home.signedIn} icon="good">
        <dl className="facts">
          <dt>{home.as}</dt>
          <dd>
            <Address email={session.email} />
          </dd>
        </dl>
        <Actions
          links={[
            [next ?? DASHBOARD_URL, shared.goOn],
            [anotherUrl, signIn.another],
          ]}
        />
      </Screen>
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

  const emailFirst = !PASSWORD_SIGN_IN || (any && step !== 'password')
  const rejections = {
    email: signIn.invalidEmail,
    unknown: signIn.unknownEmail,
    expired: secondFactor.expired,
  }

  const rejection =
    Object.entries(rejections).find(([name]) => name === error)?.[1] ?? null

  const form = (
    <SignInForm
      {...{ app, language, shared, next, emailFirst, rejection }}
      texts={signIn}
      passwordTexts={PASSWORD_SIGN_IN ? passwordField : null}
      destination={next ?? DASHBOARD_URL}
      forgotPasswordUrl={FORGOT_PASSWORD_URL}
    />
  )

  return (
    <>
      {emailFirst ? (
        <>
          <noscript>
            <div className="banner">
              <h2>{shared.noScript}</h2>
              <p>{sso.noScript}</p>
            </div>
          </noscript>
          {form}
        </>
      ) : (
        <NeedsScript shared={shared} texts={sso}>
          {form}
        </NeedsScript>
      )}
      {listed.length > 0 && <p className="or">{signIn.or}</p>}
      {listed.length > 0 && (
        <ul className="choices">
          {listed.map(({ slug, name }) => (
            <li key={slug}>
              <a className="button quiet wide" href={startPath(slug, next)}>
                <svg viewBox="0 0 24 24" aria-hidden="true">
                  <path d="M4 20V5.5h9.5V20M13.5 10H20v10M2.5 20h19M7.5 9.5H10M7.5 13H10M7.5 16.5H10M17 13.5v0M17 16.5v0" />
                </svg>
                {signIn.with.replace('{name}', () => name)}
              </a>
            </li>
          ))}
        </ul>
      )}
    </>
  )
}
