import { useEffect, useState } from 'react'
import { CopyButton } from '@/app/_ui/copy-button'
import type { Content } from '@/app/_ui/post'
import { Icon, Screen, takeFocus } from '@/app/_ui/screen'
import type { Texts } from '@/lib/texts/en'

type Properties = Content & { texts: Texts['account']['factor']; shared: Texts['shared'] }

/**
 * A new secret for an authenticator app: a link for an app on this device, and a QR code
 * and a key for another one. On a phone, the link is a button, and the rest is closed at
 * first: a phone can't scan its own screen. The first step of a form, whose field is the
 * second: styles.css numbers both.
 */
export function NewSecret({
  texts,
  shared,
  email,
  secret = '',
  uri = '',
}: Properties & {
  texts: Pick<Texts['reset'], 'account'>
  email: string
}) {
  return (
    <>
      <h2 className="step" tabIndex={-1} ref={takeFocus}>
        {texts.add}
      </h2>
      <p>
        {texts.account}{' '}
        <bdi className="account" translate="no">
          {email}
        </bdi>
      </p>
      <a className="button quiet wide on-phone" href={uri}>
        {texts.open}
      </a>
      <details ref={openUnlessPhone}>
        <summary className="link on-phone">{texts.otherDevice}</summary>
        <p>{texts.scan}</p>
        <QrCode uri={uri} label={texts.qr} />
        <p className="not-on-phone">
          <a href={uri}>{texts.open}</a>
        </p>
        <p id="key">{texts.key}</p>
        <div className="key panel">
          <code dir="ltr" translate="no">
            {secret.match(/.{1,4}/g)?.join(' ')}
          </code>
          <CopyButton
            text={secret}
            shared={shared}
            className="link"
            aria-describedby="key"
          />
        </div>
      </details>
    </>
  )
}

/** A ref callback. styles.css has the same condition. */
function openUnlessPhone(element: HTMLDetailsElement | null): void {
  if (element) element.open = !matchMedia('(hover: none) and (pointer: coarse)').matches
}

/** Renders nothing until the code is drawn. */
function QrCode({ uri, label }: { uri: string; label: string }) {
  const [modules, setModules] = useState<boolean[][]>([])
  useEffect(() => {
    const draw = async () => {
      const { encode } = await import('uqr')
      setModules(encode(uri, { border: 4 }).data)
    }
    draw().catch(() => {}) // without the QR code, the user can use the link or the key
  }, [uri])

  const size = modules.length
  if (size === 0) return null

  const dark = modules.flatMap((row, y) =>
    row.map((isDark, x) => (isDark ? `M${x} ${y}h1v1h-1z` : '')),
  )

  return (
    <svg className="qr" role="img" aria-label={label} viewBox={`0 0 ${size} ${size}`}>
      <path d={dark.join('')} />
    </svg>
  )
}

/** New recovery codes, which are shown once. `done`: what the user has achieved. */
export function RecoveryCodes(
  properties: Properties & { app: string; email: string; done: string; doneUrl: string },
) {
  const { app, email, texts, shared, recoveryCodes = [], done, doneUrl } = properties
  const text = recoveryCodes.join('\n')
  const [url] = useState(() =>
    URL.createObjectURL(new Blob([`${app}, ${email}: ${texts.codes}\n\n${text}\n`])),
  )

  return (
    <>
      <p className="done arriving">
        <Icon icon="good" />
        {done}
      </p>
      <Screen app={app} title={texts.save} focus>
        <p>{texts.saveBody}</p>
        <div className="panel">
          <pre className="codes" dir="ltr" translate="no">
            {text}
          </pre>
          <CopyButton text={text} shared={shared} className="link" />
        </div>
        <div className="actions">
          <a className="button quiet" download="recovery-codes.txt" href={url}>
            {texts.download}
          </a>
          <a className="button" href={doneUrl}>
            {texts.saved}
          </a>
        </div>
      </Screen>
    </>
  )
}

/**
 * What follows a set-up whose response was lost: the recovery codes can't be shown,
 * because they are not stored.
 */
export function LostRecoveryCodes({
  app,
  texts,
  shared,
  nextUrl,
}: Pick<Properties, 'texts' | 'shared'> & {
  app: string
  /** Where a user goes on who does not want codes now, if not to the account. */
  nextUrl?: string | undefined
}) {
  return (
    <Screen app={app} title={texts.lost} icon="unclear" focus>
      <p>{texts.lostBody}</p>
      <div className="actions">
        <a className="button" href="/account?change=newCodes">
          {texts.actions.newCodes}
        </a>
        {nextUrl && (
          <a className="button quiet" href={nextUrl}>
            {shared.goOn}
          </a>
        )}
      </div>
    </Screen>
  )
}
