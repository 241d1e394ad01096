import { availableParallelism } from 'node:os'
import { setImmediate, setTimeout } from 'node:timers/promises'
import bcrypt from 'bcrypt'
import type { passwordIssueCodes } from './contract'
import { env } from './env'
import { Refusal } from './errors'
import { InTurn } from './in-turn'
import { isBreached } from './password-breach'
import { countGuesses, minGuesses } from './password-strength'

const bcryptCost = 12
const maxBytes = 72 // bcrypt ignores the rest

// Judging and hashing keep a processor and one of libuv's four threads busy for a quarter of a second: one of each is
// left for sign-ins.
const atOnce = Math.max(1, Math.min(availableParallelism() - 1, 3))
const atMost = 24 * atOnce // so that no request waits much longer than six seconds
const retryAfterSeconds = 5

export type PasswordIssueCode = (typeof passwordIssueCodes)[number]

/**
 * The VALIDATION_ERROR for a password that no work can make acceptable: too short, too long, or with characters that
 * can't be hashed faithfully. None is about composition (NIST SP 800-63B-4 §3.1.1.2).
 */
export function passwordFormatError(password: string): Refusal | undefined {
  const { PASSWORD_MIN_LENGTH } = env()
  const length = [...password.normalize('NFC')].length
  if (length < PASSWORD_MIN_LENGTH) return issue('too_short', `Use at least ${PASSWORD_MIN_LENGTH} characters.`)
  if (Buffer.byteLength(password, 'utf8') > maxBytes)
    return issue('too_long', `Use at most ${maxBytes} bytes: ${maxBytes} plain letters, fewer with accents or emoji.`)
  if (password.includes('\0') || !isWellFormed(password))
    return issue('invalid_characters', 'Leave out characters that can’t be typed on a keyboard.')
}

/**
 * Judges a new password of the right format, and returns the bcrypt hash (`$2b$12$…`) of exactly the bytes received.
 * `context` holds what is easy to guess about the user, such as the e-mail address. Throws VALIDATION_ERROR with the
 * reason, and SERVICE_UNAVAILABLE, at once and without any work, if too many passwords wait.
 */
export function hashNewPassword(password: string, context: string[]): Promise<string> {
  return inQueue(async () => {
    await judge(password, context)
    if (await isBreached(password)) throw issue('breached', 'This password appears in a known data breach. Use a different one.')
    return bcrypt.hash(password, bcryptCost)
  })
}

const judgements = new InTurn()
let restUntil = 0

/**
 * A judgement holds the event loop for some 20 ms: one in each of its turns, and never more than half of the time.
 * Without the rest, every step of every other request would wait for a judgement.
 */
function judge(password: string, context: string[]): Promise<void> {
  return judgements.add(async () => {
    await setImmediate()
    if (performance.now() < restUntil) await setTimeout(restUntil - performance.now())
    const startedAt = performance.now()
    const guesses = countGuesses(password, context)
    restUntil = performance.now() + (performance.now() - startedAt)
    if (guesses >= minGuesses) return
    throw issue('too_guessable', 'This password is easy to guess. Use three or more unrelated words, or something longer.')
  })
}

function issue(code: PasswordIssueCode, message: string): Refusal {
  return new Refusal('VALIDATION_ERROR', { issues: [{ path: ['password'], code, message }] })
}

let underWay = 0
const waiting: (() => void)[] = []

/** Runs `work` once fewer than `atOnce` others run; throws SERVICE_UNAVAILABLE if `atMost` run or wait. */
async function inQueue<Result>(work: () => Promise<Result>): Promise<Result> {
  if (underWay >= atMost) throw new Refusal('SERVICE_UNAVAILABLE', { headers: { 'Retry-After': String(retryAfterSeconds) } })
  if (++underWay > atOnce) await new Promise<void>((resolve) => waiting.push(resolve))
  try {
    return await work()
  } finally {
    underWay--
    waiting.shift()?.()
  }
}

/** Whether no UTF-16 surrogate is alone. (`String.prototype.isWellFormed`, which TypeScript's ES2023 does not know.) */
function isWellFormed(text: string): boolean {
  return !/\p{Surrogate}/u.test(text)
}
