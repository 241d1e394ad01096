import type { Caller } from '../contract/caller'
import { ApiError } from '../contract/errors'
import { Prisma } from '../database/prisma'
import { addToOrigin } from '../event/origin'
import { errorCode } from '../log/error-code'
import { notice } from '../mail/outbox'
import type { Counted } from '../password/attempts'
import { makeKnownBrowser } from '../password/known-browser'
import {
  identifyAttempt,
  readAccount,
  repeatPasswordSession,
  type SignIn,
  startPasswordSession,
} from '../password/sign-in'
import { type Challenged, findChallenged } from './challenge'
import {
  checkCode,
  forgiveFailure,
  type Given,
  type Proof,
  spend,
  unspendable,
} from './check'
import { isUnchanged } from './find'

/**
 * Starts a session for a challenge and a code. If the same browser repeats the request,
 * returns the same session again. Throws as in the contract.
 */
export async function signInWithSecondFactor(
  challenge: string,
  given: Given,
  caller: Caller,
): Promise<SignIn> {
  const user = await findChallenged(challenge)
  if (typeof user === 'string') throw new ApiError('CHALLENGE_INVALID', { check: user })
  addToOrigin({ userId: user.userId })

  const { proof, attempt } = await checkCode(user, given, caller)

  const { account, browser } = await identifyAttempt(
    readAccount(user.email),
    [user.email],
    caller,
  )

  const session =
    (await startSession(user, proof, attempt, caller)) ??
    (await repeatSession(user, proof, attempt, caller))
  if (session)
    return {
      ...session,
      knownBrowser: makeKnownBrowser(account, browser, session.startedAt),
    }

  const challenged = await findChallenged(challenge)
  if (typeof challenged === 'string')
    throw new ApiError('CHALLENGE_INVALID', { check: challenged })

  throw await unspendable(user.userId, given, proof)
}

/**
 * Uses up the proof and starts the session of the challenge, or returns null. Throws
 * CHALLENGE_INVALID if it was started before.
 */
async function startSession(
  user: Challenged,
  proof: Proof,
  attempt: Counted,
  caller: Caller,
) {
  const isTotp = 'step' in proof
  const amr = isTotp ? ['pwd', 'otp', 'mfa'] : ['pwd', 'mfa']
  const spender = Prisma.sql`(SELECT user_id FROM spent)`
  const used = notice('recovery-code-used', spender, caller)
  const spent = isTotp ? spend(proof) : Prisma.sql`${spend(proof)}, ${used}`
  const condition = isUnchanged(user)

  try {
    return await startPasswordSession(
      user.sessionId,
      condition,
      amr,
      caller,
      attempt,
      spent,
    )
  } catch (error) {
    // unique_violation: the challenge has already started a session
    if (errorCode(error as Error) !== '23505') throw error
    throw new ApiError('CHALLENGE_INVALID', { check: 'challenge_used' })
  }
}

/**
 * Returns the session that this challenge has started with the same proof, or null. For a
 * recovery code, one statement has written both times.
 */
async function repeatSession(
  { userId, sessionId }: Challenged,
  proof: Proof,
  attempt: Counted,
  caller: Caller,
) {
  const isTotp = 'step' in proof
  const isSameProof = isTotp
    ? Prisma.sql`'otp' = ANY (amr) AND ${proof.step}::int = (
        SELECT last_step FROM second_factors WHERE second_factors.user_id = sessions.user_id)`
    : Prisma.sql`created_at = (
        SELECT used_at FROM recovery_codes
        WHERE recovery_codes.user_id = sessions.user_id AND code_hash = ${proof.codeHash})`

  const session = await repeatPasswordSession([sessionId], caller, attempt, isSameProof)
  if (session && isTotp) await forgiveFailure(userId)

  return session
}
