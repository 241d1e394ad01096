'use client'

import { useEffect, useState } from 'react'
import { RetryButton } from '@/app/retry-button'
import { Screen } from '@/app/screen'
import { arrivedSecret, forgetSecret } from '@/lib/arrived-secret'
import { type Outcome, post } from '@/lib/outcome'
import type { Texts } from '@/lib/texts/en'
import { inWords } from '@/lib/wait'

const stillWorkingMs = 4_000
const maxRetries = 3
const longWaitSeconds = 45 // the code lives for a minute

type Step = Outcome | { kind: 'working' | 'slow' | 'noCode'; reference?: undefined }

const signs = {
  refused: 'link',
  noCode: 'lock',
  limited: 'wait',
  unavailable: 'wait',
  offline: 'offline',
  unknown: 'unclear',
  failed: 'wrong',
} as const

type Properties = {
  app: string
  language: string
  texts: Omit<Texts['sso'], 'refused'>
  shared: Texts['shared']
  destination: string
  signInUrl: string
  hasCode: boolean
}

/** Exchanges the code that the page was opened with for a session, and goes on to the destination. The session is in the cookie that the answer sets. */
export function SsoLanding({ app, language, texts, shared, destination, signInUrl, hasCode }: Properties) {
  const [step, setStep] = useState<Step>({ kind: hasCode ? 'working' : 'noCode' })
  const [attempt, setAttempt] = useState(0)

  useEffect(() => {
    const code = arrivedSecret('code')
    if (!code) return setStep({ kind: 'noCode' })
    let shown = true
    setStep({ kind: 'working' })
    const timer = setTimeout(() => setStep({ kind: 'slow' }), stillWorkingMs)
    exchangeOnce(code, attempt).then((outcome) => {
      clearTimeout(timer)
      if (!isRetryable(outcome)) forgetSecret('code')
      if (!shown) return
      setStep(outcome)
      if (outcome.kind === 'done') location.replace(destination) // Back then does not return here
    })
    return () => {
      shown = false
      clearTimeout(timer)
    }
  }, [attempt, destination])

  const signIn = (className: string) => (
    <a className={className} href={signInUrl}>
      {shared.signInAgain}
    </a>
  )
  const goOn = (
    <a className="button" href={destination}>
      {texts.goOn}
    </a>
  )

  const { kind } = step
  if (kind === 'working' || kind === 'slow' || kind === 'done') {
    const done = kind === 'done'
    return (
      <Screen app={app} title={done ? texts.done : texts.working} sign={done ? 'good' : 'busy'}>
        <p role="status">{{ working: texts.workingBody, slow: texts.slow, done: texts.doneBody }[kind]}</p>
        {done && <div className="actions">{goOn}</div>}
      </Screen>
    )
  }

  const canRetry = isRetryable(step) && attempt < maxRetries
  const words = wordsOf(kind, canRetry, texts)
  const waitSeconds = 'waitSeconds' in step ? step.waitSeconds : 0
  return (
    <Screen app={app} title={words.title} sign={signs[kind]} focus reference={step.reference} referenceLabel={shared.reference}>
      <p>{words.body.replace('{when}', inWords(waitSeconds, language))}</p>
      {canRetry ? (
        <RetryButton {...{ shared, language, waitSeconds }} onRetry={() => setAttempt(attempt + 1)} />
      ) : (
        <div className="actions">
          {kind === 'unknown' && goOn}
          {signIn(kind === 'unknown' ? 'button quiet' : 'button')}
        </div>
      )}
    </Screen>
  )
}

let exchanged: { key: string; outcome: Promise<Outcome> } | undefined

/** Posts a code once for each attempt, however often React runs an effect (twice in development). */
function exchangeOnce(code: string, attempt: number): Promise<Outcome> {
  const key = `${attempt} ${code}`
  if (exchanged?.key !== key) exchanged = { key, outcome: post('/api/auth/sso/exchange', { code }) }
  return exchanged.outcome
}

/** Nothing was processed, and the code will still be alive after the wait. */
function isRetryable(step: Step): boolean {
  return step.kind === 'offline' || ((step.kind === 'limited' || step.kind === 'unavailable') && step.waitSeconds <= longWaitSeconds)
}

function wordsOf(
  kind: Exclude<Step['kind'], 'working' | 'slow' | 'done'>,
  canRetry: boolean,
  texts: Properties['texts'],
): { title: string; body: string } {
  if (kind === 'refused') return texts.used
  if (kind === 'limited' && !canRetry) return texts.limitedLong
  if (!canRetry && (kind === 'unavailable' || kind === 'offline')) return texts.gaveUp
  return texts[kind]
}
