import { Reference } from '@/app/_ui/reference'
import { Actions, type IconName, Screen } from '@/app/_ui/screen'
import type { Texts } from '@/lib/texts/en'

/** How a reset ends. `dead`: the server rejected the token when the password was sent. */
export type Ending =
  | 'done'
  | 'used'
  | 'expired'
  | 'invalid'
  | 'dead'
  | 'noToken'
  | 'unknown'
  | 'failed'

type Properties = {
  app: string
  texts: Texts['reset']
  shared: Texts['shared']
  signInUrl: string
  forgotPasswordUrl?: string | undefined
  ending: Ending
  /** Whether users can have passkeys, which a reset keeps. */
  keepsPasskeys?: boolean
  /** Whether this screen replaces the content that the server rendered. */
  focus?: boolean
  requestId?: string | undefined
}

const icons: { [ending in Ending]?: IconName } = {
  done: 'good',
  unknown: 'unclear',
  failed: 'wrong',
  noToken: 'mail',
}

/** All screens of the reset page except the form. */
export function ResetResult(properties: Properties) {
  const { app, texts, shared, signInUrl, forgotPasswordUrl, ending, focus, requestId } =
    properties
  const { title, body } = texts[ending]

  // After a server error, the link in the email may still work, and a new link would
  // invalidate it.
  const canNeedLink = ending !== 'done' && ending !== 'failed'
  const mayBeDone = ending === 'used' || ending === 'unknown' // the password may have been changed

  const links: [string, string][] = [[signInUrl, shared.signIn]]
  if (canNeedLink && forgotPasswordUrl) links.unshift([forgotPasswordUrl, texts.newLink])
  if (mayBeDone) links.reverse()

  return (
    <Screen {...{ app, title, focus }} icon={icons[ending] ?? 'chain'}>
      <p>{body}</p>
      {ending === 'done' && <p>{texts.stillNeeded}</p>}
      {ending === 'done' && properties.keepsPasskeys && <p>{texts.passkeysKept}</p>}
      {canNeedLink && !forgotPasswordUrl && <p>{texts.newLinkWithoutPlace}</p>}
      <Actions links={links} />
      <Reference id={requestId} shared={shared} />
    </Screen>
  )
}
