import type { PasswordIssueCode } from '../contract/schemas'

type FormatIssueCode = Extract<PasswordIssueCode, 'too_short' | 'too_long' | 'invalid_characters'>

export const maxPasswordBytes = 72 // bcrypt ignores all bytes after these
export const minGuesses = 1e8 // about as many as eight random characters withstand
const maxNormalizedBytes = 1_024 // normalizing a long run of accents is slow
const unhashable = /\0|\p{Surrogate}/u // NUL ends a string in C, and UTF-8 replaces lone surrogates

/** Returns a password as it is hashed: in NFC, because keyboards differ in accents, unless it is far too long. */
export function toNfc(password: string): string {
  return byteLength(password) > maxNormalizedBytes ? password : password.normalize('NFC')
}

/** Returns what is wrong with a password, or null. No composition rules (NIST SP 800-63B-4 §3.1.1.2). */
export function formatIssue(password: string, minLength: number): FormatIssueCode | null {
  const text = toNfc(password)
  if ([...text].length < minLength) return 'too_short'
  if (byteLength(text) > maxPasswordBytes) return 'too_long'
  return unhashable.test(text) ? 'invalid_characters' : null
}

/** Whether bcrypt uses every byte of a password, and no other password has the same bytes. */
export function isHashable(password: string): boolean {
  return byteLength(password) <= maxPasswordBytes && !unhashable.test(password)
}

function byteLength(text: string): number {
  return new TextEncoder().encode(text).length
}
