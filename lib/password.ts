import { createHash } from 'node:crypto'
import { availableParallelism } from 'node:os'
import bcrypt from 'bcrypt'
import type { passwordIssueCodes } from './contract'
import { env } from './env'
import { Refusal } from './errors'
import { describeCause, log } from './log'
import { countGuesses, minGuesses } from './password-strength'

const bcryptCost = 12
const maxBytes = 72 // bcrypt ignores what comes after
const breachAnswerMs = 2_000

// Judging and hashing keep a processor and one of libuv's four threads busy for a quarter of a second: leave one of each to those who sign in.
const atOnce = Math.max(1, Math.min(availableParallelism() - 1, 3))
const atMost = 24 * atOnce // so that nobody waits longer than six seconds or so
const retryAfterSeconds = 5

export type PasswordIssueCode = (typeof passwordIssueCodes)[number]

/**
 * Judges a new password, and answers its bcrypt hash (`$2b$12$…`). It is taken as it is: not trimmed, not normalised. `context` holds what is easy
 * to guess of the person, like their e-mail. Refuses with VALIDATION_ERROR and the reason, of which none is about composition (NIST SP 800-63B-4
 * §3.1.1.2), and with SERVICE_UNAVAILABLE, at once, where too many passwords wait.
 */
export async function hashNewPassword(password: string, context: string[]): Promise<string> {
  const { PASSWORD_MIN_LENGTH, PASSWORD_BREACH_CHECK } = env()
  if ([...password.normalize('NFC')].length < PASSWORD_MIN_LENGTH) throw refusal('too_short', `Use at least ${PASSWORD_MIN_LENGTH} characters.`)
  if (Buffer.byteLength(password, 'utf8') > maxBytes)
    throw refusal('too_long', `Use at most ${maxBytes} bytes: ${maxBytes} plain letters, fewer with accents or emoji.`)
  if (password.includes('\0') || !isWellFormed(password))
    throw refusal('invalid_characters', 'Leave out characters that can’t be typed on a keyboard.')
  if (PASSWORD_BREACH_CHECK && (await isBreached(password)))
    throw refusal('breached', 'This password appears in a known data breach. Use a different one.')
  return inTurn(() => {
    if (countGuesses(password, context) < minGuesses)
      throw refusal('too_guessable', 'This password is easy to guess. Use three or more unrelated words, or something longer.')
    return bcrypt.hash(password, bcryptCost)
  })
}

function refusal(code: PasswordIssueCode, message: string): Refusal {
  return new Refusal('VALIDATION_ERROR', { issues: [{ path: ['password'], code, message }] })
}

let underWay = 0
const waiting: (() => void)[] = []

/** Runs `work` once fewer than `atOnce` others run; refuses where `atMost` run or wait. */
async function inTurn<Result>(work: () => Promise<Result>): Promise<Result> {
  if (underWay >= atMost) throw new Refusal('SERVICE_UNAVAILABLE', { headers: { 'Retry-After': String(retryAfterSeconds) } })
  if (++underWay > atOnce) await new Promise<void>((resolve) => waiting.push(resolve))
  try {
    return await work()
  } finally {
    underWay--
    waiting.shift()?.()
  }
}

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
    log.warn({ cause: describeCause(error) }, 'the breached-password check did not answer: a password passed without it')
    return false
  }
}
