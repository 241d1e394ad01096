import { availableParallelism } from 'node:os'
import bcrypt from 'bcrypt'
import PQueue from 'p-queue'
import { ApiError, invalid } from '../contract/errors'
import type { PasswordIssueCode } from '../contract/schemas'
import { env } from '../settings/env'
import { isBreached } from './breach'
import { formatIssue, isHashable, maxPasswordBytes, minGuesses, toNfc } from './format'
import { countGuesses } from './strength'

const bcryptCost = 12

// A hash uses a core and one of libuv's four threads for 250 ms. One core and one thread
// stay free for requests.
const concurrency = Math.max(1, Math.min(availableParallelism() - 1, 3))
// six seconds of hashing, the longest wait for a sign-in
const maxWaiting = 24 * concurrency

const queue = new PQueue({ concurrency })

async function inQueue<Result>(work: () => Promise<Result>): Promise<Result> {
  if (queue.size >= maxWaiting) throw new ApiError('SERVICE_UNAVAILABLE')
  return queue.add(work)
}

function passwordError(code: PasswordIssueCode, message: string): ApiError {
  return invalid(['password'], code, message)
}

/**
 * Returns the error of a password that is too short, too long, or has characters that
 * can't be hashed exactly.
 */
export function passwordFormatError(password: string): ApiError | undefined {
  const { PASSWORD_MIN_LENGTH } = env()
  const code = formatIssue(password, PASSWORD_MIN_LENGTH)
  if (code === 'too_short')
    return passwordError(code, `Use at least ${PASSWORD_MIN_LENGTH} characters.`)

  const max = maxPasswordBytes
  if (code === 'too_long')
    return passwordError(
      code,
      `Use at most ${max} bytes: ${max} plain letters, fewer with accents or emoji.`,
    )

  if (code)
    return passwordError(code, 'Remove the invisible control character and try again.')
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
  if (countGuesses(normalized, context) < minGuesses) {
    const advice =
      'This password is easy to guess. Use three or more unrelated words, or something longer.'
    throw passwordError('too_guessable', advice)
  }

  if (await isBreached(normalized))
    throw passwordError(
      'breached',
      'This password appears in a known data breach. Use a different one.',
    )

  return inQueue(() => bcrypt.hash(normalized, bcryptCost))
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
  return inQueue(async () => {
    const hash = verifiableHash(stored)
    const isCheaper = hash !== null && bcrypt.getRounds(hash) < bcryptCost
    const forms = [...new Set([password, toNfc(password)])]

    // With the dummy hash, every failure takes at least the time of an unknown user.
    for (const form of forms) {
      const isComparable = hash !== null && isHashable(form)
      if (isComparable && (await bcrypt.compare(form, hash)))
        return {
          upgraded: isCheaper
            ? await bcrypt.hash(forms.findLast(isHashable)!, bcryptCost)
            : null,
        }

      if (!isComparable || isCheaper) await bcrypt.compare('', dummyHash)
    }

    return null
  })
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
