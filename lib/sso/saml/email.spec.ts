import { expect, test } from 'vitest'
import { emailOf } from './email'

const address = 'a@example.com'
const emailIn = (attributes: Record<string, string[]>, attribute?: string) =>
  emailOf(new Map(Object.entries(attributes)), { attribute, nameId: undefined })

test('reads the address from the configured attribute, or else from the usual ones', () => {
  const oid = 'urn:oid:0.9.2342.19200300.100.1.3'
  const claim = 'http://schemas.xmlsoap.org/ws/2005/05/identity/claims/emailaddress'
  for (const name of ['mail', 'email', oid, claim])
    expect(emailIn({ other: ['b@example.com'], [name]: [address] }), name).toBe(address)
  expect(emailIn({ mail: ['A.B+c@Sub.Example.com'] })).toBe('a.b+c@sub.example.com')
  expect(emailIn({ mail: [address], email: [address] })).toBe(address)
  expect(emailIn({ mail: [address], upn: ['b@example.com'] }, 'upn')).toBe('b@example.com')
  expect(emailIn({ mail: [address] }, 'upn')).toBeUndefined()
  expect(emailIn({ other: [address] })).toBeUndefined()
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
