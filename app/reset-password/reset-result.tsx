import { RetryButton } from '@/app/_ui/retry-button'
import { Screen } from '@/app/_ui/screen'
import { isRetryable, maxRetries, outcomeIcons } from '@/app/_ui/use-attempts'
import type { Outcome } from '@/lib/page/post'
import type { Texts } from '@/lib/page/texts/en'

const longWaitSeconds = 60 // once three retries came to nothing

type Properties = {
  app: string
  language: string
  texts: Texts['reset']
  shared: Texts['shared']
  signInUrl: string
  forgotPasswordUrl?: string
  outcome: Outcome | { kind: 'no-secret' }
  /** It replaces the form, or what the server rendered. */
  focus: boolean
  retries: number
  onRetry: () => void
}

/** Every screen of the reset page that is not its form. A new link would make the one in the e-mail useless, so it is not offered where that may still be good. */
export function ResetResult({
  app,
  language,
  texts,
  shared,
  signInUrl,
  forgotPasswordUrl,
  outcome,
  focus,
  retries,
  onRetry,
}: Properties) {
  const { kind } = outcome
  const gaveUp = retries >= maxRetries && (kind === 'limited' || kind === 'unavailable')
  const { title, body } = gaveUp
    ? texts.gaveUp
    : kind === 'rejected'
      ? texts.dead
      : kind === 'no-secret'
        ? texts.noToken
        : texts[kind]
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
      icon={kind === 'no-secret' ? 'mail' : outcomeIcons[kind]}
      focus={focus}
      requestId={'requestId' in outcome ? outcome.requestId : undefined}
      requestIdLabel={shared.requestId}
    >
      <p>{body}</p>
      {(kind === 'rejected' || kind === 'no-secret' || kind === 'unknown') && !forgotPasswordUrl && (
        <p>{texts.newLinkWithoutPlace}</p>
      )}
      {isRetryable(outcome) ? (
        <RetryButton {...{ shared, language, waitSeconds, onRetry }} />
      ) : (
        <div className="actions">
          {kind === 'rejected' && newLink('button')}
          {(kind === 'done' || kind === 'unknown') && signIn('button')}
          {(kind === 'no-secret' || kind === 'unknown') && newLink('button quiet')}
          {kind === 'rejected' && signIn(forgotPasswordUrl ? 'button quiet' : 'button')}
        </div>
      )}
    </Screen>
  )
}
