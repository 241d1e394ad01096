import { useEffect, useRef, useState } from 'react'
import { PasswordInput } from '@/app/_ui/password-input'
import type { Texts } from '@/lib/page/texts/en'
import { StrengthMeter } from './strength-meter'

type Properties = { app: string; texts: Texts['reset']; minLength: number; error?: string; pending: boolean }

/** One password field that the user can reveal, instead of two to compare. */
export function PasswordField({ app, texts, minLength, error, pending }: Properties) {
  const [typed, setTyped] = useState('')
  const [rejected, setRejected] = useState('')
  const input = useRef<HTMLInputElement>(null)

  useEffect(() => {
    if (error) setRejected(input.current!.value)
  }, [error])

  return (
    <div className={error ? 'field invalid' : 'field'}>
      <label htmlFor="password">{texts.label}</label>
      <ul id="password-rules" className="rules">
        {texts.rules.map((rule) => (
          <li key={rule}>{rule}</li>
        ))}
      </ul>
      {error && (
        <p id="password-error" className="field-error">
          <span className="visually-hidden">{texts.errorPrefix}</span>
          {error}
        </p>
      )}
      <PasswordInput
        {...{ texts, pending }}
        input={{
          ref: input,
          autoComplete: 'new-password',
          'aria-describedby': error ? 'password-error password-rules' : 'password-rules',
          'aria-invalid': error ? true : undefined,
          ...{ passwordrules: `minlength: ${minLength}; maxlength: 72; allowed: ascii-printable;` },
          onInput: (event) => setTyped(event.currentTarget.value),
          onFocus: (event) => setTyped(event.currentTarget.value),
        }}
      />
      {/* The server knows more than the meter: a password that it rejected has no rating. */}
      <StrengthMeter {...{ app, texts, minLength }} typed={typed === rejected ? '' : typed} />
    </div>
  )
}
