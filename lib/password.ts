import { createHash } from 'node:crypto'
import { availableParallelism } from 'node:os'
import bcrypt from 'bcrypt'
import type { passwordIssueCodes } from './contract'
import { env } from './env'
import { type Issue, Refusal } from './errors'
import { log } from './log'
import { countGuesses, minGuesses } from './password-strength'

const bcryptCost = 12
const maxBytes = 72 // bcrypt ignores what comes after
const breachAnswerMs = 2_000

// A hash keeps a processor and one of libuv's four threads busy for a quarter of a second: leave a processor to those who sign in, and a thread.
const hashesAtOnce = Math.max(1, Math.min(availableParallelism() - 1, 3))
const passwordsAtOnce = 24 * hashesAtOnce // so that nobody waits longer than six seconds or so
const retryAfterSeconds = 5
let passwordsUnderWay = 0
let hashesUnderWay = 0
const waiting: (() => void)[] = []

export type PasswordIssueCode = (typeof passwordIssueCodes)[number]

/** What keeps a string from being a person's new password, or null. `context` holds what is easy to guess of them, like their e-mail. No composition rules (NIST SP 800-63B-4 §3.1.1.2). */
export async function findPasswordIssue(password: string, context: string[]): Promise<Issue | null> {
  const { PASSWORD_MIN_LENGTH, PASSWORD_BREACH_CHECK } = env()
  if ([...password].length < PASSWORD_MIN_LENGTH) return issue('too_short', `Use at least ${PASSWORD_MIN_LENGTH} characters.`)
  if (Buffer.byteLength(password, 'utf8') > maxBytes)
    return issue('too_long', `Use at most ${maxBytes} bytes: ${maxBytes} plain letters, fewer with accents or emoji.`)
  if (password.includes('\0') || !isWellFormed(password))
    return issue('invalid_characters', 'Leave out characters that can’t be typed on a keyboard.')
  if (countGuesses(password, context) < minGuesses)
    return issue('too_guessable', 'This password is easy to guess. Use three or more unrelated words, or something longer.')
  if (PASSWORD_BREACH_CHECK && (await isBreached(password)))
    return issue('breached', 'This password appears in a known data breach. Use a different one.')
  return null
}

/** Runs what judges and hashes one password, both of which are slow. Refuses with SERVICE_UNAVAILABLE, at once, where too many are under way. */
export async function withRoomForPassword<Result>(work: () => Promise<Result>): Promise<Result> {
  if (passwordsUnderWay >= passwordsAtOnce) throw new Refusal('SERVICE_UNAVAILABLE', { headers: { 'Retry-After': String(retryAfterSeconds) } })
  passwordsUnderWay++
  try {
    return await work()
  } finally {
    passwordsUnderWay--
  }
}

/** The bcrypt hash of a password that has been judged, as `$2b$12$…`, in its turn. The password is taken as it is: not trimmed, not normalised. */
export async function hashPassword(password: string): Promise<string> {
  if (hashesUnderWay >= hashesAtOnce) await new Promise<void>((resolve) => waiting.push(resolve))
  else hashesUnderWay++
  try {
    return await bcrypt.hash(password, bcryptCost)
  } finally {
    const next = waiting.shift()
    if (next) next()
    else hashesUnderWay--
  }
}

const issue = (code: PasswordIssueCode, message: string): Issue => ({ path: ['password'], code, message })

/** Every UTF-16 surrogate has its other half. (`String.prototype.isWellFormed`, of which TypeScript's ES2023 does not know.) */
function isWellFormed(text: string): boolean {
  return !/\p{Surrogate}/u.test(text)
}

/** Asks the breached-password range API with the first five digits of the SHA-1 (k-anonymity). Where it does not answer, the password passes. */
async function isBreached(password: string): Promise<boolean> {
  const digest = createHash('sha1').update(password, 'utf8').digest('hex').toUpperCase()
  try {
    const answer = await fetch(`${env().PASSWORD_BREACH_URL}/range/${digest.slice(0, 5)}`, {
      headers: { 'Add-Padding': 'true' }, // hides the length of the answer; padding has a count of 0
      signal: AbortSignal.timeout(breachAnswerMs),
      cache: 'no-store',
    })
    if (!answer.ok) throw new Error(`status ${answer.status}`)
    const lines = (await answer.text()).split(/\r?\n/)
    return lines.some((line) => line.startsWith(`${digest.slice(5)}:`) && !line.endsWith(':0'))
  } catch (error) {
    log.warn(
      { cause: error instanceof Error ? error.message : 'unknown' },
      'the breached-password check did not answer: a password passed without it',
    )
    return false
  }
}
