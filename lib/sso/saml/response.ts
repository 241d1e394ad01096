import { checkEncryption } from './encryption'
import { ensure, SamlRejected } from './rejection'
import { checkSignature, checkUnsigned } from './signature'
import {
  findChildren,
  findOnlyChild,
  listElements,
  maxDocumentBytes,
  namespaces,
  readUri,
  trimXml,
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
  const compact = trimXml(base64).replace(/[\r\n]/g, '')
  ensure(compact.length <= 4 * Math.ceil(maxDocumentBytes / 3), 'saml_too_large')
  ensure(compact.length % 4 === 0, 'saml_base64')
  ensure(/^[A-Za-z0-9+/]+={0,2}$/.test(compact), 'saml_base64')

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
export function checkResponse(response: XmlElement, expected: Expected) {
  // Nothing is authenticated yet. These checks ensure that the library and we read the
  // document in the same way.
  const elements = listElements(response)
  checkRoot(response, elements)

  const isSigned = checkSignature(response)
  const isEncrypted = elements.some(({ name }) => name === 'EncryptedAssertion')
  checkDestination(response, expected, isSigned)
  ensure(
    response.attributes.get('InResponseTo') === expected.requestId,
    'saml_in_response_to',
  )

  // Profiles 4.1.4.2: the response has an issuer if it is signed or its assertion is
  // encrypted.
  checkIssuer(response, expected, isSigned || isEncrypted)
  checkStatus(response)

  const assertion = findAssertion(response, elements)
  const inside = new Set(listElements(assertion))
  const around = elements.filter((element) => !inside.has(element))
  if (!isSigned) checkUnsigned(around, response.size - assertion.size)
  if (isEncrypted) checkEncryption(assertion)

  const signatures = isEncrypted
    ? []
    : findChildren(assertion, namespaces.signature, 'Signature')
  checkPlaces(elements, Number(isSigned) + signatures.length)

  return { isSigned, isEncrypted, assertion }
}

function checkRoot(response: XmlElement, elements: XmlElement[]): void {
  ensure(response.name === 'Response', 'saml_response')
  ensure(response.namespace === namespaces.protocol, 'saml_response')
  const named = elements.filter(({ name }) => name === 'Response')
  ensure(named.length === 1, 'saml_response')

  ensure(response.attributes.get('Version') === '2.0', 'saml_version')
  checkIds(elements)
}

/** Only an unsigned response may lack the destination. */
function checkDestination(
  response: XmlElement,
  { acsUrl }: Expected,
  isSigned: boolean,
): void {
  const destination = readUri(response, 'Destination')
  // some providers send an empty attribute for a missing one
  if (!destination) {
    ensure(!isSigned, 'saml_destination')
    return
  }

  ensure(destination === acsUrl, 'saml_destination')
}

function checkIssuer(
  response: XmlElement,
  { issuer }: Expected,
  isRequired: boolean,
): void {
  const [named, another] = findChildren(response, namespaces.assertion, 'Issuer')
  if (!named) {
    ensure(!isRequired, 'saml_issuer')
    return
  }

  ensure(!another && trimXml(named.text) === issuer, 'saml_issuer')
}

function checkStatus(response: XmlElement): void {
  const status = findOnlyChild(response, namespaces.protocol, 'Status', 'saml_status')
  const code = findOnlyChild(status, namespaces.protocol, 'StatusCode', 'saml_status')
  ensure(
    readUri(code, 'Value') === 'urn:oasis:names:tc:SAML:2.0:status:Success',
    'saml_status',
  )
}

function findAssertion(response: XmlElement, elements: XmlElement[]): XmlElement {
  const [assertion, another] = elements.filter(isAssertion)
  ensure(assertion && !another, 'saml_assertion_count')
  ensure(response.children.includes(assertion), 'saml_assertion_count')
  ensure(assertion.namespace === namespaces.assertion, 'saml_assertion_count')

  return assertion
}

/**
 * Checks a posted or decrypted assertion before the library reads it. Returns whether it
 * has a signature.
 */
export function checkAssertionForm(
  assertion: XmlElement,
  { requestId }: Expected,
): boolean {
  const elements = listElements(assertion)
  ensure(assertion.name === 'Assertion', 'saml_assertion_count')
  ensure(assertion.namespace === namespaces.assertion, 'saml_assertion_count')
  ensure(elements.filter(isAssertion).length === 1, 'saml_assertion_count')
  checkIds(elements)
  findOnlyChild(assertion, namespaces.assertion, 'Conditions', 'saml_conditions')

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
 * Some products send IDs that XML forbids: with a digit at the start, or with a +. They
 * can be used, because no quote or space can end the library's XPath expression.
 */
const usableId = /^[A-Za-z0-9_][\w.+-]{0,255}$/

/**
 * Checks that every ID is unique, in all attributes that the library accepts as an ID.
 */
function checkIds(elements: XmlElement[]): void {
  const isId = ([name]: [string, string]) => /^(?:\{.*\})?id$/i.test(name)
  const ids = elements.flatMap(({ attributes }) =>
    [...attributes].filter(isId).map(([, value]) => value),
  )

  ensure(new Set(ids).size === ids.length, 'saml_id')
  ensure(
    ids.every((id) => usableId.test(id)),
    'saml_id',
  )
}
