import { createHash } from 'node:crypto'
import { type ApiError, invalid } from '../contract/errors'
import type { PasswordIssueCode } from '../contract/schemas'
import { describeCause, log } from '../log/log'
import { fetchBounded } from '../outgoing'
import { env } from '../settings/env'
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

const timeLimitMs = 2_000
const slowMs = 1_000
const pauseMs = 30_000
const maxBytes = 512 * 1024 // a response has a few thousand lines of at most 40 bytes
const firstLine = /^[\dA-F]{35}:\d/ // the rest of a SHA-1, and a count

let pausedUntil = 0

/**
 * Whether the range API lists a password. Sends only five digits of its SHA-1. False if
 * the check is off or fails.
 */
export async function isBreached(password: string): Promise<boolean> {
  const { PASSWORD_BREACH_CHECK, PASSWORD_BREACH_URL } = env()
  if (!PASSWORD_BREACH_CHECK || performance.now() < pausedUntil) return false

  const digest = createHash('sha1').update(password, 'utf8').digest('hex').toUpperCase()
  await import('undici') // loaded before the timeout begins
  const startedAt = performance.now()

  try {
    const signal = AbortSignal.timeout(timeLimitMs)
    const headers = { 'Add-Padding': 'true' } // hides the length of the response. Padding lines have a count of 0.
    const url = `${PASSWORD_BREACH_URL}/range/${digest.slice(0, 5)}`
    const response = await fetchBounded(url, { headers, signal }, maxBytes)
    if (response.status !== 200) throw new Error(`status ${response.status}`)

    const lines = await response.text()
    if (!firstLine.test(lines)) throw new Error('no list of hashes') // for example, the login page of a network
    if (performance.now() - startedAt > slowMs) pause()

    return new RegExp(`^${digest.slice(5)}:[1-9]`, 'm').test(lines)
  } catch (error) {
    pause(error)
    return false
  }
}

/**
 * Skips the API for a while, so that requests do not wait for it. Logs one warning for
 * several failures.
 */
function pause(error?: unknown): void {
  const isFirst = performance.now() >= pausedUntil
  pausedUntil = performance.now() + pauseMs
  if (!isFirst) return

  const cause = error && describeCause(error)
  log.warn(
    { cause },
    `the breached-password check is slow or fails: passwords pass without it for ${pauseMs / 1000} s`,
  )
}
