import { useEffect, useRef, useState } from 'react'
import type { Problem } from '@/app/_ui/form'
import { PasswordField } from '@/app/_ui/password-field'
import type { Texts } from '@/lib/page/texts/en'
import { StrengthMeter } from './strength-meter'

type Properties = {
  texts: Texts['reset'] & Texts['passwordField']
  prefix: string
  minLength: number
  /** These two make a password easy to guess for this user. */
  app: string
  email: string | null
  /** What is wrong with the submitted password, until it changes. */
  problem: Problem | null
  pending: boolean
}

/** The field for a new password, which is rated. One that the user can reveal, instead of two to compare. */
export function NewPasswordField({ texts, prefix, minLength, app, email, problem, pending }: Properties) {
  const [typed, setTyped] = useState({ password: '', byHand: false })
  const [rejected, setRejected] = useState('')
  const input = useRef<HTMLInputElement>(null)

  useEffect(() => {
    if (problem) setRejected(input.current!.value)
  }, [problem])

  return (
    <PasswordField
      {...{ texts, pending, prefix }}
      label={texts.label}
      hint={texts.hint}
      error={problem?.text}
      ref={input}
      autoComplete="new-password"
      enterKeyHint="done"
      {...{ passwordrules: `minlength: ${minLength}; maxlength: 72; allowed: ascii-printable;` }}
      onInput={({ currentTarget, nativeEvent }) =>
        setTyped({ password: currentTarget.value, byHand: isByHand(nativeEvent) })
      }
      onFocus={({ currentTarget: { value } }) => setTyped((typed) => ({ ...typed, password: value }))}
    >
      {/* The server knows more than the meter: a password that it rejected has no rating. */}
      <StrengthMeter
        {...{ texts, minLength, app, email }}
        password={typed.password === rejected ? '' : typed.password}
        byHand={typed.byHand}
      />
      <p id="password-tip" className="hint">
        {texts.tip}
      </p>
    </PasswordField>
  )
}

/** Whether the user types. What a password manager fills in or the user pastes needs no advice. */
function isByHand(event: Event): boolean {
  const { inputType } = event as InputEvent
  return Boolean(inputType) && inputType !== 'insertFromPaste' && inputType !== 'insertReplacementText'
}
