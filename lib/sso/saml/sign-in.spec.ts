import { generateKeyPairSync } from 'node:crypto'
import { beforeAll, expect, test } from 'vitest'
import {
  expectNothingPrinted,
  outcomeOf,
} from '../../../e2e/support/providers/saml-outcome'
import {
  addAttribute,
  assertionPattern,
  encrypt,
  idStarts,
  inOrder,
  modes,
  newSamlProvider,
  parts,
  type ResponseOptions,
  replace,
  requestId,
  type SamlProvider,
  seconds,
  sign,
} from '../../../e2e/support/providers/saml-provider'
import type { SamlCheck } from './rejection'
import type { ServiceProviderSettings } from './settings'
import { verifyResponse } from './sign-in'

let provider: SamlProvider
beforeAll(async () => {
  provider = await newSamlProvider()
})
expectNothingPrinted()

const verifyPosted = async (
  posted: string,
  settings: Partial<ServiceProviderSettings> = {},
) => {
  const authenticated = await verifyResponse(
    { ...provider.settings, ...settings },
    posted,
    { requestId },
  )
  const { identity, contact, sessionEnd } = authenticated
  return { ...identity, email: (await contact()).email.toLowerCase(), sessionEnd }
}

const {
  issuer,
  assertionIssuer,
  subject,
  nameId,
  confirmation,
  conditions,
  restriction,
  authnStatement,
  status,
} = parts
const bearerMethod = 'urn:oasis:names:tc:SAML:2.0:cm:bearer'
const inConfirmation = (from: string | RegExp, to: string | (() => string)) =>
  replace(confirmation, (text) => replace(from, to)(text))
const inConditions = (text: string) => replace('</saml:Conditions>', `${text}$&`)
const xsi = 'xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance"'
/** Returns an attribute with a time that is `count` seconds after the call. */
const time =
  (name: string, count: number, zone = 'Z') =>
  () =>
    `${name}="${seconds(count).replace('Z', zone)}"`
const sessionEnd = /SessionNotOnOrAfter="[^"]*"/
const end = /\bNotOnOrAfter="[^"]*"/
/** Adds changed copies of the genuine confirmation before and after it. */
const withConfirmations = (...edits: ((xml: string) => string)[]) =>
  replace(confirmation, (text) =>
    [...edits.map((edit) => edit(text!)), text, ...edits.map((edit) => edit(text!))].join(
      '',
    ),
  )
const forOther = replace(/Recipient="[^"]*"/, 'Recipient="https://other.example/acs"')
const toOther = replace(/InResponseTo="[^"]*"/, 'InResponseTo="_other"')
const outdated = replace(end, 'NotOnOrAfter="2020-01-01T00:00:00Z"')
const ofMethod = (method: string) =>
  replace(bearerMethod, `urn:oasis:names:tc:SAML:2.0:cm:${method}`)

/** A change of the provider's response, or options for the response. */
type Change = ((xml: string) => string) | ResponseOptions
const optionsOf = (change: Change) =>
  typeof change === 'function' ? { edit: change } : change

/** The settings of the provider with both its certificates. */
const withNextKey = () => ({
  certificates: [...provider.settings.certificates, provider.nextKey.certificate],
})

// Tests of responses that are accepted

const ada = {
  issuer: 'https://idp.example/metadata',
  subject: 'ada',
  isEmail: false,
  email: 'ada@example.com',
}

test('the identity is read from the bytes that the library verified', async () => {
  const { SignedXml } = await import('xml-crypto')
  const { getSignedReferences } = SignedXml.prototype
  const unsigned = Buffer.from(
    provider.respond({ nameId: 'verified' }),
    'base64',
  ).toString()
  const another = () => encrypt(assertionPattern.exec(unsigned)![0], provider.settings)
  SignedXml.prototype.getSignedReferences = function () {
    const [xml] = getSignedReferences.call(this)
    const encrypted = /<saml:EncryptedAssertion[\s\S]*EncryptedAssertion>/
    return [xml!.replace('>ada<', '>verified<').replace(encrypted, another)]
  }
  try {
    for (const [name, mode] of Object.entries(modes)) {
      // This mode is skipped because the replaced assertion fails its own signature
      // check.
      if (mode.response && mode.assertion && mode.encrypted) continue
      expect((await verifyPosted(provider.respond(mode))).subject, name).toBe('verified')
    }
  } finally {
    SignedXml.prototype.getSignedReferences = getSignedReferences
  }
})

test('rejects a response or an assertion if the library rejects its signature', async () => {
  const { SignedXml } = await import('xml-crypto')
  type Verifier = {
    checkSignature: (this: { signatureNode: Node }, xml: string) => boolean
  }
  const verifier = SignedXml.prototype as unknown as Verifier
  const { checkSignature } = verifier
  try {
    for (const [name, outcome] of [
      ['samlp:Response', 'saml_signature'],
      ['saml:Assertion', 'saml_signature'],
      ['neither', 'accepted'],
    ]) {
      verifier.checkSignature = function (xml) {
        return (
          this.signatureNode.parentNode!.nodeName !== name &&
          checkSignature.call(this, xml)
        )
      }
      expect(await outcomeOf(provider, provider.respond(modes['both signed']!))).toBe(
        outcome,
      )
    }
  } finally {
    verifier.checkSignature = checkSignature
  }
})

for (const [name, mode] of Object.entries(modes)) {
  test(`accepts responses (${name}) only with a key of one of the connection’s certificates`, async () => {
    const { sessionEnd, ...identity } = await verifyPosted(provider.respond(mode))
    expect(identity).toEqual(ada)
    expect(Math.abs(sessionEnd!.getTime() - Date.now() - 3_600_000)).toBeLessThan(60_000)
    const withDigits = provider.respond({ ...mode, idStart: '0' })
    expect(await outcomeOf(provider, withDigits)).toBe('accepted')
    const byNext = provider.respond({ ...mode, signing: provider.nextKey })
    expect(await outcomeOf(provider, provider.respond(mode), withNextKey())).toBe(
      'accepted',
    )
    expect(await outcomeOf(provider, byNext, withNextKey())).toBe('accepted')
    expect(await outcomeOf(provider, byNext)).toBe('saml_signature')
  })
}

test('accepts prefixes that both signatures list', async () => {
  const listed = provider.respond({
    ...modes['both signed'],
    signing: { inclusivePrefixes: ['saml', 'samlp'] },
  })
  expect(
    atob(listed).match(/<ds:CanonicalizationMethod [^>]*><InclusiveNamespaces/g),
  ).toHaveLength(2)
  expect(await outcomeOf(provider, listed)).toBe('accepted')
})

test('accepts a response and an assertion that are signed with the keys of different certificates', async () => {
  for (const encrypted of [false, true]) {
    const tamper = (xml: string) => sign(xml, '/*', provider.nextKey)
    const byBoth = provider.respond({ assertion: true, encrypted, tamper })
    expect(await outcomeOf(provider, byBoth, withNextKey())).toBe('accepted')
    expect(await outcomeOf(provider, byBoth)).toBe('saml_signature')
  }
})

test('rejects a response if no signature algorithm fits the key of a certificate', async () => {
  const key = String(
    generateKeyPairSync('ed25519').publicKey.export({ format: 'pem', type: 'spki' }),
  )
  expect(
    await outcomeOf(provider, provider.respond(modes['both signed']!), {
      certificates: [key],
    }),
  ).toBe('saml_signature')
})

const alsoAccepted: Record<string, Change> = {
  'a response without Destination if only the assertion is signed': replace(
    / Destination="[^"]*"/,
    '',
  ),
  'an empty Destination if only the assertion is signed': replace(
    /Destination="[^"]*"/,
    'Destination=" "',
  ),
  'IDs of 256 characters': { idStart: 'a'.repeat(256 - 'assertion-'.length - 36) },
  'a response without Issuer if only the assertion is signed': {
    tamper: replace(issuer, ''),
  },
  'a session of the provider that ended 170 seconds ago': replace(
    sessionEnd,
    time('SessionNotOnOrAfter', -170),
  ),
  'a session without an end': replace(/ SessionNotOnOrAfter="[^"]*"/, ''),
  'a time with an offset in place of Z': replace(
    sessionEnd,
    time('SessionNotOnOrAfter', 7200, '+01:00'),
  ),
  'extra confirmations for another recipient': withConfirmations(forOther),
  'extra confirmations that have expired': withConfirmations(outdated),
  'extra confirmations of another request': withConfirmations(toOther),
  'extra confirmations with NotBefore': withConfirmations(
    replace(' NotOnOrAfter=', ' NotBefore="2020-01-01T00:00:00Z"$&'),
  ),
  'extra confirmations that never expire': withConfirmations(
    replace(/ NotOnOrAfter="[^"]*"/, ''),
  ),
  'extra confirmations without data': withConfirmations(
    replace(/<saml:SubjectConfirmationData[^>]*>/, ''),
  ),
  'extra confirmations of other methods': withConfirmations(
    ofMethod('sender-vouches'),
    ofMethod('holder-of-key'),
  ),
  'the same bearer confirmation three times': withConfirmations((text) => text),
  'a condition that does not concern us': inConditions(
    '<saml:OneTimeUse/><saml:ProxyRestriction Count="0"/>',
  ),
  'white space around NameID, issuers, audience, format, destination, recipient and email':
    (xml) =>
      xml
        .replaceAll(
          /(<saml:(?:NameID|Issuer|Audience|AttributeValue)\b[^>]*>)([^<]*)/g,
          '$1\r\n\t  $2\n ',
        )
        .replaceAll(
          /((?:Destination|Recipient|Format|Method|Value)=")([^"]*)/g,
          '$1 $2&#10;',
        ),
  'an empty and a nil email attribute next to one with a value': (xml) =>
    inOrder(
      addAttribute('mail', ''),
      replace(
        '</saml:AttributeStatement>',
        `<saml:Attribute Name="email"><saml:AttributeValue ${xsi} xsi:nil="true"/></saml:Attribute>$&`,
      ),
    )(xml),
  'the address three times, in different letter case': addAttribute(
    'email',
    'ADA@EXAMPLE.COM',
    'ada@Example.com',
  ),
  'a signature without the certificate': {
    tamper: replace(/<ds:KeyInfo>[\s\S]*<\/ds:KeyInfo>/, ''),
  },
  'other prefixes and a default namespace': (xml) =>
    xml
      .replaceAll('saml:', '')
      .replaceAll('xmlns:saml=', 'xmlns=')
      .replaceAll('samlp:', 'p:')
      .replace('xmlns:samlp', 'xmlns:p'),
  'the signature of the response after that of its assertion': {
    ...modes['both signed'],
    tamper: (xml) => {
      const [own] = xml.match(parts.signature)!
      return replace('</samlp:Response>', (end) => `${own}${end}`)(xml.replace(own, ''))
    },
  },
  'prefixes that canonicalization lists': {
    signing: { inclusivePrefixes: ['xs', 'xsi'] },
  },
  'prefixes of the response that its assertion lists': {
    edit: (xml) => {
      const declaration = ' xmlns:xs="http://www.w3.org/2001/XMLSchema"'
      return replace(
        '<samlp:Response',
        `$&${declaration}`,
      )(xml.replaceAll(declaration, ''))
    },
    signing: { inclusivePrefixes: ['xs', 'xsi'] },
  },
  'RSA-SHA512 and SHA-512': {
    signing: {
      signatureMethod: 'http://www.w3.org/2001/04/xmldsig-more#rsa-sha512',
      digestMethod: 'http://www.w3.org/2001/04/xmlenc#sha512',
    },
  },
  'an assertion of a provider whose clock is 170 seconds ahead': { notBefore: 170 },
  'an assertion that expired 170 seconds ago': { notOnOrAfter: -170 },
  'AES-128 in GCM': {
    encrypted: true,
    encryption: { content: 'http://www.w3.org/2009/xmlenc11#aes128-gcm' },
  },
  'AES-256 in CBC': {
    encrypted: true,
    encryption: { content: 'http://www.w3.org/2001/04/xmlenc#aes256-cbc' },
  },
  'an encrypted key next to the encrypted data': {
    encrypted: true,
    tamper: replace(
      /(<ds:KeyInfo[^>]*>)<xenc:EncryptedKey>([\s\S]*<\/xenc:EncryptedKey>)([\s\S]*)<\/xenc:EncryptedData>/,
      (_, keyInfo, key, rest) =>
        `${keyInfo}<ds:RetrievalMethod URI="#_key"/>${rest}</xenc:EncryptedData><xenc:EncryptedKey xmlns:xenc="http://www.w3.org/2001/04/xmlenc#" xmlns:ds="http://www.w3.org/2000/09/xmldsig#" Id="_key">${key}`,
    ),
  },
  'a NameID that names its provider': (xml) =>
    xml.replace(
      '<saml:NameID ',
      `$&NameQualifier="${xml.match(/<saml:Issuer>([^<]+)</)![1]}" `,
    ),
  'a NameID that is not persistent, with a qualifier': replace(
    /<saml:NameID Format="[^"]*"/,
    '<saml:NameID NameQualifier="x" Format="urn:oasis:names:tc:SAML:1.1:nameid-format:unspecified"',
  ),
  '150 KB of groups, each on its own lines': (xml) => {
    const groups = Array.from({ length: 450 }, (_, index) =>
      `CN=R&amp;D ${index},`.padEnd(330, 'OU=x,'),
    )
    return addAttribute(
      'groups',
      ...groups,
    )(xml).replaceAll('<saml:AttributeValue>', '\r\n\t\t\t$&')
  },
}
for (const [what, change] of Object.entries(alsoAccepted)) {
  test(`accepts ${what}`, async () => {
    for (const idStart of idStarts) {
      const posted = provider.respond({ assertion: true, idStart, ...optionsOf(change) })
      expect(await verifyPosted(posted), idStart).toMatchObject({
        subject: 'ada',
        email: 'ada@example.com',
      })
    }
  })
}

for (const [key, digest, mgf, ...hashes] of [
  // the last two values are the hashes of the label and the mask
  ['2001/04/xmlenc#rsa-oaep-mgf1p', '', '', 'sha1', 'sha1'],
  ['2001/04/xmlenc#rsa-oaep-mgf1p', '2001/04/xmlenc#sha256', '', 'sha256', 'sha1'],
  ['2001/04/xmlenc#rsa-oaep-mgf1p', '2001/04/xmlenc#sha512', '', 'sha512', 'sha1'],
  ['2009/xmlenc11#rsa-oaep', '', '', 'sha1', 'sha1'],
  [
    '2009/xmlenc11#rsa-oaep',
    '2000/09/xmldsig#sha1',
    '2009/xmlenc11#mgf1sha1',
    'sha1',
    'sha1',
  ],
  ['2009/xmlenc11#rsa-oaep', '2001/04/xmlenc#sha256', '', 'sha256', 'sha1'],
  [
    '2009/xmlenc11#rsa-oaep',
    '2001/04/xmlenc#sha256',
    '2009/xmlenc11#mgf1sha256',
    'sha256',
    'sha256',
  ],
  ['2009/xmlenc11#rsa-oaep', '', '2009/xmlenc11#mgf1sha256', 'sha1', 'sha256'],
  [
    '2009/xmlenc11#rsa-oaep',
    '2001/04/xmlenc#sha512',
    '2009/xmlenc11#mgf1sha512',
    'sha512',
    'sha512',
  ],
] as const) {
  test(`accepts a key encrypted with ${key}, ${digest || 'no digest'} and ${mgf || 'no mask'}`, async () => {
    const uri = (path: string) => path && `http://www.w3.org/${path}`
    const encryption = { key: uri(key), digest: uri(digest), mgf: uri(mgf), hashes }
    const posted = provider.respond({ assertion: true, encrypted: true, encryption })
    expect(await outcomeOf(provider, posted)).toBe('accepted')
  })
}

test('accepts wrapped base64', async () => {
  const wrapped = provider.respond({ assertion: true }).replace(/.{76}/g, '$&\r\n')
  expect(await outcomeOf(provider, wrapped)).toBe('accepted')
})

// Each response below is signed after its change, so only the tested check can reject it.
// Testing all six modes would take as long as all other unit tests.
const checkedModes = ['a signed response', 'a signed assertion, encrypted']

const enveloped = 'http://www.w3.org/2000/09/xmldsig#enveloped-signature'
const inclusive = 'http://www.w3.org/TR/2001/REC-xml-c14n-20010315'
const withComments = 'http://www.w3.org/2001/10/xml-exc-c14n#WithComments'

/** Tests that each response fails this check in each of `checkedModes`. */
function rejects(check: SamlCheck, changes: Record<string, Change>) {
  for (const [what, change] of Object.entries(changes)) {
    test(`rejects ${what}`, async () => {
      const options = optionsOf(change)
      for (const name of checkedModes)
        for (const idStart of idStarts) {
          const posted = provider.respond({ ...modes[name]!, idStart, ...options })
          expect(await outcomeOf(provider, posted), `${name} ${idStart}`).toBe(check)
        }
    })
  }
}

rejects('saml_version', {
  'another version of the response': replace('Version="2.0"', 'Version="1.1"'),
  'another version of the assertion': replace(
    /(<saml:Assertion[^>]*) Version="2.0"/,
    '$1 Version="1.1"',
  ),
})
const failure = '<samlp:StatusCode Value="urn:oasis:names:tc:SAML:2.0:status:Responder"'
rejects('saml_status', {
  'a failure': replace('status:Success', 'status:Responder'),
  'a success status inside a failure status': replace(
    /<samlp:StatusCode [^>]*\/>/,
    `${failure}>$&</samlp:StatusCode>`,
  ),
  'a failure status after a success status': replace(
    /<samlp:StatusCode [^>]*>/,
    `$&${failure}/>`,
  ),
  'no status': replace(status, ''),
  'two statuses': replace(status, '$&$&'),
})
rejects('saml_destination', {
  'another destination': replace(
    /Destination="[^"]*"/,
    'Destination="https://other.example/acs"',
  ),
  'our ACS with a slash as the destination': replace(/Destination="[^"]*/, '$&/'),
})
rejects('saml_issuer', {
  'another issuer of the response': replace(
    issuer,
    '<saml:Issuer>https://other.example</saml:Issuer>',
  ),
  'two issuers of the response': replace(issuer, '$&$&'),
  'another issuer of the assertion': replace(
    assertionIssuer,
    '$1<saml:Issuer>https://other.example</saml:Issuer>',
  ),
  'no issuer of the assertion': replace(assertionIssuer, '$1'),
  'two issuers of the assertion': replace(
    assertionIssuer,
    '$&<saml:Issuer>https://other.example</saml:Issuer>',
  ),
})
rejects('saml_in_response_to', {
  'the response to another request': { requestId: '_other' },
  'InResponseTo of another request outside the assertion': replace(
    /InResponseTo="[^"]*"/,
    'InResponseTo="_other"',
  ),
  'InResponseTo of another request in the subject': inConfirmation(
    /InResponseTo="[^"]*"/,
    'InResponseTo="_other"',
  ),
  'two confirmations: one for another recipient, and one of another request': replace(
    confirmation,
    (text) => forOther(text!) + toOther(text!),
  ),
  'no InResponseTo in the subject': inConfirmation(/ InResponseTo="[^"]*"/, ''),
})
rejects('saml_assertion_count', { 'no assertion': replace(assertionPattern, '') })
rejects('saml_subject', {
  'no subject': replace(subject, ''),
  'two subjects': replace(subject, '$&$&'),
})
rejects('saml_name_id', {
  'no NameID': replace(nameId, ''),
  'two NameIDs': replace(nameId, '$&<saml:NameID>root</saml:NameID>'),
  'an empty NameID': { nameId: '' },
  'only white space in the NameID': { nameId: ' \n' },
  'a NameID with a no-break space at its end': { nameId: 'ada\u00a0' },
  'a NameID of two lines': { nameId: 'ada\nroot' },
  'a NameID of 257 characters': { nameId: 'x'.repeat(257) },
  'an element inside the NameID': { nameId: 'ada<saml:Extra/>' },
  'a NameID of another namespace': replace(
    nameId,
    '<NameID xmlns="urn:other">ada</NameID>',
  ),
})
rejects('saml_encrypted_id', {
  'an encrypted NameID': replace(nameId, '<saml:EncryptedID/>'),
  'an encrypted NameID next to another one': replace(nameId, '$&<saml:EncryptedID/>'),
})
rejects('saml_transient', {
  'a transient NameID': replace('nameid-format:persistent', 'nameid-format:transient'),
  'a transient NameID with white space around the format': replace(
    /Format="[^"]*persistent"/,
    'Format=" urn:oasis:names:tc:SAML:2.0:nameid-format:transient&#10;"',
  ),
})
rejects('saml_name_qualifier', {
  'a NameID of another provider': replace(
    '<saml:NameID ',
    '<saml:NameID NameQualifier="https://other.example.com" ',
  ),
})
rejects('saml_confirmation', {
  'no confirmation': replace(confirmation, ''),
  'a confirmation of another method': inConfirmation(
    bearerMethod,
    'urn:oasis:names:tc:SAML:2.0:cm:sender-vouches',
  ),
  'a bearer confirmation without data': inConfirmation(
    /<saml:SubjectConfirmationData[^>]*>/,
    '',
  ),
  'a bearer confirmation with two data elements': inConfirmation(
    /<saml:SubjectConfirmationData[^>]*>/,
    '$&$&',
  ),
})
rejects('saml_not_on_or_after', {
  'two confirmations, each invalid alone': replace(
    confirmation,
    (text) => outdated(text!) + forOther(text!),
  ),
})
rejects('saml_recipient', {
  'a genuine confirmation of another method, and a bearer one for another recipient':
    replace(confirmation, (text) => ofMethod('sender-vouches')(text!) + forOther(text!)),
  'another recipient': inConfirmation(
    /Recipient="[^"]*"/,
    'Recipient="https://other.example/acs"',
  ),
  'no recipient': inConfirmation(/ Recipient="[^"]*"/, ''),
})
rejects('saml_not_before', {
  'a confirmation with NotBefore': inConfirmation(
    end,
    () => `${time('NotOnOrAfter', 300)()} ${time('NotBefore', -60)()}`,
  ),
})
rejects('saml_not_on_or_after', {
  'a confirmation that never expires': inConfirmation(/ NotOnOrAfter="[^"]*"/, ''),
  'an assertion that expired four minutes ago': { notOnOrAfter: -240 },
  'a confirmation that expired four minutes ago': inConfirmation(
    end,
    time('NotOnOrAfter', -240),
  ),
  'a confirmation that expires at a local time': inConfirmation(
    end,
    time('NotOnOrAfter', 86_400, ''),
  ),
})
rejects('saml_time', {
  'an assertion that becomes valid in four minutes': { notBefore: 240 },
  'conditions that begin at a local time': replace(
    / NotBefore="[^"]*Z"/,
    ' NotBefore="2020-01-01T00:00:00"',
  ),
  'conditions that end at a local time': replace(
    /(<saml:Conditions .*) NotOnOrAfter="[^"]*"/,
    '$1 NotOnOrAfter="2100-01-01T00:00:00"',
  ),
  'conditions without an end': replace(
    /(<saml:Conditions .*) NotOnOrAfter="[^"]*"/,
    '$1',
  ),
  'expired conditions': replace(conditions, (text) =>
    text.replace(end, time('NotOnOrAfter', -240)),
  ),
})
rejects('saml_authn_statement', {
  'no authentication statement': replace(authnStatement, ''),
})
rejects('saml_session_ended', {
  'a session that ended four minutes ago': replace(
    sessionEnd,
    time('SessionNotOnOrAfter', -240),
  ),
  'two sessions, one of which has ended': replace(
    authnStatement,
    (text) => text + text.replace(sessionEnd, time('SessionNotOnOrAfter', -240)),
  ),
  'a session that ends at a local time': replace(
    sessionEnd,
    time('SessionNotOnOrAfter', 86_400, ''),
  ),
})
rejects('saml_conditions', {
  'no conditions': replace(conditions, ''),
  'two conditions': replace(conditions, '$&$&'),
  'an unknown condition': inConditions(`<saml:Condition xsi:type="x:Only" ${xsi}/>`),
  'a condition of another namespace': inConditions('<OneTimeUse/>'),
})
rejects('saml_audience', {
  'another audience': replace(
    /<saml:Audience>[^<]*/,
    '<saml:Audience>https://other.example',
  ),
  'no audience': replace(restriction, ''),
  'an empty audience': replace(/<saml:Audience>[^<]*/, '<saml:Audience>\n'),
  'an audience in another letter case': replace(
    /<saml:Audience>https:/,
    '<saml:Audience>HTTPS:',
  ),
  'an audience that continues after a line break': replace(
    /<saml:Audience>[^<]*/,
    '$&\nhttps://other.example',
  ),
  'an audience in two elements': replace(
    /<saml:Audience>([^<]*)/,
    '<saml:Audience>$1<saml:Extra/>',
  ),
  'a second restriction to another audience': replace(
    restriction,
    '$&<saml:AudienceRestriction><saml:Audience>https://other.example</saml:Audience></saml:AudienceRestriction>',
  ),
})
rejects('saml_id', {
  'an ID with a space': { idStart: 'a b' },
  'an ID with a quote': { idStart: "a'" },
  'an ID that begins with a hyphen': { idStart: '-' },
  'an ID that begins with a dot': { idStart: '.' },
  'an ID that is not in ASCII': { idStart: '_ü' },
  'an ID of 257 characters': { idStart: 'a'.repeat(257 - 'assertion-'.length - 36) },
  'an empty ID': replace(/(<saml:Assertion[^>]*) ID="[^"]*"/, '$1 ID=""'),
})
rejects('saml_algorithm', {
  'RSA-SHA1': {
    signing: { signatureMethod: 'http://www.w3.org/2000/09/xmldsig#rsa-sha1' },
  },
  'a digest with SHA-1': {
    signing: { digestMethod: 'http://www.w3.org/2000/09/xmldsig#sha1' },
  },
  'RSA-PSS': {
    signing: {
      signatureMethod: 'http://www.w3.org/2007/05/xmldsig-more#sha256-rsa-MGF1',
    },
  },
  'a signature in inclusive canonical form': { signing: { canonicalization: inclusive } },
  'a signature in canonical form with comments': {
    signing: { canonicalization: withComments },
  },
  'content in inclusive canonical form': {
    signing: { transforms: [enveloped, inclusive] },
  },
  'content in canonical form with comments': {
    signing: { transforms: [enveloped, withComments] },
  },
})
rejects('saml_signature_form', {
  'only one transform': { signing: { transforms: [enveloped] } },
})
