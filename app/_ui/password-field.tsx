import { useEffect, useState } from 'react'
import type { Texts } from '@/lib/texts/en'
import { Field } from './field'

/**
 * Properties not listed are passed to the field. The input is uncontrolled, to keep text
 * from before hydration.
 */
type Properties = Omit<React.ComponentProps<typeof Field>, 'id' | 'type' | 'button'> & {
  texts: Texts['passwordField']
  pending: boolean
}

/**
 * A password field with a button that shows the password. Submission and the Back button
 * hide the password again.
 */
export function PasswordField({ texts, pending, children, ...field }: Properties) {
  const [visible, setVisible] = useState(false)
  const [toggled, setToggled] = useState(false)
  const [capsLock, setCapsLock] = useState(false)

  useEffect(() => {
    if (pending) setVisible(false)
  }, [pending])

  useEffect(() => {
    // the page may be restored from the back-forward cache
    const hide = () => setVisible(false)
    addEventListener('pageshow', hide)
    return () => removeEventListener('pageshow', hide)
  }, [])

  return (
    <Field
      id="password"
      type={visible ? 'text' : 'password'}
      readOnly={pending} // so that the visible password is the one that was sent
      onKeyUp={(event) => setCapsLock(event.getModifierState('CapsLock'))}
      onBlur={() => setCapsLock(false)}
      button={
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
      }
      {...field}
    >
      <p className="caps-lock" role="status">
        {capsLock && texts.capsLock}
      </p>
      <span className="visually-hidden" role="status">
        {toggled && (visible ? texts.shown : texts.hidden)}
      </span>
      {children}
    </Field>
  )
}
