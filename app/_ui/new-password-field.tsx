import { useEffect, useRef, useState } from 'react'
import type { Issue } from '@/lib/contract/errors'
import { formatIssue } from '@/lib/password/format'
import type { Texts } from '@/lib/texts/en'
import type { Problem } from './form'
import { PasswordField } from './password-field'
import type { Question } from './strength-worker'

const debounceMs = 350 // the pause in typing after which the password is rated

type Rating = keyof Texts['reset']['strength']

type Properties = {
  texts: Texts['reset'] & Texts['passwordField']
  prefix: string
  minLength: number
  /** Words that make a password of this user easy to guess. */
  app: string
  email: string | null
  /** The error of the submitted password. It is removed when the password changes. */
  problem: Problem | null
  pending: boolean
}

/**
 * The field for a new password, with its strength. The user can show the password, so it
 * is not entered twice.
 */
export function NewPasswordField(properties: Properties) {
  const { texts, prefix, minLength, app, email, problem, pending } = properties
  const [password, setPassword] = useState('')
  const [wantsAdvice, setWantsAdvice] = useState(false)
  const [rejected, setRejected] = useState('')
  const input = useRef<HTMLInputElement>(null)

  // The server checks more than this rating does, so a rejected password gets no rating.
  const rated = password === rejected ? '' : password
  const rating = useRating(rated, wantsAdvice, minLength, app, email)

  useEffect(() => {
    if (problem) setRejected(input.current!.value)
  }, [problem])

  return (
    <PasswordField
      {...{ texts, pending, prefix }}
      label={texts.label}
      hint={texts.hint}
      error={problem?.text}
      autoFocus={Boolean(problem)}
      ref={input}
      autoComplete="new-password"
      enterKeyHint="done"
      {...{
        passwordrules: `minlength: ${minLength}; maxlength: 72; allowed: ascii-printable;`,
      }}
      onInput={({ currentTarget, nativeEvent }) => {
        setPassword(currentTarget.value)
        if (isByHand(nativeEvent as InputEvent)) setWantsAdvice(true)
      }}
      onFocus={({ currentTarget }) => setPassword(currentTarget.value)}
    >
      <p className="strength" data-strength={rating ?? undefined}>
        <span className="strength-bar" aria-hidden="true">
          <span />
          <span />
          <span />
        </span>
        <span className="strength-words" role="status">
          {rating && texts.strength[rating]}
        </span>
      </p>
      <p id="password-tip" className="hint">
        {texts.tip}
      </p>
    </PasswordField>
  )
}

/** Returns the error of a password whose format is wrong, or null. */
export function checkNewPassword(
  password: string,
  minLength: number,
  texts: Texts['reset'],
): Problem | null {
  const issue = formatIssue(password, minLength)
  return issue && wrong(password ? texts.issues[issue] : texts.emptyPassword)
}

const wrong = (text: string): Problem => ({ field: 'password', text })

/**
 * Returns the error of a password that the server has rejected. `names`: of the user and
 * of the product.
 */
export function describeIssue(
  { code }: Issue,
  texts: Texts['reset'],
  password: string,
  names: string,
): Problem {
  // Shorter words, such as `com`, are part of many passwords by chance.
  const words = names.toLowerCase().match(/[\p{L}\p{N}]{4,}/gu)
  const includesName = words?.some((word) => password.toLowerCase().includes(word))
  if (code === 'too_guessable' && includesName) return wrong(texts.personal)

  return wrong((texts.issues as Record<string, string>)[code] ?? texts.otherIssue)
}

/** Rates a password after a pause in typing. Null: no rating. */
function useRating(
  password: string,
  wantsAdvice: boolean,
  minLength: number,
  app: string,
  email: string | null,
): Rating | null {
  const [rating, setRating] = useState<Rating | null>(null)

  useEffect(() => {
    if (!password) return setRating(null)

    let isLatest = true
    const timer = setTimeout(async () => {
      const issue = formatIssue(password, minLength)
      const context = email ? [email, app] : [app]
      const latest =
        issue || !wantsAdvice
          ? issue
          : await judge({ password, context }).catch(() => null)
      if (isLatest) setRating(latest)
    }, debounceMs)

    return () => {
      isLatest = false
      clearTimeout(timer)
    }
  }, [password, wantsAdvice, minLength, app, email])

  return rating
}

/**
 * Whether the user typed. A password that was pasted or inserted by a password manager
 * needs no advice.
 */
function isByHand({ inputType }: InputEvent): boolean {
  return (
    Boolean(inputType) &&
    inputType !== 'insertFromPaste' &&
    inputType !== 'insertReplacementText'
  )
}

let worker: Worker | undefined

/**
 * Uses a worker to rate a password whose format is correct. Resolves to null if the
 * worker does not load. Rejects if the browser allows no workers.
 */
function judge(question: Question): Promise<Rating | null> {
  return new Promise((resolve) => {
    worker ??= new Worker(new URL('./strength-worker.ts', import.meta.url))
    const { port1, port2 } = new MessageChannel()
    port1.onmessage = ({ data }) => resolve(data)
    worker.onerror = () => {
      worker = undefined // the next rating loads it again
      resolve(null)
    }
    worker.postMessage(question, [port2])
  })
}
