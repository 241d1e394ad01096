import { useEffect, useRef, useState } from 'react'
import type { Issue } from '@/lib/contract/errors'
import { formatIssue } from '@/lib/password/format'
import type { Texts } from '@/lib/texts/en'
import type { Problem } from './form'
import { PasswordField } from './password-field'
import type { Judgement, Question } from './strength-worker'

const debounceMs = 350 // the pause in typing after which the password is rated

type Rating = { rating: keyof Texts['reset']['strength']; reason?: string | undefined }

type Properties = {
  texts: Texts['reset'] & Texts['passwordField']
  prefix: string
  minLength: number
  /** Words that make a password of this user easy to guess. */
  app: string
  email: string | null
  language: string
  /** The error of the submitted form. It is removed when a field changes. */
  problem: Problem | null
  pending: boolean
}

/**
 * The field for a new password, with its strength. The user can show the password, so it
 * is not entered twice.
 */
export function NewPasswordField(properties: Properties) {
  const { texts, prefix, minLength, app, email, language, problem, pending } = properties
  const [password, setPassword] = useState('')
  const [wantsAdvice, setWantsAdvice] = useState(false)
  const [rejected, setRejected] = useState('')
  const input = useRef<HTMLInputElement>(null)

  const own = problem?.field === 'password' ? problem : null

  // The server checks more than this rating does.
  const isRejected = password !== '' && password === rejected
  const rated = isRejected ? '' : password
  const judged = useRating(rated, wantsAdvice, minLength, { app, email, language })
  const shown: Rating | null = isRejected ? { rating: 'rejected' } : judged

  useEffect(() => {
    if (!problem) return
    setWantsAdvice(true)
    if (own) setRejected(input.current!.value)
  }, [problem])

  return (
    <PasswordField
      {...{ texts, pending, prefix }}
      label={texts.label}
      hint={texts.hint}
      error={own?.text}
      autoFocus={Boolean(own)}
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
      <p className="strength" data-strength={shown?.rating}>
        <span className="strength-bar" aria-hidden="true">
          <span />
          <span />
          <span />
        </span>
        <span className="strength-words" role="status">
          {shown && texts.strength[shown.rating] + (shown.reason ?? '')}
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
  { app, email, language }: Pick<Properties, 'app' | 'email' | 'language'>,
): Rating | null {
  const [rating, setRating] = useState<Rating | null>(null)

  useEffect(() => {
    if (!password) return setRating(null)

    let isLatest = true
    const rate = async () => {
      const issue = formatIssue(password, minLength)
      if (issue) return { rating: issue }
      if (!wantsAdvice) return null

      return judge({ password, context: email ? [email, app] : [app], language })
    }
    const timer = setTimeout(async () => {
      const latest = await rate()
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
function isByHand({ inputType = '' }: InputEvent): boolean {
  return !/^$|Paste|Replace/.test(inputType)
}

/** Judges a password with scripts that are loaded only now. Null if one does not load. */
function judge(question: Question): Promise<Judgement | null> {
  return import('./judge-password')
    .then(({ judgePassword }) => judgePassword(question))
    .catch(() => null)
}
