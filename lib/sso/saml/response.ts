import { checkEncryption } from './encryption'
import { ensure, SamlRejected } from './rejection'
import { checkSignature, checkUnsigned } from './signature'
import {
  childrenOf,
  elementsIn,
  maxDocumentBytes,
  namespaces,
  onlyChild,
  trimmed,
  uriIn,
  type XmlElement,
} from './xml'

/** The values that a response to our request must have. */
export type Expected = {
  acsUrl: string
  entityId: string
  issuer: string
  requestId: string
}

/** Decodes a posted response: UTF-8 in base64, which may have line breaks. */
export function decodeResponse(base64: string): string {
  const compact = trimmed(base64).replace(/[\r\n]/g, '')
  ensure(compact.length <= 4 * Math.ceil(maxDocumentBytes / 3), 'saml_too_large')
  ensure(
    compact.length % 4 === 0 && /^[A-Za-z0-9+/]+={0,2}$/.test(compact),
    'saml_base64',
  )

  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(
      Buffer.from(compact, 'base64'),
    )
  } catch {
    throw new SamlRejected('saml_encoding')
  }
}

/**
 * Checks a posted response before the library reads it. Returns its only assertion.
 * Throws SamlRejected.
 */
export function checkResponse(
  response: XmlElement,
  { acsUrl, issuer, requestId }: Expected,
) {
  // Nothing is authenticated yet. These checks ensure that the library and we read the
  // document in the same way.
  const { attributes } = response
  const elements = elementsIn(response)
  const isResponse =
    response.name === 'Response' && response.namespace === namespaces.protocol
  ensure(
    isResponse && elements.filter(({ name }) => name === 'Response').length === 1,
    'saml_response',
  )

  ensure(attributes.get('Version') === '2.0', 'saml_version')
  checkIds(elements)

  const isSigned = checkSignature(response)
  const isEncrypted = elements.some(({ name }) => name === 'EncryptedAssertion')
  const destination = uriIn(response, 'Destination')
  ensure(
    destination === acsUrl || (destination === undefined && !isSigned),
    'saml_destination',
  )

  ensure(attributes.get('InResponseTo') === requestId, 'saml_in_response_to')

  // Profiles 4.1.4.2: the response has an issuer if it is signed or its assertion is
  // encrypted.
  const [named, ...others] = childrenOf(response, namespaces.assertion, 'Issuer')
  ensure(
    named
      ? trimmed(named.text) === issuer && others.length === 0
      : !isSigned && !isEncrypted,
    'saml_issuer',
  )

  const status = onlyChild(response, namespaces.protocol, 'Status', 'saml_status')
  const code = onlyChild(status, namespaces.protocol, 'StatusCode', 'saml_status')
  ensure(
    uriIn(code, 'Value') === 'urn:oasis:names:tc:SAML:2.0:status:Success',
    'saml_status',
  )

  const [assertion, another] = elements.filter(isAssertion)
  ensure(
    assertion && !another && response.children.includes(assertion),
    'saml_assertion_count',
  )

  ensure(assertion.namespace === namespaces.assertion, 'saml_assertion_count')
  const inside = new Set(elementsIn(assertion))
  const around = elements.filter((element) => !inside.has(element))
  if (!isSigned) checkUnsigned(around, response.size - assertion.size)
  if (isEncrypted) checkEncryption(assertion)

  const ofAssertion = isEncrypted
    ? []
    : childrenOf(assertion, namespaces.signature, 'Signature')
  checkPlaces(elements, Number(isSigned) + ofAssertion.length)

  return { isSigned, isEncrypted, assertion }
}

/**
 * Checks a posted or decrypted assertion before the library reads it. Returns whether it
 * has a signature.
 */
export function checkAssertionForm(
  assertion: XmlElement,
  { requestId }: Expected,
): boolean {
  const elements = elementsIn(assertion)
  const isSaml =
    assertion.name === 'Assertion' && assertion.namespace === namespaces.assertion
  ensure(isSaml && elements.filter(isAssertion).length === 1, 'saml_assertion_count')
  checkIds(elements)
  onlyChild(assertion, namespaces.assertion, 'Conditions', 'saml_conditions')

  // Checked before the signature, so that replays of an earlier large assertion take
  // little CPU time.
  const confirmations = elements.filter(({ name }) => name === 'SubjectConfirmationData')
  const requests = confirmations.flatMap(
    ({ attributes }) => attributes.get('InResponseTo') ?? [],
  )
  ensure(requests.length === 0 || requests.includes(requestId), 'saml_in_response_to')
  const isSigned = checkSignature(assertion)
  checkPlaces(elements, Number(isSigned))

  return isSigned
}

const isAssertion = ({ name }: XmlElement) =>
  name === 'Assertion' || name === 'EncryptedAssertion'

/**
 * Checks the number of signatures. The library finds them anywhere, and takes quadratic
 * time.
 */
function checkPlaces(elements: XmlElement[], signatures: number): void {
  for (const part of ['Signature', 'SignedInfo'])
    ensure(
      elements.filter(({ name }) => name === part).length === signatures,
      'saml_signature_place',
    )
}

/**
 * Checks that every ID is unique, in all attributes that the library accepts as an ID.
 */
function checkIds(elements: XmlElement[]): void {
  const isId = ([name]: [string, string]) => /^(?:\{.*\})?id$/i.test(name)
  const ids = elements.flatMap(({ attributes }) =>
    [...attributes].filter(isId).map(([, value]) => value),
  )
  ensure(
    new Set(ids).size === ids.length && ids.every((id) => /^[A-Za-z_][\w.-]*$/.test(id)),
    'saml_id',
  )
}
