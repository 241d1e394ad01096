import type { Caller } from '../contract/caller'
import { readBrowser, readCookie } from '../session/cookie'
import { readBearer, readRefreshToken, verifySessionToken } from '../session/tokens'
import { env } from '../settings/env'
import { chooseLanguage } from '../texts/language'
import { readAddress, toNetwork } from './address'

/**
 * Returns who sends a request. Reads a member when it is used, and reads the address and
 * verifies the cookies of sessions only once.
 */
export function readCaller({ headers }: Request): Caller {
  let address: string | undefined
  let sessionIds: Promise<string[]> | undefined

  return {
    get address() {
      address ??= readAddress(headers, env())
      return address
    },
    get network() {
      return toNetwork(this.address)
    },
    get browser() {
      return readBrowser(headers)
    },
    get idempotencyKey() {
      return readIdempotencyKey(headers)
    },
    get knownBrowser() {
      return readCookie(headers, 'known')
    },
    get sessionIds() {
      const jwt = readCookie(headers, 'session')
      sessionIds ??= readSessionIds([jwt], [readCookie(headers, 'refresh')])
      return sessionIds
    },
    get device() {
      return readDevice(headers.get('user-agent'))
    },
    get language() {
      return chooseLanguage(headers)
    },
  }
}

/**
 * Returns the key that our pages make for one submitted form (128 random bits or more, in
 * base64url), or null.
 */
function readIdempotencyKey(headers: Headers): string | null {
  const key = headers.get('idempotency-key')
  return key && /^[\w-]{22,64}$/.test(key) ? key : null
}

/**
 * Returns the IDs of all sessions for which a request has valid credentials. A sign-out
 * ends them. JWTs may have expired.
 */
export function presentedSessionIds(
  headers: Headers,
  refreshToken: string | null = null,
): Promise<string[]> {
  return readSessionIds(
    [readBearer(headers), readCookie(headers, 'session')],
    [refreshToken, readCookie(headers, 'refresh')],
    { mayHaveExpired: true },
  )
}

async function readSessionIds(
  jwts: (string | null)[],
  refreshTokens: (string | null)[],
  options: { mayHaveExpired?: boolean } = {},
): Promise<string[]> {
  const verified = await Promise.all(
    jwts.map((jwt) => jwt && verifySessionToken(jwt, options)),
  )
  const read = refreshTokens.map(
    (refreshToken) => refreshToken && readRefreshToken(refreshToken),
  )

  const ids = [...verified, ...read].flatMap((presented) =>
    presented ? [presented.sessionId] : [],
  )

  return [...new Set(ids)]
}

// more than browsers send; the matching time grows with the square of the length
const maxHeaderLength = 512
const browsers = {
  'Edg(e|A|iOS)?/': 'Edge',
  'OPR/|Opera': 'Opera',
  'SamsungBrowser/': 'Samsung Internet',
  'Firefox/|FxiOS/': 'Firefox',
  'Chrome/|CriOS/|Chromium/': 'Chrome',
  'Version/.* Safari/': 'Safari',
}
const systems = {
  iPhone: 'iPhone',
  iPad: 'iPad',
  Android: 'Android',
  CrOS: 'ChromeOS',
  Windows: 'Windows',
  'Mac OS X': 'macOS',
  Linux: 'Linux',
}

/**
 * Returns the device of a `User-Agent` header, such as “Firefox on Windows”, or null.
 * Copies no text of the header. lib/texts/device.ts translates the result.
 */
export function readDevice(userAgent: string | null): string | null {
  const text = userAgent?.slice(0, maxHeaderLength) ?? ''
  const find = (names: Record<string, string>) =>
    Object.entries(names).find(([pattern]) => new RegExp(pattern).test(text))?.[1]

  return [find(browsers), find(systems)].filter(Boolean).join(' on ') || null
}
