import { headers } from 'next/headers'
import { redirect } from 'next/navigation'
import { Address } from '@/app/_ui/address'
import { NeedsScript } from '@/app/_ui/needs-script'
import { LocalTimes, Time } from '@/app/_ui/time'
import { lookUp } from '@/app/look-up'
import * as routes from '@/lib/contract/routes'
import { canChangePassword } from '@/lib/password/change'
import { findSecondFactor } from '@/lib/second-factor/find'
import { cookieOf } from '@/lib/session/cookie'
import { findSession } from '@/lib/session/find'
import { listSessions } from '@/lib/session/list'
import { env } from '@/lib/settings/env'
import { deviceIn } from '@/lib/texts/device'
import { localeOf, texts } from '@/lib/texts/language'
import { PasswordForm } from './password-form'
import { SecondFactor } from './second-factor'
import type { Change } from './second-factor-change'

/**
 * A user's account. Without a valid JWT, redirects to the home page, which renews the
 * session or links to sign-in.
 */
export default async function AccountPage({ searchParams }: PageProps<'/account'>) {
  const requestHeaders = await headers()
  const token = cookieOf(requestHeaders, 'session')
  const session = token ? await lookUp('a session', findSession(token)) : null
  if (!session) redirect('/?next=/account')

  const sessions = await lookUp('the sessions', listSessions(session))
  const hasPassword =
    env().PASSWORD_SIGN_IN &&
    (await lookUp('a password', canChangePassword(session.userId)))
  const factor = hasPassword
    ? await lookUp('a second factor', findSecondFactor(session.userId))
    : null

  const {
    app,
    account,
    home,
    language,
    mail,
    passwordField,
    reset,
    secondFactor,
    shared,
  } = await texts()

  const { change, done, problem } = await searchParams
  const changes: Change[] = factor?.enabledAt
    ? ['newCodes', 'switchOff']
    : factor?.available
      ? ['setUp']
      : []

  const chosen = changes.find((each) => each === change)
  if (chosen)
    return (
      <NeedsScript shared={shared} texts={account.factor}>
        <SecondFactor
          {...{ app, language, shared }}
          texts={{ ...account, ...secondFactor, ...account.factor }}
          email={session.email}
          change={chosen}
        />
      </NeedsScript>
    )

  const success = textOf(done, account.done)
  const [wrong, rejected] = [
    problem === 'wrong' ? account.wrong : null,
    textOf(problem, reset.issues),
  ]

  const error = wrong ?? rejected ?? textOf(problem, account.problems)
  const locale = localeOf(requestHeaders)

  return (
    <>
      <title>{`${error ? shared.errorPrefix : success ? `${success} ` : ''}${account.title} – ${app}`}</title>
      {error && !wrong && !rejected && (
        <div className="banner failed" role="alert">
          <p>{error}</p>
        </div>
      )}
      {success && <p className="success">{success}</p>}
      <h1>{account.title}</h1>
      <dl className="facts">
        <dt>{home.as}</dt>
        <dd>
          <Address email={session.email} />
        </dd>
      </dl>
      <p className="note">
        <a href={env().DASHBOARD_URL}>{home.open}</a>
      </p>
      <section className="part">
        <h2>{account.password}</h2>
        {hasPassword ? (
          <PasswordForm
            texts={{ ...passwordField, current: account.current, change: account.change }}
            label={reset.label}
            hint={reset.hint}
            prefix={shared.errorPrefix}
            email={session.email}
            minLength={env().PASSWORD_MIN_LENGTH}
            errors={{ current: wrong, password: rejected }}
          />
        ) : (
          <p>{account.organization}</p>
        )}
      </section>
      {changes.length > 0 && (
        <section className="part">
          <h2>{account.factor.name}</h2>
          <p>{factor?.enabledAt ? account.factor.on : account.factor.off}</p>
          {factor?.enabledAt && (
            <p className="hint">
              {account.factor.since}{' '}
              <Time instant={factor.enabledAt.toISOString()} locale={locale} />
              <br />
              {account.factor.left} {factor.recoveryCodesLeft}
            </p>
          )}
          <div className="actions">
            {changes.map((each) => (
              <a key={each} className="button quiet" href={`/account?change=${each}`}>
                {account.factor.actions[each]}
              </a>
            ))}
          </div>
        </section>
      )}
      <section className="part">
        <h2>{account.sessions}</h2>
        <ul>
          {sessions
            .toSorted((one, other) => Number(other.current) - Number(one.current))
            .map(
              ({
                id,
                device,
                current,
                signedInWith: { method, connection },
                createdAt,
                lastUsedAt,
              }) => (
                <li key={id}>
                  <div id={id}>
                    <strong>
                      {device ? deviceIn(mail.device, device) : account.unknownDevice}
                    </strong>{' '}
                    {current && <span className="badge">{account.thisDevice}</span>}
                  </div>
                  <p className="hint">
                    {connection
                      ? account.began.connection.replace('{name}', () => connection.name)
                      : account.began[method]}{' '}
                    <Time instant={createdAt} locale={locale} />
                    <br />
                    {account.lastUsed} <Time instant={lastUsedAt} locale={locale} />
                  </p>
                  <form
                    method="post"
                    action={
                      current ? routes.signOutOfPages.path : routes.updateAccount.path
                    }
                  >
                    <input type="hidden" name="session" value={id} />
                    <button className="button quiet" type="submit" aria-describedby={id}>
                      {home.signOut}
                    </button>
                  </form>
                </li>
              ),
            )}
        </ul>
        <LocalTimes nonce={requestHeaders.get('x-nonce')} locale={locale} />
        {sessions.length > 1 && (
          <form method="post" action={routes.updateAccount.path}>
            <button className="button quiet wide" type="submit">
              {account.signOutOthers}
            </button>
          </form>
        )}
      </section>
    </>
  )
}

/** Returns the text for a parameter, or null. */
function textOf(name: unknown, among: Record<string, string>): string | null {
  return typeof name === 'string' && Object.hasOwn(among, name) ? among[name]! : null
}
