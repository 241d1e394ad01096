import { expect, test } from 'vitest'
import { emailOf } from './oidc'

const email = 'ada@example.com'
const verified: [what: string, isVerified: boolean, documents: Record<string, unknown>[]][] = [
  ['nothing', true, [{ email }]],
  ['null', true, [{ email, email_verified: null }]],
  ['true', true, [{ email, email_verified: true }]],
  ['"true"', true, [{ email, email_verified: 'true' }]],
  ['"True"', true, [{ email, email_verified: 'True' }]],
  ['false', false, [{ email, email_verified: false }]],
  ['"false"', false, [{ email, email_verified: 'false' }]],
  ['"False"', false, [{ email, email_verified: 'False' }]],
  ['another text', false, [{ email, email_verified: 'true?' }]],
  ['an empty text', false, [{ email, email_verified: '' }]],
  ['a list', false, [{ email, email_verified: ['true'] }]],
  ['a number', false, [{ email, email_verified: 0 }]],
  ['true in both', true, [{ email_verified: true }, { email, email_verified: true }]],
  ['false only in the ID token', false, [{ email_verified: false }, { email }]],
  ['false in the ID token, true at user info', false, [{ email_verified: false }, { email, email_verified: true }]],
  ['true in the ID token, false at user info', false, [{ email_verified: true }, { email, email_verified: false }]],
  ['an address in the ID token, false at user info', false, [{ email }, { email_verified: 'False' }]],
]
for (const [what, isVerified, documents] of verified)
  test(`email_verified: ${what} is ${isVerified ? 'verified' : 'unverified'}`, () => {
    expect(emailOf(documents)).toEqual({ email, isVerified })
  })

test('the email address is that of the first document that has one', () => {
  expect(emailOf([{ email }, { email: 'eve@example.com' }]).email).toBe(email)
  expect(emailOf([{ email: null }, { email }]).email).toBe(email)
  expect(emailOf([{}]).email).toBeNull()
  expect(emailOf([{ email: [email] }, { email }]).email).toBeNull()
})
