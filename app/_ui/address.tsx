/** An email address. A long address wraps after `@` or `.`, not inside words. */
export function Address({ email }: { email: string }) {
  const parts = email.match(/[^@.]*[@.]|[^@.]+/g)!
  return (
    <bdi className="account" translate="no">
      {parts.flatMap((part, index) => [part, <wbr key={index} />])}
    </bdi>
  )
}
