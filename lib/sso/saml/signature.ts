import { ensure } from './rejection'
import { findChildren, listElements, namespaces, type XmlElement } from './xml'

const exclusive = 'http://www.w3.org/2001/10/xml-exc-c14n#'
const signedInfoShape =
  'SignedInfo(CanonicalizationMethod SignatureMethod Reference(Transforms(Transform Transform) DigestMethod DigestValue))'
const enveloped = 'http://www.w3.org/2000/09/xmldsig#enveloped-signature'
// No SHA-384, because the library can't verify it. No SHA-1, RSA-PSS or HMAC either.
const signatureMethods = ['rsa-sha256', 'rsa-sha512'].map(
  (name) => `http://www.w3.org/2001/04/xmldsig-more#${name}`,
)
// The limits of an unsigned part. Real parts have about 15 elements, 10 attributes and
// 6,000 characters.
const maxUnsignedElements = 50
const maxUnsignedAttributes = 50
const maxUnsignedSize = 16 * 1024
const digestMethods = [
  'http://www.w3.org/2001/04/xmlenc#sha256',
  'http://www.w3.org/2001/04/xmlenc#sha512',
]

/**
 * Whether an element has a signature. Checks the signature's form, coverage and
 * algorithms, but does not verify it.
 */
export function checkSignature(parent: XmlElement): boolean {
  const [signature] = findChildren(parent, namespaces.signature, 'Signature')
  if (!signature) return false

  // A signature does not cover itself, so its parts, such as the key, are unsigned.
  checkUnsigned(listElements(signature), signature.size)

  // Exactly these children, because the library uses the first match of each name.
  const [signedInfo, signatureValue, keyInfo, more] = signature.children
  ensure(
    signedInfo && describeShape(signedInfo) === signedInfoShape,
    'saml_signature_form',
  )
  ensure(
    signatureValue && describeShape(signatureValue) === 'SignatureValue',
    'saml_signature_form',
  )

  ensure(!keyInfo || readName(keyInfo) === 'KeyInfo', 'saml_signature_form')
  ensure(!more, 'saml_signature_form')

  const id = parent.attributes.get('ID')
  const reference = signedInfo.children[2]!
  ensure(id && reference.attributes.get('URI') === `#${id}`, 'saml_signature_form')
  checkAlgorithms(signedInfo)

  return true
}

/** Checks the algorithms of a SignedInfo, which must have the right shape. */
function checkAlgorithms(signedInfo: XmlElement): void {
  const [canonicalization, method, reference] = signedInfo.children as [
    XmlElement,
    XmlElement,
    XmlElement,
  ]
  const [transforms, digest] = reference.children as [XmlElement, XmlElement]

  ensure(signatureMethods.includes(readAlgorithm(method)), 'saml_algorithm')
  ensure(digestMethods.includes(readAlgorithm(digest)), 'saml_algorithm')
  ensure(readAlgorithm(canonicalization) === exclusive, 'saml_algorithm')
  ensure(
    transforms.children.map(readAlgorithm).join(' ') === `${enveloped} ${exclusive}`,
    'saml_algorithm',
  )
}

/**
 * Limits an unsigned part, which anybody can write. The library's XPath takes time that
 * grows more than linearly.
 */
export function checkUnsigned(elements: XmlElement[], size: number): void {
  const attributes = elements.reduce(
    (count, { attributes }) => count + attributes.size,
    0,
  )
  ensure(elements.length <= maxUnsignedElements, 'saml_too_complex')
  ensure(attributes <= maxUnsignedAttributes, 'saml_too_complex')
  ensure(size <= maxUnsignedSize, 'saml_too_complex')
}

/**
 * Returns an element as `name(child child(grandchild))`. Omits the optional list of
 * prefixes (`InclusiveNamespaces`).
 */
function describeShape(element: XmlElement): string {
  const listsPrefixes = ['CanonicalizationMethod', 'Transform'].includes(
    readName(element),
  )
  const [first, ...others] = element.children
  const isList =
    listsPrefixes && first?.name === 'InclusiveNamespaces' && first.children.length === 0
  const shapes = (isList ? others : element.children).map(describeShape)
  const inside = shapes.length > 0 ? `(${shapes.join(' ')})` : ''

  return readName(element) + inside
}

function readName({ name, namespace }: XmlElement): string {
  return namespace === namespaces.signature ? name : '?'
}

function readAlgorithm({ attributes }: XmlElement): string {
  return attributes.get('Algorithm') ?? ''
}
