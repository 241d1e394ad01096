import { Fragment } from 'react'

/** An email address. A long one wraps after `@` and `.`, not inside words. */
export function Address({ email }: { email: string }) {
  return email.match(/[^@.]*[@.]|[^@.]+/g)!.map((part, index) => (
    <Fragment key={index}>
      {part}
      <wbr />
    </Fragment>
  ))
}
