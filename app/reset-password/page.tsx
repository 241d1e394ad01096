import { headers } from 'next/headers'
import { NeedsScript } from '@/app/_ui/screen'
import { logFailedLookUp } from '@/app/look-up'
import { lookUpInTime } from '@/app/look-up-in-time'
import * as routes from '@/lib/contract/routes'
import { tokenHashHeader } from '@/lib/http/hide-secrets'
import { findResetLink, type ResetLink } from '@/lib/password/reset'
import { env } from '@/lib/settings/env'
import { passwordSignInUrl } from '@/lib/settings/password-sign-in-url'
import { texts } from '@/lib/texts/page-texts'
import { ResetForm } from './reset-form'
import { ResetResult } from './reset-result'

/**
 * The page that a reset link opens: `?token=…`. A GET does not use the token up, because
 * email scanners open links.
 */
export default async function ResetPasswordPage({
  searchParams,
}: PageProps<'/reset-password'>) {
  const hasToken = (await searchParams).token !== undefined
  const link = hasToken ? await lookUpLink() : null
  const { app, language, shared, passwordField, reset } = await texts()
  const { FORGOT_PASSWORD_URL: forgotPasswordUrl, PASSWORD_MIN_LENGTH } = env()
  const signInUrl = passwordSignInUrl()

  if (link && link.kind !== 'live')
    return (
      <ResetResult
        {...{ app, shared, signInUrl, forgotPasswordUrl }}
        texts={reset}
        ending={link.kind}
      />
    )

  return (
    <NeedsScript
      shared={shared}
      texts={reset}
      {...(!hasToken && { noScript: reset.noToken })}
    >
      <ResetForm
        {...{ app, language, shared, signInUrl, forgotPasswordUrl, hasToken }}
        texts={{ ...reset, ...passwordField }}
        minLength={PASSWORD_MIN_LENGTH}
        path={routes.resetPassword.path}
        email={link?.email ?? null}
        hasPasskeys={link?.hasPasskeys ?? false}
        keepsPasskeys={env().PASSKEYS}
      />
    </NeedsScript>
  )
}

/**
 * Returns the state of the opened link. If the database does not respond in time, returns
 * null: the form still works.
 */
async function lookUpLink(): Promise<ResetLink | null> {
  const hash = (await headers()).get(tokenHashHeader)
  if (!hash) return null

  try {
    return await lookUpInTime(findResetLink(Buffer.from(hash, 'hex')))
  } catch (error) {
    await logFailedLookUp('a reset link', error)
    return null
  }
}
