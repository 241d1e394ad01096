import { ApiError } from '../contract/errors'
import { lifetimes } from '../contract/lifetimes'
import { Prisma } from '../database/prisma'
import { readCookie } from './cookie'
import {
  explainRefreshToken,
  findRefreshableSession,
  isOfBrowser,
  type LiveSession,
} from './find'

/**
 * A condition on a row of `sessions`: whether the user has just signed in here, with every
 * factor that a sign-in demands now.
 */
const isFresh = Prisma.sql`(${isOfBrowser} AND method IN ('password', 'passkey')
  AND authenticated_at > now() - make_interval(secs => ${lifetimes.freshSignIn})
  AND ('mfa' = ANY (amr) OR (SELECT second_factor_at IS NULL FROM users WHERE users.id = user_id)))`

/**
 * A condition on a row of `sessions`: whether the user has just signed in here with a
 * passkey. The `amr` is no proof, because a provider may send any.
 */
export const isFreshPasskey = Prisma.sql`(${isOfBrowser} AND method = 'passkey'
  AND authenticated_at > now() - make_interval(secs => ${lifetimes.freshSignIn}))`

/**
 * Returns the live session of a browser's refresh cookie if the user has just signed in
 * with a passkey. Throws SIGN_IN_AGAIN.
 */
export function requirePasskeySession(headers: Headers): Promise<LiveSession> {
  return requireRefreshCookie(headers, isFreshPasskey)
}

/**
 * Returns the live session of a browser's refresh cookie if the user has just signed in
 * with a password or a passkey. Neither a JWT nor the session of a client counts. Throws
 * SIGN_IN_AGAIN.
 */
export function requireFreshSession(headers: Headers): Promise<LiveSession> {
  return requireRefreshCookie(headers, isFresh)
}

/**
 * Returns the live session of a browser's refresh cookie. `isAccepted`: a condition on the
 * session. Throws SIGN_IN_AGAIN.
 */
export async function requireRefreshCookie(
  headers: Headers,
  isAccepted = isOfBrowser,
): Promise<LiveSession> {
  const refreshToken = readCookie(headers, 'refresh')
  const session = refreshToken && (await findRefreshableSession(refreshToken, isAccepted))
  if (session) return session

  const isLive = refreshToken && (await findRefreshableSession(refreshToken))
  const check = isLive ? 'sign_in_old' : await explainRefreshToken(refreshToken)
  throw new ApiError('SIGN_IN_AGAIN', { check })
}
