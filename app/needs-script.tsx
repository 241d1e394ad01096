import { env } from '@/lib/env'
import type { Texts } from '@/lib/texts/en'

/** What works with a script alone, and in its place, where there is none, what to do. `app/layout.tsx` hides the one. */
export function NeedsScript({ shared, children }: { shared: Texts['shared']; children: React.ReactNode }) {
  return (
    <>
      <div className="needs-script">{children}</div>
      <noscript>
        <h1>{shared.noScript}</h1>
        <p>{shared.noScriptBody}</p>
        <div className="actions">
          <a className="button" href={env().SIGN_IN_URL}>
            {shared.signIn}
          </a>
        </div>
      </noscript>
    </>
  )
}
