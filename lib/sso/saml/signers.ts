import { createHash, verify } from 'node:crypto'
import { namespaces } from './namespaces'
import { ensure } from './rejected'

/**
 * Returns the certificates (PEM) whose keys made the signatures in documents, all of which
 * checkSignature has checked. Throws SamlRejected if one is by none of them, or if its digest is not
 * that of its parent. The library checks both again, but searches the document dozens of times before:
 * what is rejected here costs much less.
 */
export async function signersOf(documents: string[], certificates: string[]): Promise<string[]> {
  const { parseDomFromString } = await import('@node-saml/node-saml/lib/xml.js')
  const { ExclusiveCanonicalization, findAncestorNs, SignedXml } = await import('xml-crypto')
  // As the library does it. Changes the element: the prefixes of the list become attributes.
  const canonicalize = (element: Element, path: string, prefixes: string[] = []) => {
    const ancestorNamespaces = findAncestorNs(element.ownerDocument, path)
    const { defaultNsForPrefix } = SignedXml
    const options = { ancestorNamespaces, defaultNsForPrefix, inclusiveNamespacesPrefixList: prefixes }
    return Buffer.from(new ExclusiveCanonicalization().process(element, options))
  }
  const signerOf = (signature: Element) => {
    const hash = hashOf(first(signature, 'SignatureMethod'))
    const value = Buffer.from(first(signature, 'SignatureValue').textContent!, 'base64')
    // The library looks at the first SignedInfo of the document too.
    const copy = first(signature, 'SignedInfo').cloneNode(true) as Element
    const signedInfo = canonicalize(copy, "//*[local-name()='SignedInfo']")
    return certificates.find((certificate) => verify(hash, signedInfo, certificate, value))
  }
  const isOfParent = (signature: Element) => {
    const parent = signature.parentNode as Element
    const path = parent.parentNode === parent.ownerDocument ? '/*' : "/*/*[local-name()='Assertion']"
    const transform = signature.getElementsByTagNameNS(namespaces.signature, 'Transform')[1]!
    const list = transform.getElementsByTagNameNS('*', 'InclusiveNamespaces')[0]?.getAttribute('PrefixList')
    const next = signature.nextSibling
    parent.removeChild(signature)
    const content = canonicalize(parent, path, list?.split(' ').filter(Boolean))
    parent.insertBefore(signature, next) // another signature may cover this one
    const digest = createHash(hashOf(first(signature, 'DigestMethod')))
      .update(content)
      .digest()
    return digest.equals(Buffer.from(first(signature, 'DigestValue').textContent!, 'base64'))
  }
  const parsed = await Promise.all(documents.map((document) => parseDomFromString(document)))
  const signatures = parsed.flatMap((document) =>
    Array.from(document.getElementsByTagNameNS(namespaces.signature, 'Signature')),
  )
  const signers = signatures.map(signerOf)
  ensure(!signers.includes(undefined), 'signature')
  ensure(signatures.every(isOfParent), 'signature')
  return [...new Set(signers as string[])]
}

const first = (signature: Element, name: string) => signature.getElementsByTagNameNS(namespaces.signature, name)[0]!

const hashOf = (method: Element) => (method.getAttribute('Algorithm')!.endsWith('sha512') ? 'sha512' : 'sha256')
