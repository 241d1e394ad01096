import { availableParallelism } from 'node:os'
import bcrypt from 'bcrypt'
import { FairQueue } from '../queue/fair-queue'
import { HalfTime } from '../queue/in-turn'
import { isBreached } from './breach'
import { isHashable } from './format'
import { passwordError } from './rules'
import { countGuesses } from './strength'
import { minGuesses } from './thresholds'

const bcryptCost = 12

// Checking and hashing a password occupy a core and one of libuv's four threads for a quarter of a
// second. One of each stays free for sign-ins.
const maxRunning = Math.max(1, Math.min(availableParallelism() - 1, 3))
const maxPending = 24 * maxRunning // so that no request waits much longer than six seconds
const retryAfterSeconds = 5

const queue = new FairQueue(maxRunning, maxPending, retryAfterSeconds)

/**
 * Checks that a password is hard to guess and not breached, and returns the bcrypt hash
 * (`$2b$12$…`) of its exact bytes. `context` lists what is easy to guess about the user, such as
 * the e-mail address. Expects a valid format (see rules.ts). Throws VALIDATION_ERROR with the
 * reason, or SERVICE_UNAVAILABLE if the queue is full; `network` is whose turn it takes.
 */
export function hashNewPassword(password: string, context: string[], network: string): Promise<string> {
  return queue.add(network, async () => {
    await checkStrength(password, context)
    if (await isBreached(password)) {
      throw passwordError('breached', 'This password appears in a known data breach. Use a different one.')
    }
    return bcrypt.hash(password, bcryptCost)
  })
}

const strengthChecks = new HalfTime() // each blocks the event loop for about 20 ms

async function checkStrength(password: string, context: string[]): Promise<void> {
  const guesses = await strengthChecks.add(() => countGuesses(password, context))
  if (guesses >= minGuesses) return
  const advice = 'This password is easy to guess. Use three or more unrelated words, or something longer.'
  throw passwordError('too_guessable', advice)
}

/** A password that matches. `upgraded` is a hash of it at today's cost, if the stored one is cheaper. */
export type Verified = { upgraded: string | null }

/**
 * Returns null unless a password matches a stored hash, which is null if there is none. A failure
 * always costs one hash at today's cost, so that its time tells nothing about the account. Throws
 * SERVICE_UNAVAILABLE if the queue is full; `network` is whose turn it takes.
 */
export function verifyPassword(password: string, stored: string | null, network: string): Promise<Verified | null> {
  return queue.add(network, async () => {
    const cost = costOf(stored)
    if (stored === null || cost === null || !isHashable(password)) {
      await bcrypt.compare('', unmatchable(bcryptCost))
      return null
    }
    if (await bcrypt.compare(password, stored))
      return { upgraded: cost < bcryptCost ? await bcrypt.hash(password, bcryptCost) : null }
    // The work doubles with each step of the cost: 2ᶜ + 2ᶜ + 2ᶜ⁺¹ + … + 2ⁿ⁻¹ = 2ⁿ.
    for (let step = cost; step < bcryptCost; step++) await bcrypt.compare('', unmatchable(step))
    return null
  })
}

/** Returns the cost of a hash, or null if bcrypt can't verify it. */
function costOf(hash: string | null): number | null {
  const [, cost] = hash?.match(/^\$2[ab]\$(0[4-9]|[12]\d|3[01])\$[./A-Za-z0-9]{53}$/) ?? []
  return cost === undefined ? null : Number(cost)
}

/** Returns a hash of the right form, whose password nobody knows. */
function unmatchable(cost: number): string {
  return `$2b$${String(cost).padStart(2, '0')}$${'.'.repeat(53)}`
}
