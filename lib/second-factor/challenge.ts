import { createHmac, randomUUID, timingSafeEqual } from 'node:crypto'
import type { Check } from '../contract/checks'
import type { Challenge } from '../contract/errors'
import { lifetimes } from '../contract/lifetimes'
import { readUuid } from '../crypto/token'
import { readCookie } from '../session/cookie'
import { env } from '../settings/env'
import { findFactor, findSteps, type Steps, type UserWithFactor } from './find'

// 16 bytes of user ID, 16 of session ID, 4 of expiry, 30 of MAC. A multiple of 3 bytes
// has only one form in base64.
const idBytes = 16
const signedBytes = 2 * idBytes + 4
const macBytes = 30

/**
 * Returns a proof of a correct password. It expires, and a change of the password or the
 * factor invalidates it.
 */
export function makeChallenge(user: UserWithFactor): Challenge {
  const signed = Buffer.alloc(signedBytes)
  const expiresAt = Math.ceil(user.now) + lifetimes.secondFactorStep
  signed.write((user.userId + randomUUID()).replaceAll('-', ''), 'hex')
  signed.writeUInt32BE(expiresAt, 2 * idBytes)
  const [newest] = env().SESSION_SIGNING_KEYS.challengeKeys

  return {
    challenge: Buffer.concat([signed, mac(newest!, signed, user)]).toString('base64url'),
    expiresAt: new Date(expiresAt * 1000).toISOString(),
    ...(findSteps(user) ?? { methods: [] }),
  }
}

/** The user of a valid challenge, and the ID of the one session that it can start. */
export type Challenged = UserWithFactor & { sessionId: string }

/**
 * The user of a challenge with which a factor can be set up. `isDone`: the user has one
 * meanwhile, possibly from an earlier request with this challenge.
 */
export type SetUp = Challenged & { isDone: boolean }

type Read = {
  user: Challenged
  /** Whether the challenge was issued for the user in this state. */
  isIssuedFor: (state: UserWithFactor) => boolean
}

/** Returns the user of a challenge that has not expired, otherwise the reason. */
async function readChallenge(challenge: string): Promise<Read | Check> {
  if (!/^[\w-]{88}$/.test(challenge)) return 'challenge_unknown'

  const bytes = Buffer.from(challenge, 'base64url')
  const [signed, given] = [bytes.subarray(0, signedBytes), bytes.subarray(signedBytes)]
  const [userId, sessionId] = [0, idBytes].map((start) =>
    readUuid(signed.toString('hex', start, start + idBytes)),
  )
  const user = await findFactor(userId!)
  const expiresAt = signed.readUInt32BE(2 * idBytes)
  if (!user) return 'challenge_changed'
  if (user.now >= expiresAt) return 'challenge_expired'

  return {
    user: { ...user, sessionId: sessionId! },
    isIssuedFor: (state) =>
      env().SESSION_SIGNING_KEYS.challengeKeys.some((key) =>
        timingSafeEqual(mac(key, signed, state), given),
      ),
  }
}

/**
 * Returns the user of a challenge with which a code can start a session, otherwise the
 * reason.
 */
export async function findChallenged(challenge: string): Promise<Challenged | Check> {
  const read = await readChallenge(challenge)
  if (typeof read === 'string') return read

  const { user, isIssuedFor } = read
  return user.enabledAt !== null && isIssuedFor(user) ? user : 'challenge_changed'
}

/**
 * Returns the user of a challenge that was issued because the user had no second factor,
 * otherwise the reason.
 */
export async function findSetUp(challenge: string): Promise<SetUp | Check> {
  const read = await readChallenge(challenge)
  if (typeof read === 'string') return read

  const { user, isIssuedFor } = read
  if (!isIssuedFor({ ...user, enabledAt: null })) return 'challenge_changed'
  if (user.enabledAt !== null) return { ...user, isDone: true }

  return findSteps(user)?.setUp ? { ...user, isDone: false } : 'challenge_changed'
}

/**
 * Returns the valid challenge in a browser's cookie, its user, and what completes the
 * sign-in, or null. For the sign-in page.
 */
export async function findBrowserChallenge(
  headers: Headers,
): Promise<{ challenge: string; user: Challenged; steps: Steps } | null> {
  const challenge = readCookie(headers, 'challenge')
  if (!challenge) return null

  const read = await readChallenge(challenge)
  if (typeof read === 'string' || !read.isIssuedFor(read.user)) return null

  const { user } = read
  const steps = findSteps(user)

  return steps && { challenge, user, steps }
}

function mac(
  key: Uint8Array,
  signed: Uint8Array,
  { passwordChangedAt, enabledAt }: UserWithFactor,
): Buffer {
  const state = JSON.stringify([passwordChangedAt, enabledAt])
  return createHmac('sha256', key)
    .update(signed)
    .update(state)
    .digest()
    .subarray(0, macBytes)
}
