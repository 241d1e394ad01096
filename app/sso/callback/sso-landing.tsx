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

const longWaitSeconds = lifetimes.code * 0.75 // a longer wait would outlast the code

type Properties = {
  app: string
  language: string
  texts: Omit<Texts['sso'], 'rejected'>
  shared: Texts['shared']
  destination: string
  signInUrl: string
  hasCode: boolean
}

// module state, because React runs effects twice in development
let firstAttempt: Promise<Outcome> | undefined

/**
 * Exchanges the code from the URL for a session, whose cookie the response sets, and goes to the
 * destination.
 */
export function SsoLanding({ app, language, texts, shared, destination, signInUrl, hasCode }: Properties) {
  const { step, retries, setStep, track } = useAttempts(hasCode)

  async function exchange(code: string): Promise<Outcome> {
    const outcome = await post(paths.exchangeSsoCode, { code })
    // replace, so that Back skips this page
    if (outcome.kind === 'done') location.replace(destination)
    return outcome
  }

  async function show(pending: Promise<Outcome>, again = false): Promise<void> {
    if (!canRetryAfterWait(await track(pending, again))) forgetSecret('code')
  }

  // A layout effect, to correct the first paint: the server sees no code in the fragment.
  useLayoutEffect(() => {
    markPageReady()
    const code = urlSecret('code')
    if (!code && hasCode) setStep({ kind: 'no-secret' })
    if (!code) return
    firstAttempt ??= earlyExchange() ?? exchange(code)
    show(firstAttempt)
  }, [])

  const signInLink = (className: string) => (
    <a className={className} href={signInUrl}>
      {shared.signInAgain}
    </a>
  )
  const continueLink = (className: string) => (
    <a className={className} href={destination}>
      {shared.goOn}
    </a>
  )

  const { kind } = step
  if (kind === 'ready' || kind === 'sending' || kind === 'slow' || kind === 'done') {
    const done = kind === 'done'
    const bodies = { ready: texts.workingBody, sending: texts.workingBody, slow: texts.slow, done: texts.doneBody }
    return (
      <Screen
        app={app}
        title={done ? texts.done : texts.working}
        tab={kind === 'ready' ? shared.signIn : undefined} // without scripts, this title stays
        icon={done ? outcomeIcons.done : 'busy'}
        focus={'again' in step && step.again}
      >
        <p role="status">{bodies[kind]}</p>
        {done && <div className="actions">{continueLink('button')}</div>}
      </Screen>
    )
  }

  const canRetry = canRetryAfterWait(step) && (kind === 'offline' || retries < maxRetries)
  const { title, body } = textsOf(kind, canRetry, texts)
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
          {kind === 'unknown' && continueLink('button')}
          {signInLink(kind === 'unknown' ? 'button quiet' : 'button')}
          {(kind === 'rejected' || kind === 'no-secret') && continueLink('button quiet')}
        </div>
      )}
    </Screen>
  )
}

/** Whether the request was not processed and the code will still be valid after the wait. */
function canRetryAfterWait(step: Step): boolean {
  return isRetryable(step) && (step.kind === 'offline' || step.waitSeconds <= longWaitSeconds)
}

function textsOf(
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
