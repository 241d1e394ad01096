import { ExactTime, LocalTimes, tellDistance } from '@/app/_ui/time'
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
          <li key={session.id} className="session">
            <Session {...{ session, texts, locale }} />
            <SignOut
              session={session}
              label={session.current ? account.signOutHere : texts.home.signOut}
            />
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

/** A device, when it was last used, and on demand the exact times. */
function Session({
  session: { id, device, current, signedInWith, createdAt, lastUsedAt },
  texts: { account, mail },
  locale,
}: {
  session: ListedSession
  texts: Texts
  locale: string
}) {
  const since = tellDistance(lastUsedAt, locale)

  return (
    <div>
      <div id={id}>
        <strong>{device ? deviceIn(mail.device, device) : account.unknownDevice}</strong>{' '}
        {current && <span className="badge">{account.thisDevice}</span>}
      </div>
      <details open={signedInWith.method === 'operator'}>
        <summary className="link" aria-describedby={id}>
          {current ? account.activeNow : `${account.lastUsed} ${since}`}
        </summary>
        <p className="hint">
          {describeSignIn(signedInWith, account.began)}{' '}
          <ExactTime instant={createdAt} locale={locale} />
          <br />
          {account.lastUsed} <ExactTime instant={lastUsedAt} locale={locale} />
        </p>
      </details>
    </div>
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
