import { Reference } from '@/app/_ui/reference'
import { Screen } from '@/app/_ui/screen'
import type { Texts } from '@/lib/page/texts/en'

/** How a reset ends: `dead` is a link that the server rejected when the password was sent. */
export type Ending = 'done' | 'used' | 'expired' | 'invalid' | 'dead' | 'noToken' | 'unknown' | 'failed'

type Properties = {
  app: string
  texts: Texts['reset']
  shared: Texts['shared']
  signInUrl: string
  forgotPasswordUrl?: string
  ending: Ending
  /** Set if it replaces the form or the content that the server rendered. */
  focus?: boolean
  requestId?: string
}

const icons = {
  done: 'good',
  unknown: 'unclear',
  failed: 'wrong',
  used: 'link',
  expired: 'link',
  invalid: 'link',
  dead: 'link',
  noToken: 'mail',
} as const

/** Every screen of the reset page except its form. */
export function ResetResult(properties: Properties) {
  const { app, texts, shared, signInUrl, forgotPasswordUrl, ending, focus, requestId } = properties
  const { title, body } = texts[ending]
  const isSignInFirst = !forgotPasswordUrl || ending === 'done' || ending === 'used' || ending === 'unknown'
  const signIn = (
    <a className={isSignInFirst ? 'button' : 'button quiet'} href={signInUrl}>
      {shared.signIn}
    </a>
  )
  // Not after an error of ours: the link in the e-mail may still work, and a new one would end that.
  const canNeedLink = ending !== 'done' && ending !== 'failed'
  const newLink = forgotPasswordUrl && canNeedLink && (
    <a className={isSignInFirst ? 'button quiet' : 'button'} href={forgotPasswordUrl}>
      {texts.newLink}
    </a>
  )
  return (
    <Screen {...{ app, title, focus }} icon={icons[ending]}>
      <p>{body}</p>
      {canNeedLink && !forgotPasswordUrl && <p>{texts.newLinkWithoutPlace}</p>}
      <div className="actions">
        {isSignInFirst && signIn}
        {newLink}
        {!isSignInFirst && signIn}
      </div>
      <Reference id={requestId} shared={shared} />
    </Screen>
  )
}
