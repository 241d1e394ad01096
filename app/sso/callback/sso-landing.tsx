'use client'

import { useLayoutEffect, useRef, useState } from 'react'
import { Address } from '@/app/_ui/address'
import {
  isRetryable,
  markPageReady,
  maxRetries,
  type Step,
  useAttempts,
  useWait,
  WaitText,
} from '@/app/_ui/attempts'
import type { PageTexts } from '@/app/_ui/form'
import { type Outcome, post, readOutcome } from '@/app/_ui/post'
import { Reference } from '@/app/_ui/reference'
import { Screen } from '@/app/_ui/screen'
import { forgetSecret, urlSecret } from '@/app/_ui/url-secret'
import { lifetimes } from '@/lib/contract/lifetimes'
import type { Texts } from '@/lib/texts/en'
import { formatRelativeTime } from '@/lib/texts/relative-time'

// at a later retry, the code might have expired
const lastRetryMs = 0.75 * lifetimes.code * 1_000
const readingMs = 1_500 // time for the user to read who is signed in
const lookUpMs = 5_000
const otherTabMs = 2_000 // another tab that used the same code may still get its session

const icons = {
  rejected: 'chain',
  limited: 'wait',
  unavailable: 'wait',
  offline: 'offline',
  unknown: 'unclear',
  failed: 'wrong',
  'no-secret': 'lock',
} as const

type ProblemKind = keyof typeof icons

type Properties = PageTexts & {
  texts: Omit<Texts['sso'], 'rejected'>
  /** The paths of the operations. */
  paths: { exchange: string; session: string }
  destination: string
  signInUrl: string
  hasCode: boolean
  /** Whether the request for the page had a session cookie. */
  hasSession: boolean
}

// module state, because React runs effects twice in development
let firstAttempt: Promise<Outcome> | undefined
let key: string | undefined // of every attempt with the code

/**
 * Exchanges the code in the URL. The response sets the session cookies. Then opens the
 * destination.
 */
export function SsoLanding(properties: Properties) {
  const landing = useLanding(properties)

  const { kind } = landing.step

  // These are functions, not components: React would replace the live region of a screen
  // by that of another component, and screen readers would not announce it.
  if (landing.account) return showAccount(landing.account, properties)
  return isWorking(kind)
    ? showProgress(kind, landing, properties)
    : showProblem(kind, landing, properties)
}

/** The state of the page: the exchange, its retries, and an existing session. */
function useLanding({ paths, destination, hasCode, hasSession }: Properties) {
  const { step, retries, setStep, track } = useAttempts(hasCode)
  const { account, goOnIfSignedIn, cancel } = useExistingSession(paths, destination)
  const canRetry =
    isRetryable(step) &&
    urlSecret('code') !== null &&
    (step.kind === 'offline' || retries < maxRetries)

  const waitSeconds = 'waitSeconds' in step ? step.waitSeconds : 0
  const wait = useWait(canRetry ? waitSeconds : 0, step)

  async function show(pending: Promise<Outcome>, again = false): Promise<void> {
    const checked = pending.then(async (outcome) => {
      if (outcome.kind === 'rejected') await goOnIfSignedIn()
      const isLast = again && retries + 1 >= maxRetries && outcome.kind !== 'offline'
      if (isLast || !canRetryInTime(outcome)) forgetSecret('code')
      return outcome
    })
    await track(checked, again)
  }

  function retry(): void {
    if (wait.isOver) show(exchange(urlSecret('code')!, paths, destination), true)
  }

  // A layout effect corrects the page before the first paint. The server can't see a code
  // in the fragment.
  useLayoutEffect(() => {
    markPageReady()
    const code = urlSecret('code')

    if (!code) {
      if (hasCode) setStep({ kind: 'no-secret' })
      if (hasSession) goOnIfSignedIn(true)
      return
    }

    key ??= window.earlyExchange?.key
    firstAttempt ??= window.earlyExchange
      ? readOutcome(window.earlyExchange)
      : exchange(code, paths, destination)
    delete window.earlyExchange
    show(firstAttempt)
  }, [])

  return { step, account, canRetry, waitSeconds, wait, retry, cancel }
}

type Landing = ReturnType<typeof useLanding>

/**
 * Continues with an existing session of this browser, for example after Back or a second
 * click. `cancel` prevents it, because the user signs in again.
 */
function useExistingSession(paths: Properties['paths'], destination: string) {
  const [account, setAccount] = useState<string | null>(null)
  const isCanceled = useRef(false)

  async function goOnIfSignedIn(isLast = false): Promise<void> {
    const email = await readSignedInEmail(paths)
    if (isCanceled.current) return
    if (!email && !isLast) setTimeout(() => goOnIfSignedIn(true), otherTabMs)
    if (!email) return

    setAccount(email)
    setTimeout(() => location.replace(destination), readingMs)
  }

  function cancel(): void {
    isCanceled.current = true
  }

  return { account, goOnIfSignedIn, cancel }
}

async function exchange(
  code: string,
  paths: Properties['paths'],
  destination: string,
): Promise<Outcome> {
  key ??= window.newKey()
  const outcome = await post(paths.exchange, { code }, key)

  // `replace` makes the Back button skip this page
  if (outcome.kind === 'done') location.replace(destination)
  return outcome
}

type WorkingKind = 'ready' | 'sending' | 'slow' | 'done'

function isWorking(kind: Step['kind']): kind is WorkingKind {
  return kind === 'ready' || kind === 'sending' || kind === 'slow' || kind === 'done'
}

function showAccount(email: string, properties: Properties) {
  const { app, texts, hasCode } = properties
  const [beforeEmail, afterEmail] = texts.already.body.split('{email}')

  return (
    <Screen app={app} title={texts.already.title} icon="good" focus={hasCode}>
      <p role="status">
        {beforeEmail}
        <Address email={email} />
        {afterEmail}
      </p>
      <div className="actions">{showContinueLink(properties, 'button')}</div>
    </Screen>
  )
}

function showProgress(kind: WorkingKind, landing: Landing, properties: Properties) {
  const { app, texts, shared } = properties
  const { step } = landing
  const isDone = kind === 'done'
  const title = isDone ? texts.done : texts.working
  const bodies = {
    ready: texts.workingBody,
    sending: texts.workingBody,
    slow: texts.slow,
    done: texts.doneBody,
  }

  return (
    <Screen
      {...{ app, title }}
      tab={kind === 'ready' ? shared.signIn : title} // a browser without scripts keeps this title
      icon={isDone ? 'good' : 'busy'}
      focus={'again' in step ? step.again : isDone}
    >
      <p role="status">{bodies[kind]}</p>
      {isDone && <div className="actions">{showContinueLink(properties, 'button')}</div>}
      {kind === 'slow' && (
        <div className="actions">
          {showSignInLink(properties, landing, 'button quiet')}
        </div>
      )}
    </Screen>
  )
}

function showProblem(kind: ProblemKind, landing: Landing, properties: Properties) {
  const { app, language, texts, shared, hasCode } = properties
  const { step, canRetry, waitSeconds, wait } = landing
  const { title, body } = {
    ...texts,
    rejected: texts.used,
    'no-secret': texts.noCode,
    ...(!canRetry && { limited: texts.limitedLong, unavailable: texts.gaveUp }),
  }[kind]

  return (
    <Screen
      {...{ app, title }}
      icon={icons[kind]}
      focus={hasCode || kind !== 'no-secret'}
    >
      <p>{body.replace('{when}', () => formatRelativeTime(waitSeconds, language))}</p>
      {canRetry && <WaitText {...{ shared, language, wait }} />}
      {showNextSteps(kind, landing, properties)}
      <Reference id={'requestId' in step ? step.requestId : undefined} shared={shared} />
    </Screen>
  )
}

/** Shows what the user can do about a problem. The main action comes first. */
function showNextSteps(kind: ProblemKind, landing: Landing, properties: Properties) {
  const { canRetry, wait, retry } = landing
  const isUnknown = kind === 'unknown'
  const mayBeSignedIn = kind === 'rejected' || kind === 'no-secret'

  return (
    <div className="actions">
      {canRetry && (
        <button
          className="button"
          type="button"
          aria-disabled={!wait.isOver}
          aria-describedby="wait"
          onClick={retry}
        >
          {properties.shared.tryAgain}
        </button>
      )}
      {isUnknown && showContinueLink(properties, 'button')}
      {showSignInLink(
        properties,
        landing,
        isUnknown || canRetry ? 'button quiet' : 'button',
      )}
      {mayBeSignedIn && showContinueLink(properties, 'button quiet')}
    </div>
  )
}

function showContinueLink({ destination, shared }: Properties, className: string) {
  return (
    <a className={className} href={destination}>
      {shared.goOn}
    </a>
  )
}

function showSignInLink(
  { signInUrl, shared }: Properties,
  { cancel }: Landing,
  className: string,
) {
  return (
    <a className={className} href={signInUrl} onClick={cancel}>
      {shared.signInAgain}
    </a>
  )
}

/** Returns the email address of this browser's session, or null. Never throws. */
async function readSignedInEmail(paths: Properties['paths']): Promise<string | null> {
  const early = window.earlyLookUp
  delete window.earlyLookUp // a later call sends a new request

  try {
    const request = { cache: 'no-store', signal: window.abortAfter(lookUpMs) } as const
    const response = await (early ?? fetch(paths.session, request))
    const body = (await response?.json()) as { user?: { email: string } } | undefined
    return body?.user?.email ?? null
  } catch {
    return null
  }
}

/**
 * Whether the request was certainly not processed, and the code will still be valid after
 * the wait.
 */
function canRetryInTime(outcome: Outcome): boolean {
  if (!isRetryable(outcome)) return false
  return (
    outcome.kind === 'offline' ||
    performance.now() + outcome.waitSeconds * 1000 <= lastRetryMs
  )
}
