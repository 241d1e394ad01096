import { verify } from 'node:crypto'
import { namespaces } from './namespaces'
import { ensure } from './rejected'

/**
 * Returns the certificates (PEM) whose keys made the signatures in documents, all of which
 * checkSignature has checked. Throws SamlRejected if one is by none of them. Does not look at what is
 * signed: the library canonicalizes that once for each certificate it gets, and anybody can post it.
 */
export async function signersOf(documents: string[], certificates: string[]): Promise<string[]> {
  const { parseDomFromString } = await import('@node-saml/node-saml/lib/xml.js')
  const { ExclusiveCanonicalization, findAncestorNs, SignedXml } = await import('xml-crypto')
  const signerOf = (document: Document, signature: Element) => {
    const only = (name: string) => signature.getElementsByTagNameNS(namespaces.signature, name)[0]!
    // As the library does it, which looks at the first SignedInfo of the document too. A copy, because
    // prefixes that are listed become attributes.
    const signedInfo = new ExclusiveCanonicalization().process(only('SignedInfo').cloneNode(true) as Element, {
      ancestorNamespaces: findAncestorNs(document, "//*[local-name()='SignedInfo']"),
      defaultNsForPrefix: SignedXml.defaultNsForPrefix,
    })
    const hash = only('SignatureMethod').getAttribute('Algorithm')!.endsWith('sha512') ? 'sha512' : 'sha256'
    const value = Buffer.from(only('SignatureValue').textContent!, 'base64')
    const signer = certificates.find((certificate) => verify(hash, Buffer.from(`${signedInfo}`), certificate, value))
    ensure(signer, 'signature')
    return signer
  }
  const parsed = await Promise.all(documents.map((document) => parseDomFromString(document)))
  const signers = parsed.flatMap((document) =>
    Array.from(document.getElementsByTagNameNS(namespaces.signature, 'Signature'), (signature) =>
      signerOf(document, signature),
    ),
  )
  return [...new Set(signers)]
}
