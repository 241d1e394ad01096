// The link that starts a test sign-in, and the cookie of a test.
import { lifetimes } from '../contract/lifetimes'
import { newSecret, readSignedId, signId } from '../crypto/token'
import { readCookie, setCookie } from '../session/cookie'
import { deriveKey } from '../settings/encryption-keys'
import { env } from '../settings/env'
import { type Connection, createStartPath } from './connection'

type Tested = Pick<Connection, 'id' | 'slug'>

/** How long a link can start tests. */
export const testLinkSeconds = 60 * 60

const context = 'sso-try'

// Not of the session keys: commands have only the keys that encrypt secrets.
function readKeys(): Uint8Array[] {
  const keys = env().ENCRYPTION_KEY ?? []
  return keys.map((key) => deriveKey(key, 'sso-try-v1'))
}

/**
 * Returns the URL that starts a test sign-in, for `testLinkSeconds`. Throws if
 * ENCRYPTION_KEY is not set. Nothing is stored.
 */
export function createTestUrl(connection: Tested): string {
  const token = createToken(connection, testLinkSeconds)
  const path = createStartPath(connection.slug)

  return `${env().PUBLIC_URL}${path}?try=${token}`
}

function createToken({ id }: Tested, seconds: number): string {
  const keys = readKeys()
  if (keys.length === 0)
    throw new Error('ENCRYPTION_KEY is not set. Create it with: openssl rand -base64 32')

  const endsAt = Math.floor(Date.now() / 1000) + seconds
  return signId(keys, id.replaceAll('-', ''), endsAt, context)
}

/** Whether a token of a link or a cookie is for this connection, and has not expired. */
export function isTestToken({ id }: Tested, token: string): boolean {
  const signed = readSignedId(readKeys(), token, context)
  if (!signed || signed.id !== id.replaceAll('-', '')) return false

  return signed.number > Date.now() / 1000
}

/**
 * Returns the ID of a browser for one test, and the cookie that stores it until the
 * provider responds.
 */
export function createTestCookie(connection: Tested): {
  browser: string
  cookie: string
} {
  const browser = newSecret()
  const token = createToken(connection, lifetimes.signIn)

  return { browser, cookie: setCookie('try', `${token}.${browser}`, lifetimes.signIn) }
}

/** Returns the `Set-Cookie` value that deletes the cookie of a test. */
export function deleteTestCookie(): string {
  return setCookie('try', '', 0)
}

/** Whether a browser has a cookie of a test, of any connection. */
export function hasTestCookie(headers: Headers): boolean {
  return readCookie(headers, 'try') !== null
}

/**
 * Returns the ID of the browser in the cookie of a test of this connection. Null without
 * one.
 */
export function readTestBrowser(headers: Headers, connection: Tested): string | null {
  const value = readCookie(headers, 'try')
  if (value === null) return null

  const [, token, browser] = /^([\w-]{48})\.([\w-]{43})$/.exec(value) ?? []
  return token && isTestToken(connection, token) ? browser! : null
}
