import { randomBytes } from 'node:crypto'
import { cleanCode } from '../contract/typed-text'
import { hashSecret } from '../crypto/token'
import { env } from '../settings/env'

const totp = { algorithm: 'SHA1', digits: 6, period: 30 } as const

/** Returns a new TOTP secret (RFC 6238): 20 random bytes in base32. */
export async function newTotpSecret(): Promise<string> {
  const { Secret } = await import('otpauth') // here, because most processes do not need it
  return new Secret({ size: 20 }).base32
}

/**
 * Returns the URI for a QR code. The issuer contains no colon, because some apps split
 * the label at any colon.
 */
export async function totpUri(secret: string, email: string): Promise<string> {
  const { TOTP } = await import('otpauth')
  return new TOTP({
    ...totp,
    issuer: env().APP_NAME.replaceAll(':', ''),
    label: email,
    secret,
  }).toString()
}

/**
 * Returns which of the three time steps around `now` (in seconds) have this code. Accepts
 * the digits of every script and any grouping, as `cleanCode` describes.
 */
export async function stepsOfCode(
  secret: string,
  text: string,
  now: number,
): Promise<number[]> {
  const token = cleanCode(text)
  if (!/^\d{6}$/.test(token)) return [] // the library throws for other characters

  const { HOTP, Secret } = await import('otpauth')
  const given = { ...totp, token, secret: Secret.fromBase32(secret), window: 0 }
  const step = Math.floor(now / totp.period)

  return [step - 1, step, step + 1].filter(
    (counter) => HOTP.validate({ ...given, counter }) === 0,
  )
}

/**
 * Returns ten new recovery codes of 120 bits in Crockford’s base32, like
 * 7K3M9Q-XAT2VD-HB5RW8-0FJCNE.
 */
export function newRecoveryCodes(): string[] {
  const group = () =>
    Array.from(
      randomBytes(6),
      (byte) => '0123456789ABCDEFGHJKMNPQRSTVWXYZ'[byte & 31],
    ).join('')
  return Array.from({ length: 10 }, () => [group(), group(), group(), group()].join('-'))
}

/**
 * Returns the SHA-256 of a typed recovery code. Accepts any case, any grouping, full-width
 * letters, letters with accents, O for 0, and I and L for 1.
 */
export function hashRecoveryCode(text: string): Uint8Array<ArrayBuffer> {
  // without marks, because the capital of a Turkish i has a dot
  const plain = cleanCode(text).normalize('NFKD').replace(/\p{M}/gu, '')
  const typed = plain.toUpperCase()

  return hashSecret(typed.replaceAll('O', '0').replace(/[IL]/g, '1'))
}
