'use client'

import { useEffect, useLayoutEffect, useRef } from 'react'
import { takeFocus } from '@/app/_ui/screen'
import { isRetryable, type Step, useAttempts } from '@/app/_ui/use-attempts'
import type { Issue } from '@/lib/contract/errors'
import { paths } from '@/lib/contract/paths'
import { markPageReady } from '@/lib/page/page-readiness'
import { post } from '@/lib/page/post'
import type { Texts } from '@/lib/page/texts/en'
import { forgetSecret, urlSecret } from '@/lib/page/url-secret'
import { PasswordField } from './password-field'
import { ResetResult } from './reset-result'

type Properties = {
  app: string
  language: string
  texts: Texts['reset']
  shared: Texts['shared']
  minLength: number
  signInUrl: string
  forgotPasswordUrl?: string
  hasToken: boolean
}

/** The form that sets a new password, with the token from the URL. */
export function ResetForm({
  app,
  language,
  texts,
  shared,
  minLength,
  signInUrl,
  forgotPasswordUrl,
  hasToken,
}: Properties) {
  const { step, retries, setStep, track } = useAttempts(hasToken)
  const form = useRef<HTMLFormElement>(null)
  const button = useRef<HTMLButtonElement>(null)
  const sending = useRef(false)

  async function send(again = false): Promise<void> {
    const token = urlSecret('token')
    const password = form.current?.elements.namedItem('password')
    // e.g. a second click
    if (sending.current || !token || !(password instanceof HTMLInputElement)) return
    sending.current = true
    const outcome = await track(post(paths.resetPassword, { token, password: password.value }), again)
    sending.current = false
    if (!isRetryable(outcome) && !passwordIssue(outcome)) forgetSecret('token')
  }

  // A layout effect, to correct the first paint: the server sees no token in the fragment.
  useLayoutEffect(() => {
    const has = urlSecret('token') !== null
    if (has !== hasToken) setStep(has ? { kind: 'ready' } : { kind: 'no-secret' })
    if (markPageReady()) send()
  }, [])

  const again = 'again' in step && step.again
  useEffect(() => {
    if (again) button.current?.focus() // the retry button is gone
  }, [again])

  const issue = passwordIssue(step)
  const error = issue && ((texts.issues as Record<string, string>)[issue.code] ?? texts.otherIssue)
  const pending = step.kind === 'sending' || step.kind === 'slow'
  const result = step.kind === 'ready' || step.kind === 'sending' || step.kind === 'slow' || error ? null : step
  const canRetry = isRetryable(step)
  return (
    <>
      {result ? (
        <ResetResult
          {...{ app, language, texts, shared, signInUrl, forgotPasswordUrl }}
          outcome={result}
          focus={hasToken || result.kind !== 'no-secret'}
          retries={retries}
          onRetry={() => send(true)}
        />
      ) : (
        <>
          <title>{`${error ? texts.errorPrefix : ''}${texts.form} – ${app}`}</title>
          {error && (
            <div className="error-summary" role="alert" tabIndex={-1} ref={takeFocus}>
              <h2>{texts.problem}</h2>
              <a
                href="#password"
                onClick={(event) => {
                  event.preventDefault()
                  document.getElementById('password')?.focus()
                }}
              >
                {error}
              </a>
            </div>
          )}
          <h1>{texts.form}</h1>
          <p>{texts.formBody}</p>
        </>
      )}
      {(!result || canRetry) && (
        <form
          className="reset-form"
          method="post"
          action="/reset-password"
          noValidate
          hidden={result !== null} // keeps the input for a retry
          data-needs-script=""
          ref={form}
          onSubmit={(event) => {
            event.preventDefault()
            send()
          }}
        >
          {/* Empty, because the page does not know the user. A password manager may, and then saves
              the new password under that name. */}
          <input type="text" name="username" autoComplete="username" hidden readOnly />
          <PasswordField {...{ app, texts, minLength, error, pending }} />
          <button className="button wide" type="submit" aria-disabled={pending} ref={button}>
            {pending ? texts.sending : texts.submit}
          </button>
        </form>
      )}
      <p className="note" role="status">
        {step.kind === 'ready' && <span className="early">{texts.early}</span>}
        {step.kind === 'sending' && <span className="visually-hidden">{texts.sending}</span>}
        {step.kind === 'slow' && texts.slow}
      </p>
    </>
  )
}

function passwordIssue(step: Step): Issue | undefined {
  return step.kind === 'rejected' && step.issue?.path[0] === 'password' ? step.issue : undefined
}
