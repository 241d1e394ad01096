import { generateKeyPairSync } from 'node:crypto'
import { beforeAll, expect, test } from 'vitest'
import { expectNothingPrinted, outcomeOf } from '../../../e2e/support/saml-outcome'
import {
  addAttribute,
  assertionPattern,
  type Mode,
  modes,
  newSamlProvider,
  parts,
  type ResponseOptions,
  replace,
  requestId,
  type SamlProvider,
  seconds,
  sign,
} from '../../../e2e/support/saml-provider'
import type { SamlCheck } from './rejected'
import { type SamlSettings, verifyResponse } from './service-provider'

let provider: SamlProvider
beforeAll(async () => {
  provider = await newSamlProvider()
})
expectNothingPrinted()

const verifyPosted = (posted: string, settings: Partial<SamlSettings> = {}) =>
  verifyResponse({ ...provider.settings, ...settings }, posted, { requestId })

const { issuer, assertionIssuer, subject, nameId, confirmation, conditions, restriction, authnStatement, status } =
  parts
const bearerMethod = 'urn:oasis:names:tc:SAML:2.0:cm:bearer'
const inConfirmation = (from: string | RegExp, to: string | (() => string)) =>
  replace(confirmation, (text) => replace(from, to)(text))
/** A time so many seconds after the test, not after the file was loaded. */
const time =
  (name: string, count: number, zone = 'Z') =>
  () =>
    `${name}="${seconds(count).replace('Z', zone)}"`
const sessionEnd = /SessionNotOnOrAfter="[^"]*"/
const end = /\bNotOnOrAfter="[^"]*"/
/** The library is content with another confirmation, so that only our own check sees this one. */
const besidesDecoy = (edit: (xml: string) => string) =>
  replace(
    confirmation,
    (text) => text.replace(bearerMethod, 'urn:oasis:names:tc:SAML:2.0:cm:sender-vouches') + edit(text),
  )

// The good cases

const ada = {
  issuer: 'https://idp.example/metadata',
  subject: 'ada',
  email: 'ada@example.com',
  attributes: { mail: ['Ada@example.com'], name: ['Ada <Admin> & Lovelace'] },
}

test('the identity is that of the bytes that the library verified', async () => {
  const { SAML } = await import('@node-saml/node-saml')
  const { validatePostResponseAsync: validate } = SAML.prototype
  SAML.prototype.validatePostResponseAsync = async function (posted) {
    const { profile, ...validated } = await validate.call(this, posted)
    const verified = profile!.getAssertionXml!().replace('>ada<', '>verified<')
    return { ...validated, profile: { ...profile!, getAssertionXml: () => verified } }
  }
  try {
    for (const mode of Object.values(modes))
      expect((await verifyPosted(provider.respond(mode))).subject).toBe('verified')
  } finally {
    SAML.prototype.validatePostResponseAsync = validate
  }
})

test('accepts only what the library verifies too: the response and its assertion', async () => {
  const { SignedXml } = await import('xml-crypto')
  type Verifier = { checkSignature: (this: { signatureNode: Node }, xml: string) => boolean }
  const verifier = SignedXml.prototype as unknown as Verifier
  const { checkSignature } = verifier
  try {
    for (const [name, outcome] of [
      ['samlp:Response', 'signature'],
      ['saml:Assertion', 'signature'],
      ['neither', 'accepted'],
    ]) {
      verifier.checkSignature = function (xml) {
        return this.signatureNode.parentNode!.nodeName !== name && checkSignature.call(this, xml)
      }
      expect(await outcomeOf(provider, provider.respond(modes['both signed']!))).toBe(outcome)
    }
  } finally {
    verifier.checkSignature = checkSignature
  }
})

for (const [name, mode] of Object.entries(modes)) {
  test(`accepts ${name}`, async () => {
    const { sessionNotOnOrAfter, ...identity } = await verifyPosted(provider.respond(mode))
    expect(identity).toEqual(ada)
    expect(Math.abs(sessionNotOnOrAfter!.getTime() - Date.now() - 3_600_000)).toBeLessThan(60_000)
  })

  test(`accepts ${name} by either of two certificates, and by neither other`, async () => {
    const { certificates } = provider.settings.provider
    const both = { ...provider.settings.provider, certificates: [...certificates, provider.nextKey.certificate] }
    const byNext = provider.respond({ ...mode, signing: provider.nextKey })
    expect(await outcomeOf(provider, provider.respond(mode), { provider: both })).toBe('accepted')
    expect(await outcomeOf(provider, byNext, { provider: both })).toBe('accepted')
    expect(await outcomeOf(provider, byNext)).toBe('signature')
  })

  test(`accepts ${name} with SHA-512, and with clocks 30 seconds apart`, async () => {
    const sha512 = {
      signatureMethod: 'http://www.w3.org/2001/04/xmldsig-more#rsa-sha512',
      digestMethod: 'http://www.w3.org/2001/04/xmlenc#sha512',
    }
    for (const options of [{ signing: sha512 }, { notBefore: 30 }, { notOnOrAfter: -30 }]) {
      expect(await outcomeOf(provider, provider.respond({ ...mode, ...options }))).toBe('accepted')
    }
  })
}

test('accepts prefixes that both signatures list', async () => {
  const listed = provider.respond({ ...modes['both signed'], signing: { inclusivePrefixes: ['saml', 'samlp'] } })
  expect(atob(listed).match(/<ds:CanonicalizationMethod [^>]*><InclusiveNamespaces/g)).toHaveLength(2)
  expect(await outcomeOf(provider, listed)).toBe('accepted')
})

test('accepts a response and its assertion by different certificates', async () => {
  const { certificates } = provider.settings.provider
  const both = { ...provider.settings.provider, certificates: [provider.nextKey.certificate, ...certificates] }
  for (const encrypted of [false, true]) {
    const byBoth = provider.respond({
      assertion: true,
      encrypted,
      tamper: (xml) => sign(xml, '/*', provider.nextKey),
    })
    expect(await outcomeOf(provider, byBoth, { provider: both })).toBe('accepted')
    expect(await outcomeOf(provider, byBoth)).toBe('signature')
  }
})

test('rejects a response if no algorithm fits the key of a certificate', async () => {
  const key = String(generateKeyPairSync('ed25519').publicKey.export({ format: 'pem', type: 'spki' }))
  const odd = { ...provider.settings.provider, certificates: [key] }
  expect(await outcomeOf(provider, provider.respond(modes['both signed']!), { provider: odd })).toBe('library')
})

const alsoAccepted: Record<string, ResponseOptions> = {
  'a response without Destination if only the assertion is signed': {
    assertion: true,
    edit: replace(/ Destination="[^"]*"/, ''),
  },
  'a response without Issuer if only the assertion is signed': {
    assertion: true,
    tamper: replace(issuer, ''),
  },
  'a session that ended 30 seconds ago': {
    assertion: true,
    edit: replace(sessionEnd, time('SessionNotOnOrAfter', -30)),
  },
  'a session without an end': { assertion: true, edit: replace(/ SessionNotOnOrAfter="[^"]*"/, '') },
  'an offset in place of Z': {
    assertion: true,
    edit: replace(sessionEnd, time('SessionNotOnOrAfter', 7200, '+01:00')),
  },
  'another confirmation beside the bearer confirmation': { assertion: true, edit: besidesDecoy((text) => text) },
  'a condition that concerns others': {
    assertion: true,
    edit: replace('</saml:Conditions>', '<saml:OneTimeUse/><saml:ProxyRestriction Count="0"/></saml:Conditions>'),
  },
  'a signature without the certificate': { assertion: true, tamper: replace(/<ds:KeyInfo>[\s\S]*<\/ds:KeyInfo>/, '') },
  'other prefixes and a default namespace': {
    assertion: true,
    edit: (xml) =>
      xml
        .replaceAll('saml:', '')
        .replaceAll('xmlns:saml=', 'xmlns=')
        .replaceAll('samlp:', 'p:')
        .replace('xmlns:samlp', 'xmlns:p'),
  },
  'the signature of the response after that of its assertion': {
    ...modes['both signed'],
    tamper: (xml) => {
      const [own] = xml.match(parts.signature)!
      return replace('</samlp:Response>', (end) => `${own}${end}`)(xml.replace(own, ''))
    },
  },
  'prefixes that canonicalization lists': {
    assertion: true,
    signing: { inclusivePrefixes: ['xs', 'xsi'] },
  },
  'prefixes of the response that its assertion lists': {
    assertion: true,
    edit: (xml) => {
      const declaration = ' xmlns:xs="http://www.w3.org/2001/XMLSchema"'
      return replace('<samlp:Response', `$&${declaration}`)(xml.replaceAll(declaration, ''))
    },
    signing: { inclusivePrefixes: ['xs', 'xsi'] },
  },
  'AES-128 in GCM': {
    assertion: true,
    encrypted: true,
    encryption: { content: 'http://www.w3.org/2009/xmlenc11#aes128-gcm' },
  },
  'AES-256 in CBC': {
    assertion: true,
    encrypted: true,
    encryption: { content: 'http://www.w3.org/2001/04/xmlenc#aes256-cbc' },
  },
  'AES-128 in CBC': {
    assertion: true,
    encrypted: true,
    encryption: { content: 'http://www.w3.org/2001/04/xmlenc#aes128-cbc' },
  },
  'an encrypted key beside the encrypted data': {
    assertion: true,
    encrypted: true,
    tamper: replace(
      /(<ds:KeyInfo[^>]*>)<xenc:EncryptedKey>([\s\S]*<\/xenc:EncryptedKey>)([\s\S]*)<\/xenc:EncryptedData>/,
      (_, keyInfo, key, rest) =>
        `${keyInfo}<ds:RetrievalMethod URI="#_key"/>${rest}</xenc:EncryptedData><xenc:EncryptedKey xmlns:xenc="http://www.w3.org/2001/04/xmlenc#" xmlns:ds="http://www.w3.org/2000/09/xmldsig#" Id="_key">${key}`,
    ),
  },
  'a NameID that names its provider': {
    assertion: true,
    edit: (xml) => xml.replace('<saml:NameID ', `$&NameQualifier="${xml.match(/<saml:Issuer>([^<]+)</)![1]}" `),
  },
  'a NameID that is not persistent, with a qualifier': {
    assertion: true,
    edit: replace(
      /<saml:NameID Format="[^"]*"/,
      '<saml:NameID NameQualifier="x" Format="urn:oasis:names:tc:SAML:1.1:nameid-format:unspecified"',
    ),
  },
  '450 groups': {
    assertion: true,
    edit: addAttribute('groups', ...Array.from({ length: 450 }, (_, index) => `group-${index}`)),
  },
  '150 KB of groups, each on lines of its own': {
    assertion: true,
    edit: (xml) => {
      const groups = Array.from({ length: 450 }, (_, index) => `CN=R&amp;D ${index},`.padEnd(330, 'OU=x,'))
      return addAttribute('groups', ...groups)(xml).replaceAll('<saml:AttributeValue>', '\r\n\t\t\t$&')
    },
  },
}
for (const [what, options] of Object.entries(alsoAccepted)) {
  test(`accepts ${what}`, async () => {
    expect(await verifyPosted(provider.respond(options))).toMatchObject({ subject: 'ada', email: 'ada@example.com' })
  })
}

test('accepts wrapped base64', async () => {
  const wrapped = provider.respond({ assertion: true }).replace(/.{76}/g, '$&\r\n')
  expect(await outcomeOf(provider, wrapped)).toBe('accepted')
})

// What a provider itself says: it is signed afresh, so that only the check can reject it. Three modes, because all six
// would take as long as all other unit tests.

const saidIn = ['a signed response', 'a signed assertion', 'both signed, encrypted']

const said: Record<string, [SamlCheck, ((xml: string) => string) | Omit<ResponseOptions, keyof Mode>]> = {
  'another version of the response': ['version', replace('Version="2.0"', 'Version="1.1"')],
  'another version of the assertion': ['version', replace(/(<saml:Assertion[^>]*) Version="2.0"/, '$1 Version="1.1"')],
  'a failure': ['status', replace('status:Success', 'status:Responder')],
  'success inside a failure': [
    'status',
    replace(
      /<samlp:StatusCode ([^>]*)\/>/,
      '<samlp:StatusCode Value="urn:oasis:names:tc:SAML:2.0:status:Responder"><samlp:StatusCode $1/></samlp:StatusCode>',
    ),
  ],
  'a failure after success': [
    'status',
    replace(/<samlp:StatusCode [^>]*>/, '$&<samlp:StatusCode Value="urn:oasis:names:tc:SAML:2.0:status:Responder"/>'),
  ],
  'no status': ['status', replace(status, '')],
  'two statuses': ['status', replace(status, '$&$&')],
  'another destination': ['destination', replace(/Destination="[^"]*"/, 'Destination="https://other.example/acs"')],
  'our ACS with a slash as the destination': ['destination', replace(/Destination="[^"]*/, '$&/')],
  'another issuer of the response': ['issuer', replace(issuer, '<saml:Issuer>https://other.example</saml:Issuer>')],
  'two issuers of the response': ['issuer', replace(issuer, '$&$&')],
  'another issuer of the assertion': [
    'issuer',
    replace(assertionIssuer, '$1<saml:Issuer>https://other.example</saml:Issuer>'),
  ],
  'no issuer of the assertion': ['issuer', replace(assertionIssuer, '$1')],
  'two issuers of the assertion': [
    'issuer',
    replace(assertionIssuer, '$&<saml:Issuer>https://other.example</saml:Issuer>'),
  ],
  'the response to another request': ['in-response-to', { requestId: '_other' }],
  'another request outside the assertion': ['in-response-to', replace(/InResponseTo="[^"]*"/, 'InResponseTo="_other"')],
  'no request outside the assertion': ['in-response-to', replace(/ InResponseTo="[^"]*"/, '')],
  'another request inside the subject': [
    'in-response-to',
    inConfirmation(/InResponseTo="[^"]*"/, 'InResponseTo="_other"'),
  ],
  'another request inside the subject, which the library overlooks': [
    'in-response-to',
    besidesDecoy(replace(/InResponseTo="[^"]*"/, 'InResponseTo="_other"')),
  ],
  'no request inside the subject': ['in-response-to', inConfirmation(/ InResponseTo="[^"]*"/, '')],
  'no assertion': ['assertion-count', replace(assertionPattern, '')],
  'no subject': ['subject', replace(subject, '')],
  'two subjects': ['subject', replace(subject, '$&$&')],
  'no NameID': ['name-id', replace(nameId, '')],
  'two NameIDs': ['name-id', replace(nameId, '$&<saml:NameID>root</saml:NameID>')],
  'an empty NameID': ['name-id', { nameId: '' }],
  'a blank NameID': ['name-id', { nameId: ' ' }],
  'a NameID with a space at its end': ['name-id', { nameId: 'ada ' }],
  'a NameID of two lines': ['name-id', { nameId: 'ada\nroot' }],
  'a NameID of 257 characters': ['name-id', { nameId: 'x'.repeat(257) }],
  'an element inside the NameID': ['name-id', { nameId: 'ada<saml:Extra/>' }],
  'an encrypted NameID': ['name-id', replace(nameId, '<saml:EncryptedID/>')],
  'a NameID of another namespace': ['name-id', replace(nameId, '<NameID xmlns="urn:other">ada</NameID>')],
  'a transient NameID': ['transient', replace('nameid-format:persistent', 'nameid-format:transient')],
  'a NameID of another provider': [
    'name-qualifier',
    replace('<saml:NameID ', '<saml:NameID NameQualifier="https://other.example.com" '),
  ],
  'no confirmation': ['confirmation', replace(confirmation, '')],
  'only a confirmation of another method': [
    'confirmation',
    inConfirmation(bearerMethod, 'urn:oasis:names:tc:SAML:2.0:cm:sender-vouches'),
  ],
  'two bearer confirmations': ['confirmation', replace(confirmation, '$&$&')],
  'a bearer confirmation without data': [
    'confirmation',
    besidesDecoy(replace(/<saml:SubjectConfirmationData[^>]*>/, '')),
  ],
  'another recipient': ['recipient', inConfirmation(/Recipient="[^"]*"/, 'Recipient="https://other.example/acs"')],
  'no recipient': ['recipient', inConfirmation(/ Recipient="[^"]*"/, '')],
  'a confirmation with NotBefore': [
    'not-before',
    inConfirmation(end, () => `${time('NotOnOrAfter', 300)()} ${time('NotBefore', -60)()}`),
  ],
  'a confirmation that never ends': ['not-on-or-after', besidesDecoy(replace(/ NotOnOrAfter="[^"]*"/, ''))],
  'a confirmation that never ends, alone': ['time', inConfirmation(/ NotOnOrAfter="[^"]*"/, '')],
  'a confirmation that ended two minutes ago': [
    'not-on-or-after',
    besidesDecoy(replace(end, time('NotOnOrAfter', -120))),
  ],
  'a confirmation that ended two minutes ago, alone': ['time', inConfirmation(end, time('NotOnOrAfter', -120))],
  'a confirmation that ends at a local time': [
    'not-on-or-after',
    inConfirmation(end, time('NotOnOrAfter', 86_400, '')),
  ],
  'no authentication statement': ['authn-statement', replace(authnStatement, '')],
  'a session that ended two minutes ago': ['session-ended', replace(sessionEnd, time('SessionNotOnOrAfter', -120))],
  'one of two sessions that ended': [
    'session-ended',
    replace(authnStatement, (text) => text + text.replace(sessionEnd, time('SessionNotOnOrAfter', -120))),
  ],
  'a session that ends at a local time': [
    'session-ended',
    replace(sessionEnd, time('SessionNotOnOrAfter', 86_400, '')),
  ],
  'no conditions': ['conditions', replace(conditions, '')],
  'two conditions': ['conditions', replace(conditions, '$&$&')],
  'a condition that we don’t know': [
    'conditions',
    replace(
      '</saml:Conditions>',
      '<saml:Condition xsi:type="x:Only" xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance"/></saml:Conditions>',
    ),
  ],
  'a condition of another namespace': ['conditions', replace('</saml:Conditions>', '<OneTimeUse/></saml:Conditions>')],
  'an assertion that is valid in two minutes': ['time', { notBefore: 120 }],
  'an assertion that expired two minutes ago': ['time', { notOnOrAfter: -120 }],
  'conditions that ended two minutes ago': [
    'time',
    replace(conditions, (text) => text.replace(end, time('NotOnOrAfter', -120))),
  ],
  'another audience': ['audience', replace(/<saml:Audience>[^<]*/, '<saml:Audience>https://other.example')],
  'no audience': ['audience', replace(restriction, '')],
  'a second restriction to another audience': [
    'audience',
    replace(
      restriction,
      '$&<saml:AudienceRestriction><saml:Audience>https://other.example</saml:Audience></saml:AudienceRestriction>',
    ),
  ],
  'an ID that is no XML name': ['id', replace(/(<saml:Assertion[^>]*) ID="[^"]*"/, '$1 ID="a b"')],
  'RSA-SHA1': ['algorithm', { signing: { signatureMethod: 'http://www.w3.org/2000/09/xmldsig#rsa-sha1' } }],
  'a digest with SHA-1': ['algorithm', { signing: { digestMethod: 'http://www.w3.org/2000/09/xmldsig#sha1' } }],
  'RSA-PSS': ['algorithm', { signing: { signatureMethod: 'http://www.w3.org/2007/05/xmldsig-more#sha256-rsa-MGF1' } }],
  'a signature in inclusive canonical form': [
    'algorithm',
    { signing: { canonicalization: 'http://www.w3.org/TR/2001/REC-xml-c14n-20010315' } },
  ],
  'a signature in canonical form with comments': [
    'algorithm',
    { signing: { canonicalization: 'http://www.w3.org/2001/10/xml-exc-c14n#WithComments' } },
  ],
  'content in inclusive canonical form': [
    'algorithm',
    {
      signing: {
        transforms: [
          'http://www.w3.org/2000/09/xmldsig#enveloped-signature',
          'http://www.w3.org/TR/2001/REC-xml-c14n-20010315',
        ],
      },
    },
  ],
  'content in canonical form with comments': [
    'algorithm',
    {
      signing: {
        transforms: [
          'http://www.w3.org/2000/09/xmldsig#enveloped-signature',
          'http://www.w3.org/2001/10/xml-exc-c14n#WithComments',
        ],
      },
    },
  ],
  'only one transform': [
    'signature-form',
    { signing: { transforms: ['http://www.w3.org/2000/09/xmldsig#enveloped-signature'] } },
  ],
  'a processing instruction': ['markup', { nameId: '<?p not-an-?>admin' }],
  CDATA: ['markup', { nameId: '<![CDATA[ada]]>' }],
  'a comment': ['markup', { nameId: 'admin@example.com<!-- -->.evil.example' }],
}
for (const [what, [check, change]] of Object.entries(said)) {
  test(`rejects ${what}`, async () => {
    const options = typeof change === 'function' ? { edit: change } : change
    const outcomes: Record<string, string> = {}
    for (const name of saidIn) {
      outcomes[name] = await outcomeOf(provider, provider.respond({ ...modes[name], ...options }))
    }
    expect(outcomes).toEqual(Object.fromEntries(saidIn.map((name) => [name, check])))
  })
}
