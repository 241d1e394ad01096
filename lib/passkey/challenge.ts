import { randomBytes } from 'node:crypto'
import { lifetimes } from '../contract/lifetimes'
import { readSignedId, readUuid, signId } from '../crypto/token'
import type { UserWithFactor } from '../second-factor/find'
import type { LiveSession } from '../session/find'
import { env } from '../settings/env'

// Challenges are not stored. The ID in a challenge is that of the one session, or of the
// one passkey, that it can create. So a second use violates a unique key.

/** What a challenge can be used for. Any other use finds it invalid. */
export type Purpose = { context: string; seconds: number }

/** The purpose of a challenge with which anybody can sign in. */
export const signInPurpose: Purpose = {
  context: 'authenticate',
  seconds: lifetimes.passkeySignIn,
}

/**
 * Returns the purpose of a challenge with which one session, or the set-up that starts it,
 * adds a passkey, until the password or the second factor of the user changes.
 */
export function registrationPurpose(
  { userId, sessionId }: Pick<LiveSession, 'userId' | 'sessionId'>,
  { passwordChangedAt, enabledAt }: UserWithFactor,
): Purpose {
  const context = ['register', userId, sessionId, passwordChangedAt, enabledAt]
  return { context: JSON.stringify(context), seconds: lifetimes.passkeyRegistration }
}

/** Returns a new challenge: 48 characters of base64url. `now`: in seconds since 1970. */
export function makeChallenge(now: number, { context, seconds }: Purpose) {
  const id = randomBytes(16).toString('hex')
  const expiresAt = Math.ceil(now) + seconds

  return {
    challenge: signId(env().SESSION_SIGNING_KEYS.passkeyKeys, id, expiresAt, context),
    expiresAt: new Date(expiresAt * 1000).toISOString(),
  }
}

/**
 * Returns the ID and the end, in seconds since 1970, of a challenge of this purpose, or
 * null. It may have expired.
 */
export function readChallenge(
  challenge: string,
  { context }: Purpose,
): { id: string; endsAt: number } | null {
  const read = readSignedId(env().SESSION_SIGNING_KEYS.passkeyKeys, challenge, context)
  return read && { id: readUuid(read.id), endsAt: read.number }
}
