import { ApiError } from '../contract/errors'
import { lifetimes } from '../contract/lifetimes'
import { isUnexpired, Prisma, transaction } from '../database/prisma'
import { notice } from '../mail/outbox'
import { releaseAttempt } from '../password/attempts'
import { type Client, checkPassword } from '../password/sign-in'
import type { LiveSession } from '../session/find'
import { endAllSessions, lockUser } from '../session/revoke'
import { invalidCode } from './check'
import { hashRecoveryCode, newRecoveryCodes, newTotpSecret, stepsOfCode, totpUri } from './codes'
import { decrypt, encrypt } from './encryption'
import { findFactor, isUnchanged } from './find'

const purposeOf = ({ userId, familyId }: LiveSession) => `enrolment ${userId} ${familyId}`

/**
 * Makes a TOTP secret for a user who gives the password. Stores nothing: `enrolment` is the secret, encrypted for user
 * and session. Throws SECOND_FACTOR_CONFLICT if one is on.
 */
export async function startEnrolment(session: LiveSession, { password }: { password: string }, client: Client) {
  const user = await findFactor(session.userId)
  if (user?.enabledAt) throw new ApiError('SECOND_FACTOR_CONFLICT')
  await releaseAttempt((await checkPassword(session, password, client)).attempt)
  if (!user) throw new ApiError('SIGN_IN_INVALID')
  const secret = await newTotpSecret()
  const expiresAt = user.now + lifetimes.secondFactorStep
  const enrolment = await encrypt(JSON.stringify({ secret, expiresAt }), purposeOf(session))
  const uri = await totpUri(secret, user.email)
  return { secret, uri, enrolment, expiresAt: new Date(expiresAt * 1000).toISOString() }
}

/**
 * Switches the second factor on, ends all other sessions of the user, and returns the recovery codes. The code counts
 * as used. Throws CHALLENGE_INVALID, SECOND_FACTOR_INVALID, or SECOND_FACTOR_CONFLICT if one is on.
 */
export async function confirmEnrolment(
  session: LiveSession,
  { enrolment, code }: { enrolment: string; code: string },
  client: Client,
): Promise<{ recoveryCodes: string[] }> {
  const { userId, familyId } = session
  const user = await findFactor(userId)
  if (user?.enabledAt) throw new ApiError('SECOND_FACTOR_CONFLICT')
  const opened = await decrypt(enrolment, purposeOf(session))
  const { secret, expiresAt } = opened ? JSON.parse(opened) : { expiresAt: 0 }
  if (!user || user.now >= expiresAt) throw new ApiError('CHALLENGE_INVALID')
  const [step] = await stepsOfCode(secret, code, user.now)
  if (step === undefined) throw invalidCode({ code })

  const recoveryCodes = newRecoveryCodes()
  const hashes = recoveryCodes.map(hashRecoveryCode)
  const encrypted = await encrypt(secret, `totp ${userId}`)
  const enrolled = Prisma.sql`(SELECT id FROM enrolled)`
  const changed = await transaction(async (tx) => {
    // Before the statement that sets the column: a sign-in waits for this lock, and then sees the column.
    await lockUser(tx, userId)
    return tx.$executeRaw`
      WITH enrolled AS (
        UPDATE users SET second_factor_at = statement_timestamp()
        WHERE ${isUnchanged(user)}
          AND EXISTS (SELECT FROM sessions WHERE id = ${familyId} AND revoked_at IS NULL AND ${isUnexpired})
        RETURNING id
      ), factor AS (
        INSERT INTO second_factors (user_id, encrypted_secret, last_step)
        SELECT id, ${encrypted}, ${step}::int FROM enrolled
      ), codes AS (
        INSERT INTO recovery_codes (user_id, code_hash) SELECT id, unnest(${hashes}::bytea[]) FROM enrolled
      ), ${endAllSessions(enrolled, familyId)}, ${notice('second-factor-on', enrolled, client)}
      SELECT 1 FROM enrolled`
  })
  if (!changed) throw new ApiError('SECOND_FACTOR_CONFLICT')
  return { recoveryCodes }
}
