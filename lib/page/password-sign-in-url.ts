import { env } from '../settings/env'

/**
 * Returns where a user signs in with a password. The first step of /sign-in would lead an e-mail
 * address of an organisation to its identity provider instead.
 */
export function passwordSignInUrl(): string {
  const { PASSWORD_SIGN_IN, SIGN_IN_URL } = env()
  return PASSWORD_SIGN_IN ? '/sign-in?step=password' : SIGN_IN_URL
}
