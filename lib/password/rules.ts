import type { ApiError } from '../contract/errors'
import { invalid } from '../contract/errors'
import type { PasswordIssueCode } from '../contract/schemas'
import { env } from '../settings/env'

/** bcrypt ignores all bytes after these. */
export const maxPasswordBytes = 72
const maxNormalizedBytes = 1_024

/**
 * Returns the error of a password that is too short, too long, or has characters that cannot be
 * hashed faithfully. There are no composition rules (NIST SP 800-63B-4 §3.1.1.2).
 */
export function passwordFormatError(password: string): ApiError | undefined {
  const { PASSWORD_MIN_LENGTH } = env()
  const bytes = Buffer.byteLength(password, 'utf8')
  // More bytes than this are never too few characters, and normalising a long run of accents is
  // slow.
  const isShort = bytes <= maxNormalizedBytes && [...password.normalize('NFC')].length < PASSWORD_MIN_LENGTH
  if (isShort) return passwordError('too_short', `Use at least ${PASSWORD_MIN_LENGTH} characters.`)
  if (bytes > maxPasswordBytes) {
    const max = maxPasswordBytes
    const message = `Use at most ${max} bytes: ${max} plain letters, fewer with accents or emoji.`
    return passwordError('too_long', message)
  }
  if (!isHashable(password)) {
    return passwordError('invalid_characters', 'Remove the invisible control character and try again.')
  }
}

/** Whether bcrypt uses every byte of a password, and no other password has the same bytes. */
export function isHashable(password: string): boolean {
  const bytes = Buffer.byteLength(password, 'utf8')
  return bytes <= maxPasswordBytes && !password.includes('\0') && isWellFormed(password)
}

/** Creates a VALIDATION_ERROR about the password. */
export function passwordError(code: PasswordIssueCode, message: string): ApiError {
  return invalid(['password'], code, message)
}

/**
 * Whether every UTF-16 surrogate has its pair. `String.prototype.isWellFormed` is missing from
 * TypeScript's ES2023.
 */
function isWellFormed(text: string): boolean {
  return !/\p{Surrogate}/u.test(text)
}
