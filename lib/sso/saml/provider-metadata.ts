import { X509Certificate } from 'node:crypto'
import { UsageError } from '../../usage-error'
import { ProviderUrl } from '../urls'
import { type MetadataElement, parseMetadataXml, UnreadableXml } from './metadata-xml'
import { findChildren, listElements, namespaces, readUri, trimXml } from './xml'

const maxFileBytes = 1024 * 1024
const tooLarge =
  'This file is too large: it has more than 1 MiB. If it describes many providers, use the metadata of one.'

function ensure(condition: unknown, problem: string): asserts condition {
  if (!condition) throw new UsageError(problem)
}

/**
 * Reads an identity provider's metadata. The file must be trusted, but it can't disable a
 * check. `stored`: the certificates (PEM) of an earlier import. Throws UsageError.
 */
export function readProviderMetadata(file: Buffer | string, stored: string[] = []) {
  const provider = findProvider(parseMetadata(decodeFile(Buffer.from(file))))
  const roles = findRoles(provider, 'IDPSSODescriptor')
  const role = roles.find((each) => findEndpoints(each).length > 0) ?? roles[0]!

  const entityId = readUri(provider, 'entityID')
  ensure(entityId, 'The identity provider has no entityID.')
  const endpoints = findEndpoints(role)
  ensure(
    endpoints.length > 0,
    'The identity provider has no sign-on endpoint (SingleSignOnService) for HTTP-Redirect.',
  )

  const ssoUrl = endpoints.find((url) => ProviderUrl.safeParse(url).success)
  ensure(ssoUrl, 'The sign-on endpoint for HTTP-Redirect is not an https URL.')
  const { certificates, notes } = readSigningCertificates(role, stored)
  const wantsSigned = trimXml(role.attributes.get('WantAuthnRequestsSigned') ?? '')

  return {
    entityId,
    ssoUrl,
    certificates,
    notes,
    wantsSignedRequests: /^(?:true|1)$/i.test(wantsSigned),
  }
}

/** Returns the only identity provider in a file. */
function findProvider(root: MetadataElement): MetadataElement {
  const isEntity = ({ name, namespace }: MetadataElement) =>
    name === 'EntityDescriptor' && namespace === namespaces.metadata
  const entities = listElements(root).filter(isEntity)
  ensure(
    entities.length > 0,
    'This is XML, but not SAML metadata: it has no EntityDescriptor.',
  )

  const hasRole = (name: string) => (entity: MetadataElement) =>
    findRoles(entity, name).length > 0
  const [provider, another] = entities.filter(hasRole('IDPSSODescriptor'))
  ensure(
    !another,
    'This file describes several identity providers. Use the metadata of one.',
  )

  ensure(
    provider || !entities.some(hasRole('SPSSODescriptor')),
    'This is the metadata of a service provider, such as this service: use the identity provider’s.',
  )

  ensure(
    provider,
    'This is metadata, but not of a SAML 2.0 identity provider: it has no IDPSSODescriptor.',
  )

  return provider
}

/**
 * Decodes a file. Its first bytes, or else its XML declaration, determine the encoding.
 */
function decodeFile(file: Buffer): string {
  ensure(file.length > 0, 'This file is empty.')
  ensure(file.length <= maxFileBytes, tooLarge)

  const start = file.subarray(0, 400).toString('latin1')
  const declared = /<\?xml[^>]*\sencoding=["']([\w.:-]+)["']/.exec(start)?.[1] ?? 'utf-8'

  try {
    return new TextDecoder(findEncoding(start, declared), { fatal: true }).decode(file)
  } catch {
    throw new UsageError(
      'This file is not in the encoding that it names. Save it as UTF-8.',
    )
  }
}

/** Returns the label of the encoding of a file, by its start (one character per byte). */
function findEncoding(start: string, declared: string): string {
  if (/^(?:\xFE\xFF|\0<)/.test(start)) return 'utf-16be'
  if (/^(?:\xFF\xFE|<\0)/.test(start)) return 'utf-16le'
  if (start.startsWith('\xEF\xBB\xBF')) return 'utf-8'

  // A declaration that is readable byte by byte is not in UTF-16, even if it declares
  // UTF-16.
  return /^(?:utf-?16|ucs-?2|iso-10646)/i.test(declared) ? 'utf-8' : declared
}

function parseMetadata(text: string): MetadataElement {
  // Removes the processing instructions that browsers and stylesheets add before the
  // root.
  const xml = text.replace(/^[\s\uFEFF]*(?:<\?[^>]*\?>\s*)*/, '').trim()
  ensure(xml !== '', 'This file is empty.')

  const root = cutOutRoot(xml)
  const mayCutOut = root !== undefined && !/<!DOCTYPE/i.test(xml)
  const candidates = mayCutOut ? [xml, root] : [xml]
  let reason: UnreadableXml['reason'] = 'malformed'

  for (const candidate of candidates) {
    try {
      return parseMetadataXml(candidate)
    } catch (error) {
      if (!(error instanceof UnreadableXml)) throw error
      reason = error.reason
    }
  }

  throw new UsageError(explainUnreadable(xml, reason, root === undefined))
}

/**
 * Returns the root element of metadata, without text around it that people may have
 * copied too.
 */
function cutOutRoot(xml: string): string | undefined {
  const start = xml.search(/<(?:[\w-]+:)?Entit(?:y|ies)Descriptor\b/)
  const ends = xml.matchAll(/<\/(?:[\w-]+:)?Entit(?:y|ies)Descriptor\s*>/g)
  const last = [...ends].at(-1)
  return start < 0 || !last ? undefined : xml.slice(start, last.index + last[0].length)
}

/** Returns what an operator has probably saved instead of the metadata. */
function explainUnreadable(
  xml: string,
  reason: UnreadableXml['reason'],
  isCutOff: boolean,
): string {
  if (/<html\b|<!DOCTYPE html/i.test(xml))
    return 'This is a web page (HTML). Save the metadata itself, not the page that shows it.'
  if (/^[[{]/.test(xml))
    return 'This is JSON, such as the metadata of an OpenID provider. Use the SAML metadata (XML).'
  if (/&lt;(?:[\w-]+:)?Entit/.test(xml))
    return 'The XML in this file is escaped (&lt;). Save the metadata itself, not the page that shows it.'
  if (reason === 'markup')
    return 'This file has a DTD, CDATA, or a processing instruction inside. Remove it.'
  if (reason === 'depth')
    return 'This file has more than 25 levels of elements, which metadata does not have. Save the metadata itself.'

  const [entity] = /&(?!(?:lt|gt|amp|quot|apos);)[A-Za-z]\w{0,30};/.exec(xml) ?? []
  if (entity)
    return `XML does not define the entity ${entity} in this file. Replace it with its character.`
  if (isCutOff && /<(?:[\w-]+:)?Entit/.test(xml))
    return 'This file is incomplete: its last element does not end.'

  return 'This is not XML that can be read. Save the metadata itself, not the page that shows it.'
}

/**
 * Returns the roles of this name that support SAML 2.0. An entity may have another role
 * for SAML 1.1.
 */
function findRoles(entity: MetadataElement, name: string): MetadataElement[] {
  return findChildren(entity, namespaces.metadata, name).filter(({ attributes }) =>
    (attributes.get('protocolSupportEnumeration') ?? '')
      .split(' ')
      .includes(namespaces.protocol),
  )
}

function findEndpoints(role: MetadataElement): string[] {
  return findChildren(role, namespaces.metadata, 'SingleSignOnService')
    .filter(
      (each) =>
        readUri(each, 'Binding') === 'urn:oasis:names:tc:SAML:2.0:bindings:HTTP-Redirect',
    )
    .map((each) => readUri(each, 'Location') ?? '')
}

/**
 * Returns the certificates (PEM), and a note about each one that is unusable, has expired
 * or is not valid yet. The dates have no meaning (SAML Metadata Interoperability
 * Profile), so a provider may still sign with such a key.
 */
function readSigningCertificates(role: MetadataElement, stored: string[]) {
  const signs = (key: MetadataElement) => (readUri(key, 'use') || 'signing') === 'signing'
  const published = findChildren(role, namespaces.metadata, 'KeyDescriptor')
    .filter(signs)
    .flatMap((key) => findByLocalName(key, 'KeyInfo'))
    .flatMap((info) => findByLocalName(info, 'X509Data'))
    .flatMap((data) => selectKeys(findByLocalName(data, 'X509Certificate'), stored))

  const usable = new Map<string, string>()
  const notes: string[] = []

  for (const [index, { text, certificate }] of published.entries()) {
    const name = `certificate ${index + 1} of ${published.length}`
    const problem = findProblem(text, certificate)
    if (problem) notes.push(`Left out ${name}: ${problem}.`)
    if (!certificate || problem) continue

    const warning = findDateProblem(certificate)
    if (warning)
      notes.push(
        `Imported ${name}, although ${warning}: the provider may still sign with it.`,
      )

    usable.set(certificate.fingerprint256, certificate.toString())
  }

  const noneUsable =
    'There is no signing certificate (X509Certificate in a KeyDescriptor) that can be used.'
  ensure(usable.size > 0, [noneUsable, ...notes, 'Get the current metadata.'].join('\n'))

  return { certificates: [...usable.values()], notes }
}

/** Ignores the namespace, which is wrong in files that were written by hand. */
const findByLocalName = ({ children }: MetadataElement, name: string) =>
  children.filter((child) => child.name === name)

type Published = { text: string; certificate: X509Certificate | undefined }

/**
 * Returns the certificates of an X509Data that have the provider's keys: not those of the
 * authorities that issued another one in it, unless such a key is in use already.
 */
function selectKeys(elements: MetadataElement[], stored: string[]): Published[] {
  const all = elements.map(({ text }) => trimXml(text))
  const texts = all.filter((text) => text !== '')
  const chain = (texts.length > 0 ? texts : all.slice(0, 1)).map((text) => ({
    text,
    certificate: parseCertificate(text),
  }))

  const issuers = new Set(
    chain.flatMap(({ certificate }) =>
      certificate && certificate.issuer !== certificate.subject ? certificate.issuer : [],
    ),
  )

  return chain.filter(
    ({ certificate }) =>
      !certificate ||
      !issuers.has(certificate.subject) ||
      stored.includes(certificate.toString()),
  )
}

function findProblem(text: string, certificate?: X509Certificate): string | undefined {
  if (text === '') return 'it is empty'
  if (!certificate || Number.isNaN(Date.parse(certificate.validTo)))
    return 'it can’t be read'

  const { asymmetricKeyType, asymmetricKeyDetails } = certificate.publicKey
  const isLongRsa =
    asymmetricKeyType === 'rsa' && asymmetricKeyDetails!.modulusLength! >= 2048
  return isLongRsa ? undefined : 'it holds no RSA key of 2048 bits or more'
}

function findDateProblem({ validFrom, validTo }: X509Certificate): string | undefined {
  const [start, end] = [new Date(validFrom), new Date(validTo)]
  if (end <= new Date()) return `it expired on ${end.toISOString().slice(0, 10)}`
  if (start > new Date())
    return `it is not valid before ${start.toISOString().slice(0, 10)}`
  return undefined
}

/** Reads a certificate in base64. It may be PEM, with other text around it. */
function parseCertificate(text: string): X509Certificate | undefined {
  const [, inPem] = /-----BEGIN[A-Z0-9 ]*CERTIFICATE-----([^-]*)/.exec(text) ?? []
  const base64 = (inPem ?? text).replace(/\s/g, '')
  if (!/^[A-Za-z0-9+/]+=*$/.test(base64)) return undefined

  try {
    const certificate = new X509Certificate(Buffer.from(base64, 'base64'))
    return certificate.publicKey && certificate // reading the key can fail too
  } catch {
    return undefined
  }
}
