import { X509Certificate } from 'node:crypto'
import { UsageError } from '../usage-error'
import { namespaces } from './namespaces'
import { SamlRejected } from './rejected'
import { childrenOf, parseXml, selfAndDescendants, trimmed, uriIn, type XmlElement } from './xml'

/**
 * What a provider's metadata says. Nothing in it can switch a check of responses off: the operator
 * alone decides what must be signed.
 */
export type ProviderMetadata = {
  entityId: string
  ssoUrl: string
  certificates: { pem: string; expiresAt: Date }[]
  /** Whether the provider rejects requests without a signature. */
  wantsSignedRequests: boolean
}

const problems = {
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
 * Reads the metadata of one identity provider. Leaves expired certificates out. Throws
 * ProviderMetadataError. Does not verify a signature: get metadata from a place that you trust.
 */
export function readProviderMetadata(xml: string, now = new Date()): ProviderMetadata {
  const elements = selfAndDescendants(parseMetadata(xml))
  const entities = elements.filter(
    ({ name, namespace }) => name === 'EntityDescriptor' && namespace === namespaces.metadata,
  )
  ensure(entities.length > 0, 'not-metadata')
  const providers = entities.filter((entity) => rolesOf(entity, 'IDPSSODescriptor').length > 0)
  ensure(providers.length <= 1, 'several-entities')
  const [provider] = providers
  const isService = entities.some((entity) => rolesOf(entity, 'SPSSODescriptor').length > 0)
  ensure(provider, isService ? 'service-provider' : 'not-a-provider')
  const role = rolesOf(provider, 'IDPSSODescriptor')[0]!

  const entityId = uriIn(provider, 'entityID')
  ensure(entityId, 'no-entity-id')
  const endpoint = childrenOf(role, namespaces.metadata, 'SingleSignOnService').find(
    (each) => uriIn(each, 'Binding') === 'urn:oasis:names:tc:SAML:2.0:bindings:HTTP-Redirect',
  )
  ensure(endpoint, 'no-redirect-endpoint')
  const ssoUrl = uriIn(endpoint, 'Location') ?? ''
  ensure(isHttpsOrLocal(ssoUrl), 'bad-endpoint')
  return {
    entityId,
    ssoUrl,
    certificates: signingCertificates(role, now),
    wantsSignedRequests: /^(?:true|1)$/i.test(trimmed(role.attributes.get('WantAuthnRequestsSigned') ?? '')),
  }
}

function parseMetadata(xml: string): XmlElement {
  try {
    // Microsoft's metadata begins with a byte order mark.
    return parseXml(xml.replace(/^\uFEFF/, '').trim(), { skipComments: true })
  } catch (error) {
    const isTooLarge = error instanceof SamlRejected && /^saml_too_/.test(error.check)
    throw new ProviderMetadataError(isTooLarge ? 'too-large' : 'not-xml')
  }
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

function signingCertificates(role: XmlElement, now: Date): ProviderMetadata['certificates'] {
  const keys = childrenOf(role, namespaces.metadata, 'KeyDescriptor').filter(
    (key) => (uriIn(key, 'use') || 'signing') === 'signing',
  )
  // Of a chain, the first certificate is that of the key itself.
  const texts = keys.flatMap(
    (key) => selfAndDescendants(key).find(({ name }) => name === 'X509Certificate')?.text ?? [],
  )
  const certificates = new Map(
    texts.map(parseCertificate).map((certificate) => [certificate.fingerprint256, certificate]),
  )
  ensure(certificates.size > 0, 'no-certificate')
  const current = [...certificates.values()]
    .map((certificate) => ({ pem: certificate.toString(), expiresAt: new Date(certificate.validTo) }))
    .filter(({ expiresAt }) => expiresAt > now)
  ensure(current.length > 0, 'expired-certificate')
  return current
}

function parseCertificate(base64: string): X509Certificate {
  const certificate = tryParse(base64)
  ensure(certificate, 'bad-certificate')
  const { asymmetricKeyType, asymmetricKeyDetails } = certificate.publicKey
  ensure(asymmetricKeyType === 'rsa' && (asymmetricKeyDetails?.modulusLength ?? 0) >= 2048, 'unsupported-key')
  return certificate
}

function tryParse(base64: string): X509Certificate | undefined {
  try {
    return new X509Certificate(Buffer.from(base64, 'base64'))
  } catch {
    return undefined
  }
}
