import type { ApiError } from '../contract/errors'
import { invalid } from '../contract/errors'
import type { PasswordIssueCode } from '../contract/schemas'
import { env } from '../settings/env'

/** bcrypt ignores the rest. */
export const maxPasswordBytes = 72
const composedBytes = 1_024

/**
 * The error of a password that no work can make acceptable: too short, too long, or with characters that can't be hashed
 * faithfully. No rule is about composition (NIST SP 800-63B-4 §3.1.1.2).
 */
export function passwordFormatError(password: string): ApiError | undefined {
  const { PASSWORD_MIN_LENGTH } = env()
  const bytes = Buffer.byteLength(password, 'utf8')
  // So many bytes are never too few characters, and a long text of accents is costly to compose.
  const isShort = bytes <= composedBytes && [...password.normalize('NFC')].length < PASSWORD_MIN_LENGTH
  if (isShort) return passwordError('too_short', `Use at least ${PASSWORD_MIN_LENGTH} characters.`)
  if (bytes > maxPasswordBytes) {
    const message = `Use at most ${maxPasswordBytes} bytes: ${maxPasswordBytes} plain letters, fewer with accents or emoji.`
    return passwordError('too_long', message)
  }
  if (password.includes('\0') || !isWellFormed(password)) {
    return passwordError('invalid_characters', 'Remove the invisible control character and try again.')
  }
}

/** A VALIDATION_ERROR about the password. */
export function passwordError(code: PasswordIssueCode, message: string): ApiError {
  return invalid(['password'], code, message)
}

/** Whether no UTF-16 surrogate is alone. (`String.prototype.isWellFormed`, which TypeScript's ES2023 does not know.) */
function isWellFormed(text: string): boolean {
  return !/\p{Surrogate}/u.test(text)
}
