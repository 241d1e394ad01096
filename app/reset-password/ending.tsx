import { isRetryable, maxRetries, signs } from '@/app/attempts'
import { RetryButton } from '@/app/retry-button'
import { Screen } from '@/app/screen'
import type { Outcome } from '@/lib/outcome'
import type { Texts } from '@/lib/texts/en'

const longWaitSeconds = 60 // once three retries came to nothing

type Properties = {
  app: string
  language: string
  texts: Texts['reset']
  shared: Texts['shared']
  signInUrl: string
  forgotPasswordUrl?: string
  outcome: Outcome | { kind: 'nothing' }
  /** It replaces the form, or what the server rendered. */
  focus: boolean
  retries: number
  onRetry: () => void
}

/** Every screen of the reset page that is not its form. A new link would make the one in the e-mail useless, so it is not offered where that may still be good. */
export function Ending({ app, language, texts, shared, signInUrl, forgotPasswordUrl, outcome, focus, retries, onRetry }: Properties) {
  const { kind } = outcome
  const gaveUp = retries >= maxRetries && (kind === 'limited' || kind === 'unavailable')
  const { title, body } = gaveUp ? texts.gaveUp : kind === 'refused' ? texts.dead : kind === 'nothing' ? texts.noToken : texts[kind]
  const waitSeconds = Math.max('waitSeconds' in outcome ? outcome.waitSeconds : 0, gaveUp ? longWaitSeconds : 0)
  const signIn = (className: string) => (
    <a className={className} href={signInUrl}>
      {shared.signIn}
    </a>
  )
  const newLink = (className: string) =>
    forgotPasswordUrl && (
      <a className={className} href={forgotPasswordUrl}>
        {texts.newLink}
      </a>
    )
  return (
    <Screen
      app={app}
      title={title}
      sign={kind === 'nothing' ? 'mail' : signs[kind]}
      focus={focus}
      reference={'reference' in outcome ? outcome.reference : undefined}
      referenceLabel={shared.reference}
    >
      <p>{body}</p>
      {(kind === 'refused' || kind === 'nothing' || kind === 'unknown') && !forgotPasswordUrl && <p>{texts.newLinkWithoutPlace}</p>}
      {isRetryable(outcome) ? (
        <RetryButton {...{ shared, language, waitSeconds, onRetry }} />
      ) : (
        <div className="actions">
          {kind === 'refused' && newLink('button')}
          {(kind === 'done' || kind === 'unknown') && signIn('button')}
          {(kind === 'nothing' || kind === 'unknown') && newLink('button quiet')}
          {kind === 'refused' && signIn(forgotPasswordUrl ? 'button quiet' : 'button')}
        </div>
      )}
    </Screen>
  )
}
