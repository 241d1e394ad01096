import { env } from '@/lib/settings/env'
import { passwordSignInUrl } from '@/lib/settings/password-sign-in-url'
import { texts } from '@/lib/texts/page-texts'
import { ResetResult } from '../reset-result'

/** What a reload shows after the password was changed. */
export default async function PasswordChangedPage() {
  const { app, shared, reset } = await texts()
  return (
    <ResetResult
      {...{ app, shared }}
      texts={reset}
      signInUrl={passwordSignInUrl()}
      ending="done"
      keepsPasskeys={env().PASSKEYS}
    />
  )
}
