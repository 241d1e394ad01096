import { useEffect, useRef, useState } from 'react'
import type { Texts } from '@/lib/page/texts/en'
import { StrengthMeter } from './strength-meter'

type Properties = { app: string; texts: Texts['reset']; minLength: number; error?: string; pending: boolean }

/**
 * One password field that the user can reveal, instead of two to compare (GOV.UK Design System,
 * “Password input”). Uncontrolled, to keep what was typed before this script loaded.
 */
export function PasswordField({ app, texts, minLength, error, pending }: Properties) {
  const [visible, setVisible] = useState(false)
  const [typed, setTyped] = useState('')
  const [toggled, setToggled] = useState(false)
  const [rejected, setRejected] = useState('')
  const input = useRef<HTMLInputElement>(null)

  useEffect(() => {
    if (pending) setVisible(false)
  }, [pending])

  useEffect(() => {
    if (error) setRejected(input.current!.value)
  }, [error])

  useEffect(() => {
    const hide = () => setVisible(false) // the page may be restored from the back-forward cache
    addEventListener('pageshow', hide)
    return () => removeEventListener('pageshow', hide)
  }, [])

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
      <div className="input">
        <input
          ref={input}
          id="password"
          name="password"
          type={visible ? 'text' : 'password'}
          autoComplete="new-password"
          autoCapitalize="none"
          autoCorrect="off"
          spellCheck={false}
          aria-describedby={error ? 'password-error password-rules' : 'password-rules'}
          aria-invalid={error ? true : undefined}
          {...{ passwordrules: `minlength: ${minLength}; maxlength: 72; allowed: ascii-printable;` }}
          onInput={(event) => setTyped(event.currentTarget.value)}
          onFocus={(event) => setTyped(event.currentTarget.value)}
        />
        <button
          type="button"
          className="show"
          aria-controls="password"
          aria-label={visible ? texts.hideLabel : texts.showLabel}
          onClick={() => {
            setVisible(!visible)
            setToggled(true)
          }}
        >
          {visible ? texts.hide : texts.show}
        </button>
      </div>
      <span className="visually-hidden" role="status">
        {toggled && (visible ? texts.shown : texts.hidden)}
      </span>
      {/* The server knows more than the meter: a password that it rejected has no rating. */}
      <StrengthMeter {...{ app, texts, minLength }} typed={typed === rejected ? '' : typed} />
    </div>
  )
}
