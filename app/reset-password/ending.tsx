import { RetryButton } from '@/app/retry-button'
import { Screen } from '@/app/screen'
import type { Outcome } from '@/lib/outcome'
import type { Texts } from '@/lib/texts/en'

type Properties = {
  app: string
  language: string
  texts: Texts['reset']
  shared: Texts['shared']
  signInUrl: string
  forgotPasswordUrl?: string
  outcome: Outcome | { kind: 'noToken' }
  onRetry?: () => void
}

const signs = {
  done: 'good',
  refused: 'link',
  noToken: 'mail',
  limited: 'wait',
  unavailable: 'wait',
  offline: 'offline',
  unknown: 'unclear',
  failed: 'wrong',
} as const

/** Every screen of the reset page that is not its form. */
export function Ending({ app, language, texts, shared, signInUrl, forgotPasswordUrl, outcome, onRetry }: Properties) {
  const { title, body } = textsOf(outcome, onRetry !== undefined, texts)
  const { kind } = outcome
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
  const wantsLink = kind === 'refused' || kind === 'noToken' || kind === 'unknown' || kind === 'failed'
  return (
    <Screen
      app={app}
      title={title}
      sign={signs[kind]}
      focus
      reference={'reference' in outcome ? outcome.reference : undefined}
      referenceLabel={shared.reference}
    >
      <p>{body}</p>
      {wantsLink && !forgotPasswordUrl && <p>{texts.newLinkWithoutPlace}</p>}
      {onRetry ? (
        <RetryButton {...{ shared, language, onRetry }} waitSeconds={'waitSeconds' in outcome ? outcome.waitSeconds : 0} />
      ) : (
        <div className="actions">
          {kind === 'done' || kind === 'unknown' || !forgotPasswordUrl ? signIn('button') : newLink('button')}
          {kind === 'unknown' && newLink('button quiet')}
          {kind === 'refused' && forgotPasswordUrl && signIn('button quiet')}
        </div>
      )}
    </Screen>
  )
}

function textsOf(outcome: Properties['outcome'], retryable: boolean, texts: Properties['texts']): { title: string; body: string } {
  const { kind } = outcome
  if (kind === 'refused') return texts.dead
  if (!retryable && (kind === 'limited' || kind === 'unavailable' || kind === 'offline')) return texts.gaveUp
  return texts[kind]
}
