import type { Texts } from '@/lib/page/texts/en'

type Properties = {
  texts: Pick<Texts['signIn'], 'label' | 'errorPrefix'>
  error?: string | false | null
  readOnly?: boolean
  /** A button in the field. */
  children?: React.ReactNode
}

/** The email address of an account. */
export function EmailField({ texts, error, readOnly, children }: Properties) {
  return (
    <div className={error ? 'field invalid' : 'field'}>
      <label htmlFor="email">{texts.label}</label>
      {error && (
        <p id="email-error" className="field-error">
          <span className="visually-hidden">{texts.errorPrefix}</span>
          <span>{error}</span>
        </p>
      )}
      <div className="input">
        <input
          id="email"
          name="email"
          type="email"
          required
          maxLength={254}
          readOnly={readOnly}
          autoComplete="username"
          autoCapitalize="none"
          autoCorrect="off"
          spellCheck={false}
          aria-describedby="email-error" // if it exists
          aria-invalid={error ? true : undefined}
        />
        {children}
      </div>
    </div>
  )
}
