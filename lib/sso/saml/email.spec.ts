import { expect, test } from 'vitest'
import type { SignInRejected } from '../rejection'
import { readEmail } from './email'

const address = 'a@example.com'
type Attributes = Record<string, string[]>
/** Returns the email address, or the failed check. */
const emailIn = (
  attributes: Attributes,
  configured?: string,
  text = 'ada',
  isEmail = false,
) => {
  try {
    return readEmail(new Map(Object.entries(attributes)), { text, isEmail }, configured)
  } catch (error) {
    return (error as SignInRejected).check
  }
}

test('reads the email address from the configured attribute, or from the usual ones if none is configured', () => {
  const oid = 'urn:oid:0.9.2342.19200300.100.1.3'
  const claim = 'http://schemas.xmlsoap.org/ws/2005/05/identity/claims/emailaddress'
  const others =
    'Email MAIL emailAddress EmailAddress User.email user.Email user.mail email_address E-Mail'.split(
      ' ',
    )
  const uris = [
    'urn:oid:1.2.840.113549.1.9.1',
    'urn:mace:dir:attribute-def:mail',
    claim.toUpperCase(),
  ]
  const xmlsoap = ['ws/2005/05/identity/claims/email', 'claims/EmailAddress'].map(
    (path) => `http://schemas.xmlsoap.org/${path}`,
  )
  for (const name of [
    'mail',
    'email',
    oid,
    claim,
    ' mail\n',
    ...others,
    ...uris,
    ...xmlsoap,
  ])
    expect(emailIn({ other: ['b@example.com'], [name]: [address] }), name).toBe(address)
  expect(emailIn({ mail: ['A.B+c@Sub.Example.com'] })).toBe('A.B+c@Sub.Example.com')
  expect(emailIn({ mail: [address], email: [address] })).toBe(address)
  expect(emailIn({ mail: [address], upn: ['b@example.com'] }, 'UPN')).toBe(
    'b@example.com',
  )
  expect(emailIn({ mail: [address], NameID: ['b@example.com'] }, 'nameid')).toBe('ada')
  for (const configured of ['NameID', 'nameid'])
    expect(emailIn({ mail: ['b@example.com'] }, configured, address), configured).toBe(
      address,
    )
})

test('reports what is wrong with an address, and whether another attribute contains an address', () => {
  for (const [attributes, configured, problem] of [
    [{}, undefined, 'email_missing'],
    [{ name: ['Ada'], mail: [''] }, undefined, 'email_missing'],
    [{ upn: [address] }, undefined, 'email_elsewhere'],
    [{ mail: [address] }, 'upn', 'email_elsewhere'],
    [
      {
        'http://schemas.xmlsoap.org/ws/2005/05/identity/claims/name': [
          'x',
          ` ${address}`,
        ],
      },
      undefined,
      'email_elsewhere',
    ],
    [{ mail: [address], Email: ['b@example.com'] }, undefined, 'email_several'],
    [{ mail: [address, 'b@example.com'] }, undefined, 'email_several'],
    [
      { mail: ['kelvin@example.com', '\u212Aelvin@example.com'] },
      undefined,
      'email_several',
    ],
    [{ mail: [] }, undefined, 'email_missing'],
    [{ other: [address] }, undefined, 'email_elsewhere'],
  ] as const)
    expect(emailIn(attributes as never, configured), JSON.stringify(attributes)).toBe(
      problem,
    )
  // By default, Okta and Google send an email address in a NameID with the format
  // unspecified.
  expect(emailIn({}, undefined, address)).toBe('email_elsewhere')
  expect(emailIn({}, 'NameID', address)).toBe(address)
  expect(emailIn({}, undefined, address, true)).toBe(address)
})

test('reads one address from values that are empty or differ only in letter case or white space', () => {
  for (const values of [
    ['A@Example.com', address],
    ['', address],
    [address, ' \n'],
    [`\r\n\t${address}\n  `],
    ['a@EXAMPLE.COM', `${address}\n`, address],
  ])
    expect(emailIn({ mail: values }), JSON.stringify(values)).toBe(address)
  expect(emailIn({ mail: [''], email: [address] })).toBe(address)
})
