import { headers } from 'next/headers'
import { Address } from '@/app/_ui/address'
import { Actions, NeedsScript, Screen } from '@/app/_ui/screen'
import { lookUp } from '@/app/look-up'
import * as routes from '@/lib/contract/routes'
import {
  forgotPasswordPageUrl,
  nextDestination,
  readLoginHint,
  signInPageUrl,
} from '@/lib/http/next-path'
import { type Challenged, findBrowserChallenge } from '@/lib/second-factor/challenge'
import type { Steps } from '@/lib/second-factor/find'
import { findBrowserSession } from '@/lib/session/browser'
import { env, sendsMail } from '@/lib/settings/env'
import { createStartPath, findConnection, listSignInChoices } from '@/lib/sso/connection'
import type { Texts } from '@/lib/texts/en'
import { texts } from '@/lib/texts/page-texts'
import continueScript from '../_ui/inline/continue.inline.js?raw'
import { PasskeyOnly, SecondFactor, SetUp } from './later-steps'
import { SignInForm } from './sign-in-form'

type Properties = {
  texts: Texts
  /** Where the user goes after the sign-in. Null: to the dashboard. */
  next: string | null
}

/**
 * The page to sign in, or to continue to a provider (`?connection=`). Passwords and
 * second factors need scripts.
 */
export default async function SignInPage({ searchParams }: PageProps<'/sign-in'>) {
  const { connection, next, another, error, step } = await searchParams
  const { DASHBOARD_URL, PASSWORD_SIGN_IN, PUBLIC_URL } = env()
  const properties = {
    texts: await texts(),
    next: nextDestination(next, PUBLIC_URL, DASHBOARD_URL),
  }

  const chosen =
    typeof connection === 'string'
      ? await lookUp('a connection', findConnection(connection))
      : null
  if (chosen)
    return <GoingToProvider {...properties} slug={chosen.slug} name={chosen.name} />

  const isStart = [another, error, step].every((parameter) => parameter === undefined)
  const challenged = isStart
    ? await lookUp('a challenge', findBrowserChallenge(await headers()))
    : null
  if (challenged?.steps.setUp) return <SetUpStep {...properties} {...challenged} />
  if (challenged) return <SecondStep {...properties} {...challenged} />

  const session = isStart
    ? await lookUp('a session', findBrowserSession(await headers()))
    : null
  if (session) return <SignedIn {...properties} email={session.email} />

  const { listed, any, anyLive } = await lookUp('the connections', listSignInChoices())
  if (!any && !PASSWORD_SIGN_IN) return <NoSignIn {...properties} />

  const emailFirst = !PASSWORD_SIGN_IN || (anyLive && step !== 'password')

  return (
    <>
      <SignIn
        {...properties}
        {...{ emailFirst, error }}
        passkey={await preparePasskey(properties.texts)}
        email={step === 'password' ? await findOwnEmail() : undefined}
      />
      <Choices {...properties} connections={listed} />
    </>
  )
}

async function GoingToProvider({
  texts: { app, shared, signIn },
  next,
  slug,
  name,
}: Properties & { slug: string; name: string }) {
  return (
    <>
      <Screen app={app} title={signIn.going} tab={shared.signIn} icon="lock">
        <p>{signIn.goingBody.replace('{name}', () => name)}</p>
        <div className="actions">
          {/* not a <Link>, which would be prefetched */}
          <a className="button" id="continue" href={createStartPath(slug, next)}>
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

type Step = Properties & { challenge: string; user: Challenged; steps: Steps }

async function SecondStep({ texts, next, challenge, user, steps }: Step) {
  const { app, language, secondFactor, shared, signIn, sso } = texts
  const { methods } = steps
  const passkey = methods.includes('passkey') ? await preparePasskey(texts, true) : null
  const common = {
    ...{ app, language, shared },
    email: user.email,
    texts: { ...signIn, ...secondFactor },
    destination: next ?? env().DASHBOARD_URL,
    anotherUrl: makeAnotherUrl(next),
  }

  return (
    <NeedsScript shared={shared} texts={sso}>
      {passkey && !methods.includes('recovery-code') ? (
        <PasskeyOnly {...common} passkey={passkey} />
      ) : (
        <SecondFactor
          {...{ ...common, challenge, passkey }}
          path={routes.signInSecondFactor.path}
          hasApp={methods.includes('totp')}
          offerPath={env().PASSKEYS ? '/account/passkey' : null}
        />
      )}
    </NeedsScript>
  )
}

/** Where a user without a second factor sets one up, if that is required. */
async function SetUpStep({ texts, next, challenge, user, steps }: Step) {
  const { app, account, language, passkey, secondFactor, shared } = texts
  const { reset, signIn, sso } = texts
  const { findStartedEnrolment } = await import('@/lib/second-factor/change')
  const started = await lookUp(
    'an enrolment',
    findStartedEnrolment(user, await headers()),
  )

  return (
    <NeedsScript shared={shared} texts={sso}>
      <SetUp
        {...{ app, language, shared, challenge, started }}
        email={user.email}
        texts={{
          ...{ signIn, secondFactor, passkey },
          factor: { ...account.factor, account: reset.account },
        }}
        registration={steps.setUp?.includes('passkey') ? await register(user) : null}
        paths={{
          start: routes.startSecondFactor.path,
          confirm: routes.confirmSecondFactor.path,
          options: routes.startPasskey.path,
          add: routes.addPasskey.path,
        }}
        destination={next ?? env().DASHBOARD_URL}
        anotherUrl={makeAnotherUrl(next)}
      />
    </NeedsScript>
  )
}

/** Returns what the browser needs to create a passkey, without a request after a click. */
async function register(user: Challenged) {
  const { makeRegistration } = await import('@/lib/passkey/add')
  return makeRegistration(user, user).options
}

function SignedIn({
  texts: { app, home, shared, signIn },
  next,
  email,
}: Properties & { email: string }) {
  return (
    <Screen app={app} title={home.signedIn} icon="good">
      <dl className="facts">
        <dt>{home.as}</dt>
        <dd>
          <Address email={email} />
        </dd>
      </dl>
      <Actions
        links={[
          [next ?? env().DASHBOARD_URL, shared.goOn],
          [makeAnotherUrl(next), signIn.another],
        ]}
      />
    </Screen>
  )
}

/**
 * Returns the URL for a sign-in with another account. There, kept-email.inline.js deletes
 * the address, and app/_proxy/respond.ts makes the provider ask who signs in.
 */
function makeAnotherUrl(next: string | null): string {
  return signInPageUrl('/sign-in', next, { another: true })
}

function NoSignIn({ texts: { app, home, shared } }: Properties) {
  return (
    <Screen app={app} title={shared.signIn} icon="lock">
      <p>{home.signedOutWithoutLink}</p>
    </Screen>
  )
}

/**
 * Returns what a form needs for passkeys, or null without PASSKEYS. The challenge is in
 * the page, because Safari wants no request between the click and the prompt.
 */
async function preparePasskey(
  { passkey: texts, secondFactor }: Texts,
  isSecondStep = false,
): Promise<React.ComponentProps<typeof SignInForm>['passkey']> {
  if (!env().PASSKEYS) return null

  const { makeSignInOptions } = await import('@/lib/passkey/sign-in')
  const { options } = await lookUp('a challenge', makeSignInOptions())
  const { signIn, prompt, cancel, signInProblems } = texts
  const own = isSecondStep
    ? {
        signIn: secondFactor.passkey,
        problems: { ...signInProblems, ...secondFactor.passkeyProblems },
      }
    : { signIn, problems: signInProblems }

  return {
    options,
    paths: {
      options: routes.getPasskeySignInOptions.path,
      signIn: routes.signInWithPasskey.path,
      offer: '/account/passkey',
    },
    texts: { prompt, cancel, ...own },
  }
}

/** Returns the address of a signed-in user who has to sign in again, for the form. */
async function findOwnEmail(): Promise<string | undefined> {
  if (!env().PASSKEYS) return undefined

  const session = await lookUp('a session', findBrowserSession(await headers()))
  return session?.email
}

/** The form. Without a password field, it works without scripts. */
function SignIn({
  texts: { app, language, passwordField, secondFactor, shared, signIn, sso },
  next,
  emailFirst,
  error,
  passkey,
  email,
}: Properties & { emailFirst: boolean; error: unknown } & Pick<
    React.ComponentProps<typeof SignInForm>,
    'passkey'
  > & { email: string | undefined }) {
  const { DASHBOARD_URL, FORGOT_PASSWORD_URL, PASSWORD_SIGN_IN } = env()
  const rejections = {
    email: signIn.invalidEmail,
    unknown: signIn.unknownEmail,
    expired: secondFactor.expired,
  }
  const rejection = Object.entries(rejections).find(([name]) => name === error)?.[1]

  const form = (
    <SignInForm
      {...{ app, language, shared, next, emailFirst, passkey }}
      email={email ?? readLoginHint(next)}
      texts={signIn}
      passwordTexts={PASSWORD_SIGN_IN ? passwordField : null}
      rejection={rejection ?? null}
      destination={next ?? DASHBOARD_URL}
      paths={{ find: routes.findSsoConnection.path, signIn: routes.signIn.path }}
      urls={{
        secondStep: signInPageUrl('/sign-in', next),
        passwordStep: signInPageUrl('/sign-in?step=password', next),
        forgotPassword:
          FORGOT_PASSWORD_URL && forgotPasswordPageUrl(FORGOT_PASSWORD_URL, next),
        mailLink: sendsMail() ? forgotPasswordPageUrl('/forgot-password', next) : null,
      }}
    />
  )
  if (!emailFirst)
    return (
      <NeedsScript shared={shared} texts={sso}>
        {form}
      </NeedsScript>
    )

  return (
    <>
      <noscript>
        <div className="banner">
          <h2>{shared.noScript}</h2>
          <p>{sso.noScript}</p>
        </div>
      </noscript>
      {form}
    </>
  )
}

/** The connections that are listed below the form. */
function Choices({
  texts: { signIn },
  next,
  connections,
}: Properties & { connections: { slug: string; name: string }[] }) {
  if (connections.length === 0) return null

  return (
    <>
      <p className="or">{signIn.or}</p>
      <ul className="choices">
        {connections.map(({ slug, name }) => (
          <li key={slug}>
            <a className="button quiet wide" href={createStartPath(slug, next)}>
              <svg viewBox="0 0 24 24" aria-hidden="true">
                <path d="M4 20V5.5h9.5V20M13.5 10H20v10M2.5 20h19M7.5 9.5H10M7.5 13H10M7.5 16.5H10M17 13.5v0M17 16.5v0" />
              </svg>
              {signIn.with.replace('{name}', () => name)}
            </a>
          </li>
        ))}
      </ul>
    </>
  )
}
