import { generateKeyPairSync, X509Certificate } from 'node:crypto'
import { beforeAll, expect, test } from 'vitest'
import { newSamlProvider, replace } from '../../../e2e/support/providers/saml-provider'
import { UsageError } from '../../usage-error'
import { newKeyPair } from './key-pair'
import { readProviderMetadata } from './provider-metadata'

const old = new Date('2010-01-01T00:00:00Z')
const protocol = 'urn:oasis:names:tc:SAML:2.0:protocol'
let current: string
let next: string
let expired: string
/** The authority that certifies the key of `leaf`. */
let authority: { privateKey: string; certificate: string }
beforeAll(async () => {
  const { settings, nextKey } = await newSamlProvider()
  current = settings.certificates[0]!
  next = nextKey.certificate
  authority = settings
  expired = (await newKeyPair('expired', old)).certificate
})

const keyText = (pem: string) => pem.replace(/-----.*-----/g, '')
const key = (pem: string, use?: string) => keyOf(`\n${keyText(pem)}`, use)
const keyOf = (text: string, use = ' use="signing"') =>
  `<md:KeyDescriptor${use}><ds:KeyInfo xmlns:ds="http://www.w3.org/2000/09/xmldsig#"><ds:X509Data><ds:X509Certificate>${text}</ds:X509Certificate></ds:X509Data></ds:KeyInfo></md:KeyDescriptor>`
const service = (binding: string, location: string) =>
  `<md:SingleSignOnService Binding="urn:oasis:names:tc:SAML:2.0:bindings:${binding}" Location="${location}"/>`
const entity = (content: string, id = 'https://idp.example/metadata') =>
  `<md:EntityDescriptor xmlns:md="urn:oasis:names:tc:SAML:2.0:metadata" entityID="${id}">${content}</md:EntityDescriptor>`
const role = (
  keys: string,
  services = service('HTTP-POST', 'https://idp.example/post') +
    service('HTTP-Redirect', 'https://idp.example/redirect?a=b&amp;c=d'),
) =>
  `<md:IDPSSODescriptor protocolSupportEnumeration="urn:oasis:names:tc:SAML:1.1:protocol ${protocol}">${keys}${services}</md:IDPSSODescriptor>`
const good = () => entity(role(key(current)))
/** Returns metadata with another endpoint. */
const at = (endpoint: string) => replace('https://idp.example/redirect', endpoint)(good())

const problemOf = (xml: string | Buffer) => {
  try {
    readProviderMetadata(xml)
    return 'accepted'
  } catch (error) {
    if (!(error instanceof UsageError)) throw error
    expect(error.message).toMatch(/\.$/)
    return error.message
  }
}

test('reads the entity ID, the endpoint, and the certificate', () => {
  const xml = `\uFEFF<?xml version="1.0" encoding="utf-8"?>\r\n<!-- for - everybody -->\n${good()}\n<!-- end -->\n`
  expect(readProviderMetadata(xml)).toEqual({
    entityId: 'https://idp.example/metadata',
    ssoUrl: 'https://idp.example/redirect?a=b&c=d',
    certificates: [current],
    notes: [],
    wantsSignedRequests: false,
  })
})

test('reads all signing certificates of a rotation once, also expired ones and future ones', async () => {
  const year = new Date().getUTCFullYear()
  const future = (await newKeyPair('future', new Date(`${year + 1}-06-01T00:00:00Z`)))
    .certificate
  const keys = [
    key(current),
    key(current),
    key(next, ''),
    key(expired),
    key(future),
    key(authority.certificate, ' use="encryption"'),
  ]
  const { certificates, notes } = readProviderMetadata(entity(role(keys.join(''))))
  expect(certificates).toEqual([current, next, expired, future])
  expect(notes).toEqual([
    'Imported certificate 4 of 5, although it expired on 2020-01-01: the provider may still sign with it.',
    `Imported certificate 5 of 5, although it is not valid before ${year + 1}-06-01: the provider may still sign with it.`,
  ])
  expect(readProviderMetadata(entity(role(key(expired)))).certificates).toEqual([expired])
})

/** Returns a certificate (PEM) of the authority, for the key in `current` or a smaller one. */
async function certify(keySize = 2048): Promise<string> {
  const { default: forge } = await import('node-forge')
  const certificate = forge.pki.certificateFromPem(current)
  if (keySize < 2048) {
    const der = forge.util.createBuffer(unsupported('rsa', keySize).toString('binary'))
    certificate.publicKey = forge.pki.publicKeyFromAsn1(forge.asn1.fromDer(der))
  }
  const { subject } = forge.pki.certificateFromPem(authority.certificate)
  certificate.setIssuer(subject.attributes)
  certificate.sign(
    forge.pki.privateKeyFromPem(authority.privateKey),
    forge.md.sha256.create(),
  )
  return forge.pki.certificateToPem(certificate).replaceAll('\r', '')
}

/** Returns metadata with several certificates in one X509Data. */
const inOneX509Data = (...pems: string[]) =>
  entity(
    role(
      key(current).replace(
        /<ds:X509Certificate>[\s\S]*<\/ds:X509Certificate>/,
        pems
          .map((pem) => `<ds:X509Certificate>${keyText(pem)}</ds:X509Certificate>`)
          .join(''),
      ),
    ),
  )

test('reads the leaf of a chain in any order, and never drops a certificate that is in use', async () => {
  const leaf = await certify()
  const issuer = authority.certificate
  for (const chain of [
    [leaf, issuer],
    [issuer, leaf],
  ]) {
    expect(readProviderMetadata(inOneX509Data(...chain)).certificates).toEqual([leaf])
    expect(readProviderMetadata(inOneX509Data(...chain), [issuer]).certificates).toEqual(
      chain,
    )
  }
  // two keys that are not a chain
  const { certificates } = readProviderMetadata(inOneX509Data(current, next))
  expect(certificates).toEqual([current, next])
})

test('reads the only identity provider in a list that contains a service provider and a SAML 1.1 role', () => {
  const other = entity(
    `<md:SPSSODescriptor protocolSupportEnumeration="${protocol}"/>`,
    'https://app.example',
  )
  const legacy =
    '<md:IDPSSODescriptor protocolSupportEnumeration="urn:oasis:names:tc:SAML:1.1:protocol"/>'
  const xml = `<md:EntitiesDescriptor xmlns:md="urn:oasis:names:tc:SAML:2.0:metadata">${other}${entity(legacy + role(key(current)))}</md:EntitiesDescriptor>`
  expect(readProviderMetadata(xml).entityId).toBe('https://idp.example/metadata')
})

test('metadata can’t switch off a check', () => {
  for (const value of ['false', 'true']) {
    const hostile = `WantAuthnRequestsSigned="${value}" WantAssertionsSigned="false" WantResponseSigned="false" validateSignature="false" protocolSupport`
    const metadata = readProviderMetadata(replace('protocolSupport', hostile)(good()))
    expect(Object.keys(metadata)).toEqual([
      'entityId',
      'ssoUrl',
      'certificates',
      'notes',
      'wantsSignedRequests',
    ])
    expect(metadata.wantsSignedRequests).toBe(value === 'true')
  }
})

test('ignores white space around the entity ID, the endpoint and other URIs', () => {
  const padded = good()
    .replace(/entityID="([^"]*)"/, 'entityID=" $1&#10;"')
    .replaceAll(/(Binding|Location|use)="([^"]*)"/g, '$1="\n\t$2 "')
  expect(readProviderMetadata(padded)).toEqual(readProviderMetadata(good()))
})

test('reads an endpoint on localhost', () => {
  expect(readProviderMetadata(at('http://localhost:8080/redirect')).ssoUrl).toBe(
    'http://localhost:8080/redirect?a=b&c=d',
  )
})

/** Returns metadata that contains a name that is not in ASCII. */
const named = (text: string) =>
  replace('</md:Entity', `<md:Organization>${text}</md:Organization>$&`)(good())
const nested = (levels: number) => '<a>'.repeat(levels) + '</a>'.repeat(levels)
const utf16 = (text: string) => Buffer.from(text, 'utf16le')

test('reads metadata in the encoding of the file, and ignores other text before and after the metadata', () => {
  const declared = (encoding: string) =>
    `<?xml version="1.0" encoding="${encoding}"?>\n${named('Zürich')}`
  const files: Record<string, string | Buffer> = {
    'UTF-8 with a byte order mark': `\uFEFF${declared('utf-8')}`,
    'UTF-16, as Windows PowerShell saves it': utf16(`\uFEFF${declared('utf-8')}`),
    'UTF-16 without a byte order mark': utf16(declared('UTF-16')),
    'UTF-16 in big-endian order': utf16(`\uFEFF${declared('UTF-16')}`).swap16(),
    'UTF-8 that was converted from UTF-16': declared('utf-16'),
    'ISO-8859-1': Buffer.from(declared('ISO-8859-1'), 'latin1'),
    'windows-1252': Buffer.from(declared('Windows-1252'), 'latin1'),
    'UTF-8 without a declaration': named('Zürich'),
    'a stylesheet': `<?xml version="1.0"?>\r\n<?xml-stylesheet href="a.xsl"?>\n${good()}`,
    'the text of a browser before the metadata': `This XML file does not appear to have any style information.\n\n${declared('utf-8')}`,
    'the text of a terminal around the metadata': `$ curl https://idp.example/metadata\n${declared('utf-8')}\n$ `,
    '25 levels of elements': named(nested(23)),
    'a Markdown fence around the metadata': `\`\`\`xml\n${good()}\n\`\`\`\n`,
  }
  for (const [what, file] of Object.entries(files))
    expect(readProviderMetadata(file), what).toEqual(readProviderMetadata(good()))
})

test('reads a certificate as PEM, with line breaks, and with text around the PEM', () => {
  const body = current.replace(/-----.*-----|\s/g, '')
  for (const text of [
    current,
    current.replaceAll('\n', '\r\n'),
    `Certificate:\n  Data: CN=idp\n${current}`,
    `subject=/CN=idp\n${current}\n`,
    `-----BEGIN CERTIFICATE-----${body}-----END CERTIFICATE-----`,
    `-----BEGINCERTIFICATE-----${body}-----ENDCERTIFICATE-----`,
    current.replaceAll('CERTIFICATE', 'TRUSTED CERTIFICATE'),
    `\t${body.replace(/.{64}/g, '$&\n\t')}\n`,
  ]) {
    const { certificates } = readProviderMetadata(entity(role(keyOf(text))))
    expect(certificates, text.slice(0, 40)).toEqual([current])
  }
  expect(problemOf(entity(role(keyOf(`subject=/CN=idp${body}`))))).toContain(
    'can’t be read',
  )
})

test('uses the valid certificates and endpoints, and lists the invalid ones', () => {
  const bad: [string, string][] = [
    [certificateOf(unsupported('ec', 0)), 'it holds no RSA key of 2048 bits or more'],
    [certificateOf(unsupported('rsa', 1024)), 'it holds no RSA key of 2048 bits or more'],
    ['', 'it is empty'],
    ['\n', 'it is empty'],
    ['AAAA', 'it can’t be read'],
    ['not base64!', 'it can’t be read'],
    [withoutDate(next), 'it can’t be read'],
  ]
  for (const [text, problem] of bad) {
    for (const keys of [
      [text, current],
      [current, text],
    ]) {
      const { certificates, notes } = readProviderMetadata(
        entity(role(keys.map((each) => keyOf(each)).join(''))),
      )
      expect(certificates).toEqual([current])
      expect(notes).toEqual([
        `Left out certificate ${keys.indexOf(text) + 1} of 2: ${problem}.`,
      ])
    }
  }
  const emptyFirst = replace('<ds:X509Certificate>', '<ds:X509Certificate/>$&')(good())
  expect(readProviderMetadata(emptyFirst).certificates).toHaveLength(1)
  expect(problemOf(entity(role(keyOf(''))))).toContain('it is empty')

  const redirect = service('HTTP-Redirect', 'https://idp.example/redirect')
  const plain =
    service('HTTP-Redirect', 'http://idp.example/old') + service('HTTP-Redirect', '')
  expect(readProviderMetadata(entity(role(key(current), plain + redirect))).ssoUrl).toBe(
    'https://idp.example/redirect',
  )
  const postOnly = role(key(expired), service('HTTP-POST', 'https://idp.example/post'))
  expect(
    readProviderMetadata(entity(postOnly + role(key(current), redirect))).ssoUrl,
  ).toBe('https://idp.example/redirect')
})

test('does not use the issuer’s key instead of a key that can’t be used', async () => {
  const leaf = await certify(1024)
  for (const chain of [
    [leaf, authority.certificate],
    [authority.certificate, leaf],
  ])
    expect(problemOf(inOneX509Data(...chain))).toContain('RSA key of 2048')
})

/** Returns a certificate whose end is no date. */
const withoutDate = (pem: string) => {
  const { raw, validTo } = new X509Certificate(pem)
  const year = String(new Date(validTo).getUTCFullYear()).slice(2)
  const at = raw.lastIndexOf(Buffer.from(`\x17\x0d${year}`)) // UTCTime
  raw.write('??', at + 2)
  return raw.toString('base64')
}

const unsupported = (type: 'rsa' | 'rsa-pss' | 'ec', modulusLength: number) =>
  generateKeyPairSync(type as 'rsa', {
    modulusLength,
    ...(type === 'ec' && { namedCurve: 'P-256' }),
    publicKeyEncoding: { type: 'spki', format: 'der' },
    privateKeyEncoding: { type: 'pkcs8', format: 'der' },
  }).publicKey

/**
 * Returns a certificate that contains another key. Its signature is wrong, but it is not
 * checked here.
 */
function certificateOf(publicKey: Buffer): string {
  const bytes = new X509Certificate(current).raw
  const spki = new X509Certificate(current).publicKey.export({
    type: 'spki',
    format: 'der',
  })
  const at = bytes.indexOf(spki)
  const shorter = spki.length - publicKey.length
  const content = Buffer.concat([
    bytes.subarray(0, at),
    publicKey,
    bytes.subarray(at + spki.length),
  ])
  // the length of the certificate
  content.writeUInt16BE(content.readUInt16BE(2) - shorter, 2)
  // the length of the signed part
  content.writeUInt16BE(content.readUInt16BE(6) - shorter, 6)
  return content.toString('base64')
}

const unusable: Record<string, [string, () => string | Buffer]> = {
  'an empty text': ['is empty', () => ''],
  'white space only': ['is empty', () => '\uFEFF\r\n'],
  'a web page': [
    'web page',
    () => '<!DOCTYPE html><html><body><p>Metadata<br></body></html>',
  ],
  'a web page that shows metadata': [
    'web page',
    () => `<!DOCTYPE html><html><body>${good()}<br></body></html>`,
  ],
  'escaped metadata': [
    'escaped',
    () => good().replaceAll('<', '&lt;').replaceAll('>', '&gt;'),
  ],
  'an archive': ['encoding', () => Buffer.from('504b0304140000000800ff', 'hex')],
  'an unknown encoding': [
    'encoding',
    () => `<?xml version="1.0" encoding="x-nothing"?>${good()}`,
  ],
  'a wrong declaration of UTF-8': [
    'encoding',
    () => Buffer.from(`<?xml version="1.0"?>${named('ü')}`, 'latin1'),
  ],
  'an OpenID configuration': ['JSON', () => '{"issuer":"https://idp.example"}'],
  'a DTD': ['DTD, CDATA', () => `<!DOCTYPE a [<!ENTITY b "c">]>${good()}`],
  'a processing instruction inside the metadata': [
    'DTD, CDATA',
    () => replace('<md:IDPSSO', '<?a b?>$&')(good()),
  ],
  CDATA: ['DTD, CDATA', () => replace('>\n', '><![CDATA[\n]]>')(good())],
  'cut-off XML': ['incomplete', () => good().slice(0, -20)],
  'an entity that XML does not define': [
    'the entity &nbsp;',
    () => named('Example&nbsp;Corp'),
  ],
  'more than 1 MiB': ['1 MiB', () => `${good()}<!--${'x'.repeat(1024 * 1024)}-->`],
  '26 levels of elements': ['25 levels', () => named(nested(24))],
  'a prefix without a namespace': ['not XML', () => named('<a:b/>')],
  'an attribute twice': ['not XML', () => named('<a b="" b=""/>')],
  'other XML': ['not SAML metadata', () => '<html/>'],
  'an entity of another namespace': ['not SAML metadata', () => '<EntityDescriptor/>'],
  'two providers': ['several', () => `<a>${good()}${good()}</a>`],
  'a service provider': [
    'of a service provider',
    () => entity(`<md:SPSSODescriptor protocolSupportEnumeration="${protocol}"/>`),
  ],
  'a provider of SAML 1.1': [
    'no IDPSSODescriptor',
    () => replace(` ${protocol}`, '')(good()),
  ],
  'a missing entity ID': ['no entityID', () => replace(/ entityID="[^"]*"/, '')(good())],
  'an empty entity ID': [
    'no entityID',
    () => replace(/entityID="[^"]*"/, 'entityID=" "')(good()),
  ],
  'a missing endpoint for HTTP-Redirect': [
    'no sign-on endpoint',
    () => entity(role(key(current), service('HTTP-POST', 'https://idp.example'))),
  ],
  'an endpoint over http': ['not an https URL', () => at('http://idp.example/redirect')],
  'a script as the endpoint': ['not an https URL', () => at('javascript:alert(1)//')],
  'an endpoint that is no URL': ['not an https URL', () => at('/redirect')],
  'a missing certificate': ['no signing certificate', () => entity(role(''))],
  'a certificate for encryption': [
    'no signing certificate',
    () => entity(role(key(current, ' use="encryption"'))),
  ],
  'an RSA key only for PSS': [
    'RSA key of 2048',
    () => entity(role(key(certificateOf(unsupported('rsa-pss', 2048))))),
  ],
  'an elliptic-curve key': [
    'RSA key of 2048',
    () => entity(role(key(certificateOf(unsupported('ec', 0))))),
  ],
}
for (const [what, [problem, make]] of Object.entries(unusable)) {
  test(`an error names the problem of ${what}`, () =>
    expect(problemOf(make())).toContain(problem))
}
