import { availableParallelism } from 'node:os'
import { setImmediate, setTimeout } from 'node:timers/promises'
import bcrypt from 'bcrypt'
import { ApiError } from '../contract/errors'
import { isBreached } from './breach'
import { InTurn } from './in-turn'
import { passwordError } from './rules'
import { countGuesses, minGuesses } from './strength'

const bcryptCost = 12

// Checking and hashing a password occupy a core and one of libuv's four threads for a quarter of a
// second. One of each stays free for sign-ins.
const maxRunning = Math.max(1, Math.min(availableParallelism() - 1, 3))
const maxPending = 24 * maxRunning // so that no request waits much longer than six seconds
const retryAfterSeconds = 5

/**
 * Checks that a password is hard to guess and not breached, and returns the bcrypt hash
 * (`$2b$12$…`) of its exact bytes. `context` lists what is easy to guess about the user, such as
 * the e-mail address. Expects a valid format (see rules.ts). Throws VALIDATION_ERROR with the
 * reason, or SERVICE_UNAVAILABLE immediately if the queue is full.
 */
export function hashNewPassword(password: string, context: string[]): Promise<string> {
  return enqueue(async () => {
    await checkStrength(password, context)
    if (await isBreached(password)) {
      throw passwordError('breached', 'This password appears in a known data breach. Use a different one.')
    }
    return bcrypt.hash(password, bcryptCost)
  })
}

const strengthChecks = new InTurn()
let idleUntil = 0

/**
 * A check blocks the event loop for about 20 ms. At most one runs per turn of the event loop, and
 * checks take at most half of the time. Otherwise every other request would wait for a check at
 * each of its steps.
 */
function checkStrength(password: string, context: string[]): Promise<void> {
  return strengthChecks.add(async () => {
    await setImmediate()
    if (performance.now() < idleUntil) await setTimeout(idleUntil - performance.now())
    const startedAt = performance.now()
    const guesses = countGuesses(password, context)
    idleUntil = performance.now() + (performance.now() - startedAt)
    if (guesses >= minGuesses) return
    const advice = 'This password is easy to guess. Use three or more unrelated words, or something longer.'
    throw passwordError('too_guessable', advice)
  })
}

let pending = 0
const waiting: (() => void)[] = []

/**
 * Runs `work` once fewer than `maxRunning` others run. Throws SERVICE_UNAVAILABLE if `maxPending`
 * are already running or waiting.
 */
async function enqueue<Result>(work: () => Promise<Result>): Promise<Result> {
  if (pending >= maxPending) throw new ApiError('SERVICE_UNAVAILABLE', { retryAfterSeconds })
  if (++pending > maxRunning) await new Promise<void>((resolve) => waiting.push(resolve))
  try {
    return await work()
  } finally {
    pending--
    waiting.shift()?.()
  }
}
