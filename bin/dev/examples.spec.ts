import { expect, test } from 'vitest'
import { formatLink } from './examples'

test('the line of a link has its description, such as a password', () => {
  const origin = 'http://localhost:3000'
  expect(formatLink(['Sign in', '/sign-in', 'as Ada'], origin)).toBe(
    '  Sign in            http://localhost:3000/sign-in  as Ada',
  )
  const app = ['App', 'otpauth://totp/x?secret=y', 'of joan: password “z”'] as const
  expect(formatLink([...app], origin)).toMatch(/ otpauth:.*\?secret=y {2}of joan: .+”$/)
})
