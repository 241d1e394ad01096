import { SignInRejected } from '../rejection'

/**
 * The check that a response failed: a stable word for the log. It never holds text from the
 * document.
 */
export type SamlCheck =
  // before the XML is parsed by the library
  | 'saml_base64'
  | 'saml_encoding'
  | 'saml_too_large'
  | 'saml_too_complex'
  | 'saml_markup'
  | 'saml_malformed'
  // the response as posted
  | 'saml_response'
  | 'saml_version'
  | 'saml_id'
  | 'saml_destination'
  | 'saml_in_response_to'
  | 'saml_issuer'
  | 'saml_status'
  | 'saml_assertion_count'
  | 'saml_encryption'
  | 'saml_decryption'
  | 'saml_conditions'
  | 'saml_unsigned'
  | 'saml_signature_place'
  | 'saml_signature_form'
  | 'saml_algorithm'
  // the library
  | 'saml_signature'
  | 'saml_time'
  | 'saml_library'
  // the signed assertion
  | 'saml_subject'
  | 'saml_name_id'
  | 'saml_transient'
  | 'saml_name_qualifier'
  | 'saml_confirmation'
  | 'saml_audience'
  | 'saml_recipient'
  | 'saml_not_before'
  | 'saml_not_on_or_after'
  | 'saml_authn_statement'
  | 'saml_session_ended'

/** A SAML response was rejected. The browser learns no reason, unless the provider itself ended the sign-in. */
export class SamlRejected extends SignInRejected {
  constructor(check: SamlCheck) {
    super(check, check === 'saml_status' ? 'other' : 'response_invalid')
  }
}

/** Throws SamlRejected unless the condition holds. */
export function ensure(condition: unknown, check: SamlCheck): asserts condition {
  if (!condition) throw new SamlRejected(check)
}
