import { env } from '../settings/env'

/** Returns where a user signs in with a password. Skips the first step, which may lead to an identity provider. */
export function passwordSignInUrl(): string {
  const { PASSWORD_SIGN_IN, SIGN_IN_URL } = env()
  return PASSWORD_SIGN_IN && SIGN_IN_URL === '/sign-in' ? '/sign-in?step=password' : SIGN_IN_URL
}
