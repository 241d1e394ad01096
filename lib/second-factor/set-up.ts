import type { Caller } from '../contract/caller'
import { ApiError } from '../contract/errors'
import { Prisma, transaction } from '../database/prisma'
import { errorCode } from '../log/error-code'
import { notice } from '../mail/outbox'
import {
  addKnownBrowser,
  endIfForbidden,
  repeatPasswordSession,
  type SignIn,
} from '../password/sign-in'
import { hashBrowser } from '../session/repetition'
import { deleteCodes, lockUsers, revokeSessions } from '../session/revoke'
import {
  claimedColumns,
  describeStart,
  insertSession,
  type StartedSession,
  startedColumns,
} from '../session/start'
import { issueTokens } from '../session/tokens'
import { env } from '../settings/env'
import { findSetUp, type SetUp } from './challenge'
import {
  type Enrolment,
  findConfirmedSteps,
  makeEnrolment,
  verifyFirstCode,
} from './change'
import { hashRecoveryCode, newRecoveryCodes } from './codes'
import { encrypt } from './encryption'
import { findFactor, isUnchanged } from './find'

// The set-up of the first factor inside a sign-in, with SECOND_FACTOR=required. The
// challenge of the sign-in stands for a session, which the last step starts.

/**
 * Returns the user of the challenge of a set-up. `isDone`: only a repetition of the last
 * step can succeed. Throws CHALLENGE_INVALID.
 */
export async function requireSetUp(challenge: string): Promise<SetUp> {
  const user = await findSetUp(challenge)
  if (typeof user === 'string') throw new ApiError('CHALLENGE_INVALID', { check: user })

  return user
}

/** Throws CHALLENGE_INVALID if the user of a set-up has a factor meanwhile. */
export function requireOpen({ isDone }: SetUp): void {
  if (isDone) throw new ApiError('CHALLENGE_INVALID', { check: 'challenge_used' })
}

/**
 * Returns a new TOTP secret, and the enrolment with which the set-up confirms it. Throws
 * CHALLENGE_INVALID.
 */
export function startAppSetUp(user: SetUp): ReturnType<typeof makeEnrolment> {
  requireOpen(user)
  return makeEnrolment(user, user)
}

/** The recovery codes, none after a repetition, and the session that was started. */
export type Completed = { recoveryCodes: string[]; signedIn: SignIn }

/**
 * Stores the authenticator app of a set-up, and starts its session. If the same browser
 * repeats the request, returns the same session again. Throws as in the contract.
 */
export async function confirmAppSetUp(
  user: SetUp,
  given: Enrolment,
  caller: Caller,
): Promise<Completed> {
  const completed = user.isDone ? null : await storeApp(user, given, caller)
  const result = completed ?? (await repeatApp(user, given, caller))
  if (result) return result

  throw new ApiError('CHALLENGE_INVALID', { check: 'challenge_used' })
}

async function storeApp(
  user: SetUp,
  given: Enrolment,
  caller: Caller,
): Promise<Completed | null> {
  const { secret, step } = await verifyFirstCode(user, user, given)
  const encrypted = await encrypt(secret, `totp ${user.userId}`)
  const stored = Prisma.sql`
    stored AS (
      INSERT INTO second_factors (user_id, encrypted_secret, last_step)
      SELECT id, ${encrypted}, ${step}::int FROM users WHERE ${isOpen(user)}
      RETURNING user_id
    )`

  return completeSetUp(
    user,
    stored,
    { amr: ['pwd', 'otp', 'mfa'], kind: 'second-factor-on', event: 'second_factor_on' },
    caller,
  )
}

async function repeatApp(
  { userId, sessionId }: SetUp,
  given: Enrolment,
  caller: Caller,
): Promise<Completed | null> {
  const user = await findFactor(userId)
  if (!user || user.encryptedSecret === null) return null

  const steps = await findConfirmedSteps(user, { userId, sessionId }, given)
  const isSameCode = Prisma.sql`'otp' = ANY (amr) AND (
    SELECT last_step FROM second_factors WHERE second_factors.user_id = sessions.user_id) = ANY (${steps}::int[])`

  return repeatSetUp({ sessionId, email: user.email }, isSameCode, caller)
}

/**
 * Returns a condition on a row of `users`: whether the user of a set-up still has no
 * factor.
 */
export function isOpen(user: SetUp): Prisma.Sql {
  const hasNoPasskey = env().PASSKEYS
    ? Prisma.sql`AND NOT EXISTS (SELECT FROM passkeys WHERE passkeys.user_id = users.id)`
    : Prisma.empty

  return Prisma.sql`${isUnchanged(user)} AND second_factor_at IS NULL ${hasNoPasskey}`
}

/** What a set-up has stored: its notice, its event, and the `amr` of the session. */
type SetUpKind = { amr: string[] } & (
  | { kind: 'second-factor-on'; event: 'second_factor_on' }
  | { kind: 'passkey-added'; event: 'passkey_added' }
)

/**
 * Completes a set-up, in one transaction: stores the factor and ten recovery codes, ends
 * the sessions of the user, starts that of the challenge, queues a notice, and writes the
 * events. `stored`: the CTE `stored (user_id)`, which stores the factor of a user who meets
 * `isOpen`. Returns null if it stored none, or the challenge has started a session before.
 */
export async function completeSetUp(
  user: SetUp,
  stored: Prisma.Sql,
  kind: SetUpKind,
  caller: Caller,
): Promise<Completed | null> {
  const { userId, sessionId } = user
  const recoveryCodes = newRecoveryCodes()
  const enabling = enable(stored, recoveryCodes)

  const started = startSession(user, enabling, kind, caller)
  const row = await started.catch((error: Error) => {
    // unique_violation: the challenge has already started a session
    if (errorCode(error) === '23505') return null
    throw error
  })
  if (!row || (await endIfForbidden(sessionId, userId))) return null

  const tokens = issueTokens({ sessionId, connection: null, generation: 0, ...row })
  const session = { ...tokens, userId, sessionId, isRepeated: false, startedAt: row.now }

  return { recoveryCodes, signedIn: await addKnownBrowser(session, row.email, caller) }
}

/**
 * Returns CTEs that store a factor and recovery codes. `enabled (id, email)` has the user,
 * for whom the password alone starts no session from then on.
 */
function enable(stored: Prisma.Sql, recoveryCodes: string[]): Prisma.Sql {
  const hashes = recoveryCodes.map(hashRecoveryCode)

  return Prisma.sql`${stored}, enabled AS (
      UPDATE users SET second_factor_at = statement_timestamp()
      WHERE id = (SELECT user_id FROM stored)
      RETURNING id, email
    ), codes AS (
      INSERT INTO recovery_codes (user_id, code_hash) SELECT id, unnest(${hashes}::bytea[]) FROM enabled
    )`
}

/** Starts the session of a set-up, whose factor `enabling` stores. Null if it stores none. */
async function startSession(
  { userId, sessionId }: SetUp,
  enabling: Prisma.Sql,
  { amr, kind, event }: SetUpKind,
  caller: Caller,
): Promise<(StartedSession & { email: string }) | null> {
  const enabled = Prisma.sql`(SELECT id FROM enabled)`
  const claimed = claimedColumns({
    userId: Prisma.sql`id`,
    method: Prisma.sql`'password'`,
    amr: Prisma.sql`${amr}`,
  })

  const heldIds = await caller.sessionIds
  const isEnded = Prisma.sql`
    EXISTS (SELECT FROM enabled) AND id = ANY (ARRAY(
      SELECT id FROM sessions WHERE user_id = ${enabled} AND revoked_at IS NULL
      UNION ALL SELECT unnest(${heldIds}::uuid[])))`
  const about = { userId: Prisma.sql`id`, sessionId }
  const events = [
    { kind: event, about, from: Prisma.sql`FROM enabled` },
    describeStart(sessionId),
  ]

  return transaction(async (tx) => {
    // In an earlier statement, so that the next one sees factors and sessions as they are
    // after the wait for the lock.
    await lockUsers(tx, [userId])
    const [row] = await tx.$queryRaw<(StartedSession & { email: string })[]>`
      WITH ${enabling}, claimed AS MATERIALIZED (
        SELECT ${claimed} FROM enabled
      ), ${insertSession(sessionId, caller.device, hashBrowser(caller))},
      ${revokeSessions(isEnded, 'session_ended', events)},
      ${deleteCodes(enabled)}, ${notice(kind, enabled, caller)}
      SELECT ${startedColumns}, (SELECT email FROM enabled) AS email FROM started`

    return row ?? null
  })
}

/**
 * Returns the session that a set-up has just started in this browser, without codes, which
 * are not stored. Null if there is none. `isSameFactor`: a condition on the session.
 */
export async function repeatSetUp(
  { sessionId, email }: { sessionId: string; email: string },
  isSameFactor: Prisma.Sql,
  caller: Caller,
): Promise<Completed | null> {
  const session = await repeatPasswordSession([sessionId], caller, null, isSameFactor)
  if (!session) return null

  return { recoveryCodes: [], signedIn: await addKnownBrowser(session, email, caller) }
}
