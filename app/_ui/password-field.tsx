import { useEffect, useState } from 'react'
import type { Texts } from '@/lib/page/texts/en'
import { FieldError } from './field-error'

/** The others are those of the input. Uncontrolled, to keep what was typed before this script loaded. */
type Properties = Omit<React.ComponentProps<'input'>, 'id' | 'type'> & {
  texts: Texts['passwordField'] & { label: string; hint?: string; errorPrefix: string }
  error?: string | false | null
  pending: boolean
  /** Below the input. */
  children?: React.ReactNode
}

/**
 * A password that the user can reveal (GOV.UK Design System, “Password input”). Hidden again while it
 * is sent, and when the page is restored.
 */
export function PasswordField({ texts, error, pending, children, ...input }: Properties) {
  const [visible, setVisible] = useState(false)
  const [toggled, setToggled] = useState(false)
  const [capsLock, setCapsLock] = useState(false)

  useEffect(() => {
    if (pending) setVisible(false)
  }, [pending])

  useEffect(() => {
    const hide = () => setVisible(false) // the page may be restored from the back-forward cache
    addEventListener('pageshow', hide)
    return () => removeEventListener('pageshow', hide)
  }, [])

  return (
    <div className={error ? 'field invalid' : 'field'}>
      <label htmlFor="password">{texts.label}</label>
      {texts.hint && (
        <p id="password-hint" className="hint">
          {texts.hint}
        </p>
      )}
      <FieldError id="password-error" prefix={texts.errorPrefix} error={error} />
      <div className="input">
        <input
          id="password"
          name="password"
          type={visible ? 'text' : 'password'}
          dir="ltr"
          autoCapitalize="none"
          autoCorrect="off"
          spellCheck={false}
          readOnly={pending} // so that what is visible is what was sent
          onKeyUp={(event) => setCapsLock(event.getModifierState('CapsLock'))}
          onBlur={() => setCapsLock(false)}
          aria-describedby="password-error password-hint password-tip" // those that exist
          aria-invalid={error ? true : undefined}
          {...input}
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
      <p className="caps-lock" role="status">
        {capsLock && texts.capsLock}
      </p>
      <span className="visually-hidden" role="status">
        {toggled && (visible ? texts.shown : texts.hidden)}
      </span>
      {children}
    </div>
  )
}
