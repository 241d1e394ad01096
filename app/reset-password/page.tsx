import { NeedsScript } from '@/app/_ui/needs-script'
import { texts } from '@/lib/page/language'
import { env } from '@/lib/settings/env'
import { ResetForm } from './reset-form'

/**
 * The target of the link in a reset e-mail: `?token=…`. A GET consumes nothing, because mail
 * scanners open links.
 */
export default async function ResetPasswordPage({ searchParams }: PageProps<'/reset-password'>) {
  const { token } = await searchParams
  const { app, language, shared, reset } = await texts()
  const { SIGN_IN_URL, FORGOT_PASSWORD_URL, PASSWORD_MIN_LENGTH } = env()
  return (
    <NeedsScript shared={shared} texts={reset}>
      <ResetForm
        {...{ app, language, shared }}
        texts={reset}
        minLength={PASSWORD_MIN_LENGTH}
        signInUrl={SIGN_IN_URL}
        forgotPasswordUrl={FORGOT_PASSWORD_URL}
        hasToken={token !== undefined}
      />
    </NeedsScript>
  )
}
