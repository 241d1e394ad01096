import { headers } from 'next/headers'
import { redirect } from 'next/navigation'
import { Address } from '@/app/_ui/address'
import { NeedsScript } from '@/app/_ui/screen'
import { Time } from '@/app/_ui/time'
import { lookUp } from '@/app/look-up'
import { canChangePassword } from '@/lib/password/change'
import { findStartedEnrolment } from '@/lib/second-factor/change'
import { findSecondFactor } from '@/lib/second-factor/find'
import { readCookie } from '@/lib/session/cookie'
import { findSession } from '@/lib/session/find'
import { listSessions } from '@/lib/session/list'
import { env } from '@/lib/settings/env'
import type { Texts } from '@/lib/texts/en'
import { readLocale, texts } from '@/lib/texts/language'
import { PasswordForm } from './password-form'
import { SecondFactor } from './second-factor'
import type { Change } from './second-factor-change'
import { Sessions } from './sessions'

type Factor = Awaited<ReturnType<typeof findSecondFactor>>

/** The errors of the password form. Null: no error. */
type FieldErrors = React.ComponentProps<typeof PasswordForm>['errors']

/**
 * A user's account. Without a valid JWT, redirects to the home page, which renews the
 * session or links to sign-in.
 */
export default async function AccountPage({ searchParams }: PageProps<'/account'>) {
  const requestHeaders = await headers()
  const token = readCookie(requestHeaders, 'session')
  const session = token ? await lookUp('a session', findSession(token)) : null
  const { change, done, problem } = await searchParams
  if (!session) redirect(makeRenewalUrl(change))

  const sessions = await lookUp('the sessions', listSessions(session))
  const hasPassword =
    env().PASSWORD_SIGN_IN &&
    (await lookUp('a password', canChangePassword(session.userId)))
  const factor = hasPassword
    ? await lookUp('a second factor', findSecondFactor(session.userId))
    : null

  const pageTexts = await texts()
  const changes = listChanges(factor)
  const chosen = changes.find((each) => each === change)
  if (chosen) {
    const started =
      chosen === 'setUp'
        ? await lookUp('an enrolment', findStartedEnrolment(session, requestHeaders))
        : null
    return (
      <ChangePage
        texts={pageTexts}
        email={session.email}
        change={chosen}
        started={started}
      />
    )
  }

  const { account, reset } = pageTexts
  const locale = readLocale(requestHeaders)
  const errors = {
    current: findText(problem, { wrong: account.wrong }),
    password: findText(problem, reset.issues),
  }

  return (
    <>
      <Outcome
        texts={pageTexts}
        success={findText(done, account.done)}
        fieldErrors={errors}
        otherError={findText(problem, account.problems)}
      />
      <User texts={pageTexts} email={session.email} />
      <Password {...{ hasPassword, errors }} texts={pageTexts} email={session.email} />
      <FactorState {...{ factor, changes, locale }} texts={account.factor} />
      <Sessions
        {...{ sessions, locale }}
        texts={pageTexts}
        nonce={requestHeaders.get('x-nonce')}
      />
    </>
  )
}

/** Returns the URL that renews the session, and then opens this page again. */
function makeRenewalUrl(change: unknown): string {
  const query = typeof change === 'string' ? `?${new URLSearchParams({ change })}` : ''
  return `/?${new URLSearchParams({ next: `/account${query}` })}`
}

/** Returns the changes of the second factor that the user can choose. */
function listChanges(factor: Factor | null): Change[] {
  if (factor?.enabledAt) return ['newCodes', 'switchOff']
  return factor?.available ? ['setUp'] : []
}

/** Returns the text for a parameter, or null. */
function findText(name: unknown, among: Record<string, string>): string | null {
  return typeof name === 'string' && Object.hasOwn(among, name) ? among[name]! : null
}

/** The page that makes a change of the second factor. */
function ChangePage({
  texts,
  email,
  change,
  started,
}: {
  texts: Texts
  email: string
  change: Change
  started: React.ComponentProps<typeof SecondFactor>['started']
}) {
  const { app, account, language, secondFactor, shared } = texts
  return (
    <NeedsScript shared={shared} texts={account.factor}>
      <SecondFactor
        {...{ app, language, shared, email, change, started }}
        texts={{ ...account, ...secondFactor, ...account.factor }}
      />
    </NeedsScript>
  )
}

/** The title of the page, and the outcome of the form that led here. */
function Outcome({
  texts: { app, account, shared },
  success,
  fieldErrors,
  otherError,
}: {
  texts: Texts
  success: string | null
  fieldErrors: FieldErrors
  otherError: string | null
}) {
  const hasError = Boolean(fieldErrors.current || fieldErrors.password || otherError)
  const done = success ? `${success} ` : ''

  return (
    <>
      <title>{`${hasError ? shared.errorPrefix : done}${account.title} – ${app}`}</title>
      {otherError && (
        <div className="banner failed" role="alert">
          <p>{otherError}</p>
        </div>
      )}
      {success && <p className="success">{success}</p>}
    </>
  )
}

function User({ texts: { account, home }, email }: { texts: Texts; email: string }) {
  return (
    <>
      <h1>{account.title}</h1>
      <dl className="facts">
        <dt>{home.as}</dt>
        <dd>
          <Address email={email} />
        </dd>
      </dl>
      <p className="note">
        <a href={env().DASHBOARD_URL}>{home.open}</a>
      </p>
    </>
  )
}

function Password({
  texts: { account, passwordField, reset, shared },
  hasPassword,
  email,
  errors,
}: {
  texts: Texts
  hasPassword: boolean
  email: string
  errors: FieldErrors
}) {
  return (
    <section className="part">
      <h2>{account.password}</h2>
      {hasPassword ? (
        <PasswordForm
          {...{ email, errors }}
          texts={{ ...passwordField, current: account.current, change: account.change }}
          label={reset.label}
          hint={reset.hint}
          prefix={shared.errorPrefix}
          minLength={env().PASSWORD_MIN_LENGTH}
        />
      ) : (
        <p>{account.organization}</p>
      )}
    </section>
  )
}

/**
 * The state of the second factor, with links to its changes. Renders nothing if the user
 * can change nothing.
 */
function FactorState({
  texts,
  factor,
  changes,
  locale,
}: {
  texts: Texts['account']['factor']
  factor: Factor | null
  changes: Change[]
  locale: string
}) {
  if (changes.length === 0) return null

  return (
    <section className="part">
      <h2>{texts.name}</h2>
      <p>{factor?.enabledAt ? texts.on : texts.off}</p>
      {factor?.enabledAt && (
        <p className="hint">
          {texts.since} <Time instant={factor.enabledAt.toISOString()} locale={locale} />
          <br />
          {texts.left} {factor.recoveryCodesLeft}
        </p>
      )}
      <div className="actions">
        {changes.map((each) => (
          <a key={each} className="button quiet" href={`/account?change=${each}`}>
            {texts.actions[each]}
          </a>
        ))}
      </div>
    </section>
  )
}
