import type { Caller } from '../contract/caller'
import type { Check } from '../contract/checks'
import { ApiError, errors } from '../contract/errors'
import {
  maxSecondFactorFailures,
  noticedSecondFactorFailures,
} from '../contract/lifetimes'
import { NothingChanged } from '../database/errors'
import { Prisma, prisma } from '../database/prisma'
import { describeCause, log } from '../log/log'
import { notice } from '../mail/outbox'
import { type Counted, consumeAttempt } from '../password/attempts'
import { hashRecoveryCode, stepsOfCode } from './codes'
import { decrypt } from './encryption'
import { findFactor, type UserWithFactor } from './find'

/** The input for the second factor. Exactly one of the two fields is set. */
export type Given = { code?: string | undefined; recoveryCode?: string | undefined }

/**
 * The input of `spend`: the time step of a correct TOTP code, or the hash of a recovery
 * code that `spend` verifies.
 */
export type Proof = { step: number } | { codeHash: Uint8Array<ArrayBuffer> }

/**
 * Counts an attempt, and verifies a TOTP code. `spend` verifies a recovery code later.
 * Queues a notice after many wrong codes. Throws as in the contract.
 */
export async function checkCode(
  user: UserWithFactor,
  given: Given,
  caller: Caller,
): Promise<{ proof: Proof; attempt: Counted }> {
  const { userId } = user
  const { code, recoveryCode = '' } = given

  if (code === undefined) {
    const attempt = await consumeAttempt({ secondFactorOf: userId })
    return { proof: { codeHash: hashRecoveryCode(recoveryCode) }, attempt }
  }

  // a user whose only factor is a passkey has no code
  if (user.encryptedSecret === null) {
    await consumeAttempt({ secondFactorOf: userId })
    throw invalidCode(given, false, 'factor_off')
  }

  const secret = await decryptSecret(user)
  const attempt = await consumeAttempt({ secondFactorOf: userId })
  const { failures, lastStep, now } = await countFailure(userId, given)

  const steps = await stepsOfCode(secret, code, now)
  const step = steps.find((each) => each > lastStep)
  if (step !== undefined) return { proof: { step }, attempt }

  // The failures include the present code, so only one request sees this number.
  if (failures === noticedSecondFactorFailures) await noticeGuesses(userId, caller)

  // `spend` rejects the code of the last step, too. It may be a repetition.
  if (steps.includes(lastStep)) return { proof: { step: lastStep }, attempt }

  throw invalidCode(given, steps.length > 0)
}

/** Returns the TOTP secret of a user. Throws if no key fits it. */
export async function decryptSecret({
  userId,
  encryptedSecret,
}: UserWithFactor): Promise<string> {
  const secret = await decrypt(encryptedSecret ?? '', `totp ${userId}`)
  if (secret === null)
    throw new Error(
      'none of the keys in ENCRYPTION_KEY fits the secret of a second factor',
    )

  return secret
}

/**
 * Counts a TOTP code as wrong before it is verified. `spend` resets the count. Throws
 * SECOND_FACTOR_LOCKED after too many.
 */
async function countFailure(userId: string, given: Given) {
  const counting = prisma().$queryRaw<
    { failures: number; lastStep: number; now: number }[]
  >`
    UPDATE second_factors SET failures = failures + 1
    WHERE user_id = ${userId} AND failures < ${maxSecondFactorFailures}
    RETURNING failures, last_step AS "lastStep", extract(epoch FROM now())::float8 AS now`
  const [counted] = await counting.catch(NothingChanged.rethrow)
  if (counted) return counted

  // the authenticator app was switched off meanwhile
  const factor = await findFactor(userId)
  if (!factor?.encryptedSecret) throw invalidCode(given, false, 'factor_off')

  log.warn(
    { userId },
    'a second factor is locked: a recovery code unlocks it, or npm run users',
  )
  throw new ApiError('SECOND_FACTOR_LOCKED', { check: 'factor_locked' })
}

/** Subtracts the failure that `checkCode` has counted. Never throws. */
export async function forgiveFailure(userId: string): Promise<void> {
  try {
    await prisma().$executeRaw`
      UPDATE second_factors SET failures = failures - 1 WHERE user_id = ${userId} AND failures > 0`
  } catch {} // the failure stays counted
}

/**
 * Queues a notice about wrong codes, unless one was queued in the past day. Never throws.
 */
async function noticeGuesses(userId: string, caller: Caller): Promise<void> {
  const kind = 'second-factor-guesses'
  const unnoticed = Prisma.sql`(
    SELECT ${userId}::uuid WHERE NOT EXISTS (
      SELECT FROM mails
      WHERE user_id = ${userId}::uuid AND requested_at > now() - interval '1 day' AND kind = ${kind}))`

  // Not in the statement that counts, because the foreign key would lock the user after
  // the factor.
  const statement = prisma().$executeRaw`WITH ${notice(kind, unnoticed, caller)} SELECT 1`

  await statement.catch((error) => {
    log.error(
      { cause: describeCause(error) },
      'an email about wrong codes could not be queued',
    )
  })
}

/**
 * Returns the CTEs that use up a proof of the user in `locked_user`. `spent (user_id)`
 * has a row if that succeeds.
 */
export function spend(proof: Proof): Prisma.Sql {
  // Lock order: user, factor, recovery code, session, email.
  if ('step' in proof)
    return Prisma.sql`
      spent AS (
        UPDATE second_factors SET last_step = ${proof.step}::int, failures = 0
        WHERE user_id = (SELECT user_id FROM locked_user) AND last_step < ${proof.step}::int
        RETURNING user_id
      )`

  // A user whose only factor is a passkey has no row in `second_factors`. `coalesce` locks
  // the row first, if there is one.
  return Prisma.sql`
    locked_factor AS MATERIALIZED (
      SELECT user_id FROM second_factors WHERE user_id = (SELECT user_id FROM locked_user) FOR UPDATE
    ), spent AS (
      UPDATE recovery_codes SET used_at = now()
      WHERE user_id = coalesce((SELECT user_id FROM locked_factor), (SELECT user_id FROM locked_user))
        AND code_hash = ${proof.codeHash} AND used_at IS NULL
      RETURNING user_id
    ), unlocked AS (UPDATE second_factors SET failures = 0 WHERE user_id = (SELECT user_id FROM spent))`
}

/**
 * Returns the error for a proof that could not be used up, because the code was already
 * used or is wrong.
 */
export async function unspendable(
  userId: string,
  given: Given,
  proof: Proof,
): Promise<ApiError> {
  if ('step' in proof) return invalidCode(given, true)

  const where = { userId, codeHash: proof.codeHash }
  const found = await prisma().recoveryCode.count({ where })

  return invalidCode(given, found > 0)
}

/** Creates a SECOND_FACTOR_INVALID. Without a `check`, the log has the code of the issue. */
export function invalidCode({ code }: Given, isUsed = false, check?: Check): ApiError {
  const message = isUsed
    ? 'This code was already used. Use another one.'
    : errors.SECOND_FACTOR_INVALID.message
  const path = [code === undefined ? 'recoveryCode' : 'code']
  return new ApiError('SECOND_FACTOR_INVALID', {
    issues: [{ path, code: isUsed ? 'used_code' : 'wrong_code', message }],
    ...(check && { check }),
  })
}
