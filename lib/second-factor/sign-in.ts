import type { Caller } from '../contract/caller'
import { ApiError } from '../contract/errors'
import { Prisma } from '../database/prisma'
import { errorCode } from '../log/error-code'
import { notice } from '../mail/outbox'
import { makeKnownBrowser } from '../password/known-browser'
import {
  accountOf,
  attemptOf,
  type SignIn,
  startPasswordSession,
} from '../password/sign-in'
import { findChallenged } from './challenge'
import { checkCode, type Given, spend, unspendable } from './check'
import { isUnchanged } from './find'

/**
 * Starts a session for a challenge and a code. Only one of concurrent calls succeeds.
 * Throws as in the contract.
 */
export async function signInWithSecondFactor(
  challenge: string,
  given: Given,
  caller: Caller,
): Promise<SignIn> {
  const user = await findChallenged(challenge)
  if (!user) throw new ApiError('CHALLENGE_INVALID')

  const { proof, attempt } = await checkCode(user, given, caller)

  const { account, browser } = await attemptOf(
    accountOf(user.email),
    [user.email],
    caller,
  )

  const isTotp = 'step' in proof
  const used = notice(
    'recovery-code-used',
    Prisma.sql`(SELECT user_id FROM spent)`,
    caller,
  )

  const session = await startPasswordSession(
    user.sessionId,
    isUnchanged(user),
    isTotp ? ['pwd', 'otp', 'mfa'] : ['pwd', 'mfa'],
    caller,
    attempt,
    isTotp ? spend(proof) : Prisma.sql`${spend(proof)}, ${used}`,
  ).catch((error) => {
    // 23505, unique_violation: the challenge has already started a session
    throw errorCode(error) === '23505' ? new ApiError('CHALLENGE_INVALID') : error
  })

  if (session)
    return {
      ...session,
      knownBrowser: makeKnownBrowser(account, browser, session.startedAt),
    }

  if (!(await findChallenged(challenge))) throw new ApiError('CHALLENGE_INVALID')

  throw await unspendable(user.userId, given, proof)
}
