'use client'

import { useLayoutEffect } from 'react'
import { Address } from '@/app/_ui/address'
import { isRetryable, markPageReady, type Step } from '@/app/_ui/attempts'
import { Form, type PageTexts, useForm } from '@/app/_ui/form'
import {
  checkNewPassword,
  describeIssue,
  NewPasswordField,
} from '@/app/_ui/new-password-field'
import { post } from '@/app/_ui/post'
import { forgetSecret, urlSecret } from '@/app/_ui/url-secret'
import { UserName } from '@/app/_ui/user-name'
import type { Issue } from '@/lib/contract/errors'
import type { Texts } from '@/lib/texts/en'
import { type Ending, ResetResult } from './reset-result'

type Properties = PageTexts & {
  texts: Texts['reset'] & Texts['passwordField']
  minLength: number
  /** The path of the operation. */
  path: string
  signInUrl: string
  forgotPasswordUrl: string | undefined
  hasToken: boolean
  /** The email address of the account. Null if the link could not be looked up. */
  email: string | null
  /** Whether the reset can remove passkeys of the user. */
  hasPasskeys: boolean
  /** Whether users can have passkeys, which a reset keeps. */
  keepsPasskeys: boolean
}

/** The form that sets a new password, with the token from the URL. */
export function ResetForm(properties: Properties) {
  const { app, language, texts, shared, minLength, signInUrl, email } = properties
  const form = useForm(properties.hasToken)
  const submit = useReset(form, properties)
  const { step, problem, canRetry, wait, pending } = form

  const ending = findPasswordIssue(step) ? null : findEnding(step)
  if (ending)
    return (
      <ResetResult
        {...properties}
        ending={ending}
        focus={properties.hasToken || ending !== 'noToken'}
        requestId={'requestId' in step ? step.requestId : undefined}
      />
    )

  const intro = (
    <>
      {email && (
        <p>
          {texts.account} <Address email={email} />
        </p>
      )}
      <p>{texts.formBody}</p>
    </>
  )

  return (
    <>
      <Form
        {...{ form, app, language, shared, texts, intro }}
        title={texts.form}
        submit={texts.submit}
        action="/reset-password"
        scripts="data-needs-script"
        onSubmit={submit}
      >
        <UserName email={email ?? ''} />
        <NewPasswordField
          {...{ texts, minLength, app, email, language, problem, pending }}
          prefix={shared.errorPrefix}
        />
        {properties.hasPasskeys && showRemoval(texts)}
      </Form>
      {canRetry && !wait.isOver && (
        <p className="way-on">
          <a href={signInUrl}>{shared.signIn}</a>
        </p>
      )}
    </>
  )
}

/** Returns the function that sends the form. */
function useReset(
  form: ReturnType<typeof useForm>,
  { app, texts, minLength, path, hasToken, email }: Properties,
) {
  async function submit(): Promise<void> {
    const token = urlSecret('token')
    if (!token) return

    const password = form.input('password')!.value
    const outcome = await form.send(checkNewPassword(password, minLength, texts), () =>
      // its repetition is recognized by the token, so that each attempt can have another key
      post(
        path,
        { token, password, ...readRemoval(form.element.current!) },
        window.newKey(),
      ),
    )
    if (!outcome || isRetryable(outcome)) return

    const rejected = findPasswordIssue(outcome)
    if (rejected) {
      const names = `${email ?? ''} ${app}`
      return form.setProblem(describeIssue(rejected, texts, password, names))
    }

    forgetSecret('token')
    if (outcome.kind !== 'done') return
    if (email) window.keep('email', email)

    history.replaceState(null, '', '/reset-password/done') // this URL can be reloaded, and has no token
  }

  // A layout effect corrects the page before the first paint. The server can't see a
  // token in the fragment.
  useLayoutEffect(() => {
    const has = urlSecret('token') !== null
    if (has !== hasToken) form.setStep(has ? { kind: 'ready' } : { kind: 'no-secret' })
    markPageReady() // Form calls it too, but there may be no form
  }, [])

  return submit
}

function showRemoval(texts: Texts['reset']) {
  return (
    <div className="choice">
      <input
        id="remove-passkeys"
        name="removePasskeys"
        type="checkbox"
        aria-describedby="remove-passkeys-hint"
      />
      <label htmlFor="remove-passkeys">{texts.removePasskeys}</label>
      <p id="remove-passkeys-hint" className="hint">
        {texts.removePasskeysHint}
      </p>
    </div>
  )
}

/** Returns the field that removes passkeys, if the user has chosen that. */
function readRemoval(form: HTMLFormElement): { removePasskeys?: true } {
  return new FormData(form).has('removePasskeys') ? { removePasskeys: true } : {}
}

function findPasswordIssue(step: Step): Issue | undefined {
  return step.kind === 'rejected' && step.issue?.path[0] === 'password'
    ? step.issue
    : undefined
}

/** Returns how the reset has ended, or null. */
function findEnding({ kind }: Step): Ending | null {
  if (kind === 'rejected') return 'dead'
  if (kind === 'no-secret') return 'noToken'
  return kind === 'done' || kind === 'unknown' || kind === 'failed' ? kind : null
}
