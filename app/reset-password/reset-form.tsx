'use client'

import { useLayoutEffect, useRef, useState } from 'react'
import { ErrorSummary } from '@/app/_ui/error-summary'
import { Reference } from '@/app/_ui/reference'
import { isRetryable, markPageReady, maxRetries, type Step, useAttempts } from '@/app/_ui/use-attempts'
import { useWait, WaitText } from '@/app/_ui/wait'
import type { Issue } from '@/lib/contract/errors'
import * as paths from '@/lib/contract/paths'
import { post } from '@/lib/page/post'
import type { Texts } from '@/lib/page/texts/en'
import { forgetSecret, urlSecret } from '@/lib/page/url-secret'
import { formatIssue } from '@/lib/password/format'
import { NewPasswordField } from './new-password-field'
import { type Ending, ResetResult } from './reset-result'

const longWaitSeconds = 60 // after the last retry
const donePath = '/reset-password/done'

type Properties = {
  app: string
  language: string
  texts: Texts['reset'] & Texts['passwordField']
  shared: Texts['shared']
  minLength: number
  signInUrl: string
  forgotPasswordUrl?: string
  hasToken: boolean
  /** The account's address. Null if the link could not be looked up. */
  email: string | null
}

/** The form that sets a new password, with the token from the URL. */
export function ResetForm(properties: Properties) {
  const { app, language, texts, shared, minLength, signInUrl, forgotPasswordUrl, hasToken, email } = properties
  const { step, retries, setStep, track } = useAttempts(hasToken)
  const [rejection, setRejection] = useState<{ message: string }>()
  const form = useRef<HTMLFormElement>(null)
  const sending = useRef(false)

  const gaveUp = retries >= maxRetries && (step.kind === 'limited' || step.kind === 'unavailable')
  const waitSeconds = Math.max('waitSeconds' in step ? step.waitSeconds : 0, gaveUp ? longWaitSeconds : 0)
  const wait = useWait(waitSeconds, step)
  const canRetry = isRetryable(step)

  async function send(): Promise<void> {
    const token = urlSecret('token')
    const field = form.current?.elements.namedItem('password')
    // e.g. a second click
    if (sending.current || !token || !(field instanceof HTMLInputElement)) return
    if (canRetry && !wait.isOver) return
    const password = field.value
    const issue = formatIssue(password, minLength)
    if (issue) {
      setStep({ kind: 'ready' })
      return setRejection({ message: password ? texts.issues[issue] : texts.emptyPassword })
    }
    sending.current = true
    const outcome = await track(post(paths.resetPassword, { token, password }), canRetry)
    sending.current = false
    const rejected = passwordIssue(outcome)
    setRejection(rejected && { message: messageOf(rejected, texts, password, [email, app]) })
    if (isRetryable(outcome) || rejected) return
    forgetSecret('token')
    // A URL of its own, which can be reloaded. This also removes the token from the history.
    if (outcome.kind === 'done') history.replaceState(null, '', donePath)
  }

  // A layout effect, to correct the first paint: the server sees no token in the fragment.
  useLayoutEffect(() => {
    const has = urlSecret('token') !== null
    if (has !== hasToken) setStep(has ? { kind: 'ready' } : { kind: 'no-secret' })
    if (markPageReady()) send()
  }, [])

  const ending = passwordIssue(step) ? null : endingOf(step)
  if (ending) {
    return (
      <ResetResult
        {...{ app, texts, shared, signInUrl, forgotPasswordUrl, ending }}
        focus={hasToken || ending !== 'noToken'}
        requestId={'requestId' in step ? step.requestId : undefined}
      />
    )
  }
  const pending = step.kind === 'sending' || step.kind === 'slow'
  const { title, body } = gaveUp ? texts.gaveUp : canRetry ? texts[step.kind] : { title: texts.form, body: '' }
  return (
    <>
      <title>{`${rejection ? texts.errorPrefix : ''}${title} – ${app}`}</title>
      {rejection && !pending && !canRetry && (
        <ErrorSummary title={texts.problem} field="password" focus key={rejection.message}>
          {rejection.message}
        </ErrorSummary>
      )}
      {canRetry && (
        <ErrorSummary title={title} className="banner" focus>
          <p>{body}</p>
          <WaitText {...{ shared, language, wait }} />
          <Reference id={step.requestId} shared={shared} />
        </ErrorSummary>
      )}
      <h1>{texts.form}</h1>
      {email && (
        <p>
          {texts.account}{' '}
          <strong className="account" translate="no">
            {email}
          </strong>
        </p>
      )}
      <p>{texts.formBody}</p>
      <form
        className="reset-form"
        method="post"
        action="/reset-password"
        noValidate
        data-needs-script=""
        ref={form}
        onSubmit={(event) => {
          event.preventDefault()
          send()
        }}
      >
        {/* A password manager saves the new password under this name, or one that it knows. */}
        <input type="text" name="username" autoComplete="username" value={email ?? ''} hidden readOnly />
        <NewPasswordField {...{ texts, minLength, app, email, rejection, pending }} />
        <button
          className="button wide"
          type="submit"
          aria-disabled={pending || (canRetry && !wait.isOver)}
          aria-describedby={canRetry ? 'wait' : undefined}
          data-busy={pending ? '' : undefined}
        >
          {pending ? texts.sending : canRetry ? shared.tryAgain : texts.submit}
        </button>
        {canRetry && !wait.isOver && (
          <p className="way-on">
            <a href={signInUrl}>{shared.signIn}</a>
          </p>
        )}
      </form>
      <p className="note" role="status">
        {step.kind === 'ready' && <span className="early">{texts.early}</span>}
        {step.kind === 'sending' && <span className="visually-hidden">{texts.sending}</span>}
        {step.kind === 'slow' && <span>{texts.slow}</span>}
      </p>
    </>
  )
}

function passwordIssue(step: Step): Issue | undefined {
  return step.kind === 'rejected' && step.issue?.path[0] === 'password' ? step.issue : undefined
}

function messageOf({ code }: Issue, texts: Texts['reset'], password: string, names: (string | null)[]): string {
  // a shorter word, such as `com`, is part of many passwords by chance
  const words = names
    .join(' ')
    .toLowerCase()
    .match(/[\p{L}\p{N}]{4,}/gu)
  const includesName = words?.some((word) => password.toLowerCase().includes(word))
  if (code === 'too_guessable' && includesName) return texts.personal
  return (texts.issues as Record<string, string>)[code] ?? texts.otherIssue
}

/** How the reset has ended, or null while the form is of use. */
function endingOf({ kind }: Step): Ending | null {
  if (kind === 'rejected') return 'dead'
  if (kind === 'no-secret') return 'noToken'
  return kind === 'done' || kind === 'unknown' || kind === 'failed' ? kind : null
}
