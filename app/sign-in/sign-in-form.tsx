'use client'

import { useEffect, useRef, useState } from 'react'
import { EmailField, isAddress } from '@/app/_ui/email-field'
import { Form, type PageTexts, type Problem, useForm } from '@/app/_ui/form'
import { PasswordField } from '@/app/_ui/password-field'
import { post } from '@/app/_ui/post'
import * as routes from '@/lib/contract/routes'
import { signInPageUrl } from '@/lib/http/next-path'
import type { Texts } from '@/lib/texts/en'

type Properties = PageTexts & {
  texts: Texts['signIn']
  /** Null if users sign in through an identity provider only. */
  passwordTexts: Texts['passwordField'] | null
  /**
   * Whether to ask for the email address before the password, because the address may
   * belong to a connection.
   */
  emailFirst: boolean
  /** The error of a form that was sent without scripts, or of the second factor. */
  rejection: string | null
  next: string | null
  destination: string
  forgotPasswordUrl?: string
}

/** What the form asks for. The stage `password` follows `email`. */
type Stage = 'email' | 'password' | 'both'

/**
 * Asks for the email address, and for the password unless the address leads to an
 * identity provider.
 */
export function SignInForm(properties: Properties) {
  const {
    app,
    language,
    texts,
    shared,
    passwordTexts,
    emailFirst,
    rejection,
    next,
    destination,
  } = properties

  const [stage, setStage] = useState<Stage>(emailFirst ? 'email' : 'both')
  const form = useForm(
    true,
    rejection ? { field: emailFirst ? 'email' : 'password', text: rejection } : null,
  )

  const { problem, pending } = form

  async function submit(): Promise<void> {
    const email = form.input('email')!.value.trim()
    const wrong: Problem | null = isAddress(email)
      ? null
      : { field: 'email', text: texts.invalidEmail }
    if (stage === 'email') return find(email, wrong)

    const password = form.input('password')!.value
    const missing: Problem | null = password
      ? null
      : { field: 'password', text: texts.emptyPassword }
    const outcome = await form.send(wrong ?? missing, () =>
      post(routes.signIn.path, { email, password }),
    )
    if (outcome?.kind === 'rejected')
      form.setProblem({ field: 'password', text: texts.wrongPassword })
    if (outcome?.kind !== 'done') return
    if (outcome.code === 'SECOND_FACTOR_REQUIRED')
      return location.replace(signInPageUrl('/sign-in', next))

    window.keep('email', null)
    location.replace(destination) // `replace` makes the Back button skip this page
  }

  async function find(email: string, wrong: Problem | null): Promise<void> {
    const outcome = await form.send(wrong, async () => {
      const found = await post(
        routes.findSsoConnection.path,
        new URLSearchParams(next ? { email, next } : { email }),
      )

      // The request changes nothing, so a lost response is treated as a failed request.
      return found.kind === 'unknown'
        ? ({ kind: 'unavailable', waitSeconds: 5 } as const)
        : found
    })

    if (outcome?.kind === 'rejected')
      form.setProblem({ field: 'email', text: texts.invalidEmail })
    if (outcome?.kind !== 'done') return
    if (outcome.returnTo) return location.assign(outcome.returnTo)
    if (passwordTexts) return enter('password')

    form.setStep({ kind: 'ready' })
    form.setProblem({ field: 'email', text: texts.unknownEmail })
  }

  function enter(wanted: Stage): void {
    setStage(wanted)
    form.setStep({ kind: 'ready' })
    form.setProblem(null)
  }

  const shown = useRef(stage)
  useEffect(() => {
    if (shown.current !== stage)
      form.input(stage === 'email' ? 'email' : 'password')?.focus()
    shown.current = stage
  }, [stage])

  const asksPassword = stage !== 'email'
  const linkUrl = asksPassword
    ? properties.forgotPasswordUrl
    : passwordTexts && passwordStep(next)
  const errorOf = (field: Problem['field']) => problem?.field === field && problem.text
  const prefix = shared.errorPrefix

  return (
    <>
      <Form
        {...{ form, app, language, shared }}
        texts={asksPassword ? texts : { ...texts, sending: texts.submit }}
        title={stage === 'password' ? texts.passwordTitle : texts.title}
        tab={stage === 'password' ? undefined : shared.signIn}
        intro={!passwordTexts && <p>{texts.body}</p>}
        submit={asksPassword ? shared.signIn : texts.submit}
        action={asksPassword ? '/sign-in' : routes.findSsoConnection.path}
        scripts={asksPassword ? 'data-needs-script' : 'data-prefers-script'}
        onSubmit={submit}
      >
        {next && <input type="hidden" name="next" value={next} />}
        <EmailField
          {...{ label: texts.label, prefix }}
          error={errorOf('email')}
          readOnly={stage === 'password'}
          enterKeyHint="next"
          button={
            stage === 'password' && (
              <button
                type="button"
                className="show"
                aria-label={texts.changeLabel}
                onClick={() => enter('email')}
              >
                {texts.change}
              </button>
            )
          }
        />
        {/* Always rendered, so that password managers fill both fields. Without a name, the password isn't sent. */}
        {passwordTexts && (
          <div hidden={!asksPassword}>
            <PasswordField
              {...{ texts: passwordTexts, label: texts.password, prefix, pending }}
              error={errorOf('password')}
              name={asksPassword ? 'password' : undefined}
              autoComplete="current-password"
              enterKeyHint="go"
            />
          </div>
        )}
      </Form>
      {linkUrl && (
        <p className="note">
          <a href={linkUrl}>{asksPassword ? texts.forgotPassword : texts.usePassword}</a>
        </p>
      )}
    </>
  )
}

/**
 * Returns the URL of the password step, for users who have a password although their
 * domain has a connection.
 */
function passwordStep(next: string | null): string {
  return `/sign-in?${new URLSearchParams(next ? { step: 'password', next } : { step: 'password' })}`
}
