import type { PasswordIssueCode } from '../contract/schemas'

export type FormatIssueCode = Extract<
  PasswordIssueCode,
  'too_short' | 'too_long' | 'invalid_characters'
>

export const maxPasswordBytes = 72 // bcrypt ignores further bytes
export const minGuesses = 1e8 // zxcvbn's estimate for eight random characters
const maxNormalizedBytes = 1_024 // normalizing many accents in a row is slow
// NUL ends a string in C, and the conversion to UTF-8 replaces lone surrogates
const unhashable = /\0|\p{Surrogate}/u

/**
 * Returns a password in NFC, because keyboards encode accents differently. Does not
 * convert an extremely long one.
 */
export function toNfc(password: string): string {
  return byteLength(password) > maxNormalizedBytes ? password : password.normalize('NFC')
}

/**
 * Returns the problem of a password's format, or null. There are no composition rules
 * (NIST SP 800-63B-4 §3.1.1.2).
 */
export function formatIssue(password: string, minLength: number): FormatIssueCode | null {
  const text = toNfc(password)
  if ([...text].length < minLength) return 'too_short'
  if (byteLength(text) > maxPasswordBytes) return 'too_long'
  return unhashable.test(text) ? 'invalid_characters' : null
}

/**
 * Returns true if bcrypt uses every byte of a password and no other password is converted
 * to the same bytes.
 */
export function isHashable(password: string): boolean {
  return byteLength(password) <= maxPasswordBytes && !unhashable.test(password)
}

function byteLength(text: string): number {
  return new TextEncoder().encode(text).length
}
