import { expect, test } from 'vitest'
import {
  createAgainCookie,
  createAskCookie,
  hasBegunAgain,
  readAsk,
} from './next-sign-in'

const nothing = { ask: null, address: null, connection: null }
/** Returns the headers of the next request of a browser that received these cookies. */
const sendBack = (...cookies: string[]) =>
  new Headers({ Cookie: cookies.map((cookie) => cookie.split(';')[0]).join('; ') })

test('the next sign-in asks for another account, and its page names the rejected one', () => {
  const account = 'eve@other.example'
  const cookie = createAskCookie('account', { account, connection: 'acme' })
  expect(cookie).toMatch(/; Path=\/; Max-Age=1200; HttpOnly; SameSite=Lax$/)
  expect(cookie, 'no log may show the address').not.toContain('eve')
  expect(readAsk(sendBack(cookie))).toEqual({
    ask: 'account',
    address: account,
    connection: 'acme',
  })
  expect(readAsk(sendBack(createAskCookie('login')))).toEqual({
    ...nothing,
    ask: 'login',
  })
  expect(readAsk(sendBack(createAskCookie(null)))).toEqual(nothing)
  expect(readAsk(new Headers())).toEqual(nothing)
})

const unsafe: Record<string, string | undefined> = {
  'no name': undefined,
  'a name that is no address': 'EVE',
  markup: '"<b> eve"@other.example',
  'too many characters': `${'e'.repeat(241)}@other.example`,
  'characters that turn the text around': 'eve\u202e@other.example',
}
for (const [what, account] of Object.entries(unsafe))
  test(`stores and shows no account name with ${what}`, () => {
    const unnamed = { ask: 'account', address: null, connection: 'acme' }
    const cookie = createAskCookie('account', { account, connection: 'acme' })
    expect(cookie).toMatch(/^ask=ask-account\.\.acme;/)
    expect(readAsk(sendBack(cookie))).toEqual(unnamed)
    const forged = Buffer.from(account ?? '').toString('base64url')
    expect(readAsk(sendBack(`ask=ask-account.${forged}.acme`))).toEqual(unnamed)
  })

test('reads no connection from a malformed cookie', () => {
  for (const value of ['account.', 'login.', 'account..', 'account..a/b', 'other..acme'])
    expect(readAsk(sendBack(`ask=ask-${value}`)).connection, value).toBeNull()
})

test('remembers that a sign-in began again until it ends', () => {
  expect(hasBegunAgain(sendBack(createAgainCookie(true)))).toBe(true)
  expect(hasBegunAgain(sendBack(createAgainCookie(false)))).toBe(false)
  expect(hasBegunAgain(new Headers())).toBe(false)
})
