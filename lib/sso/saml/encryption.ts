import { namespaces } from './namespaces'
import { ensure, SamlRejected } from './rejected'
import { checkUnsigned } from './signature'
import { childrenOf, onlyChild, selfAndDescendants, type XmlElement } from './xml'

// CBC has no integrity of its own, but ADFS and Entra use nothing else. An attacker learns nothing
// from it, because every failure gets the same response. No RSA PKCS #1 v1.5 and no triple DES.
const contentCiphers = [
  'http://www.w3.org/2009/xmlenc11#aes256-gcm',
  'http://www.w3.org/2009/xmlenc11#aes128-gcm',
  'http://www.w3.org/2001/04/xmlenc#aes256-cbc',
  'http://www.w3.org/2001/04/xmlenc#aes128-cbc',
]
const keyCiphers = ['http://www.w3.org/2001/04/xmlenc#rsa-oaep-mgf1p']

/** Checks the form and the algorithms of an encrypted assertion. */
export function checkEncryption(encrypted: XmlElement): void {
  const elements = selfAndDescendants(encrypted)
  const all = (name: string) => elements.filter((element) => element.name === name)
  const ciphertext = all('CipherValue').reduce((size, { text }) => size + text.length, 0)
  checkUnsigned(elements, encrypted.size - ciphertext)
  const data = onlyChild(encrypted, namespaces.encryption, 'EncryptedData', 'saml_encryption')
  const [key, another] = all('EncryptedKey')
  // One of each kind, because the library takes the first match anywhere.
  ensure(key && !another && all('EncryptedData').length === 1, 'saml_encryption')
  ensure(all('EncryptionMethod').length === 2 && all('CipherValue').length === 2, 'saml_encryption')
  ensure(contentCiphers.includes(algorithmOf(data)), 'saml_encryption')
  ensure(keyCiphers.includes(algorithmOf(key)), 'saml_encryption')
  // The library puts the URI into an XPath expression.
  ensure(
    all('RetrievalMethod').every(({ attributes }) => /^#[\w.-]+$/.test(attributes.get('URI') ?? '')),
    'saml_encryption',
  )
}

function algorithmOf(element: XmlElement): string {
  const [method] = childrenOf(element, namespaces.encryption, 'EncryptionMethod')
  return method?.attributes.get('Algorithm') ?? ''
}

/**
 * Returns the encrypted assertion of a response as XML. Uses the library's own functions, so that
 * it will later read what is checked now: a bomb could be inside, because anybody can encrypt.
 */
export async function decryptAssertion(responseXml: string, privateKey: string): Promise<string> {
  const { decryptXml, parseDomFromString, xpath } = await import('@node-saml/node-saml/lib/xml.js')
  try {
    const document = await parseDomFromString(responseXml)
    const [encrypted] = xpath.selectElements(document, "/*/*[local-name()='EncryptedAssertion']")
    return await decryptXml(String(encrypted), privateKey)
  } catch {
    throw new SamlRejected('saml_decryption')
  }
}
