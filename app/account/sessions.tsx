import { LocalTimes, Time } from '@/app/_ui/time'
import * as routes from '@/lib/contract/routes'
import type { listSessions } from '@/lib/session/list'
import { deviceIn } from '@/lib/texts/device'
import type { Texts } from '@/lib/texts/en'

type ListedSession = Awaited<ReturnType<typeof listSessions>>[number]

/** The list of the user's sessions, each with a form that ends it. */
export function Sessions({
  sessions,
  texts,
  locale,
  nonce,
}: {
  sessions: ListedSession[]
  texts: Texts
  locale: string
  nonce: string | null
}) {
  const { account } = texts
  const sorted = sessions.toSorted(
    (one, other) => Number(other.current) - Number(one.current),
  )

  return (
    <section className="part">
      <h2>{account.sessions}</h2>
      <ul>
        {sorted.map((session) => (
          <li key={session.id}>
            <Session {...{ session, texts, locale }} />
            <SignOut session={session} label={texts.home.signOut} />
          </li>
        ))}
      </ul>
      <LocalTimes nonce={nonce} locale={locale} />
      {sessions.length > 1 && (
        <form method="post" action={routes.updateAccount.path}>
          <button className="button quiet wide" type="submit">
            {account.signOutOthers}
          </button>
        </form>
      )}
    </section>
  )
}

function Session({
  session: { id, device, current, signedInWith, createdAt, lastUsedAt },
  texts: { account, mail },
  locale,
}: {
  session: ListedSession
  texts: Texts
  locale: string
}) {
  return (
    <>
      <div id={id}>
        <strong>{device ? deviceIn(mail.device, device) : account.unknownDevice}</strong>{' '}
        {current && <span className="badge">{account.thisDevice}</span>}
      </div>
      <p className="hint">
        {describeSignIn(signedInWith, account.began)}{' '}
        <Time instant={createdAt} locale={locale} />
        <br />
        {account.lastUsed} <Time instant={lastUsedAt} locale={locale} />
      </p>
    </>
  )
}

/** Returns how the user signed in, such as “Signed in with your password:”. */
function describeSignIn(
  { method, connection }: ListedSession['signedInWith'],
  texts: Texts['account']['began'],
): string {
  return connection
    ? texts.connection.replace('{name}', () => connection.name)
    : texts[method]
}

function SignOut({
  session: { id, current },
  label,
}: {
  session: ListedSession
  label: string
}) {
  const { path } = current ? routes.signOutOfPages : routes.updateAccount
  return (
    <form method="post" action={path}>
      <input type="hidden" name="session" value={id} />
      <button className="button quiet" type="submit" aria-describedby={id}>
        {label}
      </button>
    </form>
  )
}
