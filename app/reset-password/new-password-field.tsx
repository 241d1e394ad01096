import { useEffect, useRef, useState } from 'react'
import { PasswordField } from '@/app/_ui/password-field'
import type { Texts } from '@/lib/page/texts/en'
import { StrengthMeter } from './strength-meter'

type Properties = {
  texts: Texts['reset'] & Texts['passwordField']
  minLength: number
  /** These two make a password easy to guess for this user. */
  app: string
  email: string | null
  /** What is wrong with the submitted password. A new object for each attempt. */
  rejection?: { message: string }
  pending: boolean
}

/** The field for a new password, which is rated. One that the user can reveal, instead of two to compare. */
export function NewPasswordField({ texts, minLength, app, email, rejection, pending }: Properties) {
  const [typed, setTyped] = useState({ password: '', byHand: false })
  const [rejected, setRejected] = useState('')
  const [amended, setAmended] = useState<object>()
  const input = useRef<HTMLInputElement>(null)

  useEffect(() => {
    if (rejection) setRejected(input.current!.value)
  }, [rejection])

  // From the first change on, the meter judges what is typed, and the old verdict would contradict it.
  const error = rejection !== amended && rejection?.message
  return (
    <PasswordField
      {...{ texts, error, pending }}
      ref={input}
      autoComplete="new-password"
      {...{ passwordrules: `minlength: ${minLength}; maxlength: 72; allowed: ascii-printable;` }}
      onInput={({ currentTarget, nativeEvent }) => {
        setTyped({ password: currentTarget.value, byHand: isByHand(nativeEvent) })
        setAmended(rejection)
      }}
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
