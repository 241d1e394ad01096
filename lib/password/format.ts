import type { PasswordIssueCode } from '../contract/schemas'

/** bcrypt ignores all bytes after these. */
export const maxPasswordBytes = 72
const maxNormalizedBytes = 1_024

/**
 * Returns what is wrong with the form of a password, or null: the page and the server share this
 * rule. There are no composition rules (NIST SP 800-63B-4 §3.1.1.2).
 */
export function formatIssue(password: string, minLength: number): PasswordIssueCode | null {
  const bytes = new TextEncoder().encode(password).length
  // More bytes than this are never too few characters, and normalising a long run of accents is
  // slow.
  if (bytes <= maxNormalizedBytes && [...password.normalize('NFC')].length < minLength) return 'too_short'
  if (bytes > maxPasswordBytes) return 'too_long'
  return isHashable(password) ? null : 'invalid_characters'
}

/** Whether bcrypt uses every byte of a password, and no other password has the same bytes. */
export function isHashable(password: string): boolean {
  const { length } = new TextEncoder().encode(password)
  return length <= maxPasswordBytes && !password.includes('\0') && !/\p{Surrogate}/u.test(password)
}
