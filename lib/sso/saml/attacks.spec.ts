import { randomUUID } from 'node:crypto'
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
  newSamlProvider,
  parts,
  type ResponseOptions,
  replace,
  requestId,
  type SamlProvider,
  sign,
} from '../../../e2e/support/providers/saml-provider'
import type { SignInRejected } from '../rejection'
import type { SamlCheck } from './rejection'
import type { ServiceProviderSettings } from './settings'
import { verifyResponse } from './sign-in'

let provider: SamlProvider
beforeAll(async () => {
  provider = await newSamlProvider()
})
expectNothingPrinted()

type Edit = (xml: string) => string
const decoded = (posted: string) => Buffer.from(posted, 'base64').toString()
const base64 = (text: string | Buffer) => Buffer.from(text).toString('base64')
const { signature, issuer } = parts
const root = /<samlp:Response[\s\S]*<\/samlp:Response>/

const evil: Edit = replace('>ada<', '>root<')
const withNewId: Edit = replace(/ID="[^"]*"/, `ID="_evil-${randomUUID()}"`)
const unsigned: Edit = replace(signature, '')
/** Inserts a text before the first occurrence of a tag. */
const before = (tag: string, text: string) => replace(tag, () => text + tag)
/** Inserts a text into the first signature, where no verifier reads it. */
const intoSignature = (text: string) =>
  replace('</ds:Signature>', () => `${text}</ds:Signature>`)
const inAssertion = (edit: Edit) =>
  replace(assertionPattern, (assertion) => edit(assertion))
/** Moves the first signature to the end of an element. */
const signatureInto = (end: string): Edit => {
  return (xml) => replace(end, `${signature.exec(xml)![0]}${end}`)(unsigned(xml))
}

const ofResponse: ResponseOptions = { response: true }
const ofAssertion: ResponseOptions = { assertion: true }
const ofBoth: ResponseOptions = { response: true, assertion: true }
const encryptedOnly: ResponseOptions = { assertion: true, encrypted: true }
const encryptedInSigned: ResponseOptions = { response: true, encrypted: true }

function rejectsResponse(what: string, check: SamlCheck, options: ResponseOptions) {
  test(`rejects ${what}`, async () => {
    for (const idStart of idStarts) {
      const posted = provider.respond({ ...options, idStart })
      expect(await outcomeOf(provider, posted), idStart).toBe(check)
    }
  })
}

/** Tests that each edit of a response with these options fails this check. */
function rejects(check: SamlCheck, mode: ResponseOptions, edits: Record<string, Edit>) {
  for (const [what, tamper] of Object.entries(edits))
    rejectsResponse(what, check, { ...mode, tamper })
}

/**
 * Tests that an assertion fails this check if it is edited after it was signed and before
 * it is encrypted.
 */
function rejectsInside(check: SamlCheck, edits: Record<string, Edit>) {
  for (const [what, tamperAssertion] of Object.entries(edits))
    rejectsResponse(`inside the encryption: ${what}`, check, {
      ...encryptedOnly,
      tamperAssertion,
    })
}

/**
 * Tests that rejecting each response takes less CPU time than accepting three with 100 KB
 * of text. A small response would be no measure, because it mainly takes the time of
 * cryptography, which differs between processors.
 */
function rejectsCheaply(check: SamlCheck, posts: Record<string, () => string>) {
  for (const [what, post] of Object.entries(posts)) {
    test(`rejects ${what} in less CPU time than three responses with 100 KB of text take`, async () => {
      large ??= provider.respond({
        ...encryptedOnly,
        edit: addAttribute('text', 'x'.repeat(100_000)),
      })
      expect(await compareCosts(post(), check, large, 3)).toBeLessThan(3)
    })
  }
}
let large: string | undefined

/**
 * Signature wrapping, numbered as in "On Breaking SAML" (Somorovsky and others, 2012).
 */
rejects('saml_response', ofResponse, {
  'XSW 1: the original response inside its signature': replace(root, (original) =>
    intoSignature(`<ds:Object>${unsigned(original)}</ds:Object>`)(
      withNewId(evil(original)),
    ),
  ),
  'XSW 2: the original response before its signature': replace(root, (original) =>
    replace(
      '<ds:Signature',
      () => `${unsigned(original)}<ds:Signature`,
    )(withNewId(evil(original))),
  ),
})
rejects('saml_assertion_count', ofAssertion, {
  'XSW 3: another assertion before the original': inAssertion(
    (own) => withNewId(unsigned(evil(own))) + own,
  ),
  'XSW 4: another assertion around the original': inAssertion((original) =>
    replace(
      '</saml:Assertion>',
      () => `${original}</saml:Assertion>`,
    )(withNewId(unsigned(evil(original)))),
  ),
  'XSW 5: the signature moved into another assertion before the original': inAssertion(
    (original) => withNewId(evil(original)) + unsigned(original),
  ),
  'XSW 6: the original inside the signature of another assertion': inAssertion(
    (original) => intoSignature(unsigned(original))(withNewId(evil(original))),
  ),
  'XSW 8: the original in an object of the signature of another assertion': inAssertion(
    (original) =>
      intoSignature(`<ds:Object>${unsigned(original)}</ds:Object>`)(
        withNewId(evil(original)),
      ),
  ),
  'an assertion with a new ID in an extension': inExtension(withNewId),
})

function inExtension(edit: Edit): Edit {
  return (xml) => {
    const [assertion] = assertionPattern.exec(xml)!
    const copy = edit(unsigned(evil(assertion)))
    return replace(
      '<samlp:Status>',
      () => `<samlp:Extensions>${copy}</samlp:Extensions><samlp:Status>`,
    )(xml)
  }
}

/** Changes by an attacker before the browser posts the response. */
const tampered: Record<string, [SamlCheck, ResponseOptions, Edit]> = {
  'XSW 7: another assertion with the same ID in an extension': [
    'saml_id',
    ofAssertion,
    inExtension((text) => text),
  ],
  'a response without a signature': ['saml_unsigned', {}, (xml) => xml],
  'an encrypted assertion without a signature': [
    'saml_unsigned',
    { encrypted: true },
    (xml) => xml,
  ],
  'another NameID in a signed response': ['saml_signature', ofResponse, evil],
  'the signature moved from the assertion to the response': [
    'saml_signature_form',
    ofAssertion,
    (xml) =>
      replace(
        issuer,
        (text) => text + signature.exec(xml)![0],
      )(inAssertion(unsigned)(xml)),
  ],
  'a comment in the digest (CVE-2025-29775)': [
    'saml_markup',
    ofResponse,
    replace('<ds:DigestValue>', '$&<!--AAAA-->'),
  ],
  'a signed response without a destination': [
    'saml_destination',
    { ...ofResponse, edit: replace(/ Destination="[^"]*"/, '') },
    (xml) => xml,
  ],
  'a signed response with an empty destination': [
    'saml_destination',
    { ...ofResponse, edit: replace(/ Destination="[^"]*"/, ' Destination=""') },
    (xml) => xml,
  ],
  'a signed response without an issuer': [
    'saml_issuer',
    { ...ofResponse, edit: replace(issuer, '') },
    (xml) => xml,
  ],
  'a response with an encrypted assertion and no issuer': [
    'saml_issuer',
    encryptedOnly,
    replace(issuer, ''),
  ],
  'a response without InResponseTo': [
    'saml_in_response_to',
    ofAssertion,
    replace(/ InResponseTo="[^"]*"/, ''),
  ],
  'two encrypted assertions': [
    'saml_assertion_count',
    encryptedOnly,
    replace(/<saml:EncryptedAssertion[\s\S]*<\/saml:EncryptedAssertion>/, '$&$&'),
  ],
}
for (const [what, [check, options, tamper]] of Object.entries(tampered))
  rejectsResponse(what, check, { ...options, tamper })
rejects('saml_signature', ofBoth, {
  'the signature of the assertion removed from a signed response': inAssertion(unsigned),
  'another NameID, with response and assertion signed': evil,
  'a changed response around its assertion, both signed': replace(
    /IssueInstant="[^"]*Z"/,
    'IssueInstant="2026-01-01T00:00:00Z"',
  ),
})
rejects('saml_signature', ofAssertion, {
  'another NameID in a signed assertion': evil,
  'an attribute added to a signed assertion': addAttribute('role', 'admin'),
})
rejects('saml_signature_place', ofAssertion, {
  'the signature moved into the subject': signatureInto('</saml:Subject>'),
  'two signatures of the assertion': replace(signature, '$&$&'),
  'a signature of another namespace': replace(
    '</saml:Subject>',
    '<Signature xmlns="urn:other"/></saml:Subject>',
  ),
})
rejects('saml_signature_place', ofBoth, {
  'one of two signatures moved into the subject': signatureInto('</saml:Subject>'),
})
rejects('saml_signature_place', ofResponse, {
  'the signature moved into the status': signatureInto('</samlp:Status>'),
  'two signatures of the response': replace(signature, '$&$&'),
  'a SignedInfo element in the status': before(
    '</samlp:Status>',
    '<SignedInfo xmlns="urn:other"/>',
  ),
})
rejects('saml_signature_form', ofResponse, {
  'an empty reference': replace(/URI="[^"]*"/, 'URI=""'),
  'a reference to another element': replace(/URI="[^"]*"/, 'URI="#_other"'),
  'no ID, and a reference without an ID': inOrder(
    replace(/ ID="[^"]*"/, ''),
    replace(/URI="[^"]*"/, 'URI="#"'),
  ),
  'an XPath expression as a reference': replace(/URI="[^"]*"/, `URI="#x' or '1'='1"`),
  'two references': replace(/<ds:Reference [\s\S]*<\/ds:Reference>/, '$&$&'),
  'three transforms': replace(/<ds:Transform [^>]*\/>/, '$&$&'),
  'two SignedInfo elements, as in CVE-2025-29774': replace(
    /<ds:SignedInfo>[\s\S]*<\/ds:SignedInfo>/,
    '$&$&',
  ),
  'an element in the digest': replace('<ds:DigestValue>', '$&<ds:X>AAAA</ds:X>'),
  'a list of prefixes in the signature value': replace(
    '<ds:SignatureValue>',
    '$&<InclusiveNamespaces xmlns="http://www.w3.org/2001/10/xml-exc-c14n#"/>',
  ),
  'two lists of prefixes': replace(
    /(<ds:Transform Algorithm="http:\/\/www.w3.org\/2001\/10\/xml-exc-c14n#")\/>/,
    `$1>${'<InclusiveNamespaces xmlns="http://www.w3.org/2001/10/xml-exc-c14n#" PrefixList="z"/>'.repeat(2)}</ds:Transform>`,
  ),
  'a signature value of another namespace': replace(
    /<ds:SignatureValue>([^<]*)<\/ds:SignatureValue>/,
    '<x:SignatureValue xmlns:x="urn:x">$1</x:SignatureValue>',
  ),
  'another signature method inside the canonicalization method': replace(
    /<ds:CanonicalizationMethod([^>]*)\/>/,
    '<ds:CanonicalizationMethod$1><InclusiveNamespaces><ds:SignatureMethod Algorithm="http://www.w3.org/2000/09/xmldsig#hmac-sha1"/></InclusiveNamespaces></ds:CanonicalizationMethod>',
  ),
  'an object in the signature': intoSignature('<ds:Object/>'),
  'an object in place of the key': replace(
    /<ds:KeyInfo>[\s\S]*<\/ds:KeyInfo>/,
    '<ds:Object/>',
  ),
  'a signature without a value': replace(/<ds:SignatureValue>[\s\S]*<\/ds:KeyInfo>/, ''),
  'an empty signature': replace(
    signature,
    '<ds:Signature xmlns:ds="http://www.w3.org/2000/09/xmldsig#"/>',
  ),
})
rejects('saml_id', ofResponse, {
  'a duplicate ID in a signed response': replace(
    '<samlp:Status>',
    '<samlp:Extensions id="_x" Id="_x"/>$&',
  ),
  'a duplicate ID that begins with a digit': replace(
    '<samlp:Status>',
    '<samlp:Extensions ID="4x" x:id="4x" xmlns:x="urn:x"/>$&',
  ),
  'a duplicate ID with a prefix': replace(
    '<samlp:Status>',
    '<samlp:Status ID="_x"><x:a xmlns:x="urn:x" x:Id="_x"/>',
  ),
})
rejects('saml_response', ofAssertion, {
  'a logout response': (xml) => xml.replaceAll('samlp:Response', 'samlp:LogoutResponse'),
  'a response of another namespace': replace(
    /xmlns:samlp="[^"]*"/,
    'xmlns:samlp="urn:other"',
  ),
  'an assertion alone': (xml) => assertionPattern.exec(xml)![0],
})
rejects('saml_assertion_count', ofAssertion, {
  'an assertion of another namespace': inAssertion((text) =>
    text
      .replaceAll(/\bsaml(?=:)|(?<=xmlns:)saml/g, 'other')
      .replace('SAML:2.0:assertion', 'SAML:3.0:assertion'),
  ),
  'an assertion inside the status': (xml) =>
    before(
      '</samlp:Status>',
      assertionPattern.exec(xml)![0],
    )(replace(assertionPattern, '')(xml)),
  'an encrypted assertion next to the assertion': (xml) =>
    before(
      '</samlp:Response>',
      encrypt(assertionPattern.exec(xml)![0], provider.settings),
    )(xml),
})

test('rejects signatures with a foreign key in KeyInfo, and HMACs with a certificate as the secret', async () => {
  const hmac = {
    signatureMethod: 'http://www.w3.org/2000/09/xmldsig#hmac-sha1',
    privateKey: provider.settings.certificates[0]!,
  }
  for (const mode of [
    ofResponse,
    ofAssertion,
    ofBoth,
    encryptedOnly,
    encryptedInSigned,
  ]) {
    const foreign = provider.respond({ ...mode, signing: provider.nextKey })
    expect(await outcomeOf(provider, foreign)).toBe('saml_signature')
    expect(await outcomeOf(provider, provider.respond({ ...mode, signing: hmac }))).toBe(
      'saml_algorithm',
    )
  }
})

test('rejects a response if only one of its two signatures is valid', async () => {
  const own = {
    privateKey: provider.privateKey,
    certificate: provider.settings.certificates[0]!,
  }
  for (const [inner, outer] of [
    [provider.nextKey, own],
    [own, provider.nextKey],
  ] as const) {
    const withInner = decoded(provider.respond({ assertion: true, signing: inner }))
    expect(await outcomeOf(provider, base64(sign(withInner, '/*', outer)))).toBe(
      'saml_signature',
    )
  }
})

test('accepts only responses with the signatures that the connection requires', async () => {
  const cases: [
    ResponseOptions,
    ofResponse: string,
    ofAssertion: string,
    ofBoth: string,
  ][] = [
    [ofResponse, 'accepted', 'saml_unsigned', 'saml_unsigned'],
    [ofAssertion, 'saml_unsigned', 'accepted', 'saml_unsigned'],
    [ofBoth, 'accepted', 'accepted', 'accepted'],
    [encryptedInSigned, 'accepted', 'saml_unsigned', 'saml_unsigned'],
    [encryptedOnly, 'saml_unsigned', 'accepted', 'saml_unsigned'],
    [{ ...ofBoth, tamper: unsigned }, 'saml_unsigned', 'accepted', 'saml_unsigned'],
  ]
  for (const [options, ...outcomes] of cases) {
    const posted = provider.respond(options)
    expect([
      await outcomeOf(provider, posted, { signed: 'response' }),
      await outcomeOf(provider, posted, { signed: 'assertion' }),
      await outcomeOf(provider, posted, { signed: 'both' }),
    ]).toEqual(outcomes)
  }
})

test('reads the identity only from signed parts', async () => {
  const outside =
    '<samlp:Extensions><saml:Subject><saml:NameID>root</saml:NameID></saml:Subject><saml:Attribute Name="mail"><saml:AttributeValue>root@example.com</saml:AttributeValue></saml:Attribute></samlp:Extensions>'
  const tamper = replace('<samlp:Status>', `${outside}<samlp:Status>`)
  const posted = provider.respond({ assertion: true, tamper })
  const { identity, contact } = await verifyResponse(provider.settings, posted, {
    requestId,
  })
  expect([identity.subject, (await contact()).email]).toEqual(['ada', 'Ada@example.com'])
})

// Tests of encryption

const xenc = 'http://www.w3.org/2001/04/xmlenc#'
const ownEncryption =
  (edit: Edit): Edit =>
  (xml) =>
    replace(/<saml:EncryptedAssertion[\s\S]*<\/saml:EncryptedAssertion>/, () =>
      encrypt(edit('<saml:Assertion/>'), provider.settings),
    )(xml)
const encrypted: Record<string, [SamlCheck, ResponseOptions]> = {
  'a key encrypted with RSA PKCS #1 v1.5': [
    'saml_encryption',
    { encryption: { key: `${xenc}rsa-1_5` } },
  ],
  'RSA PKCS #1 v1.5 in an encryption method of another namespace': [
    'saml_encryption',
    {
      encryption: { key: `${xenc}rsa-1_5` },
      tamper: replace(
        `<xenc:EncryptionMethod Algorithm="${xenc}rsa-1_5">`,
        `<x:EncryptionMethod xmlns:x="urn:x" Algorithm="${xenc}rsa-1_5"/><xenc:EncryptionMethod Algorithm="${xenc}rsa-oaep-mgf1p">`,
      ),
    },
  ],
  'an unknown OAEP digest, instead of which the library uses SHA-1': [
    'saml_encryption',
    { encryption: { digest: 'http://www.w3.org/2001/04/xmldsig-more#md5' } },
  ],
  'a mask generation function that the key algorithm does not allow': [
    'saml_decryption',
    {
      encryption: {
        mgf: 'http://www.w3.org/2009/xmlenc11#mgf1sha256',
        hashes: ['sha1', 'sha256'],
      },
    },
  ],
  'triple DES': ['saml_encryption', { encryption: { content: `${xenc}tripledes-cbc` } }],
  'an encrypted assertion of another namespace': [
    'saml_assertion_count',
    {
      tamper: replace(
        '<saml:EncryptedAssertion xmlns:saml="urn:oasis:names:tc:SAML:2.0:assertion"',
        '<saml:EncryptedAssertion xmlns:saml="urn:other"',
      ),
    },
  ],
  'changed ciphertext': [
    'saml_decryption',
    {
      tamper: replace(
        /(<xenc:CipherValue>)(.)([^<]*<\/xenc:CipherValue><\/xenc:CipherData><\/xenc:EncryptedData>)/,
        (_, start, first, rest) => `${start}${first === 'A' ? 'B' : 'A'}${rest}`,
      ),
    },
  ],
  'an assertion that was changed and encrypted again': [
    'saml_signature',
    { tamperAssertion: evil },
  ],
  'an unsigned assertion of the attacker': [
    'saml_unsigned',
    { tamperAssertion: (xml) => unsigned(evil(xml)) },
  ],
  'a duplicate ID in the assertion': [
    'saml_id',
    { tamperAssertion: replace('<saml:Subject', '$& ID="_x" Id="_x"') },
  ],
}
for (const [what, [check, options]] of Object.entries(encrypted))
  rejectsResponse(`an encrypted response: ${what}`, check, {
    ...encryptedOnly,
    ...options,
  })
const keyAt = (place: string) =>
  before('</ds:KeyInfo>', `<ds:RetrievalMethod URI="${place}"/>`)
rejects('saml_encryption', encryptedOnly, {
  'a missing key algorithm': replace(
    /<xenc:EncryptionMethod Algorithm="[^"]*rsa[\s\S]*?<\/xenc:EncryptionMethod>/,
    '',
  ),
  'two encrypted keys': replace(
    /<xenc:EncryptedKey>[\s\S]*<\/xenc:EncryptedKey>/,
    '$&$&',
  ),
  'two values of the encrypted key': replace(
    /<xenc:CipherData>[\s\S]*?<\/xenc:CipherData>/,
    '$&$&',
  ),
  'two EncryptedData elements': replace(
    /<xenc:EncryptedData[\s\S]*<\/xenc:EncryptedData>/,
    '$&$&',
  ),
  'encrypted data inside encrypted data': replace(
    '</ds:KeyInfo>',
    '$&<xenc:EncryptedData/>',
  ),
  'encrypted data of another namespace': (xml) =>
    xml.replace(`xmlns:xenc="${xenc}"`, 'xmlns:xenc="urn:other"'),
  'an XPath expression as the reference to the key': keyAt(
    `#x' or count(//*[count(//*) > 1]) > 1 or 'x'='`,
  ),
  'a reference to a key in another place': keyAt('https://other.example/key'),
})
rejects('saml_signature_place', encryptedOnly, {
  'a signature inside the encrypted assertion': replace(
    '</ds:KeyInfo>',
    '<ds:Signature/></ds:KeyInfo>',
  ),
  'a signature next to the encrypted data': replace(
    '</saml:EncryptedAssertion>',
    '<ds:Signature xmlns:ds="http://www.w3.org/2000/09/xmldsig#"><ds:SignedInfo/></ds:Signature></saml:EncryptedAssertion>',
  ),
})
rejectsInside('saml_malformed', {
  'text in place of the assertion': () => 'ada',
  'two assertions': (xml) => xml + xml,
  'a prefix that only the response declares': replace(
    '<saml:Subject>',
    '<saml:Subject><samlp:Extensions/>',
  ),
})
rejectsInside('saml_assertion_count', {
  'another element in place of the assertion': () => '<Subject/>',
  'an assertion of another namespace': () => '<Assertion xmlns="urn:other"/>',
  'an assertion inside the assertion': (xml) =>
    replace(
      '</saml:Assertion>',
      () => `${withNewId(unsigned(evil(xml)))}</saml:Assertion>`,
    )(xml),
  'an encrypted assertion inside the assertion': before(
    '</saml:Assertion>',
    '<saml:EncryptedAssertion/>',
  ),
})
rejectsInside('saml_signature_place', {
  'a signature in the subject': signatureInto('</saml:Subject>'),
  'a SignedInfo element in the subject': before(
    '</saml:Subject>',
    '<SignedInfo xmlns="urn:other"/>',
  ),
})
rejectsInside('saml_markup', {
  'a comment in the assertion': replace('>ada<', '>a<!-- -->da<'),
})

test('rejects ciphertext of the attacker in a signed response', async () => {
  for (const options of [encryptedInSigned, { ...encryptedInSigned, assertion: true }]) {
    const replaced = provider.respond({
      ...options,
      tamper: ownEncryption(() =>
        evil(assertionPattern.exec(decoded(provider.respond(ofAssertion)))![0]),
      ),
    })
    expect(await outcomeOf(provider, replaced)).toBe('saml_signature')
  }
})

test('rejects an assertion that was encrypted for somebody else', async () => {
  expect(
    await outcomeOf(provider, provider.respond(encryptedOnly), provider.nextKey),
  ).toBe('saml_decryption')
})

// Tests of responses that are rejected before they are parsed

const good = () => decoded(provider.respond(ofAssertion))
const posts: Record<string, [SamlCheck, () => string]> = {
  'an empty post': ['saml_base64', () => ''],
  'base64 with one character too many': ['saml_base64', () => `${base64(good())}A`],
  'a character that is not base64': [
    'saml_base64',
    () => base64(good()).replace('A', '%'),
  ],
  base64url: ['saml_base64', () => base64(good()).replace(/\w/, '-')],
  'padding in the middle': ['saml_base64', () => base64('a') + base64(good())],
  'base64 with a space inside': [
    'saml_base64',
    () => base64(good()).replace(/^.{4}/, '$&    '),
  ],
  'invalid UTF-8': [
    'saml_encoding',
    () => base64(Buffer.from(good().replace('>ada<', '>\xe4da<'), 'latin1')),
  ],
  'UTF-16': ['saml_encoding', () => base64(Buffer.from(`\uFEFF${good()}`, 'utf16le'))],
  'another declared encoding': [
    'saml_encoding',
    () => base64(good().replace('UTF-8', 'ISO-8859-1')),
  ],
  'a byte order mark': ['saml_markup', () => base64(`\uFEFF${good()}`)],
}
for (const [what, [check, post]] of Object.entries(posts)) {
  test(`rejects ${what}`, async () =>
    expect(await outcomeOf(provider, post())).toBe(check))
}

const intoEncrypted = (value: string) =>
  replace('<saml:EncryptedAssertion', () => `<saml:EncryptedAssertion b="${value}"`)
const intoKey = (value: string) =>
  replace('<ds:X509Data', () => `<ds:X509Data b="${value}"`)
/** Returns a response whose assertion contains this text or these elements. */
const bomb = (text: string, mode = ofAssertion) =>
  provider.respond({ ...mode, edit: addAttribute('x', text) })
rejectsCheaply('saml_too_large', {
  '256 KiB and a byte': () => base64(good().padEnd(256 * 1024 + 1)),
})
rejectsCheaply('saml_too_complex', {
  '15,000 elements': () =>
    base64(before('<samlp:Status>', '<a></a>'.repeat(15_000))(good())),
  '15,000 elements inside an encrypted assertion': () =>
    provider.respond({
      ...encryptedOnly,
      tamperAssertion: before('<saml:Subject>', '<a></a>'.repeat(15_000)),
    }),
  // The library searches the whole document for each name.
  '900 element names in a document of 250 KB': () => {
    const names = Array.from({ length: 900 }, (_, index) => `<a${index}/>`).join('')
    return base64(
      replace(
        '<samlp:Status>',
        `<a>${names}${'x'.repeat(230_000)}</a><samlp:Status>`,
      )(good()),
    )
  },
  // The library evaluates XPath expressions on these elements before it checks a
  // signature.
  '900 elements next to an encrypted key': () => {
    const levels = Array.from(
      { length: 30 },
      (_, index) => ` xmlns:n${index}="urn:n"`,
    ).join('')
    const keys = `<b xmlns="http://www.w3.org/2000/09/xmldsig#">${'<KeyInfo xmlns:q="u"/> '.repeat(900)}</b>`
    const nested = `${`<a${levels}>`.repeat(18)}${keys}${'</a>'.repeat(18)}`
    return provider.respond({
      ...encryptedOnly,
      tamper: before('</xenc:EncryptedData>', nested),
    })
  },
  '50,000 levels': () => base64('<a>'.repeat(50_000)),
  '25,000 attributes of an element': () =>
    base64(
      `<a ${Array.from({ length: 25_000 }, (_, index) => `a${index}=""`).join(' ')}/>`,
    ),
  // The canonical form has 216 MB and is copied once for each level.
  '900 elements with a namespace of 240 KB, below 20 levels': () => {
    const elements = `${'<a>'.repeat(20)}${'<n:b/>'.repeat(900)}${'</a>'.repeat(20)}`
    return base64(`<a xmlns:n="${'n'.repeat(240_000)}">${elements}</a>`)
  },
  // The canonical form has 330 KB and is copied once for each level.
  '650 elements that use 20 long namespaces, below 18 levels': () =>
    bomb(namespacesEverywhere('n'.repeat(250))),
  '55,000 inclusive prefixes': () =>
    base64(withPrefixLists(['zzz '.repeat(55_000)])(good())),
  '10 lists of 250 inclusive prefixes': () =>
    base64(withPrefixLists(Array(10).fill('zzz '.repeat(250)))(good())),
  'a list of 3,000 prefixes in a place where only the library reads it': () => {
    const list = `<InclusiveNamespaces PrefixList="${'zzz '.repeat(3_000)}"/>`
    const method = `<CanonicalizationMethod>${list}</CanonicalizationMethod>`
    return base64(replace('<samlp:Status>', `${method}<samlp:Status>`)(good()))
  },
  // The library replaces carriage returns one at a time, in each of its steps.
  '230,000 carriage returns in an encrypted assertion without a signature': () =>
    provider.respond({ encrypted: true, tamper: intoEncrypted('\r'.repeat(230_000)) }),
  // The canonical form is four times as long and is copied once for each level.
  '160,000 characters to escape, below 18 levels, with a signature of another element':
    () => {
      const nested = `${'<a>'.repeat(18)}${'>>x'.repeat(80_000)}${'</a>'.repeat(18)}`
      return provider.respond({
        ...ofAssertion,
        tamper: replace('</saml:AttributeValue>', `${nested}$&`),
      })
    },
  '240 KB in a KeyInfo': () =>
    provider.respond({ ...ofAssertion, tamper: intoKey('x'.repeat(240_000)) }),
})
rejectsCheaply('saml_malformed', {
  'a start tag without an end': () => base64(`<a${' '.repeat(250_000)}`),
  'names without an end': () => base64(`<${'a'.repeat(250_000)}`),
  'an attribute without an end': () =>
    base64(`<a ${'b'.repeat(125_000)}${' '.repeat(125_000)}`),
  'an entity reference without an end': () => base64(`<a>&#x${'0'.repeat(240_000)}</a>`),
  // The library's parser takes a second for this line.
  'a line of 30,000 characters that ends with U+2029, in an encrypted assertion without a signature':
    () =>
      provider.respond({
        encrypted: true,
        tamper: intoEncrypted(`${'x'.repeat(30_000)}\u2029`),
      }),
})
rejectsCheaply('saml_markup', {
  'a comment without an end': () => base64(`<!--${'-a'.repeat(120_000)}`),
  // For each element, the library's parser reads the whole text before it.
  '900 HTML elements after 200 KB of text': () => {
    const html = `<x xmlns="http://www.w3.org/1999/xhtml">${'y'.repeat(200_000)}${'<textarea></textarea >'.repeat(900)}</x>`
    return base64(
      replace('<samlp:Status>', `${html}$&`)(decoded(provider.respond(ofResponse))),
    )
  },
})

/** Adds lists of inclusive prefixes to the canonicalization of the signed element. */
const withPrefixLists = (lists: string[]) => {
  const namespace = 'http://www.w3.org/2001/10/xml-exc-c14n#'
  const elements = lists.map(
    (prefixes) => `<InclusiveNamespaces xmlns="${namespace}" PrefixList="${prefixes}"/>`,
  )
  return replace(
    `<ds:Transform Algorithm="${namespace}"/>`,
    `<ds:Transform Algorithm="${namespace}">${elements.join('')}</ds:Transform>`,
  )
}

test('limits elements, element names, attributes, levels, lengths of namespaces, and lists of prefixes', async () => {
  const count = (pattern: RegExp) =>
    decoded(provider.respond(ofAssertion)).match(pattern)!.length
  const elements = 1000 - count(/<[a-z]/gi) - 2 // addAttribute adds two elements
  const attributes = 3000 - count(/\s[\w:]+="/g) + 2 - 1 // two matches are in the XML declaration
  const each = (length: number, text: (index: number) => string) =>
    Array.from({ length }, (_, index) => text(index)).join('')
  const limits = async (make: (count: number) => string, last: number) => {
    expect(await outcomeOf(provider, bomb(make(last)))).toBe('accepted')
    expect(await outcomeOf(provider, bomb(make(last + 1)))).toBe('saml_too_complex')
  }
  const attributesOf = (length: number) => each(length, (index) => ` a${index}=""`)
  const all = (length: number) =>
    each(
      Math.ceil(length / 30),
      (index) => `<a${attributesOf(Math.min(30, length - 30 * index))}/>`,
    )
  const names = 100 - new Set(decoded(bomb('')).match(/<[A-Za-z][\w:]*/g)).size
  await limits((length) => '<a/>'.repeat(length), elements)
  await limits((length) => each(length, (index) => `<a${index}/>`), names)
  await limits(all, attributes)
  await limits((length) => `<a${attributesOf(length)}/>`, 32)
  await limits((length) => '<a>'.repeat(length) + '</a>'.repeat(length), 20)
  await limits((length) => `<a xmlns="${'n'.repeat(length)}"/>`, 256)
  const prefixes = (length: number) =>
    outcomeOf(provider, base64(withPrefixLists(['z'.repeat(length)])(good())))
  expect(await prefixes(1_000)).not.toBe('saml_too_complex')
  expect(await prefixes(1_001)).toBe('saml_too_complex')
})

/** The least CPU time of accepted responses, which several tests share. */
const acceptedCosts = new Map<string, number>()

/**
 * Returns how much CPU time a response takes, as a multiple of what an accepted one takes.
 * A response that takes long is measured again, alternately with the accepted one, because
 * their times grow on a busy machine. Stops as soon as the multiple is below `lowEnough`.
 */
async function compareCosts(
  posted: string,
  check: SamlCheck,
  accepted: string,
  lowEnough: number,
): Promise<number> {
  const known =
    acceptedCosts.get(accepted) ?? (await leastCostMs(accepted, 'accepted', 3))
  acceptedCosts.set(accepted, known)
  const first = (await costMs(posted, check)) / known
  if (first < lowEnough) return first

  let [leastMs, leastAcceptedMs] = [Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY]
  for (let run = 0; run < 10; run++) {
    leastAcceptedMs = Math.min(leastAcceptedMs, await costMs(accepted, 'accepted'))
    leastMs = Math.min(leastMs, await costMs(posted, check))
    if (run >= 2 && leastMs < lowEnough * leastAcceptedMs) break
  }
  return leastMs / leastAcceptedMs
}

async function leastCostMs(
  posted: string,
  outcome: string,
  count: number,
): Promise<number> {
  const costs: number[] = []
  while (costs.length < count) costs.push(await costMs(posted, outcome))
  return Math.min(...costs)
}

/** Returns the CPU time of verifying a response, in milliseconds. */
async function costMs(posted: string, outcome: string): Promise<number> {
  const before = process.cpuUsage()
  expect(await outcomeOf(provider, posted)).toBe(outcome)
  const { user, system } = process.cpuUsage(before)
  return (user + system) / 1000
}

/** Returns 650 elements that use 20 namespaces, below 18 levels. */
function namespacesEverywhere(namespace = 'n'): string {
  const declarations = Array.from(
    { length: 20 },
    (_, index) => `xmlns:n${index}="${namespace}${index}"`,
  ).join(' ')
  const uses = (index: number) =>
    [0, 1].map((use) => `n${(index * 2 + use) % 20}:x=""`).join(' ')
  const elements = Array.from({ length: 650 }, (_, index) => `<b ${uses(index)}/>`).join(
    '',
  )
  return `<a ${declarations}>${'<a>'.repeat(17)}${elements}${'</a>'.repeat(17)}</a>`
}

test('rejecting an assertion for another request takes less than half the CPU time of accepting a genuine one', async () => {
  const groups = addAttribute(
    'groups',
    ...Array.from({ length: 450 }, (_, index) => `group-${index}`),
  )
  for (const mode of [ofAssertion, encryptedOnly]) {
    const genuine = provider.respond({ ...mode, edit: groups })
    const inNewEnvelope = replace(/InResponseTo="[^"]*"/, `InResponseTo="${requestId}"`)
    const replayed = provider.respond({
      ...mode,
      edit: groups,
      requestId: '_old',
      tamper: inNewEnvelope,
    })
    const cost = await compareCosts(replayed, 'saml_in_response_to', genuine, 0.5)
    expect(cost).toBeLessThan(0.5)
  }
})

test('rejecting an invalid signature takes at most 1.5 times the CPU time of accepting a valid document', async () => {
  const costly = namespacesEverywhere()
  for (const mode of [ofResponse, ofAssertion]) {
    const document = { ...mode, edit: addAttribute('x', costly) }
    const valid = provider.respond(document)
    const forged = provider.respond({ ...document, signing: provider.nextKey })
    const lifted = base64(
      replace(
        '</saml:AttributeValue>',
        (end) => `${costly}${end}`,
      )(decoded(bomb('', mode))),
    )
    for (const posted of [forged, lifted])
      expect(await compareCosts(posted, 'saml_signature', valid, 1.5)).toBeLessThan(1.5)
  }
})

test('the unsigned part of a response may have at most 50 elements, 50 attributes and 16 KiB', async () => {
  const xmlOf = (mode: ResponseOptions) => decoded(provider.respond(mode))
  const intoKeyInfo = (text: string) => replace('</ds:KeyInfo>', `${text}$&`)
  const beforeStatus = (text: string) => replace('<samlp:Status>', `${text}$&`)
  const [responseSignature] = signature.exec(xmlOf(ofResponse))!
  const [assertionSignature] = signature.exec(xmlOf(ofAssertion))!
  const [response] = root.exec(xmlOf(ofAssertion))!
  const [encryptedAssertion] = /<saml:EncryptedAssertion[\s\S]*EncryptedAssertion>/.exec(
    xmlOf(encryptedOnly),
  )!
  const unsignedParts: [string, (text: string) => ResponseOptions][] = [
    [responseSignature, (text) => ({ ...ofResponse, tamper: intoKeyInfo(text) })],
    [assertionSignature, (text) => ({ ...ofAssertion, tamper: intoKeyInfo(text) })],
    [
      assertionSignature,
      (text) => ({ ...encryptedOnly, tamperAssertion: intoKeyInfo(text) }),
    ],
    [
      response.replace(assertionPattern, ''),
      (text) => ({ ...ofAssertion, tamper: beforeStatus(text) }),
    ],
    [
      encryptedAssertion.replaceAll(/(<xenc:CipherValue>)[^<]*/g, '$1'),
      (text) => ({ ...encryptedOnly, tamper: intoKeyInfo(text) }),
    ],
  ]
  for (const [own, optionsWith] of unsignedParts) {
    const limits = async (make: (count: number) => string, last: number) => {
      expect(await outcomeOf(provider, provider.respond(optionsWith(make(last))))).toBe(
        'accepted',
      )
      expect(
        await outcomeOf(provider, provider.respond(optionsWith(make(last + 1)))),
      ).toBe('saml_too_complex')
    }
    const element = (count: number) =>
      `<a${Array.from({ length: count }, (_, index) => ` a${index}=""`).join('')}/>`
    await limits((size) => 'x'.repeat(size), 16_384 - own.length)
    await limits((count) => '<a/>'.repeat(count), 50 - own.match(/<\w/g)!.length)
    await limits(
      (count) => element(count - 20) + element(20),
      50 - own.match(/ (?!xmlns)[\w:]+="/g)!.length,
    )
  }
  const with50 = { edit: beforeStatus('<a/>'.repeat(50)) }
  expect(
    await outcomeOf(provider, provider.respond({ ...encryptedOnly, ...with50 })),
  ).toBe('saml_too_complex')
  expect(await outcomeOf(provider, provider.respond({ ...ofResponse, ...with50 }))).toBe(
    'accepted',
  )
})

// Tests of email addresses

test('reads the email address from a NameID in the format emailAddress, if no attribute contains one', async () => {
  const emailAddress = '1.1:nameid-format:emailAddress'
  const emailOfNameId = async (
    format: string,
    mail = 'other',
    settings: Partial<ServiceProviderSettings> = {},
  ) => {
    const formatted = replace('SAML:2.0:nameid-format:persistent', `SAML:${format}`)
    const edit = inOrder(formatted, replace('Name="mail"', `Name="${mail}"`))
    const posted = provider.respond({ assertion: true, nameId: 'B@example.com', edit })
    const verified = await verifyResponse({ ...provider.settings, ...settings }, posted, {
      requestId,
    })
    const { subject, isEmail } = verified.identity
    const ignoresCase = format === emailAddress || settings.emailAttribute === 'nameID'
    expect([subject, isEmail]).toEqual(['B@example.com', ignoresCase])
    const outcome = verified.contact().then(
      ({ email }) => email,
      (error: SignInRejected) => error.check,
    )
    return outcome
  }
  expect(await emailOfNameId(emailAddress)).toBe('B@example.com')
  expect(await emailOfNameId(emailAddress, 'mail')).toBe('Ada@example.com')
  expect(await emailOfNameId(emailAddress, 'other', { emailAttribute: 'upn' })).toBe(
    'email_elsewhere',
  )
  expect(await emailOfNameId('2.0:nameid-format:persistent')).toBe('email_elsewhere')
  expect(await emailOfNameId('1.1:nameid-format:unspecified')).toBe('email_elsewhere')
  expect(
    await emailOfNameId('1.1:nameid-format:unspecified', 'other', {
      emailAttribute: 'nameID',
    }),
  ).toBe('B@example.com')
})

test('reads no email address from two attributes with the same name or from an element in an attribute', async () => {
  const inElement = replace(
    /Ada@example.com/,
    '<saml:NameID>ada@example.com</saml:NameID>',
  )
  for (const [edit, check] of [
    [addAttribute('mail', 'b@example.com'), 'email_several'],
    [inElement, 'email_missing'],
  ] as const) {
    const { contact } = await verifyResponse(
      provider.settings,
      provider.respond({ assertion: true, edit }),
      {
        requestId,
      },
    )
    await expect(contact()).rejects.toMatchObject({ check })
  }
})

test('returns when the assertion was issued, so that the clocks can be compared', async () => {
  const edit = (time: string) =>
    replace(/(<saml:Assertion[^>]* IssueInstant=)"[^"]*"/, `$1"${time}"`)
  for (const [time, issuedAt] of [
    ['2026-11-28T12:00:00.5Z', new Date('2026-11-28T12:00:00.500Z')],
    ['yesterday', undefined],
  ] as const) {
    const posted = provider.respond({ assertion: true, edit: edit(time) })
    const verified = await verifyResponse(provider.settings, posted, { requestId })
    expect(verified.issuedAt).toEqual(issuedAt)
  }
})

test('uses the earlier of two session ends', async () => {
  const second = replace(
    parts.authnStatement,
    (first) => first! + first!.replace(/SessionNotOnOrAfter="[^"]*"/, end),
  )
  const end = `SessionNotOnOrAfter="${new Date(Date.now() + 600_000).toISOString()}"`
  for (const order of [
    second,
    inOrder(second, replace(/SessionNotOnOrAfter="[^"]*"/, end)),
  ]) {
    const posted = provider.respond({ assertion: true, edit: order })
    const { sessionEnd } = await verifyResponse(provider.settings, posted, { requestId })
    expect(sessionEnd!.getTime()).toBeLessThanOrEqual(Date.now() + 600_000)
  }
})

test('reads the address from an attribute whose name is a property of every JavaScript object', async () => {
  const posted = provider.respond({
    assertion: true,
    edit: addAttribute('__proto__', 'x@example.com'),
  })
  const settings = { ...provider.settings, emailAttribute: '__proto__' }
  const { contact } = await verifyResponse(settings, posted, { requestId })
  expect(await contact()).toEqual({ email: 'x@example.com', isVerified: true })
})
