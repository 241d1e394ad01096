import { Time } from '@/app/_ui/time'
import * as routes from '@/lib/contract/routes'
import type { Passkey } from '@/lib/passkey/list'
import { deviceIn } from '@/lib/texts/device'
import type { Texts } from '@/lib/texts/en'
import signalScript from '../_ui/inline/passkey-signals.inline.js?raw'

type Properties = {
  texts: Texts
  available: boolean
  passkeys: Passkey[]
  locale: string
  /** Whether a user without passkeys has to set up a second factor. */
  setsUpAgain: boolean
}

/**
 * The user's passkeys, each with forms that rename or remove it, and a link to add one.
 * The forms work without scripts. Renders nothing if the user has none and can't add one.
 */
export function Passkeys({
  texts,
  available,
  passkeys,
  locale,
  setsUpAgain,
}: Properties) {
  const { passkey: words } = texts
  if (!available && passkeys.length === 0) return null

  return (
    <section className="part" id="passkeys">
      <h2>{words.name}</h2>
      <p>{words.what}</p>
      <ul>
        {passkeys.map((passkey) => (
          <li key={passkey.id}>
            <Description {...{ passkey, texts, locale }} />
            <Changes
              {...{ passkey, texts }}
              last={
                passkeys.length === 1 && (setsUpAgain ? words.lastRequired : words.last)
              }
              name={nameOf(passkey, texts)}
            />
          </li>
        ))}
      </ul>
      {available && (
        <div className="actions">
          <a className="button quiet" href="/account?change=addPasskey">
            {words.add}
          </a>
        </div>
      )}
    </section>
  )
}

/** Returns the name that the user chose, or else the provider, or the device. */
function nameOf({ name, provider, device }: Passkey, { mail }: Texts): string {
  return name ?? provider ?? (device ? deviceIn(mail.device, device) : 'Passkey')
}

function Description({
  passkey,
  texts,
  locale,
}: {
  passkey: Passkey
  texts: Texts
  locale: string
}) {
  const { account, passkey: words } = texts
  const { id, provider, isSynced, createdAt, lastUsedAt } = passkey
  const name = nameOf(passkey, texts)

  return (
    <>
      <div id={id}>
        <strong>
          <bdi>{name}</bdi>
        </strong>
      </div>
      <p className="hint">
        {provider && provider !== name && (
          <>
            {provider}
            <br />
          </>
        )}
        {isSynced ? words.synced : words.single}
        <br />
        {words.added} <Time instant={createdAt.toISOString()} locale={locale} />
        <br />
        {lastUsedAt ? (
          <>
            {account.lastUsed} <Time instant={lastUsedAt.toISOString()} locale={locale} />
          </>
        ) : (
          words.unused
        )}
      </p>
    </>
  )
}

/** The forms that rename and remove a passkey, each behind a button that opens it. */
function Changes({
  passkey: { id },
  name,
  texts: { passkey: words },
  last,
}: {
  passkey: Passkey
  name: string
  texts: Texts
  /** What the removal of the last passkey means. False if there are others. */
  last: string | false
}) {
  return (
    <>
      <details>
        <summary className="link" aria-describedby={id}>
          {words.rename}
        </summary>
        <form method="post" action={routes.updateAccount.path}>
          <input type="hidden" name="passkey" value={id} />
          <div className="field">
            <label htmlFor={`name-${id}`}>{words.label}</label>
            <div className="input">
              <input
                id={`name-${id}`}
                name="name"
                defaultValue={name}
                maxLength={60}
                autoComplete="off"
                dir="auto"
                required
              />
            </div>
          </div>
          <button className="button quiet" type="submit">
            {words.save}
          </button>
        </form>
      </details>
      <details>
        <summary className="link danger" aria-describedby={id}>
          {words.remove}
        </summary>
        <form method="post" action={routes.updateAccount.path}>
          <input type="hidden" name="removedPasskey" value={id} />
          <p>
            {words.removeBody} {last}
          </p>
          <button className="button quiet danger" type="submit">
            {words.removeThis}
          </button>
        </form>
      </details>
    </>
  )
}

/** What password managers need to keep their list of this user's passkeys up to date. */
export type Signals = {
  rpId: string
  userId: string
  name: string
  /** All passkeys of the user, after one was removed. Otherwise null. */
  credentialIds: string[] | null
}

/** A script that tells the browser's password manager what has changed. */
export function PasskeySignals({
  signals,
  nonce,
}: {
  signals: Signals
  nonce: string | null
}) {
  return (
    <script
      nonce={nonce ?? undefined}
      data-state={JSON.stringify(signals)}
      suppressHydrationWarning
      dangerouslySetInnerHTML={{ __html: signalScript }}
    />
  )
}
