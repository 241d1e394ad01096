'use client'

import { useLayoutEffect, useRef, useState } from 'react'
import { Address } from '@/app/_ui/address'
import type { PageTexts } from '@/app/_ui/form'
import { type Outcome, outcomeOf, post } from '@/app/_ui/post'
import { Reference } from '@/app/_ui/reference'
import { Screen } from '@/app/_ui/screen'
import { forgetSecret, urlSecret } from '@/app/_ui/url-secret'
import {
  isRetryable,
  markPageReady,
  maxRetries,
  useAttempts,
} from '@/app/_ui/use-attempts'
import { useWait, WaitText } from '@/app/_ui/wait'
import { lifetimes } from '@/lib/contract/lifetimes'
import * as routes from '@/lib/contract/routes'
import type { Texts } from '@/lib/texts/en'
import { inRelativeTime } from '@/lib/texts/relative-time'

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

type Properties = PageTexts & {
  texts: Omit<Texts['sso'], 'rejected'>
  destination: string
  signInUrl: string
  hasCode: boolean
  /** Whether the request for the page had a session cookie. */
  hasSession: boolean
}

// module state, because React runs effects twice in development
let firstAttempt: Promise<Outcome> | undefined

/**
 * Exchanges the code in the URL. The response sets the session cookies. Then opens the
 * destination.
 */
export function SsoLanding(properties: Properties) {
  const { app, language, texts, shared, destination, signInUrl, hasCode, hasSession } =
    properties
  const { step, retries, setStep, track } = useAttempts(hasCode)
  const [account, setAccount] = useState<string | null>(null)
  const signsInAgain = useRef(false)
  const { kind } = step
  const canRetry =
    isRetryable(step) &&
    urlSecret('code') !== null &&
    (kind === 'offline' || retries < maxRetries)

  const waitSeconds = 'waitSeconds' in step ? step.waitSeconds : 0
  const wait = useWait(canRetry ? waitSeconds : 0, step)

  /**
   * Continues with an existing session of this browser, for example after Back or a
   * second click.
   */
  async function goOnIfSignedIn(isLast = false): Promise<void> {
    const email = await signedInAs()
    if (signsInAgain.current) return
    if (!email) {
      if (!isLast) setTimeout(() => goOnIfSignedIn(true), otherTabMs)
      return
    }

    setAccount(email)
    setTimeout(() => location.replace(destination), readingMs)
  }

  async function exchange(code: string): Promise<Outcome> {
    const outcome = await post(routes.exchangeSsoCode.path, { code })

    // `replace` makes the Back button skip this page
    if (outcome.kind === 'done') location.replace(destination)
    return outcome
  }

  async function show(pending: Promise<Outcome>, again = false): Promise<void> {
    const checked = pending.then(async (outcome) => {
      if (outcome.kind === 'rejected') await goOnIfSignedIn()
      const isLast = again && retries + 1 >= maxRetries && outcome.kind !== 'offline'
      if (isLast || !canRetryInTime(outcome)) forgetSecret('code')
      return outcome
    })
    await track(checked, again)
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

    firstAttempt ??= window.earlyExchange
      ? outcomeOf(window.earlyExchange)
      : exchange(code)
    delete window.earlyExchange
    show(firstAttempt)
  }, [])

  const signInAgainLink = (className: string) => (
    <a
      className={className}
      href={signInUrl}
      onClick={() => {
        signsInAgain.current = true
      }}
    >
      {shared.signInAgain}
    </a>
  )

  const continueLink = (className: string) => (
    <a className={className} href={destination}>
      {shared.goOn}
    </a>
  )

  if (account) {
    const [beforeEmail, afterEmail] = texts.already.body.split('{email}')
    return (
      <Screen app={app} title={texts.already.title} icon="good" focus={hasCode}>
        <p role="status">
          {beforeEmail}
          <Address email={account} />
          {afterEmail}
        </p>
        <div className="actions">{continueLink('button')}</div>
      </Screen>
    )
  }

  if (kind === 'ready' || kind === 'sending' || kind === 'slow' || kind === 'done') {
    const done = kind === 'done'
    const bodies = {
      ready: texts.workingBody,
      sending: texts.workingBody,
      slow: texts.slow,
      done: texts.doneBody,
    }

    return (
      <Screen
        app={app}
        title={done ? texts.done : texts.working}
        tab={kind === 'ready' ? shared.signIn : undefined} // a browser without scripts keeps this title
        icon={done ? 'good' : 'busy'}
        focus={'again' in step ? step.again : done}
      >
        <p role="status">{bodies[kind]}</p>
        {done && <div className="actions">{continueLink('button')}</div>}
        {kind === 'slow' && (
          <div className="actions">{signInAgainLink('button quiet')}</div>
        )}
      </Screen>
    )
  }

  const { title, body } = {
    ...texts,
    rejected: texts.used,
    'no-secret': texts.noCode,
    ...(!canRetry && { limited: texts.limitedLong, unavailable: texts.gaveUp }),
  }[kind]

  return (
    <Screen
      app={app}
      title={title}
      icon={icons[kind]}
      focus={hasCode || kind !== 'no-secret'}
    >
      <p>{body.replace('{when}', () => inRelativeTime(waitSeconds, language))}</p>
      {canRetry && <WaitText {...{ shared, language, wait }} />}
      <div className="actions">
        {canRetry && (
          <button
            className="button"
            type="button"
            aria-disabled={!wait.isOver}
            aria-describedby="wait"
            onClick={() => wait.isOver && show(exchange(urlSecret('code')!), true)}
          >
            {shared.tryAgain}
          </button>
        )}
        {kind === 'unknown' && continueLink('button')}
        {signInAgainLink(kind === 'unknown' || canRetry ? 'button quiet' : 'button')}
        {(kind === 'rejected' || kind === 'no-secret') && continueLink('button quiet')}
      </div>
      <Reference id={'requestId' in step ? step.requestId : undefined} shared={shared} />
    </Screen>
  )
}

/** Returns the email address of this browser's session, or null. Never throws. */
async function signedInAs(): Promise<string | null> {
  const early = window.earlyLookUp
  delete window.earlyLookUp // a later call sends a new request

  try {
    const request = { cache: 'no-store', signal: window.abortAfter(lookUpMs) } as const
    const response = await (early ?? fetch(routes.getSession.path, request))
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
