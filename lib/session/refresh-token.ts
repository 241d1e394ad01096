import { readSignedId, signId, uuidOf } from '../crypto/secret'
import { env } from '../settings/env'

/** The session of a refresh token, and how many rotations preceded the token. */
type Refresh = { sessionId: string; generation: number }

/**
 * Returns the refresh token of a generation of a session. The result is always the same,
 * so it is not stored.
 */
export function makeRefreshToken({ sessionId, generation }: Refresh): string {
  return signId(
    env().SESSION_SIGNING_KEYS.refreshKeys,
    sessionId.replaceAll('-', ''),
    generation,
  )
}

/**
 * Returns the arguments of `makeRefreshToken`, or null. Does not check whether the token
 * is still valid.
 */
export function readRefreshToken(token: string): Refresh | null {
  const read = readSignedId(env().SESSION_SIGNING_KEYS.refreshKeys, token)
  return read && { sessionId: uuidOf(read.id), generation: read.number }
}
