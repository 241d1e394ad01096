import { createHmac, randomUUID, timingSafeEqual } from 'node:crypto'
import type { Check } from '../contract/checks'
import type { Challenge } from '../contract/errors'
import { lifetimes } from '../contract/lifetimes'
import { readUuid } from '../crypto/token'
import { readCookie } from '../session/cookie'
import { env } from '../settings/env'
import { findFactor, type UserWithFactor } from './find'

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
    methods: ['totp', 'recovery-code'],
  }
}

/** The user of a valid challenge, and the ID of the one session that it can start. */
export type Challenged = UserWithFactor & { sessionId: string }

/** Returns the user of a challenge that is still valid, otherwise the reason. */
export async function findChallenged(challenge: string): Promise<Challenged | Check> {
  if (!/^[\w-]{88}$/.test(challenge)) return 'challenge_unknown'

  const bytes = Buffer.from(challenge, 'base64url')
  const [signed, given] = [bytes.subarray(0, signedBytes), bytes.subarray(signedBytes)]
  const [userId, sessionId] = [0, idBytes].map((start) =>
    readUuid(signed.toString('hex', start, start + idBytes)),
  )
  const user = await findFactor(userId!)
  const expiresAt = signed.readUInt32BE(2 * idBytes)
  if (!user?.enabledAt) return 'challenge_changed'
  if (user.now >= expiresAt) return 'challenge_expired'

  const isValid = env().SESSION_SIGNING_KEYS.challengeKeys.some((key) =>
    timingSafeEqual(mac(key, signed, user), given),
  )

  return isValid ? { ...user, sessionId: sessionId! } : 'challenge_changed'
}

/**
 * Returns the valid challenge in a browser's cookie and the user's email address, or
 * null. For the sign-in page.
 */
export async function findBrowserChallenge(
  headers: Headers,
): Promise<{ challenge: string; email: string } | null> {
  const challenge = readCookie(headers, 'challenge')
  if (!challenge) return null

  const user = await findChallenged(challenge)
  return typeof user === 'string' ? null : { challenge, email: user.email }
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
