// What a test sign-in at a SAML provider shows.
import type { SamlConnection } from '../connection'
import type { Expected, ProviderReport, Received, TraceEntry } from '../trace'
import { ssoUrl } from '../urls'
import { describeCertificate } from './certificates'
import { findChildren, namespaces, trimXml, type XmlElement } from './xml'

const { assertion: saml, protocol, signature } = namespaces

export const samlReport: ProviderReport<SamlConnection> = {
  verification: [
    { label: 'Our secrets can be decrypted', checks: /^(secrets|connection_kind)$/ },
    {
      label: 'The response can be read, and is for this sign-in',
      checks:
        /^saml_(base64|encoding|malformed|markup|too_|response|version|id$|destination|in_response_to|issuer)/,
    },
    { label: 'The provider reports no error', checks: /^saml_status$/ },
    {
      label: 'The assertion can be decrypted, and its signature is valid',
      checks:
        /^saml_(assertion_count|encryption|decryption|unsigned|signature|algorithm|library)/,
    },
  ],
  content: {
    label: 'The assertion is for us, valid now, and has a NameID',
    checks: /^saml_/,
  },

  describe(connection, _response, entries) {
    const response = findPart(entries, 'response')
    const inside = response && findChildren(response, saml, 'Assertion')[0]
    const assertion = findPart(entries, 'assertion') ?? inside
    const parts = [response, assertion].filter((part) => part !== undefined)

    const received = [
      { from: 'response', values: response ? describeResponse(response) : [] },
      { from: 'assertion', values: assertion ? describeAssertion(assertion) : [] },
      { from: 'attributes', values: assertion ? readAttributes(assertion) : [] },
      { from: 'signatures', values: describeSignatures(response, assertion, entries) },
    ]

    return {
      received: received.filter(({ values }) => values.length > 0),
      expected: compare(connection, response, assertion),
      secrets: [],
      issuedAt: readIssuedAt(parts),
    }
  },
}

function findPart(
  entries: TraceEntry[],
  part: 'response' | 'assertion',
): XmlElement | undefined {
  const found = entries.findLast((entry) => 'part' in entry && entry.part === part)
  return found && 'element' in found ? found.element : undefined
}

/** Returns the elements at a path of names below an element. */
function find(
  element: XmlElement | undefined,
  namespace: string,
  ...path: string[]
): XmlElement[] {
  return path.reduce(
    (found, name) => found.flatMap((each) => findChildren(each, namespace, name)),
    element ? [element] : [],
  )
}

function readTexts(elements: XmlElement[]): string[] {
  return elements.map(({ text }) => trimXml(text))
}

function readAll(elements: XmlElement[], attribute: string): string[] {
  return elements.flatMap(({ attributes }) => attributes.get(attribute) ?? [])
}

function name(label: string, values: string[]): Received['values'] {
  return values.map((value) => [label, value])
}

function describeResponse(response: XmlElement): Received['values'] {
  const [status] = find(response, protocol, 'Status')
  const codes = find(status, protocol, 'StatusCode')
  const inner = find(status, protocol, 'StatusCode', 'StatusCode')

  return [
    ...name('Issuer', readTexts(find(response, saml, 'Issuer'))),
    ...name('Destination', readAll([response], 'Destination')),
    ...name('IssueInstant', readAll([response], 'IssueInstant')),
    ...name('StatusCode', readAll([...codes, ...inner], 'Value')),
    ...name('StatusMessage', readTexts(find(status, protocol, 'StatusMessage'))),
    ...name(
      'EncryptedAssertion',
      find(response, saml, 'EncryptedAssertion').map(() => 'yes'),
    ),
  ]
}

function describeAssertion(assertion: XmlElement): Received['values'] {
  const [conditions] = find(assertion, saml, 'Conditions')
  const data = findConfirmations(assertion)
  const nameIds = find(assertion, saml, 'Subject', 'NameID')
  const statements = find(assertion, saml, 'AuthnStatement')

  return [
    ...name('Issuer', readTexts(find(assertion, saml, 'Issuer'))),
    ...name('NameID', readTexts(nameIds)),
    ...name('Format of the NameID', readAll(nameIds, 'Format')),
    ...name('Audience', readAudiences(assertion)),
    ...name('IssueInstant', readAll([assertion], 'IssueInstant')),
    ...(conditions ? describeTimes('Conditions', [conditions]) : []),
    ...name('Recipient', readAll(data, 'Recipient')),
    ...describeTimes('SubjectConfirmationData', data),
    ...name('SessionNotOnOrAfter', readAll(statements, 'SessionNotOnOrAfter')),
  ]
}

function describeTimes(of: string, elements: XmlElement[]): Received['values'] {
  return ['NotBefore', 'NotOnOrAfter'].flatMap((time) =>
    name(`${time} of ${of}`, readAll(elements, time)),
  )
}

function findConfirmations(assertion: XmlElement | undefined): XmlElement[] {
  return find(
    assertion,
    saml,
    'Subject',
    'SubjectConfirmation',
    'SubjectConfirmationData',
  )
}

function readAudiences(assertion: XmlElement | undefined): string[] {
  return readTexts(find(assertion, saml, 'Conditions', 'AudienceRestriction', 'Audience'))
}

function readAttributes(assertion: XmlElement): Received['values'] {
  const attributes = find(assertion, saml, 'AttributeStatement', 'Attribute')
  return attributes.flatMap((attribute) =>
    name(
      attribute.attributes.get('Name') ?? '',
      readTexts(find(attribute, saml, 'AttributeValue')),
    ),
  )
}

/** Returns what is signed, with which algorithm, and by which imported certificate. */
function describeSignatures(
  response: XmlElement | undefined,
  assertion: XmlElement | undefined,
  entries: TraceEntry[],
): Received['values'] {
  const parts = { response, assertion }

  return Object.entries(parts).flatMap(([part, element]) => {
    const methods = find(element, signature, 'Signature', 'SignedInfo', 'SignatureMethod')
    const algorithms = readAll(methods, 'Algorithm')
    const verified = entries.filter((entry) => 'signed' in entry && entry.signed === part)
    const certificates = verified.flatMap((entry) =>
      'certificate' in entry ? describeCertificate(entry.certificate) : [],
    )

    return [
      ...name(`algorithm, ${part}`, algorithms),
      ...name(`imported certificate that fits, ${part}`, certificates),
      ...name(`certificate in the ${part}`, describeSent(element)),
    ]
  })
}

/** Returns the certificates that a signature contains. They prove nothing. */
function describeSent(element: XmlElement | undefined): string[] {
  const sent = find(
    element,
    signature,
    'Signature',
    'KeyInfo',
    'X509Data',
    'X509Certificate',
  )

  return readTexts(sent).map((base64) => {
    const body = base64.replace(/\s/g, '')
    try {
      return describeCertificate(
        `-----BEGIN CERTIFICATE-----\n${body}\n-----END CERTIFICATE-----`,
      )
    } catch {
      return 'unreadable'
    }
  })
}

function compare(
  { slug, settings }: SamlConnection,
  response: XmlElement | undefined,
  assertion: XmlElement | undefined,
): Expected[] {
  const acsUrl = ssoUrl(slug, 'acs')
  const parts = [response, assertion].filter((part) => part !== undefined)
  const issuers = parts.flatMap((part) => readTexts(find(part, saml, 'Issuer')))
  const certificates = settings.certificates.map(describeCertificate)

  return [
    { name: 'issuer', ours: settings.issuer, received: [...new Set(issuers)] },
    {
      name: 'audience',
      ours: ssoUrl(slug, 'metadata'),
      received: readAudiences(assertion),
    },
    {
      name: 'destination',
      ours: acsUrl,
      received: response ? readAll([response], 'Destination') : [],
    },
    {
      name: 'recipient',
      ours: acsUrl,
      received: readAll(findConfirmations(assertion), 'Recipient'),
    },
    {
      name: 'certificate',
      ours: certificates.join('\n'),
      received: [...new Set(parts.flatMap(describeSent))],
    },
  ]
}

function readIssuedAt(parts: XmlElement[]): number | null {
  const times = readAll(parts, 'IssueInstant').map((text) => Date.parse(text))
  return times.findLast((time) => !Number.isNaN(time)) ?? null
}
