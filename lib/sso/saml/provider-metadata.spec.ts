import { generateKeyPairSync, X509Certificate } from 'node:crypto'
import { beforeAll, expect, test } from 'vitest'
import { replace } from '../../../e2e/support/saml-provider'
import { newKeyPair } from './key-pair'
import { ProviderMetadataError, readProviderMetadata } from './provider-metadata'

const old = new Date('2010-01-01T00:00:00Z')
const protocol = 'urn:oasis:names:tc:SAML:2.0:protocol'
let current: string
let next: string
let expired: string
beforeAll(async () => {
  const pairs = await Promise.all([newKeyPair('current'), newKeyPair('next'), newKeyPair('expired', old)])
  ;[current, next, expired] = pairs.map(({ certificate }) => certificate) as [string, string, string]
})

const key = (pem: string, use = ' use="signing"') =>
  `<md:KeyDescriptor${use}><ds:KeyInfo xmlns:ds="http://www.w3.org/2000/09/xmldsig#"><ds:X509Data><ds:X509Certificate>\n${pem.replace(/-----.*-----/g, '')}</ds:X509Certificate></ds:X509Data></ds:KeyInfo></md:KeyDescriptor>`
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

const problemOf = (xml: string) => {
  try {
    readProviderMetadata(xml)
    return 'accepted'
  } catch (error) {
    if (!(error instanceof ProviderMetadataError)) throw error
    expect(error.message).toMatch(/\.$/)
    return error.problem
  }
}

test('reads the entity ID, the endpoint, and the certificate with its end', () => {
  const xml = `\uFEFF<?xml version="1.0" encoding="utf-8"?>\r\n<!-- for - everybody -->\n${good()}\n<!-- end -->\n`
  expect(readProviderMetadata(xml)).toEqual({
    entityId: 'https://idp.example/metadata',
    ssoUrl: 'https://idp.example/redirect?a=b&c=d',
    certificates: [{ pem: current, expiresAt: new Date(new X509Certificate(current).validTo) }],
    wantsSignedRequests: false,
  })
})

test('reads both certificates of a rotation once, and leaves expired ones and those for encryption out', async () => {
  const { certificate: encryption } = await newKeyPair('encryption')
  const keys = [key(current), key(current), key(next, ''), key(expired), key(encryption, ' use="encryption"')]
  const { certificates } = readProviderMetadata(entity(role(keys.join(''))))
  expect(certificates.map(({ pem }) => pem)).toEqual([current, next])
})

test('reads the first certificate of a chain only', () => {
  const chain = replace(
    '</ds:X509Data>',
    `<ds:X509Certificate>${next.replace(/-----.*-----/g, '')}</ds:X509Certificate></ds:X509Data>`,
  )
  const { certificates } = readProviderMetadata(chain(good()))
  expect(certificates.map(({ pem }) => pem)).toEqual([current])
})

test('reads one provider in a list, beside a service provider and a role of SAML 1.1', () => {
  const other = entity(`<md:SPSSODescriptor protocolSupportEnumeration="${protocol}"/>`, 'https://app.example')
  const legacy = '<md:IDPSSODescriptor protocolSupportEnumeration="urn:oasis:names:tc:SAML:1.1:protocol"/>'
  const xml = `<md:EntitiesDescriptor xmlns:md="urn:oasis:names:tc:SAML:2.0:metadata">${other}${entity(legacy + role(key(current)))}</md:EntitiesDescriptor>`
  expect(readProviderMetadata(xml).entityId).toBe('https://idp.example/metadata')
})

test('takes no check from metadata', () => {
  for (const value of ['false', 'true']) {
    const hostile = `WantAuthnRequestsSigned="${value}" WantAssertionsSigned="false" WantResponseSigned="false" validateSignature="false" protocolSupport`
    const metadata = readProviderMetadata(replace('protocolSupport', hostile)(good()))
    expect(Object.keys(metadata)).toEqual(['entityId', 'ssoUrl', 'certificates', 'wantsSignedRequests'])
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
  const local = replace('https://idp.example/redirect', 'http://localhost:8080/redirect')
  expect(readProviderMetadata(local(good())).ssoUrl).toBe('http://localhost:8080/redirect?a=b&c=d')
})

const unsupported = (type: 'rsa' | 'rsa-pss' | 'ec', modulusLength: number) =>
  generateKeyPairSync(type as 'rsa', {
    modulusLength,
    ...(type === 'ec' && { namedCurve: 'P-256' }),
    publicKeyEncoding: { type: 'spki', format: 'der' },
    privateKeyEncoding: { type: 'pkcs8', format: 'der' },
  }).publicKey

/** A certificate with another key in it. Its signature is wrong, which nobody checks here. */
function certificateOf(publicKey: Buffer): string {
  const bytes = new X509Certificate(current).raw
  const spki = new X509Certificate(current).publicKey.export({ type: 'spki', format: 'der' })
  const at = bytes.indexOf(spki)
  const shorter = spki.length - publicKey.length
  const content = Buffer.concat([bytes.subarray(0, at), publicKey, bytes.subarray(at + spki.length)])
  content.writeUInt16BE(content.readUInt16BE(2) - shorter, 2) // the length of the certificate
  content.writeUInt16BE(content.readUInt16BE(6) - shorter, 6) // the length of what is signed
  return content.toString('base64')
}

const unusable: Record<string, [ProviderMetadataError['problem'], () => string]> = {
  'nothing at all': ['not-xml', () => ''],
  'a web page': ['not-xml', () => '<!DOCTYPE html><html><body><p>Metadata<br></body></html>'],
  'an OpenID configuration': ['not-xml', () => '{"issuer":"https://idp.example"}'],
  'a DTD': ['not-xml', () => `<!DOCTYPE a [<!ENTITY b "c">]>${good()}`],
  'a processing instruction': ['not-xml', () => `<?xml-stylesheet href="a"?>${good()}`],
  CDATA: ['not-xml', () => replace('>\n', '><![CDATA[\n]]>')(good())],
  'cut-off XML': ['not-xml', () => good().slice(0, -20)],
  '256 KiB and more': ['too-large', () => `${good()}<!--${'x'.repeat(256 * 1024)}-->`],
  'too many elements': ['too-large', () => replace('</md:Entity', `${'<a/>'.repeat(1001)}</md:Entity`)(good())],
  'other XML': ['not-metadata', () => '<html/>'],
  'an entity of another namespace': ['not-metadata', () => '<EntityDescriptor/>'],
  'two providers': ['several-entities', () => `<a>${good()}${good()}</a>`],
  'a service provider': [
    'service-provider',
    () => entity(`<md:SPSSODescriptor protocolSupportEnumeration="${protocol}"/>`),
  ],
  'a provider of SAML 1.1': ['not-a-provider', () => replace(` ${protocol}`, '')(good())],
  'no entity ID': ['no-entity-id', () => replace(/ entityID="[^"]*"/, '')(good())],
  'an empty entity ID': ['no-entity-id', () => replace(/entityID="[^"]*"/, 'entityID=" "')(good())],
  'no endpoint for HTTP-Redirect': [
    'no-redirect-endpoint',
    () => entity(role(key(current), service('HTTP-POST', 'https://idp.example'))),
  ],
  'an endpoint over http': [
    'bad-endpoint',
    () => replace('https://idp.example/redirect', 'http://idp.example/redirect')(good()),
  ],
  'a script as the endpoint': [
    'bad-endpoint',
    () => replace('https://idp.example/redirect', 'javascript:alert(1)//')(good()),
  ],
  'an endpoint that is no URL': ['bad-endpoint', () => replace('https://idp.example/redirect', '/redirect')(good())],
  'no certificate': ['no-certificate', () => entity(role(''))],
  'a certificate for encryption only': ['no-certificate', () => entity(role(key(current, ' use="encryption"')))],
  'a certificate that can’t be read': ['bad-certificate', () => entity(role(key('AAAA')))],
  'an RSA key of 1024 bits': ['unsupported-key', () => entity(role(key(certificateOf(unsupported('rsa', 1024)))))],
  'an RSA key for PSS alone': ['unsupported-key', () => entity(role(key(certificateOf(unsupported('rsa-pss', 2048)))))],
  'an elliptic-curve key': ['unsupported-key', () => entity(role(key(certificateOf(unsupported('ec', 0)))))],
  'an expired certificate': ['expired-certificate', () => entity(role(key(expired)))],
}
for (const [what, [problem, make]] of Object.entries(unusable)) {
  test(`names the problem of ${what}`, () => expect(problemOf(make())).toBe(problem))
}
