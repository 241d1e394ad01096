'use client'

import { useLayoutEffect } from 'react'
import { Address } from '@/app/_ui/address'
import { Form, type PageTexts, useForm } from '@/app/_ui/form'
import { post } from '@/app/_ui/post'
import { forgetSecret, urlSecret } from '@/app/_ui/url-secret'
import { isRetryable, markPageReady, type Step } from '@/app/_ui/use-attempts'
import { UserName } from '@/app/_ui/user-name'
import type { Issue } from '@/lib/contract/errors'
import * as routes from '@/lib/contract/routes'
import { formatIssue } from '@/lib/password/format'
import type { Texts } from '@/lib/texts/en'
import { NewPasswordField } from './new-password-field'
import { type Ending, ResetResult } from './reset-result'

type Properties = PageTexts & {
  texts: Texts['reset'] & Texts['passwordField']
  minLength: number
  signInUrl: string
  forgotPasswordUrl?: string
  hasToken: boolean
  /** The email address of the account. Null if the link could not be looked up. */
  email: string | null
}

/** The form that sets a new password, with the token from the URL. */
export function ResetForm(properties: Properties) {
  const {
    app,
    language,
    texts,
    shared,
    minLength,
    signInUrl,
    forgotPasswordUrl,
    hasToken,
    email,
  } = properties

  const form = useForm(hasToken)
  const { step, setStep, problem, canRetry, wait, pending } = form

  async function submit(): Promise<void> {
    const token = urlSecret('token')
    if (!token) return

    const password = form.input('password')!.value
    const issue = formatIssue(password, minLength)
    const wrong = issue && (password ? texts.issues[issue] : texts.emptyPassword)
    const outcome = await form.send(
      wrong ? { field: 'password', text: wrong } : null,
      () => post(routes.resetPassword.path, { token, password }),
    )

    if (!outcome || isRetryable(outcome)) return

    const rejected = passwordIssue(outcome)
    if (rejected)
      return form.setProblem({
        field: 'password',
        text: messageOf(rejected, texts, password, `${email ?? ''} ${app}`),
      })

    forgetSecret('token')
    if (outcome.kind !== 'done') return
    if (email) window.keep('email', email)

    history.replaceState(null, '', '/reset-password/done') // this URL can be reloaded, and has no token
  }

  // A layout effect corrects the page before the first paint. The server can't see a
  // token in the fragment.
  useLayoutEffect(() => {
    const has = urlSecret('token') !== null
    if (has !== hasToken) setStep(has ? { kind: 'ready' } : { kind: 'no-secret' })
    markPageReady() // Form calls it too, but there may be no form
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
          {...{ texts, minLength, app, email, problem, pending }}
          prefix={shared.errorPrefix}
        />
      </Form>
      {canRetry && !wait.isOver && (
        <p className="way-on">
          <a href={signInUrl}>{shared.signIn}</a>
        </p>
      )}
    </>
  )
}

function passwordIssue(step: Step): Issue | undefined {
  return step.kind === 'rejected' && step.issue?.path[0] === 'password'
    ? step.issue
    : undefined
}

function messageOf(
  { code }: Issue,
  texts: Texts['reset'],
  password: string,
  names: string,
): string {
  // Shorter words, such as `com`, are part of many passwords by chance.
  const words = names.toLowerCase().match(/[\p{L}\p{N}]{4,}/gu)
  const includesName = words?.some((word) => password.toLowerCase().includes(word))
  if (code === 'too_guessable' && includesName) return texts.personal
  return (texts.issues as Record<string, string>)[code] ?? texts.otherIssue
}

function endingOf({ kind }: Step): Ending | null {
  if (kind === 'rejected') return 'dead'
  if (kind === 'no-secret') return 'noToken'
  return kind === 'done' || kind === 'unknown' || kind === 'failed' ? kind : null
}
