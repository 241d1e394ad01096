import { type Caller, unknownCaller } from '../contract/caller'
import { ApiError } from '../contract/errors'
import { lifetimes } from '../contract/lifetimes'
import { isUnexpired } from '../database/conditions'
import { dateFromEpoch, Prisma, prisma, transaction } from '../database/prisma'
import { recordEvents } from '../event/record'
import { notice } from '../mail/outbox'
import { refundAttempt } from '../password/attempts'
import { checkPassword } from '../password/sign-in'
import { readCookie } from '../session/cookie'
import type { LiveSession } from '../session/find'
import { isFreshPasskey } from '../session/fresh'
import { repetitionSeconds } from '../session/repetition'
import { endAllSessions, lockUsers } from '../session/revoke'
import { env } from '../settings/env'
import {
  checkCode,
  decryptSecret,
  type Given,
  invalidCode,
  spend,
  unspendable,
} from './check'
import {
  hashRecoveryCode,
  newRecoveryCodes,
  newTotpSecret,
  stepsOfCode,
  totpUri,
} from './codes'
import { decrypt, encrypt } from './encryption'
import { findFactor, isUnchanged, type UserWithFactor } from './find'

/** Whose enrolment it is: a live session, or the one that a set-up starts. */
type Owner = Pick<LiveSession, 'userId' | 'sessionId'>

const composePurpose = ({ userId, sessionId }: Owner) =>
  `enrolment ${userId} ${sessionId}`

/** Whether the user has an authenticator app. */
const hasApp = (user: UserWithFactor | null) =>
  user !== null && user.encryptedSecret !== null

/**
 * Creates a TOTP secret. It is not stored, but `enrolment` contains it, encrypted. Throws
 * SECOND_FACTOR_CONFLICT.
 */
export async function startEnrolment(
  session: LiveSession,
  { password = '' }: { password?: string | undefined },
  caller: Caller,
) {
  const user = await findFactor(session.userId)
  if (hasApp(user)) throw new ApiError('SECOND_FACTOR_CONFLICT', { check: 'factor_on' })

  await checkPassword(session, password, caller)
  if (!user) throw new ApiError('SIGN_IN_INVALID', { check: 'user_changed' })

  return makeEnrolment(user, session)
}

/** Returns a new TOTP secret of a user, and the enrolment with which `owner` confirms it. */
export async function makeEnrolment(user: UserWithFactor, owner: Owner) {
  const secret = await newTotpSecret()
  const expiresAt = user.now + lifetimes.secondFactorStep
  const enrolment = await encrypt(
    JSON.stringify({ secret, expiresAt }),
    composePurpose(owner),
  )

  const uri = await totpUri(secret, user.email)

  return { secret, uri, enrolment, expiresAt: dateFromEpoch(expiresAt).toISOString() }
}

/**
 * Returns the TOTP secret of a browser's enrolment cookie, or null. After a reload, the page
 * shows the same secret again, because the user's app may already have it.
 */
export async function findStartedEnrolment(
  owner: Owner,
  headers: Headers,
): Promise<{ secret: string; uri: string; enrolment: string } | null> {
  const enrolment = readCookie(headers, 'enrolment')
  const user = enrolment && (await findFactor(owner.userId))
  if (!user || hasApp(user)) return null

  const opened = await openEnrolment(owner, enrolment)
  if (!opened || user.now >= opened.expiresAt) return null

  const { secret } = opened

  return { secret, uri: await totpUri(secret, user.email), enrolment }
}

/**
 * Returns the secret in an enrolment of this owner, and its expiry in seconds since 1970.
 * Null for any other text.
 */
async function openEnrolment(
  owner: Owner,
  enrolment: string,
): Promise<{ secret: string; expiresAt: number } | null> {
  const opened = await decrypt(enrolment, composePurpose(owner))
  return opened === null ? null : JSON.parse(opened)
}

export type Enrolment = { enrolment: string; code: string }

/**
 * Switches the second factor on, ends other sessions, and returns the recovery codes. If
 * the session has just done so with the same code, returns none, because they are not
 * stored. Throws as in the contract.
 */
export async function confirmEnrolment(
  session: LiveSession,
  given: Enrolment,
  caller: Caller,
) {
  const user = await findFactor(session.userId)
  if (user && hasApp(user)) {
    if (await isRepeated(user, session, given)) return { recoveryCodes: [] }
    throw new ApiError('SECOND_FACTOR_CONFLICT', { check: 'factor_on' })
  }

  const { secret, step } = await verifyFirstCode(user, session, given)
  if (!user) throw new ApiError('CHALLENGE_INVALID', { check: 'sso_only' })

  const recoveryCodes = newRecoveryCodes()
  const changed = await enrol(user, session, { secret, step, recoveryCodes }, caller)
  if (changed) return { recoveryCodes }

  // the same request may have been processed at the same time
  const current = await findFactor(session.userId)
  if (current && (await isRepeated(current, session, given))) return { recoveryCodes: [] }
  throw new ApiError('SECOND_FACTOR_CONFLICT', { check: 'user_changed' })
}

/**
 * Returns the secret of an enrolment, and the time step of its first code. Throws
 * CHALLENGE_INVALID and SECOND_FACTOR_INVALID.
 */
export async function verifyFirstCode(
  user: UserWithFactor | null,
  owner: Owner,
  { enrolment, code }: Enrolment,
): Promise<{ secret: string; step: number }> {
  const opened = await openEnrolment(owner, enrolment)
  if (!opened) throw new ApiError('CHALLENGE_INVALID', { check: 'enrolment_unknown' })
  if (!user) throw new ApiError('CHALLENGE_INVALID', { check: 'sso_only' })
  if (user.now >= opened.expiresAt)
    throw new ApiError('CHALLENGE_INVALID', { check: 'enrolment_expired' })

  const { secret } = opened
  const [step] = await stepsOfCode(secret, code, user.now)
  if (step === undefined) throw invalidCode({ code })

  return { secret, step }
}

/**
 * Returns the time steps of a code if the enrolment has the secret that the user has now,
 * so that a request with both may be a repetition. Otherwise, returns none.
 */
export async function findConfirmedSteps(
  user: UserWithFactor,
  owner: Owner,
  { enrolment, code }: Enrolment,
): Promise<number[]> {
  const opened = await openEnrolment(owner, enrolment)
  if (!opened || opened.secret !== (await decryptSecret(user))) return []

  return stepsOfCode(opened.secret, code, user.now)
}

/**
 * Whether the session has just switched the second factor on with this enrolment and this
 * code, so that the request is a repetition.
 */
async function isRepeated(
  user: UserWithFactor,
  session: LiveSession,
  given: Enrolment,
): Promise<boolean> {
  const [factor] = await prisma().$queryRaw<{ lastStep: number }[]>`
    SELECT last_step AS "lastStep" FROM users JOIN second_factors ON second_factors.user_id = users.id
    WHERE users.id = ${user.userId}
      AND second_factor_at > now() - make_interval(secs => ${repetitionSeconds})
      AND second_factor_at > (SELECT created_at FROM sessions WHERE id = ${session.sessionId} AND revoked_at IS NULL)`
  if (!factor) return false

  const steps = await findConfirmedSteps(user, session, given)
  return steps.includes(factor.lastStep)
}

type NewFactor = { secret: string; step: number; recoveryCodes: string[] }

/**
 * Stores a second factor. Returns 0 if the user has changed or the session has ended
 * since they were read.
 */
async function enrol(
  user: UserWithFactor,
  { userId, sessionId }: LiveSession,
  { secret, step, recoveryCodes }: NewFactor,
  caller: Caller,
): Promise<number> {
  const hashes = recoveryCodes.map(hashRecoveryCode)
  const encrypted = await encrypt(secret, `totp ${userId}`)
  const enrolled = Prisma.sql`(SELECT id FROM enrolled)`
  // a user whose only factor is a passkey has codes already
  const replaced =
    user.enabledAt === null
      ? Prisma.empty
      : Prisma.sql`old_codes AS (DELETE FROM recovery_codes WHERE user_id = ${enrolled}), `
  const recorded = recordEvents(
    'second_factor_on',
    { userId: Prisma.sql`id`, sessionId },
    Prisma.sql`FROM enrolled`,
  )

  return transaction(async (tx) => {
    // Locks the user's row in an earlier statement, so that a sign-in that waits for the
    // lock sees the new value.
    await lockUsers(tx, [userId])
    return tx.$executeRaw`
      WITH enrolled AS (
        UPDATE users SET second_factor_at = statement_timestamp()
        WHERE ${isUnchanged(user)}
          AND EXISTS (SELECT FROM sessions WHERE id = ${sessionId} AND revoked_at IS NULL AND ${isUnexpired})
        RETURNING id
      ), factor AS (
        INSERT INTO second_factors (user_id, encrypted_secret, last_step)
        SELECT id, ${encrypted}, ${step}::int FROM enrolled
      ), ${replaced}codes AS (
        INSERT INTO recovery_codes (user_id, code_hash) SELECT id, unnest(${hashes}::bytea[]) FROM enrolled
      ), ${endAllSessions(enrolled, sessionId)}, ${notice('second-factor-on', enrolled, caller)}${recorded}
      SELECT 1 FROM enrolled`
  })
}

/** The password and a code, or neither after a fresh sign-in with a passkey. */
type Proof = Given & { password?: string | undefined }

/**
 * Replaces the recovery codes of a user, and returns the new ones. If a second factor is
 * required, a user whose only factor is a passkey gets the first ones. From then on, the
 * password alone starts no session, whatever the settings are. Throws as in the contract.
 */
export async function replaceRecoveryCodes(
  session: LiveSession,
  given: Proof,
  caller: Caller,
) {
  const found = await findFactor(session.userId)
  const isFirst =
    given.password === undefined &&
    env().SECOND_FACTOR === 'required' &&
    found?.enabledAt === null &&
    found.hasPasskey
  if (!found || (found.enabledAt === null && !isFirst))
    throw new ApiError('SECOND_FACTOR_CONFLICT', { check: 'factor_off' })

  const recoveryCodes = newRecoveryCodes()
  const hashes = recoveryCodes.map(hashRecoveryCode)
  const user = Prisma.sql`${session.userId}::uuid`
  const enabled = isFirst
    ? Prisma.sql`
      enabled AS (UPDATE users SET second_factor_at = statement_timestamp() WHERE id = ${user}),
      ${endAllSessions(user, session.sessionId)}, `
    : Prisma.empty
  const { userId, sessionId } = session
  const recorded = recordEvents('recovery_codes_replaced', { userId, sessionId })
  const replacement = Prisma.sql`
    WITH ${enabled}deleted AS (DELETE FROM recovery_codes WHERE user_id = ${user}), ${notice('new-recovery-codes', user, caller)}${recorded}
    INSERT INTO recovery_codes (user_id, code_hash) SELECT ${user}, unnest(${hashes}::bytea[])`
  await executeWithProof(replacement, found, session, given, caller)

  return { recoveryCodes }
}

/**
 * Switches the second factor of a user off, and ends all other sessions. If a second factor
 * is required and the user has a passkey, removes only the authenticator app. Throws as in
 * the contract.
 */
export async function removeSecondFactor(
  session: LiveSession,
  given: Proof,
  caller: Caller,
): Promise<void> {
  const user = await findFactor(session.userId)
  const keepsPasskey = env().SECOND_FACTOR === 'required' && env().PASSKEYS
  const isOn = user?.enabledAt && (hasApp(user) || !(keepsPasskey && user.hasPasskey))
  if (!isOn) throw new ApiError('SECOND_FACTOR_CONFLICT', { check: 'factor_off' })

  await executeWithProof(
    removal(session.userId, caller, { spared: session.sessionId, keepsPasskey }),
    user,
    session,
    given,
    caller,
  )
}

/**
 * Switches the second factor off, for an operator. Returns how many sessions ended, or
 * null if it was already off.
 */
export async function removeOwnSecondFactor(
  userId: string,
  language: string,
): Promise<number | null> {
  return transaction(async (tx) => {
    await lockUsers(tx, [userId])
    const isOn = await tx.user.count({
      where: { id: userId, secondFactorAt: { not: null } },
    })
    return isOn ? tx.$executeRaw(removal(userId, { ...unknownCaller, language })) : null
  })
}

/**
 * Returns a statement that deletes the second factor and ends sessions. Its row count is
 * the number of ended sessions. `keepsPasskey`: if the user has a passkey, the password
 * still needs it or a recovery code.
 */
function removal(
  userId: string,
  caller: Caller,
  { spared = null as string | null, keepsPasskey = false } = {},
): Prisma.Sql {
  const user = Prisma.sql`${userId}::uuid`
  const isKept = Prisma.sql`EXISTS (SELECT FROM passkeys WHERE passkeys.user_id = ${user})`
  const enabledAt = keepsPasskey
    ? Prisma.sql`CASE WHEN ${isKept} THEN statement_timestamp() END`
    : Prisma.sql`NULL`
  const andNotKept = keepsPasskey ? Prisma.sql`AND NOT ${isKept}` : Prisma.empty

  return Prisma.sql`
    WITH switched_off AS (UPDATE users SET second_factor_at = ${enabledAt} WHERE id = ${user}),
      factor AS (DELETE FROM second_factors WHERE user_id = ${user}),
      codes AS (DELETE FROM recovery_codes WHERE user_id = ${user} ${andNotKept}),
      ${endAllSessions(user, spared)}, ${notice('second-factor-off', user, caller)}${recordEvents('second_factor_off', { userId })}
    SELECT id FROM revoked`
}

/**
 * Verifies the password and the code, or that the user has just signed in with a passkey.
 * Then, in one transaction, uses the code up and executes a statement.
 */
async function executeWithProof(
  statement: Prisma.Sql,
  user: UserWithFactor,
  session: LiveSession,
  { password, ...given }: Proof,
  caller: Caller,
): Promise<void> {
  if (password === undefined) return executeWithPasskey(statement, user, session)

  await checkPassword(session, password, caller)
  const { proof: proven, attempt } = await checkCode(user, given, caller)

  const spent = await transaction(async (tx) => {
    await lockUsers(tx, [user.userId])
    const count = await tx.$executeRaw`
      WITH locked_user AS (SELECT id AS user_id FROM users WHERE ${isUnchanged(user)}), ${spend(proven)},
        ${refundAttempt(attempt, Prisma.sql`EXISTS (SELECT FROM spent)`)}
      SELECT 1 FROM spent`
    if (count > 0) await tx.$executeRaw(statement)

    return count
  })

  if (spent === 0) throw await unspendable(user.userId, given, proven)
}

/** Executes a statement if the session has just begun with a passkey. Throws SIGN_IN_AGAIN. */
async function executeWithPasskey(
  statement: Prisma.Sql,
  user: UserWithFactor,
  { sessionId }: LiveSession,
): Promise<void> {
  const isProven = await transaction(async (tx) => {
    await lockUsers(tx, [user.userId])

    // after the lock, so that a session that a reset has just ended proves nothing
    const count = await tx.$executeRaw`
      SELECT 1 FROM users WHERE ${isUnchanged(user)} AND EXISTS (
        SELECT FROM sessions
        WHERE id = ${sessionId}::uuid AND user_id = users.id AND revoked_at IS NULL AND ${isUnexpired} AND ${isFreshPasskey})`
    if (count > 0) await tx.$executeRaw(statement)

    return count > 0
  })

  if (!isProven) throw new ApiError('SIGN_IN_AGAIN', { check: 'session_changed' })
}
