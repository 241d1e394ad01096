'use client'

import { useLayoutEffect } from 'react'
import { RetryButton } from '@/app/_ui/retry-button'
import { Screen } from '@/app/_ui/screen'
import { isRetryable, maxRetries, outcomeIcons, type Step, useAttempts } from '@/app/_ui/use-attempts'
import { lifetimes } from '@/lib/contract/lifetimes'
import { paths } from '@/lib/contract/paths'
import { markPageReady } from '@/lib/page/page-readiness'
import { type Outcome, post } from '@/lib/page/post'
import { inRelativeTime } from '@/lib/page/relative-time'
import type { Texts } from '@/lib/page/texts/en'
import { forgetSecret, urlSecret } from '@/lib/page/url-secret'
import { earlyExchange } from './early-exchange'

const longWaitSeconds = lifetimes.code * 0.75 // after a longer wait, the code would have expired

type Properties = {
  app: string
  language: string
  texts: Omit<Texts['sso'], 'rejected'>
  shared: Texts['shared']
  destination: string
  signInUrl: string
  hasCode: boolean
}

let first: Promise<Outcome> | undefined // outside, because React runs an effect twice in development

/** Exchanges the code that the page was opened with for a session, and goes on to the destination. The session is in the cookie that the answer sets. */
export function SsoLanding({ app, language, texts, shared, destination, signInUrl, hasCode }: Properties) {
  const { step, retries, setStep, follow } = useAttempts(hasCode)

  async function exchange(code: string): Promise<Outcome> {
    const outcome = await post(paths.exchangeSsoCode, { code })
    if (outcome.kind === 'done') location.replace(destination) // Back then does not return here
    return outcome
  }

  async function show(answer: Promise<Outcome>, again = false): Promise<void> {
    if (!mayRetry(await follow(answer, again))) forgetSecret('code')
  }

  // A layout effect, so that what the server rendered without a code from the fragment is never seen.
  useLayoutEffect(() => {
    markPageReady()
    const code = urlSecret('code')
    if (!code && hasCode) setStep({ kind: 'no-secret' })
    if (!code) return
    first ??= earlyExchange() ?? exchange(code)
    show(first)
  }, [])

  const signIn = (className: string) => (
    <a className={className} href={signInUrl}>
      {shared.signInAgain}
    </a>
  )
  const goOn = (className: string) => (
    <a className={className} href={destination}>
      {texts.goOn}
    </a>
  )

  const { kind } = step
  if (kind === 'ready' || kind === 'sending' || kind === 'slow' || kind === 'done') {
    const done = kind === 'done'
    const words = { ready: texts.workingBody, sending: texts.workingBody, slow: texts.slow, done: texts.doneBody }
    return (
      <Screen
        app={app}
        title={done ? texts.done : texts.working}
        tab={kind === 'ready' ? shared.signIn : undefined} // without a script it stays
        icon={done ? outcomeIcons.done : 'busy'}
        focus={'again' in step && step.again}
      >
        <p role="status">{words[kind]}</p>
        {done && <div className="actions">{goOn('button')}</div>}
      </Screen>
    )
  }

  const canRetry = mayRetry(step) && (kind === 'offline' || retries < maxRetries)
  const { title, body } = wordsOf(kind, canRetry, texts)
  const waitSeconds = 'waitSeconds' in step ? step.waitSeconds : 0
  return (
    <Screen
      app={app}
      title={title}
      icon={kind === 'no-secret' ? 'lock' : outcomeIcons[kind]}
      focus={hasCode || kind !== 'no-secret'}
      requestId={'requestId' in step ? step.requestId : undefined}
      requestIdLabel={shared.requestId}
    >
      <p>{body.replace('{when}', () => inRelativeTime(waitSeconds, language))}</p>
      {canRetry ? (
        <RetryButton {...{ shared, language, waitSeconds }} onRetry={() => show(exchange(urlSecret('code')!), true)} />
      ) : (
        <div className="actions">
          {kind === 'unknown' && goOn('button')}
          {signIn(kind === 'unknown' ? 'button quiet' : 'button')}
          {(kind === 'rejected' || kind === 'no-secret') && goOn('button quiet')}
        </div>
      )}
    </Screen>
  )
}

/** Nothing was processed, and the code will still be alive after the wait. */
function mayRetry(step: Step): boolean {
  return isRetryable(step) && (step.kind === 'offline' || step.waitSeconds <= longWaitSeconds)
}

function wordsOf(
  kind: Exclude<Step['kind'], 'ready' | 'sending' | 'slow' | 'done'>,
  canRetry: boolean,
  texts: Properties['texts'],
): { title: string; body: string } {
  if (kind === 'rejected') return texts.used
  if (kind === 'no-secret') return texts.noCode
  if (kind === 'limited' && !canRetry) return texts.limitedLong
  if (kind === 'unavailable' && !canRetry) return texts.gaveUp
  return texts[kind]
}
