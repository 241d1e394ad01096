/**
 * The check that a response failed: a stable word for the log. It never holds text from the
 * document.
 */
export type SamlCheck =
  // before the XML is parsed by the library
  | 'base64'
  | 'encoding'
  | 'too-large'
  | 'too-complex'
  | 'markup'
  | 'malformed'
  // the response as posted
  | 'response'
  | 'version'
  | 'id'
  | 'destination'
  | 'in-response-to'
  | 'issuer'
  | 'status'
  | 'assertion-count'
  | 'encryption'
  | 'decryption'
  | 'conditions'
  | 'unsigned'
  | 'signature-place'
  | 'signature-form'
  | 'algorithm'
  // the library
  | 'signature'
  | 'time'
  | 'audience'
  | 'library'
  // the signed assertion
  | 'subject'
  | 'name-id'
  | 'transient'
  | 'name-qualifier'
  | 'confirmation'
  | 'recipient'
  | 'not-before'
  | 'not-on-or-after'
  | 'authn-statement'
  | 'session-ended'

/** A SAML response was rejected. Log `check`; the browser learns no reason. */
export class SamlRejected extends Error {
  readonly check: SamlCheck

  constructor(check: SamlCheck) {
    super(`SAML response rejected: ${check}`)
    this.name = 'SamlRejected'
    this.check = check
  }
}

/** Throws SamlRejected unless the condition holds. */
export function ensure(condition: unknown, check: SamlCheck): asserts condition {
  if (!condition) throw new SamlRejected(check)
}
