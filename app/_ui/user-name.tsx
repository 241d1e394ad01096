/**
 * The hidden field with the address of the account whose password a form asks for.
 * Password managers read it. Its `name` is in the sent form, and the server ignores it.
 */
export function UserName({ email }: { email: string }) {
  return (
    <input
      type="text"
      name="username"
      autoComplete="username"
      value={email}
      hidden
      readOnly
    />
  )
}
