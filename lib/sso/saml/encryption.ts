import { promisify } from 'node:util'
import { ensure, SamlRejected } from './rejection'
import type { ServiceProviderSettings } from './settings'
import { checkUnsigned } from './signature'
import {
  findChildren,
  findOnlyChild,
  listElements,
  namespaces,
  type XmlElement,
} from './xml'

const { encryption: xmlenc, signature: xmldsig } = namespaces
const xmlenc11 = 'http://www.w3.org/2009/xmlenc11#'
// CBC does not protect integrity, but ADFS and Entra use only CBC. So all failures get
// the same response.
const contentCiphers = [
  `${xmlenc11}aes256-gcm`,
  `${xmlenc11}aes128-gcm`,
  `${xmlenc}aes256-cbc`,
  `${xmlenc}aes128-cbc`,
]
/**
 * RSA-OAEP. With the first URI, the mask generation uses SHA-1. The second URI allows
 * other hashes.
 */
export const keyCiphers = [`${xmlenc}rsa-oaep-mgf1p`, `${xmlenc11}rsa-oaep`]
// The library would replace other hashes by SHA-1.
const digests = [`${xmldsig}sha1`, `${xmlenc}sha256`, `${xmlenc}sha512`]

/** Checks the form and the algorithms of an encrypted assertion. */
export function checkEncryption(encrypted: XmlElement): void {
  const elements = listElements(encrypted)
  const all = (name: string) => elements.filter((element) => element.name === name)
  const ciphertext = all('CipherValue').reduce((size, { text }) => size + text.length, 0)
  checkUnsigned(elements, encrypted.size - ciphertext)

  // No element may occur more often, because the library uses the first match anywhere.
  const data = findOnlyChild(encrypted, xmlenc, 'EncryptedData', 'saml_encryption')
  const [key, another] = all('EncryptedKey')
  ensure(key && !another, 'saml_encryption')
  ensure(all('EncryptedData').length === 1, 'saml_encryption')
  ensure(all('EncryptionMethod').length === 2, 'saml_encryption')
  ensure(all('CipherValue').length === 2, 'saml_encryption')

  ensure(contentCiphers.includes(readAlgorithm(data)), 'saml_encryption')
  ensure(keyCiphers.includes(readAlgorithm(key)), 'saml_encryption')

  const readAll = (name: string, attribute: string) =>
    all(name).map((each) => each.attributes.get(attribute) ?? '')
  const hashes = readAll('DigestMethod', 'Algorithm')
  ensure(
    hashes.every((hash) => digests.includes(hash)),
    'saml_encryption',
  )

  // The library inserts the URI into an XPath expression.
  const uris = readAll('RetrievalMethod', 'URI')
  ensure(
    uris.every((uri) => /^#[\w.-]+$/.test(uri)),
    'saml_encryption',
  )
}

function readAlgorithm(element: XmlElement): string {
  const [method] = findChildren(element, xmlenc, 'EncryptionMethod')
  return method?.attributes.get('Algorithm') ?? ''
}

/** Returns the encrypted assertion of a response as XML. */
export async function decryptAssertion(
  xml: string,
  { privateKey, nextPrivateKey }: ServiceProviderSettings,
) {
  const { default: library } = await import('xml-encryption')
  const { parseDomFromString, xpath } = await import('@node-saml/node-saml/lib/xml.js')

  try {
    const document = await parseDomFromString(xml)
    const [encrypted] = xpath.selectElements(
      document,
      "/*/*[local-name()='EncryptedAssertion']",
    )

    // Allows CBC, which the library rejects by default. checkEncryption accepts no other
    // insecure algorithm.
    const options = {
      disallowDecryptionWithInsecureAlgorithm: false,
      warnInsecureAlgorithm: false,
    }

    const decrypt = (key: string) =>
      promisify(library.decrypt)(String(encrypted), { ...options, key })

    try {
      return await decrypt(privateKey)
    } catch (error) {
      if (!nextPrivateKey) throw error
      return await decrypt(nextPrivateKey)
    }
  } catch {
    throw new SamlRejected('saml_decryption')
  }
}
