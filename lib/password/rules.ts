import { type ApiError, invalid } from '../contract/errors'
import type { PasswordIssueCode } from '../contract/schemas'
import { env } from '../settings/env'
import { formatIssue, maxPasswordBytes } from './format'

/** Returns the error of a password that is too short, too long, or has characters that cannot be hashed faithfully. */
export function passwordFormatError(password: string): ApiError | undefined {
  const { PASSWORD_MIN_LENGTH } = env()
  const code = formatIssue(password, PASSWORD_MIN_LENGTH)
  if (code === 'too_short') return passwordError(code, `Use at least ${PASSWORD_MIN_LENGTH} characters.`)
  const max = maxPasswordBytes
  if (code === 'too_long')
    return passwordError(code, `Use at most ${max} bytes: ${max} plain letters, fewer with accents or emoji.`)
  if (code) return passwordError(code, 'Remove the invisible control character and try again.')
}

export function passwordError(code: PasswordIssueCode, message: string): ApiError {
  return invalid(['password'], code, message)
}
