import { availableParallelism } from 'node:os'
import { setImmediate, setTimeout } from 'node:timers/promises'
import bcrypt from 'bcrypt'
import { ApiError } from '../contract/errors'
import { isBreached } from './breach'
import { InTurn } from './in-turn'
import { passwordError } from './rules'
import { countGuesses, minGuesses } from './strength'

const bcryptCost = 12

// Judging and hashing keep a processor and one of libuv's four threads busy for a quarter of a second: one of each is left for
// sign-ins.
const atOnce = Math.max(1, Math.min(availableParallelism() - 1, 3))
const atMost = 24 * atOnce // so that no request waits much longer than six seconds
const retryAfterSeconds = 5

/**
 * Judges a new password of the right format, and returns the bcrypt hash (`$2b$12$…`) of exactly the bytes received. `context` holds
 * what is easy to guess about the user, such as the e-mail address. Throws VALIDATION_ERROR with the reason, and SERVICE_UNAVAILABLE,
 * at once and without any work, if too many passwords wait.
 */
export function hashNewPassword(password: string, context: string[]): Promise<string> {
  return inQueue(async () => {
    await judge(password, context)
    if (await isBreached(password)) {
      throw passwordError('breached', 'This password appears in a known data breach. Use a different one.')
    }
    return bcrypt.hash(password, bcryptCost)
  })
}

const judgements = new InTurn()
let restUntil = 0

/**
 * A judgement holds the event loop for some 20 ms: one in each of its turns, and never more than half of the time. Without the rest,
 * every step of every other request would wait for a judgement.
 */
function judge(password: string, context: string[]): Promise<void> {
  return judgements.add(async () => {
    await setImmediate()
    if (performance.now() < restUntil) await setTimeout(restUntil - performance.now())
    const startedAt = performance.now()
    const guesses = countGuesses(password, context)
    restUntil = performance.now() + (performance.now() - startedAt)
    if (guesses >= minGuesses) return
    const advice = 'This password is easy to guess. Use three or more unrelated words, or something longer.'
    throw passwordError('too_guessable', advice)
  })
}

let underWay = 0
const waiting: (() => void)[] = []

/** Runs `work` once fewer than `atOnce` others run; throws SERVICE_UNAVAILABLE if `atMost` run or wait. */
async function inQueue<Result>(work: () => Promise<Result>): Promise<Result> {
  if (underWay >= atMost) throw new ApiError('SERVICE_UNAVAILABLE', { retryAfterSeconds })
  if (++underWay > atOnce) await new Promise<void>((resolve) => waiting.push(resolve))
  try {
    return await work()
  } finally {
    underWay--
    waiting.shift()?.()
  }
}
