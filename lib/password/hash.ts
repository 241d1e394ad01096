import { AsyncResource } from 'node:async_hooks'
import { availableParallelism } from 'node:os'
import bcrypt from 'bcrypt'
import PQueue from 'p-queue'
import { ApiError } from '../contract/errors'
import { inSpan } from '../log/telemetry'
import { isHashable, toNfc } from './format'

const bcryptCost = 12

// A hash uses a core and one of libuv's four threads for 250 ms. One core and one thread
// stay free for requests.
const concurrency = Math.max(1, Math.min(availableParallelism() - 1, 3))
// six seconds of hashing, the longest wait for a sign-in
const maxWaiting = 24 * concurrency

// On globalThis, because the metrics and the routes are bundled separately.
const globals = globalThis as typeof globalThis & { hashQueue?: PQueue }
globals.hashQueue ??= new PQueue({ concurrency })
const queue = globals.hashQueue

/** Returns how many passwords are being hashed, and how many wait. */
export function readHashQueue(): { running: number; waiting: number } {
  return { running: queue.pending, waiting: queue.size }
}

async function enqueue<Result>(work: () => Promise<Result>): Promise<Result> {
  if (queue.size >= maxWaiting)
    throw new ApiError('SERVICE_UNAVAILABLE', { check: 'hash_queue' })

  // in the context of this request, not of the one before it in the queue
  return queue.add(AsyncResource.bind(work))
}

/**
 * Hashes a password, which must be in NFC and of a valid format. Throws
 * SERVICE_UNAVAILABLE.
 */
export function hashPassword(password: string): Promise<string> {
  return enqueue(() => hash(password))
}

const dummyHash = `$2b$${bcryptCost}$${'.'.repeat(53)}` // no password has this hash

/**
 * Returns null unless a password matches as typed or in NFC. `upgraded` is a new hash if
 * the old cost is too low.
 */
export function verifyPassword(
  password: string,
  stored: string | null,
): Promise<{ upgraded: string | null } | null> {
  return enqueue(async () => {
    const verifiable = verifiableHash(stored)
    const isCheaper = verifiable !== null && bcrypt.getRounds(verifiable) < bcryptCost
    const forms = [...new Set([password, toNfc(password)])]

    // With the dummy hash, every failure takes at least the time of an unknown user.
    for (const form of forms) {
      const isComparable = verifiable !== null && isHashable(form)
      if (isComparable && (await compare(form, verifiable)))
        return { upgraded: isCheaper ? await hash(forms.findLast(isHashable)!) : null }

      if (!isComparable || isCheaper) await compare('', dummyHash)
    }

    return null
  })
}

function hash(password: string): Promise<string> {
  return inSpan({ name: 'bcrypt' }, () => bcrypt.hash(password, bcryptCost))
}

function compare(password: string, hashed: string): Promise<boolean> {
  return inSpan({ name: 'bcrypt' }, () => bcrypt.compare(password, hashed))
}

/** Whether `verifyPassword` supports a stored hash. */
export function isVerifiable(stored: string): boolean {
  return verifiableHash(stored) !== null
}

/**
 * Returns a hash in bcrypt's form, or null. `$2a$` and PHP's `$2y$` equal `$2b$` up to 72
 * bytes.
 */
function verifiableHash(stored: string | null): string | null {
  const isKnown =
    stored !== null && /^\$2[aby]\$(0[4-9]|[12]\d|3[01])\$[./A-Za-z0-9]{53}$/.test(stored)
  return isKnown ? `$2b${stored.slice(3)}` : null
}
