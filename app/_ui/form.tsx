'use client'

import { useEffect, useLayoutEffect, useRef, useState } from 'react'
import type { Outcome } from '@/app/_ui/post'
import type { Texts } from '@/lib/texts/en'
import {
  isRetryable,
  markPageReady,
  maxRetries,
  useAttempts,
  useWait,
  WaitText,
} from './attempts'
import { Reference } from './reference'
import { takeFocus } from './screen'

const longWaitSeconds = 60 // after `maxRetries` failed retries

/**
 * The error of a field. Each attempt creates a new object, which moves the focus to the
 * field again.
 */
export type Problem = {
  field: 'email' | 'current' | 'password' | 'code'
  text: string
}

/**
 * The state of a form: its attempts, the wait before a retry, and the error of a field.
 * That field gets the focus.
 */
export function useForm(isUsable = true, first: Problem | null = null) {
  const { step, retries, setStep, track } = useAttempts(isUsable)
  const [problem, setProblem] = useState(first)
  const element = useRef<HTMLFormElement>(null)
  const isSending = useRef(false)

  const canRetry = isRetryable(step)
  const gaveUp = canRetry && step.kind !== 'offline' && retries >= maxRetries
  const askedSeconds = 'waitSeconds' in step ? step.waitSeconds : 0
  const wait = useWait(Math.max(askedSeconds, gaveUp ? longWaitSeconds : 0), step)
  const pending = step.kind === 'sending' || step.kind === 'slow' || step.kind === 'done'

  // Not `elements.namedItem`: once the name of a field has changed, Firefox does not find
  // it by its ID.
  const input = (id: Problem['field']) =>
    element.current?.querySelector<HTMLInputElement>(`#${id}`)

  useEffect(() => {
    if (problem) input(problem.field)?.focus()
  }, [problem])

  /**
   * Makes an attempt unless a field has an error. Returns null if it made none, for
   * example after a second click.
   */
  async function send<Sent extends Outcome>(
    wrong: Problem | null,
    attempt: () => Promise<Sent>,
  ): Promise<Sent | null> {
    if (isSending.current || (canRetry && !wait.isOver)) return null

    setProblem(wrong)
    if (wrong) {
      setStep({ kind: 'ready' })
      return null
    }

    isSending.current = true
    const outcome = await track(attempt(), canRetry)
    isSending.current = false

    return outcome
  }

  return {
    step,
    setStep,
    problem,
    setProblem,
    element,
    input,
    send,
    canRetry,
    gaveUp,
    wait,
    pending,
  }
}

type FormState = ReturnType<typeof useForm>

type Message = { title: string; body: string }
type Messages = Record<'limited' | 'unavailable' | 'unknown' | 'failed', Message> & {
  gaveUp?: Message
}

export type PageTexts = { app: string; language: string; shared: Texts['shared'] }

type Properties = PageTexts & {
  form: FormState
  texts: Messages & { sending: string; early?: string; slow?: string }
  title: string
  /** The element of `title`. By default, `h1`. */
  heading?: 'h1' | 'h2'
  /** The title of the browser tab. By default, `title`. */
  tab?: string
  intro?: React.ReactNode
  submit: string
  /**
   * The URL to which a browser without scripts sends the form. `scripts`: the attribute
   * for early-submit.inline.js.
   */
  action: string
  scripts?: 'data-needs-script' | 'data-prefers-script'
  onSubmit: () => void
  children: React.ReactNode
}

/**
 * A form that keeps its input after an error. Shows an error of a field at that field,
 * other errors above the form.
 */
export function Form({
  form,
  app,
  language,
  shared,
  texts,
  title,
  heading: Heading = 'h1',
  tab = title,
  intro,
  submit,
  action,
  scripts,
  onSubmit,
  children,
}: Properties) {
  const { step, setStep, problem, setProblem, canRetry, gaveUp, wait, pending } = form
  const label = pending ? texts.sending : submit
  useReadyPage(form, onSubmit)

  const { limited, unavailable, unknown, failed } = texts
  const messages: Partial<Record<string, Message>> = {
    limited,
    unavailable,
    offline: shared.offline,
    unknown,
    failed,
  }
  const message = (gaveUp && texts.gaveUp) || messages[step.kind]

  function forgetErrors(changed: HTMLInputElement): void {
    setProblem(null)

    // the limit that was reached may be that of the previous address
    if (step.kind === 'limited' && changed.name === 'email') setStep({ kind: 'ready' })
  }

  return (
    <>
      <title>{`${problem ? shared.errorPrefix : ''}${message?.title ?? tab} – ${app}`}</title>
      {message && showBanner(message, form, shared, language)}
      <Heading>{title}</Heading>
      {intro}
      <form
        className="form"
        method="post"
        action={action}
        noValidate
        {...(scripts && { [scripts]: '' })}
        ref={form.element}
        onSubmit={(event) => {
          event.preventDefault()
          onSubmit()
        }}
        onInput={({ target }) => forgetErrors(target as HTMLInputElement)}
      >
        {children}
        <button
          className="button wide"
          type="submit"
          aria-disabled={pending || (canRetry && !wait.isOver)}
          aria-describedby={canRetry ? 'wait' : undefined}
          data-busy={pending ? '' : undefined}
        >
          {canRetry ? shared.tryAgain : label}
        </button>
      </form>
      <p className="note" role="status">
        {step.kind === 'ready' && <span className="early">{texts.early}</span>}
        {step.kind === 'sending' && (
          <span className="visually-hidden">{texts.sending}</span>
        )}
        {step.kind === 'slow' && <span>{texts.slow}</span>}
      </p>
    </>
  )
}

/** Marks the page as ready, and submits a form that the user submitted before. */
function useReadyPage({ setStep }: FormState, onSubmit: () => void): void {
  useLayoutEffect(() => {
    if (markPageReady()) onSubmit()
  }, [])

  useEffect(() => {
    // resets a page that was restored from the back-forward cache
    const reset = ({ persisted }: PageTransitionEvent) => {
      if (persisted) setStep({ kind: 'ready' })
    }
    addEventListener('pageshow', reset)
    return () => removeEventListener('pageshow', reset)
  }, [setStep])
}

// The parts of the form are functions, not components, to keep the scripts small.

function showBanner(
  { title, body }: Message,
  { step, canRetry, wait }: FormState,
  shared: Texts['shared'],
  language: string,
) {
  return (
    <div
      className={`banner ${step.kind}`}
      role="alert"
      tabIndex={-1}
      ref={takeFocus}
      key={title}
    >
      <h2>{title}</h2>
      <p>{body}</p>
      {canRetry && <WaitText {...{ shared, language, wait }} />}
      <Reference
        id={canRetry ? undefined : (step as Outcome).requestId}
        shared={shared}
      />
    </div>
  )
}
