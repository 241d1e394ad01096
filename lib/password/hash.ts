import { availableParallelism } from 'node:os'
import bcrypt from 'bcrypt'
import PQueue from 'p-queue'
import { ApiError } from '../contract/errors'
import { isBreached } from './breach'
import { isHashable } from './format'
import { passwordError } from './rules'
import { countGuesses } from './strength'
import { minGuesses } from './thresholds'

const bcryptCost = 12

// A hash occupies a core and one of libuv's four threads for a quarter of a second. One of each stays
// free for all other requests.
const concurrency = Math.max(1, Math.min(availableParallelism() - 1, 3))
const maxWaiting = 24 * concurrency // six seconds of hashing: a user waits no longer for a sign-in
const retryAfterSeconds = 5

const queue = new PQueue({ concurrency })

/** Runs `work` when a core is free. Throws SERVICE_UNAVAILABLE if too many already wait. */
async function inQueue<Result>(work: () => Promise<Result>): Promise<Result> {
  if (queue.size >= maxWaiting) throw new ApiError('SERVICE_UNAVAILABLE', { retryAfterSeconds })
  return queue.add(work)
}

/**
 * Checks that a password is hard to guess and not breached, and returns the bcrypt hash
 * (`$2b$12$…`) of its exact bytes. `context` lists what is easy to guess about the user, such as
 * the e-mail address. Expects a valid format (see rules.ts). Throws VALIDATION_ERROR with the
 * reason, or SERVICE_UNAVAILABLE if too many hashes wait.
 */
export async function hashNewPassword(password: string, context: string[]): Promise<string> {
  checkStrength(password, context)
  if (await isBreached(password)) {
    throw passwordError('breached', 'This password appears in a known data breach. Use a different one.')
  }
  return inQueue(() => bcrypt.hash(password, bcryptCost))
}

function checkStrength(password: string, context: string[]): void {
  if (countGuesses(password, context) >= minGuesses) return
  const advice = 'This password is easy to guess. Use three or more unrelated words, or something longer.'
  throw passwordError('too_guessable', advice)
}

/** A password that matches. `upgraded` is a hash of it at today's cost, if the stored one is cheaper. */
export type Verified = { upgraded: string | null }

// A call of bcrypt takes about 0.2 ms besides its 2ᶜ rounds, so a failure always has the same number of
// both. 8 calls after the one for the stored hash suffice for each cost from 4, the lowest of bcrypt, to 12.
const paddingHashes = 8
const failureRounds = 2 ** bcryptCost + paddingHashes * 2 ** 4

/**
 * Returns null unless a password matches a stored hash, which is null if there is none. A failure
 * always costs the same hashing, a little more than one hash at today's cost, so that its time tells
 * nothing about the account, unless the stored hash has a higher cost. Throws SERVICE_UNAVAILABLE if
 * too many hashes wait.
 */
export function verifyPassword(password: string, stored: string | null): Promise<Verified | null> {
  return inQueue(async () => {
    const cost = isHashable(password) ? costOf(stored) : null
    if (stored === null || cost === null) {
      await bcrypt.compare('', unmatchable(bcryptCost))
    } else if (await bcrypt.compare(password, stored)) {
      return { upgraded: cost < bcryptCost ? await bcrypt.hash(password, bcryptCost) : null }
    }
    for (const padding of paddingCosts(cost ?? bcryptCost)) await bcrypt.compare('', unmatchable(padding))
    return null
  })
}

/** Returns the costs of the hashes that a failure computes beside one of `cost`: none if that is above today's. */
function paddingCosts(cost: number): number[] {
  const costs: number[] = []
  let rounds = failureRounds - 2 ** cost
  for (let after = paddingHashes - 1; after >= 0 && rounds > 0; after--) {
    // the highest that leaves at least 2⁴ rounds for each of the hashes after it
    const highest = Math.floor(Math.log2(rounds - after * 2 ** 4))
    costs.push(highest)
    rounds -= 2 ** highest
  }
  return costs
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
