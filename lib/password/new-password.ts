import { type ApiError, invalid } from '../contract/errors'
import type { PasswordIssueCode } from '../contract/schemas'
import { env } from '../settings/env'
import { isBreached } from './breach'
import {
  type FormatIssueCode,
  formatIssue,
  maxPasswordBytes,
  minGuesses,
  toNfc,
} from './format'
import { hashPassword } from './hash'
import { countGuesses } from './strength'

/**
 * Returns the error of a new password that is too short, too long, or has characters that
 * can't be hashed exactly.
 */
export function passwordFormatError(password: string): ApiError | undefined {
  const { PASSWORD_MIN_LENGTH } = env()
  const code = formatIssue(password, PASSWORD_MIN_LENGTH)
  if (!code) return

  const max = maxPasswordBytes
  const messages: Record<FormatIssueCode, string> = {
    too_short: `Use at least ${PASSWORD_MIN_LENGTH} characters.`,
    too_long: `Use at most ${max} bytes: ${max} plain letters, fewer with accents or emoji.`,
    invalid_characters: 'Remove the invisible control character and try again.',
  }

  return passwordError(code, messages[code])
}

/**
 * Hashes a password of a valid format. `context`: words to avoid. Throws VALIDATION_ERROR
 * or SERVICE_UNAVAILABLE.
 */
export async function hashNewPassword(
  password: string,
  context: string[],
): Promise<string> {
  const normalized = toNfc(password)

  if (countGuesses(normalized, context) < minGuesses)
    throw passwordError(
      'too_guessable',
      'This password is easy to guess. Use three or more unrelated words, or something longer.',
    )

  if (await isBreached(normalized))
    throw passwordError(
      'breached',
      'This password appears in a known data breach. Use a different one.',
    )

  return hashPassword(normalized)
}

function passwordError(code: PasswordIssueCode, message: string): ApiError {
  return invalid(['password'], code, message)
}
