'use client'

import { Passkey } from './passkey'
import { SignInForm } from './sign-in-form'

/** The form with the button for passkeys. A page without it does not load its script. */
export function PasskeySignInForm(
  properties: Omit<React.ComponentProps<typeof SignInForm>, 'PasskeyButton'>,
) {
  return <SignInForm {...properties} PasskeyButton={Passkey} />
}
