import { ApiError } from '../contract/errors'
import { lifetimes, passwordLimits } from '../contract/lifetimes'
import { errorCode } from '../database/driver-error'
import { Prisma } from '../database/prisma'
import { notice } from '../mail/outbox'
import { keysOf } from '../password/attempts'
import { makeKnownBrowser } from '../password/known-browser'
import { accountOf, attemptOf, type Client, type SignIn, startPasswordSession } from '../password/sign-in'
import { findChallenged } from './challenge'
import { checkCode, type Given, spend, unspendable } from './check'
import { isUnchanged } from './find'

/** Of the ID of a session: the challenge has already started one. */
const uniqueViolation = '23505'

/**
 * Starts a session for a challenge of `signIn`, with a TOTP code or a recovery code. One statement spends the code and
 * starts the session: of concurrent calls, exactly one succeeds. A challenge starts one session at most. Throws
 * CHALLENGE_INVALID, SECOND_FACTOR_INVALID, SECOND_FACTOR_LOCKED or RATE_LIMITED.
 */
export async function signInWithSecondFactor(challenge: string, given: Given, client: Client): Promise<SignIn> {
  const user = await findChallenged(challenge)
  if (!user) throw new ApiError('CHALLENGE_INVALID')
  const { proof, attempt } = await checkCode(user, given)

  const tried = await attemptOf(accountOf(user.email), [user.email], client)
  // The attempt with the password was counted before the challenge, so that its windows end by `endsAt`.
  const endsAt = user.expiresAt - lifetimes.secondFactorStep + passwordLimits.windowSeconds
  const counted = { keys: [...attempt.keys, ...keysOf(tried)], endsAt: Math.max(attempt.endsAt, endsAt) }
  const isTotp = 'step' in proof
  const used = notice('recovery-code-used', Prisma.sql`(SELECT user_id FROM spent)`, client)
  const session = await startPasswordSession(
    user.sessionId,
    isUnchanged(user),
    isTotp ? ['pwd', 'otp', 'mfa'] : ['pwd', 'mfa'],
    client,
    counted,
    isTotp ? spend(proof) : Prisma.sql`${spend(proof)}, ${used}`,
  ).catch((error) => {
    throw errorCode(error) === uniqueViolation ? new ApiError('CHALLENGE_INVALID') : error
  })
  if (session) return { ...session, knownBrowser: makeKnownBrowser(tried.account, tried.browser, session.startedAt) }
  if (!(await findChallenged(challenge))) throw new ApiError('CHALLENGE_INVALID')
  throw await unspendable(user.userId, given, proof)
}
