type Properties = { id: string; prefix: string; error?: string | false | null }

/** What is wrong with a field, above its input. */
export function FieldError({ id, prefix, error }: Properties) {
  return (
    error && (
      <p id={id} className="field-error" role="alert">
        <span className="visually-hidden">{prefix}</span>
        <span>{error}</span>
      </p>
    )
  )
}
