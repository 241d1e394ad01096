import { env } from './env'

/**
 * Returns the URL to sign in with a password. It skips the first step, which may lead to
 * an identity provider.
 */
export function passwordSignInUrl(): string {
  const { PASSWORD_SIGN_IN, SIGN_IN_URL } = env()
  return PASSWORD_SIGN_IN && SIGN_IN_URL === '/sign-in'
    ? '/sign-in?step=password'
    : SIGN_IN_URL
}
