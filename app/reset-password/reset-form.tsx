'use client'

import { useEffect, useRef, useState } from 'react'
import { takeFocus } from '@/app/screen'
import { arrivedSecret, forgetSecret, takeOverForm } from '@/lib/arrived-secret'
import type { Issue } from '@/lib/errors'
import { type Outcome, post } from '@/lib/outcome'
import type { Texts } from '@/lib/texts/en'
import { Ending } from './ending'
import { PasswordField } from './password-field'

const stillWorkingMs = 4_000
const maxRetries = 3

type FormStep = { kind: 'form' | 'sending' | 'slow' }
type Step = FormStep | { kind: 'noToken' } | Outcome

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

/** Sets a new password with the token that the page was opened with. */
export function ResetForm({ app, language, texts, shared, minLength, signInUrl, forgotPasswordUrl, hasToken }: Properties) {
  const [step, setStep] = useState<Step>({ kind: hasToken ? 'form' : 'noToken' })
  const [retries, setRetries] = useState(0)
  const form = useRef<HTMLFormElement>(null)
  const sending = useRef(false)

  async function send(): Promise<void> {
    const token = arrivedSecret('token')
    const password = form.current?.elements.namedItem('password')
    if (sending.current || !token || !(password instanceof HTMLInputElement)) return // a second click
    sending.current = true
    setStep({ kind: 'sending' })
    const timer = setTimeout(() => setStep({ kind: 'slow' }), stillWorkingMs)
    const outcome = await post('/api/auth/reset-password', { token, password: password.value })
    clearTimeout(timer)
    sending.current = false
    if (!isRetryable(outcome) && !passwordIssue(outcome)) forgetSecret('token')
    setStep(outcome)
  }

  function retry(): void {
    setRetries(retries + 1)
    send()
  }

  useEffect(() => {
    setStep({ kind: arrivedSecret('token') ? 'form' : 'noToken' })
    if (takeOverForm()) send()
  }, [])

  const issue = passwordIssue(step)
  const error = issue && ((texts.issues as Record<string, string>)[issue.code] ?? texts.otherIssue)
  const pending = step.kind === 'sending' || step.kind === 'slow'
  const ending = isFormStep(step) || error ? null : step
  const canRetry = isRetryable(step) && retries < maxRetries
  return (
    <>
      {ending ? (
        <Ending {...{ app, language, texts, shared, signInUrl, forgotPasswordUrl }} outcome={ending} onRetry={canRetry ? retry : undefined} />
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
      {(!ending || canRetry) && (
        <form
          className="reset-form"
          method="post"
          action="/reset-password"
          noValidate
          hidden={ending !== null} // what was typed stays, for a retry
          data-needs-script=""
          ref={form}
          onSubmit={(event) => {
            event.preventDefault()
            send()
          }}
        >
          {/* Empty: the page does not know who it is for. A password manager may, and then keeps the new password under that name. */}
          <input type="text" name="username" autoComplete="username" hidden readOnly />
          <PasswordField {...{ app, texts, minLength, error, pending }} />
          <button className="button wide" type="submit" aria-disabled={pending}>
            {pending ? texts.sending : texts.submit}
          </button>
          <p className="note" role="status">
            {step.kind === 'sending' && <span className="visually-hidden">{texts.sending}</span>}
            {step.kind === 'slow' && texts.slow}
          </p>
        </form>
      )}
    </>
  )
}

function isFormStep(step: Step): step is FormStep {
  return step.kind === 'form' || step.kind === 'sending' || step.kind === 'slow'
}

/** Nothing was processed. */
function isRetryable(step: Step): boolean {
  return step.kind === 'limited' || step.kind === 'unavailable' || step.kind === 'offline'
}

function passwordIssue(step: Step): Issue | undefined {
  return step.kind === 'refused' && step.issue?.path[0] === 'password' ? step.issue : undefined
}
