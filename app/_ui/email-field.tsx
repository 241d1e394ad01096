import { FieldError } from './field-error'

type Properties = {
  texts: { label: string; errorPrefix: string }
  error?: string | false | null
  readOnly?: boolean
  /** What Enter does, for the keyboard of a phone. */
  enterKeyHint: 'next' | 'send'
  /** A button in the field. */
  children?: React.ReactNode
}

/** The email address of an account. kept-email.inline.js fills it in. */
export function EmailField({ texts, error, readOnly, enterKeyHint, children }: Properties) {
  return (
    <div className={error ? 'field invalid' : 'field'}>
      <label htmlFor="email">{texts.label}</label>
      <FieldError id="email-error" prefix={texts.errorPrefix} error={error} />
      <div className="input">
        <input
          id="email"
          name="email"
          type="email"
          dir="ltr"
          maxLength={254}
          readOnly={readOnly}
          autoComplete="username"
          autoCapitalize="none"
          autoCorrect="off"
          spellCheck={false}
          enterKeyHint={enterKeyHint}
          aria-describedby="email-error" // if it exists
          aria-invalid={error ? true : undefined}
        />
        {children}
      </div>
    </div>
  )
}

/** Whether a text can be an email address. The server decides. */
export function isAddress(text: string): boolean {
  return /^[^@\s]+@[^@\s]+$/.test(text)
}
