import { expect, test } from 'vitest'
import { emailOf } from './email'

const address = 'a@example.com'
type Attributes = Record<string, string[]>
const outcomeIn = (attributes: Attributes, configured?: string, text = 'ada', isEmail = false) =>
  emailOf(new Map(Object.entries(attributes)), { text, isEmail }, configured)
const emailIn = (attributes: Attributes, configured?: string) => outcomeIn(attributes, configured).email

test('reads the address from the configured attribute, or else from the usual ones', () => {
  const oid = 'urn:oid:0.9.2342.19200300.100.1.3'
  const claim = 'http://schemas.xmlsoap.org/ws/2005/05/identity/claims/emailaddress'
  const others = 'Email MAIL emailAddress EmailAddress User.email user.Email user.mail email_address E-Mail'.split(' ')
  const uris = ['urn:oid:1.2.840.113549.1.9.1', 'urn:mace:dir:attribute-def:mail', claim.toUpperCase()]
  const xmlsoap = ['ws/2005/05/identity/claims/email', 'claims/EmailAddress'].map(
    (path) => `http://schemas.xmlsoap.org/${path}`,
  )
  for (const name of ['mail', 'email', oid, claim, ' mail\n', ...others, ...uris, ...xmlsoap])
    expect(emailIn({ other: ['b@example.com'], [name]: [address] }), name).toBe(address)
  expect(emailIn({ mail: ['A.B+c@Sub.Example.com'] })).toBe('a.b+c@sub.example.com')
  expect(emailIn({ mail: [address], email: [address] })).toBe(address)
  expect(emailIn({ mail: [address], upn: ['b@example.com'] }, 'UPN')).toBe('b@example.com')
  expect(emailIn({ mail: [address], NameID: ['b@example.com'] }, 'nameid')).toBeUndefined()
  for (const configured of ['NameID', 'nameid'])
    expect(outcomeIn({ mail: ['b@example.com'] }, configured, 'A@example.com'), configured).toEqual({ email: address })
  expect(emailIn({ mail: [address] }, 'upn')).toBeUndefined()
  expect(emailIn({ other: [address] })).toBeUndefined()
})

test('names what is wrong, and whether an address is under another name', () => {
  for (const [attributes, configured, problem] of [
    [{}, undefined, 'email_missing'],
    [{ name: ['Ada'], mail: [''] }, undefined, 'email_missing'],
    [{ upn: [address] }, undefined, 'email_elsewhere'],
    [{ mail: [address] }, 'upn', 'email_elsewhere'],
    [
      { 'http://schemas.xmlsoap.org/ws/2005/05/identity/claims/name': ['x', ` ${address}`] },
      undefined,
      'email_elsewhere',
    ],
    [{ mail: [address], Email: ['b@example.com'] }, undefined, 'email_several'],
    [{ mail: ['Ada'] }, undefined, 'email_malformed'],
    [{}, 'NameID', 'email_malformed'],
  ] as const)
    expect(outcomeIn(attributes as never, configured), JSON.stringify(attributes)).toEqual({ emailProblem: problem })
  // The default of Okta and Google: a NameID that is unspecified, with an address in it.
  expect(outcomeIn({}, undefined, 'A@example.com')).toEqual({ emailProblem: 'email_elsewhere' })
  expect(outcomeIn({}, 'NameID', 'A@example.com')).toEqual({ email: address })
  expect(outcomeIn({}, undefined, 'A@example.com', true)).toEqual({ email: address })
})

test('reads no address from two values', () => {
  expect(emailIn({ mail: [address, 'b@example.com'] })).toBeUndefined()
  expect(emailIn({ mail: [address], email: ['b@example.com'] })).toBeUndefined()
})

test('reads one address from values that differ in letter case or white space, or are empty', () => {
  for (const values of [
    ['A@Example.com', address],
    ['', address],
    [address, ' \n'],
    [`\r\n\t${address}\n  `],
    [address, `${address}\n`, 'a@EXAMPLE.COM'],
  ])
    expect(emailIn({ mail: values }), JSON.stringify(values)).toBe(address)
  expect(emailIn({ mail: [''], email: [address] })).toBe(address)
  expect(emailIn({ mail: [] })).toBeUndefined()
  expect(emailIn({ mail: [' '] })).toBeUndefined()
})

test('reads only a plain address in ASCII', () => {
  const severalAddresses = ['a@example.com,b@example.com', 'a@example.com\nb@example.com', 'a@b@example.com']
  const otherForms = ['', `Ada <${address}>`, `\u00a0${address}`, '"a"@example.com', 'a@.example.com']
  const otherLetters = ['\u212Aelvin@example.com', '\u0430da@example.com', '\uff21@example.com'] // one becomes a k in lower case
  const tooLong = `a@${'x'.repeat(60)}.${'y'.repeat(60)}.${'z'.repeat(60)}.${'w'.repeat(60)}.example.com`
  for (const text of [...severalAddresses, ...otherForms, ...otherLetters, tooLong])
    for (const mail of [[text], [text, text.toLowerCase()]]) expect(emailIn({ mail }), text).toBeUndefined()
})
