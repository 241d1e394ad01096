import { SignInRejected } from '../rejection'

/**
 * The check that a response failed: a stable code for the log, listed in docs/sso.md.
 * Never text from the response.
 */
export type SamlCheck = `saml_${string}`

/**
 * Rejects a SAML response. The browser receives no reason unless the provider itself
 * ended the sign-in.
 */
export class SamlRejected extends SignInRejected {
  constructor(check: SamlCheck) {
    super(check, check === 'saml_status' ? 'other' : 'response_invalid')
  }
}

/** Throws SamlRejected unless the condition holds. */
export function ensure(condition: unknown, check: SamlCheck): asserts condition {
  if (!condition) throw new SamlRejected(check)
}
