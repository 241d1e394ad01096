import { randomBytes } from 'node:crypto'
import { lifetimes } from '../contract/lifetimes'
import { readSignedId, signId } from '../crypto/token'
import { env } from '../settings/env'

/**
 * Returns a cookie that later identifies the browser. Reuses the ID `browser`, by which
 * attempts are counted.
 */
export function makeKnownBrowser(
  account: string,
  browser: string | null,
  now: number,
): string {
  const id = browser ?? randomBytes(16).toString('hex')
  return signId(
    env().SESSION_SIGNING_KEYS.knownBrowserKeys,
    id,
    now + lifetimes.knownBrowser,
    account,
  )
}

/**
 * Reads the browser's ID and the time of its last sign-in from an unexpired cookie of
 * this account. Otherwise null.
 */
export function readKnownBrowser(
  cookie: string | null,
  account: string,
): { id: string; signedInAt: number } | null {
  const read =
    cookie && readSignedId(env().SESSION_SIGNING_KEYS.knownBrowserKeys, cookie, account)
  if (!read || read.number * 1000 <= Date.now()) return null
  return { id: read.id, signedInAt: read.number - lifetimes.knownBrowser }
}
