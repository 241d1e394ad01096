import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto'
import { lifetimes } from '../contract/lifetimes'
import { env } from '../settings/env'

// 16 bytes of browser ID, 4 bytes of expiry, 16 bytes of MAC
const idBytes = 16
const signedBytes = idBytes + 4
const macBytes = 16

/**
 * Returns the value of the cookie that makes a browser known to an account (48 characters of base64url). Keeps the ID
 * of a browser that is known already: each has attempts of its own. `now` is in seconds since 1970.
 */
export function makeKnownBrowser(account: string, browser: string | null, now: number): string {
  const signed = Buffer.alloc(signedBytes)
  if (browser === null) randomBytes(idBytes).copy(signed)
  else signed.write(browser, 'hex')
  signed.writeUInt32BE(now + lifetimes.knownBrowser, idBytes)
  const [newest] = env().SESSION_SIGNING_KEYS.knownBrowserKeys
  return Buffer.concat([signed, mac(newest!, signed, account)]).toString('base64url')
}

/** A browser, and when its user last signed in there, in seconds since 1970. */
type KnownBrowser = { id: string; signedInAt: number }

/**
 * Returns the browser that sent a cookie, or null unless one of the configured private keys made it,
 * for this account, and it has not expired. Does not tell whether the password has changed since.
 */
export function readKnownBrowser(cookie: string | null, account: string): KnownBrowser | null {
  if (!cookie || !/^[\w-]{48}$/.test(cookie)) return null
  const bytes = Buffer.from(cookie, 'base64url')
  const [signed, given] = [bytes.subarray(0, signedBytes), bytes.subarray(signedBytes)]
  const { knownBrowserKeys } = env().SESSION_SIGNING_KEYS
  if (!knownBrowserKeys.some((key) => timingSafeEqual(mac(key, signed, account), given))) return null
  const expiresAt = signed.readUInt32BE(idBytes)
  if (expiresAt * 1000 <= Date.now()) return null
  return { id: signed.toString('hex', 0, idBytes), signedInAt: expiresAt - lifetimes.knownBrowser }
}

function mac(key: Uint8Array, signed: Uint8Array, account: string): Buffer {
  return createHmac('sha256', key).update(signed).update(account, 'utf8').digest().subarray(0, macBytes)
}
