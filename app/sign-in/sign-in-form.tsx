'use client'

import { useEffect, useRef, useState } from 'react'
import { EmailField, isAddress } from '@/app/_ui/email-field'
import { Form, type PageTexts, type Problem, useForm } from '@/app/_ui/form'
import { PasswordField } from '@/app/_ui/password-field'
import { type Outcome, post } from '@/app/_ui/post'
import { cleanEmail } from '@/lib/contract/typed-text'
import type { Texts } from '@/lib/texts/en'
import { chooseNext } from './choose-next'
import type { PasskeySettings } from './passkey'
import { PasskeyButton } from './passkey-button'

type Properties = PageTexts & {
  texts: Texts['signIn']
  /** Null if users sign in through an identity provider only. */
  passwordTexts: Texts['passwordField'] | null
  /**
   * Whether to ask for the email address before the password, because the address may
   * belong to a connection.
   */
  emailFirst: boolean
  /** The address that a client has named. */
  email: string | undefined
  /** The error of a form that was sent without scripts, or of the second factor. */
  rejection: string | null
  next: string | null
  destination: string
  /** The paths of the operations. */
  paths: { find: string; signIn: string }
  urls: {
    secondStep: string
    /** For users who have a password although their domain has a connection. */
    passwordStep: string
    forgotPassword: string | undefined
    /** Where guests ask for a link to their connection. Null without a mail server. */
    mailLink: string | null
  }
  passkey: PasskeySettings | null
}

/** What the form asks for. The stage `password` follows `email`. */
type Stage = 'email' | 'password' | 'both'

type FormState = ReturnType<typeof useForm>

/**
 * Asks for the email address, and for the password unless the address leads to an
 * identity provider.
 */
export function SignInForm(properties: Properties) {
  const { app, language, texts, shared, passwordTexts, next, email } = properties
  const { passkey } = properties
  const { form, stage, enter, submit } = useSignIn(properties)
  const asksPassword = stage !== 'email'
  const isKnownEmail = stage === 'password'
  const title = isKnownEmail ? texts.passwordTitle : texts.title

  return (
    <>
      <Form
        {...{ form, app, language, shared, title }}
        texts={asksPassword ? texts : { ...texts, sending: texts.submit }}
        tab={isKnownEmail ? title : shared.signIn}
        intro={!passwordTexts && <p>{texts.body}</p>}
        submit={asksPassword ? shared.signIn : texts.submit}
        action={asksPassword ? '/sign-in' : properties.paths.find}
        scripts={asksPassword ? 'data-needs-script' : 'data-prefers-script'}
        onSubmit={submit}
      >
        {next && <input type="hidden" name="next" value={next} />}
        <EmailField
          label={texts.label}
          defaultValue={email}
          prefix={shared.errorPrefix}
          error={readError(form, 'email')}
          readOnly={isKnownEmail}
          enterKeyHint="next"
          {...(passkey && { autoComplete: 'username webauthn' })}
          button={isKnownEmail && showChangeButton(texts, () => enter('email'))}
        />
        {passwordTexts && showPassword(form, passwordTexts, properties, asksPassword)}
      </Form>
      {passkey && (
        <PasskeyButton {...passkey} form={form} destination={properties.destination} />
      )}
      {!asksPassword &&
        passwordTexts &&
        showLink(properties.urls.passwordStep, texts.usePassword)}
      {/* for guests, whose address leads to no connection: the same for every address */}
      {form.problem?.text === texts.unknownEmail &&
        showLink(properties.urls.mailLink, texts.mailLink)}
    </>
  )
}

/** The state of the form, and what it sends. */
function useSignIn({
  texts,
  passwordTexts,
  emailFirst,
  rejection,
  next,
  destination,
  paths,
  urls,
  passkey,
}: Properties) {
  const firstField = emailFirst ? 'email' : 'password'
  const form = useForm(true, rejection ? { field: firstField, text: rejection } : null)
  const { stage, enter } = useStage(emailFirst ? 'email' : 'both', form)
  const key = useKey(form)

  async function submit(): Promise<void> {
    const email = cleanEmail(form.input('email')!.value)
    const wrong: Problem | null = isAddress(email)
      ? null
      : { field: 'email', text: texts.invalidEmail }

    return stage === 'email' ? find(email, wrong) : signIn(email, wrong)
  }

  async function find(email: string, wrong: Problem | null): Promise<void> {
    const outcome = await form.send(wrong, () => findConnection(paths.find, email, next))

    if (outcome?.kind === 'rejected')
      form.setProblem({ field: 'email', text: texts.invalidEmail })
    if (outcome?.kind !== 'done') return
    if (outcome.returnTo) return location.assign(outcome.returnTo)
    if (passwordTexts) return enter('password')

    form.setStep({ kind: 'ready' })
    form.setProblem({ field: 'email', text: texts.unknownEmail })
  }

  async function signIn(email: string, wrong: Problem | null): Promise<void> {
    const password = form.input('password')!.value
    const missing: Problem | null = password
      ? null
      : { field: 'password', text: texts.emptyPassword }
    const outcome = await form.send(wrong ?? missing, () => {
      key.current ??= window.newKey()
      return post(paths.signIn, { email, password }, key.current)
    })

    if (outcome?.kind === 'rejected') {
      key.current = undefined
      form.setProblem(readProblem(outcome, texts))
    }
    if (outcome?.kind !== 'done') return
    if (outcome.code === 'SECOND_FACTOR_REQUIRED')
      return location.replace(urls.secondStep)

    window.keep('email', null)
    const url = passkey
      ? await chooseNext(destination, `${passkey.paths.offer}?`)
      : destination
    location.replace(url) // `replace` makes the Back button skip this page
  }

  return { form, stage, enter, submit }
}

/** The `Idempotency-Key` of the form, until a rejection or a change of a field. */
function useKey({ element }: FormState) {
  const key = useRef<string>(undefined)

  useEffect(() => {
    const form = element.current
    const forget = () => {
      key.current = undefined
    }
    form?.addEventListener('input', forget)
    return () => form?.removeEventListener('input', forget)
  }, [element])

  return key
}

/** The stage of the form. Another stage moves the focus to its field. */
function useStage(first: Stage, form: FormState) {
  const [stage, setStage] = useState(first)
  const shown = useRef(stage)

  function enter(wanted: Stage): void {
    setStage(wanted)
    form.setStep({ kind: 'ready' })
    form.setProblem(null)
  }

  useEffect(() => {
    if (shown.current !== stage)
      form.input(stage === 'email' ? 'email' : 'password')?.focus()
    shown.current = stage
  }, [stage])

  return { stage, enter }
}

/** Finds out whether an email address leads to an identity provider. */
async function findConnection(
  path: string,
  email: string,
  next: string | null,
): Promise<Outcome> {
  const found = await post(path, new URLSearchParams(next ? { email, next } : { email }))

  // The request changes nothing, so a lost response is treated as a failed request.
  return found.kind === 'unknown' ? { kind: 'unavailable', waitSeconds: 5 } : found
}

/** Returns the error for a rejected sign-in. */
function readProblem(
  { code }: Outcome & { kind: 'rejected' },
  texts: Texts['signIn'],
): Problem {
  if (code === 'VALIDATION_ERROR') return { field: 'email', text: texts.invalidEmail }
  return { field: 'password', text: texts.wrongPassword }
}

function readError({ problem }: FormState, field: Problem['field']): string | null {
  return problem?.field === field ? problem.text : null
}

function showChangeButton(texts: Texts['signIn'], onClick: () => void) {
  return (
    <button
      type="button"
      className="show"
      aria-label={texts.changeLabel}
      onClick={onClick}
    >
      {texts.change}
    </button>
  )
}

/**
 * Shows the field of the password, and the link to reset it. The field is always there, so
 * that password managers fill both fields. Without a name, the password isn't sent.
 */
function showPassword(
  form: FormState,
  passwordTexts: Texts['passwordField'],
  { texts, shared, passkey, urls }: Properties,
  isAsked: boolean,
) {
  return (
    <div hidden={!isAsked}>
      <PasswordField
        texts={passwordTexts}
        label={texts.password}
        prefix={shared.errorPrefix}
        pending={form.pending}
        error={readError(form, 'password')}
        name={isAsked ? 'password' : undefined}
        autoComplete={passkey ? 'current-password webauthn' : 'current-password'}
        enterKeyHint="go"
      >
        {showLink(urls.forgotPassword, texts.forgotPassword)}
      </PasswordField>
    </div>
  )
}

/** Shows a link to another page, if there is one. */
function showLink(url: string | null | undefined, label: string) {
  return (
    url && (
      <p className="note">
        <a href={url}>{label}</a>
      </p>
    )
  )
}
