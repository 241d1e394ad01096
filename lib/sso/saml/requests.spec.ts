import { verify, X509Certificate } from 'node:crypto'
import { inflateRawSync } from 'node:zlib'
import { beforeAll, expect, test } from 'vitest'
import {
  newSamlProvider,
  type SamlProvider,
} from '../../../e2e/support/providers/saml-provider'
import { createMetadata } from './metadata'
import { readProviderMetadata } from './provider-metadata'
import type { SamlSettings } from './settings'
import { createAuthnRequestUrl } from './sign-in'
import { findChildren, findOnlyChild, parseXml } from './xml'

const md = 'urn:oasis:names:tc:SAML:2.0:metadata'
const redirect = { id: '_x-1', relayState: 'a-b_C'.repeat(8) }

let provider: SamlProvider
beforeAll(async () => {
  provider = await newSamlProvider()
})

function requestIn(url: string) {
  const deflated = Buffer.from(new URL(url).searchParams.get('SAMLRequest')!, 'base64')
  return parseXml(
    inflateRawSync(deflated)
      .toString()
      .replace(/^<\?xml[^>]*>/, ''),
  )
}

test('an AuthnRequest has ForceAuthn only if the user must authenticate again', async () => {
  const attributeOf = async (forceAuthn: boolean) =>
    requestIn(
      await createAuthnRequestUrl(provider.settings, { ...redirect, forceAuthn }),
    ).attributes.get('ForceAuthn')
  expect(await attributeOf(true)).toBe('true')
  expect(await attributeOf(false)).toBeUndefined()
})

test('an AuthnRequest is addressed to the provider, names our entity ID, and requests no sign-in method', async () => {
  const before = Date.now()
  const url = await createAuthnRequestUrl(provider.settings, redirect)
  expect(url).toMatch(/^https:\/\/idp\.example\/sso\?tenant=acme&SAMLRequest=/)
  expect(new URL(url).searchParams.get('RelayState')).toBe(redirect.relayState)
  const request = requestIn(url)
  expect(request.name).toBe('AuthnRequest')
  const { IssueInstant, ...attributes } = Object.fromEntries(request.attributes)
  expect(attributes).toEqual({
    ID: '_x-1',
    Version: '2.0',
    ProtocolBinding: 'urn:oasis:names:tc:SAML:2.0:bindings:HTTP-POST',
    Destination: provider.settings.ssoUrl,
    AssertionConsumerServiceURL: provider.settings.acsUrl,
  })
  expect(Date.parse(IssueInstant!)).toBeGreaterThanOrEqual(before)
  expect(request.children.map(({ name }) => name)).toEqual(['Issuer', 'NameIDPolicy'])
  expect(request.children[0]!.text).toBe(provider.settings.entityId)
  expect(Object.fromEntries(request.children[1]!.attributes)).toEqual({
    AllowCreate: 'true',
  })
})

test('an AuthnRequest names the format of the NameID only if the connection does', async () => {
  for (const [nameIdFormat, format] of [
    ['persistent', 'urn:oasis:names:tc:SAML:2.0:nameid-format:persistent'],
    ['emailAddress', 'urn:oasis:names:tc:SAML:1.1:nameid-format:emailAddress'],
    [undefined, undefined],
  ] as const) {
    const settings = { ...provider.settings, nameIdFormat }
    const request = requestIn(await createAuthnRequestUrl(settings, redirect))
    expect(request.children[1]!.attributes.get('Format')).toBe(format)
  }
})

test('the signature of a request uses our key (RSA-SHA256) and covers the query exactly as it is sent', async () => {
  const url = await createAuthnRequestUrl(provider.settings, redirect)
  const [signed, signature] = url.slice(url.indexOf('SAMLRequest=')).split('&Signature=')
  expect(signed).toMatch(
    /^SAMLRequest=[^&]*&RelayState=[^&]*&SigAlg=http%3A%2F%2Fwww.w3.org%2F2001%2F04%2Fxmldsig-more%23rsa-sha256$/,
  )
  const { publicKey } = new X509Certificate(provider.settings.certificate)
  const bytes = Buffer.from(decodeURIComponent(signature!), 'base64')
  expect(verify('sha256', Buffer.from(signed!), publicKey, bytes)).toBe(true)
  expect(verify('sha256', Buffer.from(`${signed}x`), publicKey, bytes)).toBe(false)
})

test('a request is signed only if the connection requires it', async () => {
  const url = await createAuthnRequestUrl(
    { ...provider.settings, signRequests: false },
    redirect,
  )
  expect([...new URL(url).searchParams.keys()]).toEqual([
    'tenant',
    'SAMLRequest',
    'RelayState',
  ])
})

function serviceIn(xml: string) {
  const entity = parseXml(xml)
  const role = findOnlyChild(entity, md, 'SPSSODescriptor', 'saml_response')
  const [acs] = findChildren(role, md, 'AssertionConsumerService')
  const keys = findChildren(role, md, 'KeyDescriptor').map((key) => {
    const [keyInfo] = key.children
    const text = keyInfo!.children[0]!.children[0]!.text
    return [
      key.attributes.get('use'),
      new X509Certificate(Buffer.from(text, 'base64')).toString(),
    ]
  })
  return {
    entity,
    role: role.attributes,
    acs: acs!.attributes,
    keys: Object.fromEntries(keys),
  }
}

test('our metadata has our entity ID, ACS for HTTP-POST, and certificate for signing and encryption', async () => {
  const { settings } = provider
  const xml = await createMetadata(settings)
  const { entity, role, acs, keys } = serviceIn(xml)
  expect(entity.attributes.get('entityID')).toBe(settings.entityId)
  expect(acs.get('Binding')).toBe('urn:oasis:names:tc:SAML:2.0:bindings:HTTP-POST')
  expect(acs.get('Location')).toBe(settings.acsUrl)
  expect(keys).toEqual({
    signing: settings.certificate,
    encryption: settings.certificate,
  })
  expect(role.get('AuthnRequestsSigned')).toBe('true')
  expect(role.get('WantAssertionsSigned')).toBe('true')
  const format = (name: string) =>
    `<NameIDFormat>urn:oasis:names:tc:SAML:${name}</NameIDFormat>`
  for (const id of [
    '2.0:nameid-format:persistent',
    '1.1:nameid-format:emailAddress',
    '1.1:nameid-format:unspecified',
  ])
    expect(xml).toContain(format(id))
  expect(xml.match(/<NameIDFormat>/g)).toHaveLength(3)
  expect(xml.indexOf('<NameIDFormat>')).toBeLessThan(
    xml.indexOf('<AssertionConsumerService'),
  )
  const algorithms = xml.matchAll(
    /<EncryptionMethod Algorithm="http:\/\/www\.w3\.org\/([^"]*)"\/>/g,
  )
  expect([...algorithms].map(([, algorithm]) => algorithm)).toEqual([
    ...[
      '2001/04/xmlenc#rsa-oaep-mgf1p',
      '2009/xmlenc11#rsa-oaep',
      '2009/xmlenc11#aes256-gcm',
    ],
    ...[
      '2009/xmlenc11#aes128-gcm',
      '2001/04/xmlenc#aes256-cbc',
      '2001/04/xmlenc#aes128-cbc',
    ],
  ])
  expect(xml).not.toContain('PRIVATE')
  expect(await createMetadata(settings)).toBe(xml)
})

test('during a rotation, our metadata has both certificates for signing, but only the next for encryption', async () => {
  const nextCertificate = provider.nextKey.certificate
  const xml = await createMetadata({ ...provider.settings, nextCertificate })
  const base64 = (pem: string) => pem.replace(/-----.*-----|\s/g, '')
  const published = [...xml.matchAll(/use="(\w+)"|<ds:X509Certificate>([^<]*)</g)].map(
    ([, use, text]) => use ?? base64(text!),
  )
  const [current, next] = [provider.settings.certificate, nextCertificate].map(base64)
  expect(published).toEqual(['signing', current, 'signing', next, 'encryption', next])
})

test('our metadata states whether requests and assertions are signed', async () => {
  const { settings } = provider
  const unsigned = serviceIn(await createMetadata({ ...settings, signRequests: false }))
  expect(unsigned.role.get('AuthnRequestsSigned')).toBe('false')
  expect(unsigned.keys).toEqual({ encryption: settings.certificate })
  const want = async (signed: SamlSettings['signed']) =>
    serviceIn(await createMetadata({ ...settings, signed })).role.get(
      'WantAssertionsSigned',
    )
  const wanted = [await want('response'), await want('both'), await want('assertion')]
  expect(wanted).toEqual([undefined, 'true', 'true'])
})

test('our own metadata is rejected as the metadata of a provider', async () => {
  const xml = await createMetadata(provider.settings)
  expect(() => readProviderMetadata(xml)).toThrow(
    'This is the metadata of a service provider',
  )
})
