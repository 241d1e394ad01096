'use client'

import { useEffect, useLayoutEffect, useRef, useState } from 'react'
import { EmailField } from '@/app/_ui/email-field'
import { ErrorSummary } from '@/app/_ui/error-summary'
import { PasswordField } from '@/app/_ui/password-field'
import { Reference } from '@/app/_ui/reference'
import { markPageReady, type Step, useAttempts } from '@/app/_ui/use-attempts'
import * as paths from '@/lib/contract/paths'
import { post } from '@/lib/page/post'
import { inRelativeTime } from '@/lib/page/relative-time'
import type { Texts } from '@/lib/page/texts/en'
import { findConnection } from './find-connection'

type Properties = {
  app: string
  language: string
  texts: Texts['signIn']
  shared: Texts['shared']
  passwordTexts: React.ComponentProps<typeof PasswordField>['texts']
  /** Asks for the e-mail address alone first, because it may belong to a connection. */
  emailFirst: boolean
  /** Whether the browser itself sent the form, before or without scripts, with no e-mail address. */
  sentNoAddress: boolean
  next: string | null
  destination: string
  forgotPasswordUrl?: string
}

/**
 * Asks for the e-mail address, and then, unless that leads to an identity provider, for the password.
 * Every error keeps the form, with what was typed.
 */
export function SignInForm(properties: Properties) {
  const { app, language, texts, shared, passwordTexts, emailFirst, next, destination, forgotPasswordUrl } = properties
  const [sentNoAddress, setSentNoAddress] = useState(properties.sentNoAddress)
  const { step, setStep, track } = useAttempts(true)
  const [asksPassword, setAsksPassword] = useState(!emailFirst)
  const form = useRef<HTMLFormElement>(null)
  const sending = useRef(false)

  const inputOf = (name: 'email' | 'password') => form.current?.elements.namedItem(name) as HTMLInputElement | null

  async function submit(): Promise<void> {
    const email = inputOf('email')?.value
    if (sending.current || email === undefined) return // e.g. a second click
    setSentNoAddress(false)
    sending.current = true
    if (asksPassword) {
      const outcome = await track(post(paths.signIn, { email, password: inputOf('password')?.value }))
      if (outcome.kind === 'done') location.replace(destination) // so that Back skips this page
    } else await find(email)
    sending.current = false
  }

  async function find(email: string): Promise<void> {
    const found = await track(findConnection(email, next))
    if (found.kind !== 'done') return
    if (found.returnTo) return location.assign(found.returnTo)
    setAsksPassword(true)
    setStep({ kind: 'ready' })
  }

  useLayoutEffect(() => {
    if (markPageReady()) submit()
  }, [])

  useEffect(() => {
    // restored from the back-forward cache
    const reset = ({ persisted }: PageTransitionEvent) => persisted && setStep({ kind: 'ready' })
    addEventListener('pageshow', reset)
    return () => removeEventListener('pageshow', reset)
  }, [setStep])

  const isFirstStep = useRef(true)
  useEffect(() => {
    if (!isFirstStep.current) inputOf(asksPassword ? 'password' : 'email')?.focus()
    isFirstStep.current = false
  }, [asksPassword])

  const noAddress: Problem = { field: 'email', text: texts.invalidEmail }
  const problem = sentNoAddress ? noAddress : problemOf(step, texts, language)
  const pending = step.kind === 'sending' || step.kind === 'slow' || step.kind === 'done'
  const title = asksPassword && emailFirst ? texts.passwordTitle : shared.signIn
  return (
    <>
      <title>{`${problem ? texts.errorPrefix : ''}${title} – ${app}`}</title>
      {problem && (
        <ErrorSummary
          title={problem.title ?? texts.problem}
          field={problem.field}
          className={problem.field || step.kind === 'failed' ? 'error-summary' : 'banner'}
          focus
          key={problem.text}
        >
          {problem.field ? problem.text : <p>{problem.text}</p>}
        </ErrorSummary>
      )}
      <h1>{title}</h1>
      {!asksPassword && <p>{texts.bodyWithPassword}</p>}
      <form
        className="reset-form"
        method="post"
        action={asksPassword ? '/sign-in' : paths.findSsoConnection}
        data-needs-script={asksPassword ? '' : undefined}
        data-prefers-script={asksPassword ? undefined : ''}
        ref={form}
        onSubmit={(event) => {
          event.preventDefault()
          submit()
        }}
      >
        {next && <input type="hidden" name="next" value={next} />}
        <EmailField
          texts={texts}
          error={problem?.field === 'email' && problem.text}
          readOnly={asksPassword && emailFirst}
        >
          {asksPassword && emailFirst && (
            <button
              type="button"
              className="show"
              aria-label={texts.changeLabel}
              onClick={() => {
                setAsksPassword(false)
                setStep({ kind: 'ready' })
              }}
            >
              {texts.change}
            </button>
          )}
        </EmailField>
        {/* There from the start, so that a password manager fills both fields. Without a name, it isn't sent. */}
        <div hidden={!asksPassword}>
          <PasswordField
            texts={passwordTexts}
            error={problem?.field === 'password' && problem.text}
            pending={pending}
            name={asksPassword ? 'password' : undefined}
            required={asksPassword}
            autoComplete="current-password"
          />
        </div>
        <button className="button wide" type="submit" aria-disabled={pending} data-busy={pending ? '' : undefined}>
          {!asksPassword ? texts.submit : pending ? texts.sending : shared.signIn}
        </button>
      </form>
      <p className="note" role="status">
        {step.kind === 'ready' && <span className="early">{texts.early}</span>}
        {step.kind === 'sending' && <span className="visually-hidden">{texts.sending}</span>}
        {step.kind === 'slow' && <span>{texts.slow}</span>}
      </p>
      {!asksPassword && (
        <p className="note">
          <a href={passwordStep(next)}>{texts.usePassword}</a>
        </p>
      )}
      {asksPassword && forgotPasswordUrl && (
        <p className="note">
          <a href={forgotPasswordUrl}>{texts.forgotPassword}</a>
        </p>
      )}
      <Reference id={problem?.requestId} shared={shared} />
    </>
  )
}

/** Asks for the password at once: for users who have one although their domain has a connection. */
function passwordStep(next: string | null): string {
  return `/sign-in?${new URLSearchParams(next ? { step: 'password', next } : { step: 'password' })}`
}

type Problem = { title?: string; text: string; field?: 'email' | 'password'; requestId?: string }

function problemOf(step: Step, texts: Properties['texts'], language: string): Problem | null {
  switch (step.kind) {
    case 'rejected':
      return step.issue?.path[0] === 'email'
        ? { field: 'email', text: texts.invalidEmail }
        : { field: 'password', text: texts.wrongPassword }
    case 'limited': {
      const when = inRelativeTime(step.waitSeconds, language)
      return { title: texts.limited.title, text: texts.limited.body.replace('{when}', () => when) }
    }
    case 'unavailable':
    case 'offline':
    case 'unknown':
      return { title: texts[step.kind].title, text: texts[step.kind].body }
    case 'failed':
      return { title: texts.failed.title, text: texts.failed.body, requestId: step.requestId }
    default:
      return null
  }
}
