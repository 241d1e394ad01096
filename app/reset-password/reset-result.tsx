import { RetryButton } from '@/app/_ui/retry-button'
import { Screen } from '@/app/_ui/screen'
import { isRetryable, maxRetries, outcomeIcons } from '@/app/_ui/use-attempts'
import type { Outcome } from '@/lib/page/post'
import type { Texts } from '@/lib/page/texts/en'

const longWaitSeconds = 60 // after the last retry

type Properties = {
  app: string
  language: string
  texts: Texts['reset']
  shared: Texts['shared']
  signInUrl: string
  forgotPasswordUrl?: string
  outcome: Outcome | { kind: 'no-secret' }
  /** Set if it replaces the form or the content that the server rendered. */
  focus: boolean
  retries: number
  onRetry: () => void
}

/**
 * Every screen of the reset page except its form. Offers a new link only where a retry cannot
 * succeed, because a new link invalidates the one in the e-mail.
 */
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
  const signInLink = (className: string) => (
    <a className={className} href={signInUrl}>
      {shared.signIn}
    </a>
  )
  const newLinkButton = (className: string) =>
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
          {kind === 'rejected' && newLinkButton('button')}
          {(kind === 'done' || kind === 'unknown') && signInLink('button')}
          {(kind === 'no-secret' || kind === 'unknown') && newLinkButton('button quiet')}
          {kind === 'rejected' && signInLink(forgotPasswordUrl ? 'button quiet' : 'button')}
        </div>
      )}
    </Screen>
  )
}
