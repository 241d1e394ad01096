import { X509Certificate } from 'node:crypto'
import { UsageError } from '../../usage-error'
import type { SamlRejected } from './rejected'
import { childrenOf, namespaces, parseXml, selfAndDescendants, trimmed, uriIn, type XmlElement } from './xml'

/**
 * What a provider's metadata says. Nothing in it can switch a check of responses off: the operator
 * alone decides what must be signed.
 */
export type ProviderMetadata = {
  entityId: string
  ssoUrl: string
  certificates: { pem: string; expiresAt: Date }[]
  /** The certificates that can't be used, and why, for the operator. */
  leftOut: string[]
  /** Whether the provider rejects requests without a signature. */
  wantsSignedRequests: boolean
}

const problems = {
  empty: 'This file is empty.',
  'web-page': 'This is a web page (HTML). Save the metadata itself, not the page that shows it.',
  json: 'This is JSON, such as the metadata of an OpenID provider. Use the SAML metadata (XML).',
  escaped: 'The XML in this file is escaped (&lt;). Save the metadata itself, not the page that shows it.',
  encoding: 'This file is not in the encoding that it names. Save it as UTF-8.',
  'cut-off': 'This file is incomplete: its last element does not end.',
  markup: 'This file has a DTD, CDATA, or a processing instruction inside. Remove it.',
  'not-xml': 'This is not XML that can be read. Save the metadata itself, not the page that shows it.',
  'too-large': 'This file is too large for the metadata of one identity provider.',
  'not-metadata': 'This is XML, but not SAML metadata: it has no EntityDescriptor.',
  'several-entities': 'This file describes several identity providers. Use the metadata of one.',
  'not-a-provider': 'This is metadata, but not of a SAML 2.0 identity provider: it has no IDPSSODescriptor.',
  'service-provider':
    'This is the metadata of a service provider, such as this service. Use the metadata of the identity provider.',
  'no-entity-id': 'The identity provider has no entityID.',
  'no-redirect-endpoint': 'The identity provider has no sign-on endpoint (SingleSignOnService) for HTTP-Redirect.',
  'bad-endpoint': 'The sign-on endpoint for HTTP-Redirect is not an https URL.',
  'no-certificate': 'The identity provider has no signing certificate (X509Certificate in a KeyDescriptor).',
  'bad-certificate': 'A signing certificate can’t be read.',
  'unsupported-key': 'A signing certificate does not hold an RSA key of 2048 bits or more.',
  'expired-certificate': 'Every signing certificate has expired. Get the current metadata.',
}

/** Metadata of a provider can't be used. The message is for the operator. */
export class ProviderMetadataError extends UsageError {
  readonly problem: keyof typeof problems

  constructor(problem: keyof typeof problems) {
    super(problems[problem])
    this.name = 'ProviderMetadataError'
    this.problem = problem
  }
}

function ensure(condition: unknown, problem: keyof typeof problems): asserts condition {
  if (!condition) throw new ProviderMetadataError(problem)
}

/**
 * Reads the metadata of one identity provider from a file. Leaves unusable certificates out. Throws
 * ProviderMetadataError. Does not verify a signature: get metadata from a place that you trust.
 */
export function readProviderMetadata(file: Buffer | string, now = new Date()): ProviderMetadata {
  const elements = selfAndDescendants(parseMetadata(decoded(Buffer.from(file))))
  const entities = elements.filter(
    ({ name, namespace }) => name === 'EntityDescriptor' && namespace === namespaces.metadata,
  )
  ensure(entities.length > 0, 'not-metadata')
  const providers = entities.filter((entity) => rolesOf(entity, 'IDPSSODescriptor').length > 0)
  ensure(providers.length <= 1, 'several-entities')
  const [provider] = providers
  const isService = entities.some((entity) => rolesOf(entity, 'SPSSODescriptor').length > 0)
  ensure(provider, isService ? 'service-provider' : 'not-a-provider')
  const roles = rolesOf(provider, 'IDPSSODescriptor')
  const role = roles.find((each) => endpointsOf(each).length > 0) ?? roles[0]!

  const entityId = uriIn(provider, 'entityID')
  ensure(entityId, 'no-entity-id')
  const endpoints = endpointsOf(role)
  ensure(endpoints.length > 0, 'no-redirect-endpoint')
  const ssoUrl = endpoints.find(isHttpsOrLocal)
  ensure(ssoUrl, 'bad-endpoint')
  return {
    entityId,
    ssoUrl,
    ...signingCertificates(role, now),
    wantsSignedRequests: /^(?:true|1)$/i.test(trimmed(role.attributes.get('WantAuthnRequestsSigned') ?? '')),
  }
}

/** Returns the text of a file, in the encoding that its first bytes show, or else that it declares. */
function decoded(file: Buffer): string {
  ensure(file.length > 0, 'empty')
  const start = file.subarray(0, 400).toString('latin1')
  const declared = /<\?xml[^>]*\sencoding=["']([\w.:-]+)["']/.exec(start)?.[1] ?? 'utf-8'
  // A declaration that can be read byte by byte is not in UTF-16, whatever it says.
  const inBytes = /^(?:utf-?16|ucs-?2|iso-10646)/i.test(declared) ? 'utf-8' : declared
  const [, big, little] = /^(?:(\xFE\xFF|\0<)|(\xFF\xFE|<\0))/.exec(start) ?? []
  const label = big ? 'utf-16be' : little ? 'utf-16le' : start.startsWith('\xEF\xBB\xBF') ? 'utf-8' : inBytes
  try {
    return new TextDecoder(label, { fatal: true }).decode(file)
  } catch {
    throw new ProviderMetadataError('encoding')
  }
}

function parseMetadata(text: string): XmlElement {
  // The text has been decoded. Browsers and stylesheets add processing instructions before the root.
  const xml = text.replace(/^[\s\uFEFF]*(?:<\?[^>]*\?>\s*)*/, '').trim()
  ensure(xml !== '', 'empty')
  // What people copy along is outside of the root.
  const [root] =
    /<(?:[\w-]+:)?Entit(?:y|ies)Descriptor\b[\s\S]*<\/(?:[\w-]+:)?Entit(?:y|ies)Descriptor\s*>/.exec(xml) ?? []
  let problem: keyof typeof problems = 'not-xml'
  for (const candidate of [xml, ...(root && !/<!DOCTYPE/i.test(xml) ? [root] : [])]) {
    try {
      return parseXml(candidate, { skipComments: true })
    } catch (error) {
      const { check } = error as SamlRejected
      ensure(!/^saml_too_/.test(check), 'too-large')
      problem = check === 'saml_markup' ? 'markup' : 'not-xml'
    }
  }
  if (/<html\b|<!DOCTYPE html/i.test(xml)) problem = 'web-page'
  else if (/^[[{]/.test(xml)) problem = 'json'
  else if (/&lt;(?:[\w-]+:)?Entit/.test(xml)) problem = 'escaped'
  else if (problem === 'not-xml' && !root && /<(?:[\w-]+:)?Entit/.test(xml)) problem = 'cut-off'
  throw new ProviderMetadataError(problem)
}

/** The roles of a kind that speak SAML 2.0. An entity may have another one for SAML 1.1. */
function rolesOf(entity: XmlElement, name: string): XmlElement[] {
  return childrenOf(entity, namespaces.metadata, name).filter(({ attributes }) =>
    (attributes.get('protocolSupportEnumeration') ?? '').split(' ').includes(namespaces.protocol),
  )
}

function isHttpsOrLocal(url: string): boolean {
  if (!URL.canParse(url)) return false
  const { protocol, hostname } = new URL(url)
  return protocol === 'https:' || (protocol === 'http:' && ['localhost', '127.0.0.1', '[::1]'].includes(hostname))
}

function endpointsOf(role: XmlElement): string[] {
  return childrenOf(role, namespaces.metadata, 'SingleSignOnService')
    .filter((each) => uriIn(each, 'Binding') === 'urn:oasis:names:tc:SAML:2.0:bindings:HTTP-Redirect')
    .map((each) => uriIn(each, 'Location') ?? '')
}

/** During a change, a provider may publish certificates that can't be used. The others are taken. */
function signingCertificates(role: XmlElement, now: Date): Pick<ProviderMetadata, 'certificates' | 'leftOut'> {
  const keys = childrenOf(role, namespaces.metadata, 'KeyDescriptor').filter(
    (key) => (uriIn(key, 'use') || 'signing') === 'signing',
  )
  const chains = keys.flatMap(selfAndDescendants).filter(({ name }) => name === 'X509Data')
  // Of a chain, the first certificate is that of the key itself.
  const texts = chains.flatMap(({ children }) => {
    const chain = children.filter(({ name }) => name === 'X509Certificate').map(({ text }) => trimmed(text))
    return chain.find((text) => text !== '') ?? chain.slice(0, 1)
  })
  const usable = new Map<string, X509Certificate>()
  const found: { problem: keyof typeof problems; line: string }[] = []
  for (const [index, text] of texts.entries()) {
    const certificate = parseCertificate(text)
    const problem = problemOf(certificate, text, now)
    if (!problem) usable.set(certificate!.fingerprint256, certificate!)
    else found.push({ problem, line: `Left out certificate ${index + 1} of ${texts.length}: ${lacks[problem]}.` })
  }
  ensure(usable.size > 0, found.find(({ problem }) => problem !== 'no-certificate')?.problem ?? 'no-certificate')
  const certificates = [...usable.values()].map((certificate) => ({
    pem: certificate.toString(),
    expiresAt: new Date(certificate.validTo),
  }))
  return { certificates, leftOut: found.map(({ line }) => line) }
}

const lacks = {
  'no-certificate': 'it is empty',
  'bad-certificate': 'it can’t be read',
  'unsupported-key': 'it holds no RSA key of 2048 bits or more',
  'expired-certificate': 'it has expired',
}

function problemOf(certificate: X509Certificate | undefined, text: string, now: Date): keyof typeof lacks | undefined {
  if (text === '') return 'no-certificate'
  if (!certificate) return 'bad-certificate'
  const { asymmetricKeyType, asymmetricKeyDetails } = certificate.publicKey
  if (asymmetricKeyType !== 'rsa' || (asymmetricKeyDetails?.modulusLength ?? 0) < 2048) return 'unsupported-key'
  return new Date(certificate.validTo) > now ? undefined : 'expired-certificate'
}

/** Reads base64, which may be in PEM with other text around it. */
function parseCertificate(text: string): X509Certificate | undefined {
  const [, inPem] = /-----BEGIN[A-Z0-9 ]*CERTIFICATE-----([^-]*)/.exec(text) ?? []
  const base64 = (inPem ?? text).replace(/\s/g, '')
  try {
    const certificate = /^[A-Za-z0-9+/]+=*$/.test(base64)
      ? new X509Certificate(Buffer.from(base64, 'base64'))
      : undefined
    return certificate?.publicKey && certificate // reading the key can fail too
  } catch {
    return undefined
  }
}
