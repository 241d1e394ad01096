import { headers } from 'next/headers'
import { redirect } from 'next/navigation'
import { Address } from '@/app/_ui/address'
import { NeedsScript } from '@/app/_ui/screen'
import { Time } from '@/app/_ui/time'
import { lookUp } from '@/app/look-up'
import { ApiError } from '@/lib/contract/errors'
import * as routes from '@/lib/contract/routes'
import { canChangePassword } from '@/lib/password/change'
import { findStartedEnrolment } from '@/lib/second-factor/change'
import { findSecondFactor, type OwnFactor } from '@/lib/second-factor/find'
import { readCookie } from '@/lib/session/cookie'
import { findSession, type LiveSession } from '@/lib/session/find'
import { requirePasskeySession } from '@/lib/session/fresh'
import { listSessions } from '@/lib/session/list'
import { env, recordsEvents } from '@/lib/settings/env'
import type { Texts } from '@/lib/texts/en'
import { readLocale } from '@/lib/texts/language'
import { texts } from '@/lib/texts/page-texts'
import {
  AddPasskey,
  prepareRegistration,
  SignInAgain,
  signInAgainUrl,
} from './add-passkey'
import { Events } from './events'
import { PasskeySignals, Passkeys, type Signals } from './passkeys'
import { PasswordForm } from './password-form'
import { SecondFactor } from './second-factor'
import type { Change } from './second-factor-change'
import { Sessions } from './sessions'

type FormError = React.ComponentProps<typeof PasswordForm>['rejection']

/**
 * A user's account. Without a valid JWT, redirects to the home page, which renews the
 * session or links to sign-in.
 */
export default async function AccountPage({ searchParams }: PageProps<'/account'>) {
  const requestHeaders = await headers()
  const token = readCookie(requestHeaders, 'session')
  const session = token ? await lookUp('a session', findSession(token)) : null
  const { change, done, problem } = await searchParams
  if (!session) redirect(makeRenewalUrl({ change, done }))

  const sessions = await lookUp('the sessions', listSessions(session))
  const hasPassword =
    env().PASSWORD_SIGN_IN &&
    (await lookUp('a password', canChangePassword(session.userId)))
  const factor = hasPassword
    ? await lookUp('a second factor', findSecondFactor(session.userId))
    : null

  const pageTexts = await texts()
  const { account, reset, shared } = pageTexts
  const changes = listChanges(factor)
  const chosen = changes.find((each) => each === change)
  if (chosen) {
    const started =
      chosen === 'setUp'
        ? await lookUp('an enrolment', findStartedEnrolment(session, requestHeaders))
        : null
    const isProven = await isProvenByPasskey(factor!, requestHeaders)
    if (chosen === 'newCodes' && !isProven && !hasApp(factor!))
      return (
        <SignInAgain
          texts={pageTexts}
          title={account.factor.titles.newCodes}
          next="/account?change=newCodes"
        />
      )

    return (
      <ChangePage
        texts={pageTexts}
        email={session.email}
        change={chosen}
        {...{ started, isProven }}
        factor={factor!}
      />
    )
  }

  if (change === 'addPasskey' && env().PASSKEYS) {
    const options = await prepareRegistration(requestHeaders)
    if (options === 'SIGN_IN_AGAIN') return <SignInAgain texts={pageTexts} />
    if (typeof options !== 'string')
      return <AddPasskey {...{ texts: pageTexts, options }} email={session.email} />
  }

  const passkeys = await lookUpPasskeys(session, done === 'passkeyRemoved')
  const events = await lookUpEvents(session)
  const locale = readLocale(requestHeaders)
  const rejection =
    readRejection('current', findText(problem, { wrong: account.wrong })) ??
    readRejection('password', findText(problem, reset.issues))
  const success = problem === undefined ? findText(done, account.done) : null
  const otherError = findText(problem, account.problems)
  const mark = otherError ? shared.errorPrefix : success ? `${success} ` : ''
  const tab = `${mark}${account.title}`

  return (
    <>
      {otherError && (
        <div className="banner failed" role="alert">
          <p>{otherError}</p>
          {problem === 'signInAgain' && (
            <p>
              <a href={signInAgainUrl('/account')}>{pageTexts.passkey.again}</a>
            </p>
          )}
        </div>
      )}
      {success && <p className="success">{success}</p>}
      <User texts={pageTexts} email={session.email} />
      {hasPassword ? (
        <Password {...{ tab, rejection }} texts={pageTexts} email={session.email} />
      ) : (
        <Organization tab={tab} texts={pageTexts} />
      )}
      <FactorState {...{ factor, changes, locale }} texts={account.factor} />
      {passkeys && (
        <Passkeys
          {...{ ...passkeys.list, locale }}
          texts={pageTexts}
          setsUpAgain={isRequired() && !(factor && hasApp(factor))}
        />
      )}
      {passkeys?.signals && (
        <PasskeySignals
          signals={passkeys.signals}
          nonce={requestHeaders.get('x-nonce')}
        />
      )}
      {events && <Events {...{ events, locale }} texts={pageTexts} />}
      <Sessions
        {...{ sessions, locale }}
        texts={pageTexts}
        nonce={requestHeaders.get('x-nonce')}
      />
    </>
  )
}

/**
 * Returns the passkeys of a user, and what password managers have to know. Null without
 * PASSKEYS.
 */
async function lookUpPasskeys(
  { userId, email }: LiveSession,
  wasRemoved: boolean,
): Promise<{ list: PasskeyList; signals: Signals | null } | null> {
  if (!env().PASSKEYS) return null

  const { findSignals, listPasskeys } = await import('@/lib/passkey/list')
  const list = await lookUp('the passkeys', listPasskeys(userId))
  if (list.passkeys.length === 0) return { list, signals: null }

  const { credentialIds, ...signals } = await lookUp('the passkeys', findSignals(userId))

  return {
    list,
    signals: {
      ...signals,
      name: email,
      credentialIds: wasRemoved && credentialIds.length > 0 ? credentialIds : null,
    },
  }
}

/** Returns the latest events of a user, or null with EVENTS_DAYS=0. */
async function lookUpEvents({ userId }: LiveSession) {
  if (!recordsEvents()) return null

  const { listOwnEvents } = await import('@/lib/event/list')
  return lookUp('the events', listOwnEvents(userId))
}

type PasskeyList = Awaited<
  ReturnType<typeof import('@/lib/passkey/list')['listPasskeys']>
>

/** Returns the URL that renews the session, and then opens this page again. */
function makeRenewalUrl(parameters: Record<string, unknown>): string {
  const kept = Object.entries(parameters).flatMap(([name, value]) =>
    typeof value === 'string' ? [[name, value]] : [],
  )
  const query = kept.length > 0 ? `?${new URLSearchParams(kept)}` : ''
  return `/?${new URLSearchParams({ next: `/account${query}` })}`
}

const isRequired = () => env().SECOND_FACTOR === 'required'
const hasApp = ({ methods }: OwnFactor) => methods?.includes('totp') ?? false
const hasPasskey = ({ methods }: OwnFactor) => methods?.includes('passkey') ?? false

/** Returns the changes of the second factor that the user can choose. */
function listChanges(factor: OwnFactor | null): Change[] {
  if (!factor) return []

  const { available, enabledAt } = factor
  const isLeft = isRequired() && hasPasskey(factor) // after the app is removed
  const canRemove = enabledAt !== undefined && (hasApp(factor) || !isLeft)
  return [
    ...(available && !hasApp(factor) ? (['setUp'] as const) : []),
    ...(hasApp(factor) || hasPasskey(factor) ? (['newCodes'] as const) : []),
    ...(canRemove ? (['switchOff'] as const) : []),
  ]
}

/** Whether the user has just signed in with a passkey, in place of a password and a code. */
async function isProvenByPasskey(
  factor: OwnFactor,
  requestHeaders: Headers,
): Promise<boolean> {
  if (!hasPasskey(factor)) return false

  const proof = requirePasskeySession(requestHeaders).then(
    () => true,
    (error) => {
      if (error instanceof ApiError && error.code === 'SIGN_IN_AGAIN') return false
      throw error
    },
  )
  return lookUp('a session', proof)
}

/** Returns the text for a parameter, or null. */
function findText(name: unknown, among: Record<string, string>): string | null {
  return typeof name === 'string' && Object.hasOwn(among, name) ? among[name]! : null
}

/** Returns the error of a field, or null. */
function readRejection(field: 'current' | 'password', text: string | null): FormError {
  return text === null ? null : { field, text }
}

/** The page that makes a change of the second factor. */
function ChangePage({
  texts,
  factor,
  ...properties
}: {
  texts: Texts
  factor: OwnFactor
} & Pick<
  React.ComponentProps<typeof SecondFactor>,
  'email' | 'change' | 'started' | 'isProven'
>) {
  const { app, account, language, reset, secondFactor, shared } = texts
  const { change } = properties
  const { requiredAgain, requiredPasskey } = account.factor
  const requiredHint = hasPasskey(factor) ? requiredPasskey : requiredAgain

  return (
    <NeedsScript shared={shared} texts={account.factor}>
      <SecondFactor
        {...{ app, language, shared, ...properties }}
        texts={{
          ...{ ...secondFactor, ...account.factor },
          ...{ wrong: account.wrong, current: account.current, account: reset.account },
        }}
        paths={{
          setUp: routes.startSecondFactor.path,
          confirm: routes.confirmSecondFactor.path,
          newCodes: routes.replaceRecoveryCodes.path,
          switchOff: routes.removeSecondFactor.path,
        }}
        hasApp={hasApp(factor)}
        hint={change === 'switchOff' && isRequired() ? requiredHint : null}
        passkeyUrl={
          change !== 'setUp' && hasPasskey(factor)
            ? signInAgainUrl(`/account?change=${change}`)
            : null
        }
      />
    </NeedsScript>
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
  texts: { app, account, language, passwordField, reset, secondFactor, shared },
  ...properties
}: {
  texts: Texts
  tab: string
  email: string
  rejection: FormError
}) {
  const { title, password, current, change, wrong } = account
  return (
    <section className="part">
      <PasswordForm
        {...{ app, language, shared }}
        {...properties}
        texts={{
          ...{ title, password, current, change, wrong, passwordField, reset },
          emptyCurrent: secondFactor.empty.password,
        }}
        messages={composeMessages(account)}
        minLength={env().PASSWORD_MIN_LENGTH}
        paths={{ scripted: routes.changePassword.path, plain: routes.updateAccount.path }}
      />
    </section>
  )
}

function composeMessages({
  factor,
  problems,
}: Texts['account']): React.ComponentProps<typeof PasswordForm>['messages'] {
  const { sending, limited, unavailable, unknown, failed } = factor
  return {
    ...{ sending, limited, unavailable, failed },
    unknown: { ...unknown, body: problems.unknown },
  }
}

/** Tells users without a password how they sign in. */
function Organization({ texts: { app, account }, tab }: { texts: Texts; tab: string }) {
  return (
    <section className="part">
      <title>{`${tab} – ${app}`}</title>
      <h2>{account.password}</h2>
      <p>{account.organization}</p>
    </section>
  )
}

function describeFactor(
  factor: OwnFactor | null,
  texts: Texts['account']['factor'],
): string {
  if (!factor?.methods) return texts.off
  if (hasApp(factor)) return texts.on

  return factor.enabledAt ? texts.onPasskey : texts.noCodes
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
  factor: OwnFactor | null
  changes: Change[]
  locale: string
}) {
  if (changes.length === 0) return null

  return (
    <section className="part">
      <h2>{texts.name}</h2>
      <p>{describeFactor(factor, texts)}</p>
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
