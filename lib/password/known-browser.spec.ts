import { expect, test } from 'vitest'
import { lifetimes } from '../contract/lifetimes'
import { makeRefreshToken } from '../session/tokens'
import { makeKnownBrowser, readKnownBrowser } from './known-browser'

const account = 'ada@example.com'
const now = () => Math.floor(Date.now() / 1000)

test('a browser is recognized only for one account, and its ID stays the same when the cookie is renewed', () => {
  const signedInAt = now() - 60
  const cookie = makeKnownBrowser(account, null, signedInAt)
  expect(cookie).toMatch(/^[\w-]{48}$/)
  const { id } = readKnownBrowser(cookie, account)!
  expect(id).toMatch(/^[0-9a-f]{32}$/)
  expect(readKnownBrowser(cookie, account)).toEqual({ id, signedInAt })
  expect(readKnownBrowser(makeKnownBrowser(account, id, now()), account)?.id).toBe(id)
  expect(readKnownBrowser(makeKnownBrowser(account, null, now()), account)?.id).not.toBe(
    id,
  )
  for (const other of ['', 'ada@example.co', 'eve@example.com'])
    expect(readKnownBrowser(cookie, other)).toBeNull()
})

test('a browser is not recognized after 180 days', () => {
  expect(
    readKnownBrowser(
      makeKnownBrowser(account, null, now() - lifetimes.knownBrowser + 10),
      account,
    ),
  ).not.toBeNull()
  expect(
    readKnownBrowser(
      makeKnownBrowser(account, null, now() - lifetimes.knownBrowser - 1),
      account,
    ),
  ).toBeNull()
})

test('a cookie with any changed bit is rejected, and a refresh token is not accepted as the cookie', () => {
  const bytes = Buffer.from(makeKnownBrowser(account, null, now()), 'base64url')
  for (let bit = 0; bit < bytes.length * 8; bit++) {
    const forged = Buffer.from(bytes)
    forged[bit >> 3]! ^= 1 << (bit & 7)
    expect(readKnownBrowser(forged.toString('base64url'), account)).toBeNull()
  }
  const token = makeRefreshToken({
    sessionId: '0c9d4e0e-52a7-4f1e-8f2c-1d3b5a7e9f60',
    generation: now() + 1_000,
  })
  for (const other of [null, '', 'x', token]) {
    expect(readKnownBrowser(other, '')).toBeNull()
    expect(readKnownBrowser(other, account)).toBeNull()
  }
})
