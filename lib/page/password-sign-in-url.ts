import { env } from '../settings/env'

/**
 * Returns where a user signs in with a password. The first step of our own page would lead an e-mail
 * address of an organisation to its identity provider instead.
 */
export function passwordSignInUrl(): string {
  const { PASSWORD_SIGN_IN, SIGN_IN_URL } = env()
  return PASSWORD_SIGN_IN && SIGN_IN_URL === '/sign-in' ? '/sign-in?step=password' : SIGN_IN_URL
}
