/** Properties that are not listed here are passed to the input. */
type Properties = React.ComponentProps<'input'> & {
  id: string
  label: string
  hint?: string
  /** The error. `prefix` is the word that screen readers say before the error. */
  error?: string | false | null | undefined
  prefix: string
  /** Rendered in the field, after the input. */
  button?: React.ReactNode
}

/**
 * A field for an email address, a password or a code, with its error. `children` are
 * rendered below the input.
 */
export function Field({
  id,
  label,
  hint,
  error,
  prefix,
  button,
  children,
  ...input
}: Properties) {
  return (
    <div className={error ? 'field invalid' : 'field'}>
      <label htmlFor={id}>{label}</label>
      {hint && (
        <p id={`${id}-hint`} className="hint">
          {hint}
        </p>
      )}
      {error && (
        <p id={`${id}-error`} className="field-error" role="alert">
          <span className="visually-hidden">{prefix}</span>
          <span>{error}</span>
        </p>
      )}
      <div className="input">
        <input
          id={id}
          name={id}
          dir="ltr"
          autoCapitalize="none"
          autoCorrect="off"
          spellCheck={false}
          aria-describedby={`${id}-error ${id}-hint ${id}-tip`} // browsers ignore IDs that do not exist
          aria-invalid={error ? true : undefined}
          {...input}
        />
        {button}
      </div>
      {children}
    </div>
  )
}
