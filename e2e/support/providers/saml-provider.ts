import {
  constants,
  createCipheriv,
  createPrivateKey,
  type KeyObject,
  publicEncrypt,
  randomBytes,
  randomUUID,
} from 'node:crypto'
import forge from 'node-forge'
import { SignedXml } from 'xml-crypto'
import { newKeyPair } from '../../../lib/sso/saml/key-pair'
import type { ServiceProviderSettings } from '../../../lib/sso/saml/settings'

/** The parts that a provider signs, and whether it encrypts the assertion. */
export type Mode = { response?: boolean; assertion?: boolean; encrypted?: boolean }

/** The starts of IDs. XML forbids the second one, which products send. */
export const idStarts = ['_', '4+']

/** All combinations of signing and encryption that a service provider accepts. */
export const modes: Record<string, Mode> = {
  'a signed response': { response: true },
  'a signed assertion': { assertion: true },
  'both signed': { response: true, assertion: true },
  'a signed response, encrypted': { response: true, encrypted: true },
  'a signed assertion, encrypted': { assertion: true, encrypted: true },
  'both signed, encrypted': { response: true, assertion: true, encrypted: true },
}

export type Signing = {
  privateKey?: string
  certificate?: string
  signatureMethod?: string
  digestMethod?: string
  canonicalization?: string
  transforms?: string[]
  inclusivePrefixes?: string[]
}

type Algorithms = Partial<Record<'content' | 'key' | 'digest' | 'mgf', string>>
export type Encryption = Algorithms & { hashes?: readonly [string, string] }

/** The options for a response. Times are in seconds from now. */
export type ResponseOptions = Mode & {
  requestId?: string
  nameId?: string
  email?: string
  notBefore?: number
  notOnOrAfter?: number
  /** The start of the IDs, by default `_`. */
  idStart?: string
  /** Changes the response before it is signed. */
  edit?: (xml: string) => string
  /** Changes the assertion after it was signed and before it is encrypted. */
  tamperAssertion?: (xml: string) => string
  /** Changes the final response, which the browser posts. */
  tamper?: (xml: string) => string
  signing?: Signing
  encryption?: Encryption
}

export type SamlProvider = {
  /** Our settings for this provider. */
  settings: ServiceProviderSettings
  /** The provider's key, and a second one. */
  privateKey: string
  nextKey: { privateKey: string; certificate: string }
  /** Returns a response in base64, as the browser posts it. */
  respond: (options: ResponseOptions) => string
}

const dsig = 'http://www.w3.org/2000/09/xmldsig#'
const exclusive = 'http://www.w3.org/2001/10/xml-exc-c14n#'

/** The ID of the request to which a response belongs by default. */
export const requestId = '_request'

type Keys = Awaited<ReturnType<typeof newKeyPair>>[]
const newKeys = (): Promise<Keys> =>
  Promise.all(
    ['service.example', 'idp.example', 'next.idp.example'].map((name) =>
      newKeyPair(name),
    ),
  )
let keysOfProcess: Promise<Keys> | undefined

/**
 * Returns a hostile identity provider. It signs what a test requests, and the test can
 * change the response before and after signing. Without `isOther`, all providers of a
 * process share keys, because new keys take a second.
 */
export async function newSamlProvider({ isOther = false } = {}): Promise<SamlProvider> {
  keysOfProcess ??= newKeys()
  const [ours, current, next] = await (isOther ? newKeys() : keysOfProcess)
  const settings: ServiceProviderSettings = {
    entityId: 'https://app.example/api/auth/sso/acme/metadata',
    acsUrl: 'https://app.example/api/auth/sso/acme/acs',
    ...ours!,
    kind: 'saml',
    issuer: 'https://idp.example/metadata',
    ssoUrl: 'https://idp.example/sso?tenant=acme',
    certificates: [current!.certificate],
    signRequests: true,
    signed: 'either',
  }
  const respond = (options: ResponseOptions) => {
    const edit = options.edit ?? unchanged
    const signing = { ...current!, ...options.signing }
    let xml = edit(responseXml(settings, options))
    if (options.assertion && /<(?:saml:)?Assertion /.test(xml))
      xml = sign(xml, "/*/*[local-name()='Assertion'][1]", signing)
    if (options.encrypted) {
      xml = xml.replace(assertionPattern, (assertion) =>
        encrypt(
          (options.tamperAssertion ?? unchanged)(assertion),
          settings,
          options.encryption,
        ),
      )
    }
    if (options.response) xml = sign(xml, '/*', signing)
    return Buffer.from((options.tamper ?? unchanged)(xml)).toString('base64')
  }
  return { settings, privateKey: current!.privateKey, nextKey: next!, respond }
}

const unchanged = (xml: string) => xml

/** Returns the time that is this number of seconds from now. */
export const seconds = (count: number) =>
  new Date(Date.now() + count * 1000).toISOString()

function responseXml(
  { acsUrl, entityId, issuer: provider }: ServiceProviderSettings,
  {
    requestId: inResponseTo = requestId,
    nameId = 'ada',
    email = 'Ada@example.com',
    notBefore = -5,
    notOnOrAfter = 300,
    idStart = '_',
  }: ResponseOptions,
): string {
  const issuer = `<saml:Issuer>${provider}</saml:Issuer>`
  const attribute = (name: string, value: string) =>
    `<saml:Attribute Name="${name}"><saml:AttributeValue xmlns:xs="http://www.w3.org/2001/XMLSchema" xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance" xsi:type="xs:string">${value}</saml:AttributeValue></saml:Attribute>`
  return `<?xml version="1.0" encoding="UTF-8"?>
<samlp:Response xmlns:samlp="urn:oasis:names:tc:SAML:2.0:protocol" xmlns:saml="urn:oasis:names:tc:SAML:2.0:assertion" ID="${idStart}response-${randomUUID()}" Version="2.0" IssueInstant="${seconds(0)}" Destination="${acsUrl}" InResponseTo="${inResponseTo}">${issuer}
  <samlp:Status><samlp:StatusCode Value="urn:oasis:names:tc:SAML:2.0:status:Success"/></samlp:Status>
  <saml:Assertion xmlns:saml="urn:oasis:names:tc:SAML:2.0:assertion" ID="${idStart}assertion-${randomUUID()}" Version="2.0" IssueInstant="${seconds(0)}">${issuer}
    <saml:Subject>
      <saml:NameID Format="urn:oasis:names:tc:SAML:2.0:nameid-format:persistent">${nameId}</saml:NameID>
      <saml:SubjectConfirmation Method="urn:oasis:names:tc:SAML:2.0:cm:bearer"><saml:SubjectConfirmationData Recipient="${acsUrl}" InResponseTo="${inResponseTo}" NotOnOrAfter="${seconds(notOnOrAfter)}"/></saml:SubjectConfirmation>
    </saml:Subject>
    <saml:Conditions NotBefore="${seconds(notBefore)}" NotOnOrAfter="${seconds(notOnOrAfter)}"><saml:AudienceRestriction><saml:Audience>${entityId}</saml:Audience></saml:AudienceRestriction></saml:Conditions>
    <saml:AuthnStatement AuthnInstant="${seconds(0)}" SessionIndex="_session" SessionNotOnOrAfter="${seconds(3600)}"><saml:AuthnContext><saml:AuthnContextClassRef>urn:oasis:names:tc:SAML:2.0:ac:classes:Password</saml:AuthnContextClassRef></saml:AuthnContext></saml:AuthnStatement>
    <saml:AttributeStatement>${attribute('mail', email)}${attribute('name', 'Ada &lt;Admin&gt; &amp; Lovelace')}</saml:AttributeStatement>
  </saml:Assertion>
</samlp:Response>`
}

const keyObjects = new Map<string, KeyObject>()

/**
 * Returns the key of a PEM text. Each text is parsed only once, because parsing takes as
 * long as signing.
 */
function keyOf(pem: string): KeyObject {
  const key = keyObjects.get(pem) ?? createPrivateKey(pem)
  keyObjects.set(pem, key)
  return key
}

/** Signs the element at an XPath, with the signature after its issuer. */
export function sign(xml: string, xpath: string, signing: Signing): string {
  const signatureMethod =
    signing.signatureMethod ?? 'http://www.w3.org/2001/04/xmldsig-more#rsa-sha256'
  const prefixes = signing.inclusivePrefixes && {
    inclusiveNamespacesPrefixList: signing.inclusivePrefixes,
  }
  const signer = new SignedXml({
    privateKey: signatureMethod.includes('#rsa-')
      ? keyOf(signing.privateKey!)
      : signing.privateKey!,
    ...(signing.certificate && { publicCert: signing.certificate }),
    signatureAlgorithm: signatureMethod,
    ...prefixes,
    canonicalizationAlgorithm: (signing.canonicalization ??
      exclusive) as typeof exclusive,
  })
  if (signatureMethod.includes('hmac')) signer.enableHMAC()
  signer.addReference({
    xpath,
    transforms: signing.transforms ?? [`${dsig}enveloped-signature`, exclusive],
    ...prefixes,
    digestAlgorithm: signing.digestMethod ?? 'http://www.w3.org/2001/04/xmlenc#sha256',
  })
  // After the issuer, which is the first child unless a test removed it.
  signer.computeSignature(xml, {
    prefix: 'ds',
    location: { reference: `${xpath}/*[1]`, action: 'after' },
  })
  return signer.getSignedXml()
}

const xenc = 'http://www.w3.org/2001/04/xmlenc#'

/** Encrypts an assertion for us, as anyone can do with our certificate. */
export function encrypt(
  assertion: string,
  { certificate }: ServiceProviderSettings,
  encryption: Encryption = {},
): string {
  const {
    content = 'http://www.w3.org/2009/xmlenc11#aes256-gcm',
    key = `${xenc}rsa-oaep-mgf1p`,
  } = encryption
  const { digest = `${dsig}sha1`, mgf, hashes = ['sha1', 'sha1'] } = encryption
  const [, bits, form] = /aes(128|256)-(gcm|cbc)$/.exec(content) ?? ['', '192', 'des']
  const cipherName = form === 'des' ? 'des-ede3-cbc' : `aes-${bits}-${form}`
  const contentKey = randomBytes(Number(bits) / 8)
  const iv = randomBytes(form === 'gcm' ? 12 : form === 'cbc' ? 16 : 8)
  const cipher = createCipheriv(cipherName as 'aes-256-gcm', contentKey, iv)
  const parts = [iv, cipher.update(assertion), cipher.final()]
  const encrypted = Buffer.concat(
    form === 'gcm' ? [...parts, cipher.getAuthTag()] : parts,
  )
  const encryptedKey = key.endsWith('rsa-1_5')
    ? publicEncrypt(
        { key: certificate, padding: constants.RSA_PKCS1_PADDING },
        contentKey,
      )
    : encryptOaep(certificate, contentKey, hashes)
  const methods = [
    ...(digest ? [`<ds:DigestMethod Algorithm="${digest}"/>`] : []),
    ...(mgf
      ? [
          `<xenc11:MGF xmlns:xenc11="http://www.w3.org/2009/xmlenc11#" Algorithm="${mgf}"/>`,
        ]
      : []),
  ]
  const value = (bytes: Buffer) =>
    `<xenc:CipherData><xenc:CipherValue>${bytes.toString('base64')}</xenc:CipherValue></xenc:CipherData>`
  return `<saml:EncryptedAssertion xmlns:saml="urn:oasis:names:tc:SAML:2.0:assertion"><xenc:EncryptedData xmlns:xenc="${xenc}" Type="${xenc}Element"><xenc:EncryptionMethod Algorithm="${content}"/><ds:KeyInfo xmlns:ds="${dsig}"><xenc:EncryptedKey><xenc:EncryptionMethod Algorithm="${key}">${methods.join('')}</xenc:EncryptionMethod>${value(encryptedKey)}</xenc:EncryptedKey></ds:KeyInfo>${value(encrypted)}</xenc:EncryptedData></saml:EncryptedAssertion>`
}

/**
 * RSA-OAEP with different hashes for the label and the mask. Node.js supports only the
 * same hash for both.
 */
function encryptOaep(
  certificate: string,
  bytes: Buffer,
  [label, mask]: readonly [string, string],
): Buffer {
  const hash = (name: string) => forge.md[name as 'sha1'].create()
  const key = forge.pki.certificateFromPem(certificate)
    .publicKey as forge.pki.rsa.PublicKey
  const options = { md: hash(label), mgf1: { md: hash(mask) } }
  return Buffer.from(key.encrypt(bytes.toString('binary'), 'RSA-OAEP', options), 'binary')
}

/** Matches the assertion in a response. */
export const assertionPattern = /<saml:Assertion[\s\S]*<\/saml:Assertion>/

/** Patterns that match other parts of a response. */
export const parts = {
  issuer: /<saml:Issuer>[^<]*<\/saml:Issuer>/,
  assertionIssuer: /(<saml:Assertion[^>]*>)<saml:Issuer>[^<]*<\/saml:Issuer>/,
  status: /<samlp:Status>[\s\S]*<\/samlp:Status>/,
  subject: /<saml:Subject>[\s\S]*<\/saml:Subject>/,
  nameId: /<saml:NameID[\s\S]*<\/saml:NameID>/,
  confirmation: /<saml:SubjectConfirmation [\s\S]*<\/saml:SubjectConfirmation>/,
  conditions: /<saml:Conditions[\s\S]*<\/saml:Conditions>/,
  restriction: /<saml:AudienceRestriction>[\s\S]*<\/saml:AudienceRestriction>/,
  authnStatement: /<saml:AuthnStatement[\s\S]*<\/saml:AuthnStatement>/,
  signature: /<ds:Signature [\s\S]*?<\/ds:Signature>/,
}

/**
 * Replaces a text, and throws if the text is missing, so that a hostile case can't
 * silently become a valid one.
 */
export function replace(
  from: string | RegExp,
  to: string | ((...groups: string[]) => string),
) {
  return (xml: string): string => {
    if (typeof from === 'string' ? !xml.includes(from) : !from.test(xml))
      throw new Error(`${from} is not there`)
    return xml.replace(from, to as string)
  }
}

/** Applies several changes, one after the other. */
export function inOrder(...edits: ((xml: string) => string)[]) {
  return (xml: string): string => edits.reduce((text, edit) => edit(text), xml)
}

/** Adds an attribute to the assertion. */
export function addAttribute(name: string, ...values: string[]) {
  const texts = values
    .map((value) => `<saml:AttributeValue>${value}</saml:AttributeValue>`)
    .join('')
  const end = '</saml:AttributeStatement>'
  return replace(
    end,
    () => `<saml:Attribute Name="${name}">${texts}</saml:Attribute>${end}`,
  )
}
