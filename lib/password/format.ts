import type { PasswordIssueCode } from '../contract/schemas'

type FormatIssueCode = Extract<PasswordIssueCode, 'too_short' | 'too_long' | 'invalid_characters'>

/** bcrypt ignores all bytes after these. */
export const maxPasswordBytes = 72
const maxNormalizedBytes = 1_024
const unhashable = /\0|\p{Surrogate}/u // the end of a string in C, and what UTF-8 replaces

/**
 * Returns what is wrong with the form of a password, or null: the page and the server share this
 * rule. There are no composition rules (NIST SP 800-63B-4 §3.1.1.2).
 */
export function formatIssue(password: string, minLength: number): FormatIssueCode | null {
  const bytes = new TextEncoder().encode(password).length
  // More bytes than this are never too few characters, and normalising a long run of accents is
  // slow.
  if (bytes <= maxNormalizedBytes && [...password.normalize('NFC')].length < minLength) return 'too_short'
  if (bytes > maxPasswordBytes) return 'too_long'
  return unhashable.test(password) ? 'invalid_characters' : null
}

/** Whether bcrypt uses every byte of a password, and no other password has the same bytes. */
export function isHashable(password: string): boolean {
  return new TextEncoder().encode(password).length <= maxPasswordBytes && !unhashable.test(password)
}
