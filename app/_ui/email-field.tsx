import { Field } from './field'

/**
 * The field for the email address of an account. kept-email.inline.js fills the field in.
 */
export function EmailField(properties: Omit<React.ComponentProps<typeof Field>, 'id'>) {
  return (
    <Field
      id="email"
      type="email"
      maxLength={254}
      autoComplete="username"
      {...properties}
    />
  )
}

/** Whether a text looks like an email address. The server makes the exact check. */
export function isAddress(text: string): boolean {
  return /^[^@\s]+@[^@\s]+$/.test(text)
}
