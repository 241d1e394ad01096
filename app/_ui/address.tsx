/** An email address. A long one wraps after `@` and `.`, not inside words. */
export function Address({ email }: { email: string }) {
  return email.match(/[^@.]*[@.]|[^@.]+/g)!.flatMap((part, index) => [part, <wbr key={index} />])
}
