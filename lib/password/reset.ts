import { type Caller, unknownCaller } from '../contract/caller'
import type { Check } from '../contract/checks'
import { ApiError, invalid, invalidTokenMessage } from '../contract/errors'
import { lifetimes } from '../contract/lifetimes'
import { hashSecret, newSecret } from '../crypto/token'
import { isUnexpired } from '../database/conditions'
import { mayUsePassword } from '../database/domain-rules'
import { NothingChanged } from '../database/errors'
import { dateFromEpoch, Prisma, prisma, transaction } from '../database/prisma'
import { eventColumns, recordEvents, recordIssued } from '../event/record'
import { errorCode } from '../log/error-code'
import { noticeInsteadOfResets } from '../mail/outbox'
import { repetitionSeconds } from '../session/repetition'
import { endAllSessions, lockUsers } from '../session/revoke'
import { env } from '../settings/env'
import { verifyPassword } from './hash'
import { hashNewPassword, passwordFormatError } from './new-password'
import { insertResetToken } from './reset-token'

const maxAttempts = 30 // a rejected password counts, because checking it takes CPU time

/**
 * Conditions on a row of `reset_tokens`. The second condition also requires that the
 * token has attempts left.
 */
const isValidToken = Prisma.sql`used_at IS NULL AND ${isUnexpired}
  AND (SELECT disabled_at IS NULL AND ${mayUsePassword} FROM users WHERE id = user_id)`
const isUsableToken = Prisma.sql`${isValidToken} AND attempts < ${maxAttempts}`

/**
 * Issues a reset token, valid for `lifetimes.resetToken` seconds. Invalidates every
 * earlier token of the user.
 */
export async function issueResetToken(
  userId: string,
): Promise<{ secret: string; expiresAt: Date }> {
  const secret = newSecret()
  const user = Prisma.sql`(SELECT ${userId}::uuid AS user_id) AS given`

  const insertion = Prisma.sql`
    ${insertResetToken(secret, lifetimes.resetToken, user)}
    RETURNING extract(epoch FROM expires_at)::float8 AS "expiresAt"`

  const [row] = await prisma().$queryRaw<{ expiresAt: number }[]>(
    recordIssued('reset_link_issued', insertion, userId),
  )

  return { secret, expiresAt: dateFromEpoch(row!.expiresAt) }
}

/**
 * Sets a new password with a reset token, ends all sessions, and queues a notice. If the
 * token has just set this password, does nothing. With `removePasskeys`, deletes the
 * passkeys of a user without a second factor. Throws as in the contract.
 */
export async function resetPassword(
  token: string,
  password: string,
  caller: Caller = unknownCaller,
  asked: { removePasskeys?: boolean | undefined } = {},
) {
  const removesPasskeys = env().PASSKEYS && asked.removePasskeys === true
  const tokenHash = hashSecret(token)
  const formatError = passwordFormatError(password)

  // Counted first, because concurrent requests would otherwise all pass the limit. Not
  // counted if the format is wrong.
  const user = await countAttempt(tokenHash, formatError ? 0 : 1)
  if (!user) {
    const repeated = formatError
      ? null
      : await findRepeatedReset(tokenHash, password, caller, removesPasskeys)
    if (repeated) return repeated

    throw await rejectToken(tokenHash)
  }
  if (formatError) throw formatError

  const { userId, email } = user
  const passwordHash = await runCounted(tokenHash, () =>
    hashNewPassword(password, [email, env().APP_NAME]),
  )
  const changed = await spendToken(
    tokenHash,
    userId,
    passwordHash,
    caller,
    removesPasskeys,
  )
  if (changed) return { userId }

  // for example, a concurrent request used the token, perhaps the same one
  const repeated = await findRepeatedReset(tokenHash, password, caller, removesPasskeys)
  if (repeated) return repeated

  throw await rejectToken(tokenHash)
}

/**
 * Returns the user if the token has just set this password, so that the request is a
 * repetition. Otherwise null. Counts as an attempt. Only our page sends a key: for any other
 * client, this is a second use.
 */
async function findRepeatedReset(
  tokenHash: Hash,
  password: string,
  { idempotencyKey }: Caller,
  removesPasskeys: boolean,
) {
  const used = idempotencyKey === null ? null : await countRepetition(tokenHash)
  if (!used) return null

  const { userId, passwordHash } = used
  const verified = await runCounted(tokenHash, () =>
    verifyPassword(password, passwordHash),
  )

  const hasLeft = removesPasskeys && (await hasRemovablePasskeys(userId))

  return verified && !hasLeft ? { userId } : null
}

/** A condition on a row of `passkeys`: whether a reset may remove it. */
const isRemovable = Prisma.sql`
  (SELECT second_factor_at IS NULL FROM users WHERE users.id = passkeys.user_id)`

async function hasRemovablePasskeys(userId: string): Promise<boolean> {
  const count = await prisma().$executeRaw`
    SELECT 1 FROM passkeys WHERE user_id = ${userId}::uuid AND ${isRemovable}`.catch(
    NothingChanged.rethrow,
  )
  return count > 0
}

type UsedToken = { userId: string; passwordHash: string }

/** Adds an attempt to a token that was just used. Returns its user, or null. */
async function countRepetition(tokenHash: Hash): Promise<UsedToken | null> {
  try {
    const [used] = await prisma().$queryRaw<UsedToken[]>`
      UPDATE reset_tokens SET attempts = attempts + 1
      WHERE token_hash = ${tokenHash} AND attempts < ${maxAttempts}
        AND used_at > now() - make_interval(secs => ${repetitionSeconds})
        AND (SELECT disabled_at IS NULL AND ${mayUsePassword} FROM users WHERE id = user_id)
      RETURNING user_id AS "userId", (SELECT password_hash FROM users WHERE id = user_id) AS "passwordHash"`
    return used ?? null
  } catch (error) {
    // without part 4 of deploy/database.sql, the role may not read the hash
    if (errorCode(error as Error) === insufficientPrivilege) return null
    return NothingChanged.rethrow(error as Error)
  }
}

const insufficientPrivilege = '42501'

type Hash = Uint8Array<ArrayBuffer>

/**
 * Returns the error for a token that can't be used, with the reason for the log. The
 * statement is the same for all reasons.
 */
async function rejectToken(tokenHash: Hash): Promise<ApiError> {
  const [token] = await prisma().$queryRaw<{ check: Check }[]>`
    SELECT CASE WHEN used_at IS NOT NULL THEN 'token_used' WHEN NOT ${isUnexpired} THEN 'token_expired'
        WHEN attempts >= ${maxAttempts} THEN 'token_attempts'
        WHEN (SELECT disabled_at IS NOT NULL FROM users WHERE id = user_id) THEN 'disabled'
        WHEN (SELECT NOT ${mayUsePassword} FROM users WHERE id = user_id) THEN 'sso_only'
        ELSE 'token_changed' END AS check
    FROM reset_tokens WHERE token_hash = ${tokenHash}`.catch(NothingChanged.rethrow)

  const check = token?.check ?? 'token_unknown'

  return invalid(['token'], 'invalid_or_expired', invalidTokenMessage, check)
}

/** Adds attempts to a usable token. Returns its user, or null. */
async function countAttempt(tokenHash: Hash, attempts: number) {
  const [user] = await prisma().$queryRaw<{ userId: string; email: string }[]>`
    UPDATE reset_tokens SET attempts = attempts + ${attempts} WHERE token_hash = ${tokenHash} AND ${isUsableToken}
    RETURNING user_id AS "userId", (SELECT email FROM users WHERE id = user_id) AS email`.catch(
    NothingChanged.rethrow,
  )

  return user ?? null
}

/** Hashes or verifies a password. Subtracts the attempt if the queue is full. */
async function runCounted<Result>(
  tokenHash: Hash,
  work: () => Promise<Result>,
): Promise<Result> {
  try {
    return await work()
  } catch (error) {
    const isQueueFull = error instanceof ApiError && error.code === 'SERVICE_UNAVAILABLE'
    if (isQueueFull) await uncountAttempt(tokenHash)
    throw error
  }
}

async function uncountAttempt(tokenHash: Hash): Promise<void> {
  try {
    await prisma().$executeRaw`
      UPDATE reset_tokens SET attempts = attempts - 1 WHERE token_hash = ${tokenHash} AND attempts > 0`
  } catch {} // the attempt stays counted
}

/**
 * Uses up the token, changes the password and ends all sessions. Returns 0 if the token is
 * no longer valid.
 */
async function spendToken(
  tokenHash: Hash,
  userId: string,
  passwordHash: string,
  caller: Caller,
  removesPasskeys: boolean,
): Promise<number> {
  const claimed = Prisma.sql`(SELECT user_id FROM claimed)`
  const passkeysRemoved = removesPasskeys ? removePasskeys(claimed) : Prisma.empty
  const recorded = recordEvents(
    'password_reset',
    { userId: Prisma.sql`id` },
    Prisma.sql`FROM changed`,
  )

  return transaction(async (tx) => {
    await lockUsers(tx, [userId])

    // statement_timestamp(), because now() is the time before the wait for the lock.
    return tx.$executeRaw`
      WITH claimed AS (
        UPDATE reset_tokens SET used_at = statement_timestamp() WHERE token_hash = ${tokenHash} AND ${isValidToken}
        RETURNING user_id
      ), changed AS (
        UPDATE users SET password_hash = ${passwordHash}, password_changed_at = statement_timestamp()
        WHERE id = ${claimed}
        RETURNING id
      ), ${passkeysRemoved}${endAllSessions(claimed)}, ${noticeInsteadOfResets(claimed, caller)}${recorded}
      SELECT 1 FROM changed`
  })
}

/** Returns the CTE, before a comma, that deletes the passkeys of a user. */
function removePasskeys(userId: Prisma.Sql): Prisma.Sql {
  const columns = eventColumns(Prisma.sql`user_id`)
  const returning =
    columns === Prisma.empty ? Prisma.empty : Prisma.sql` RETURNING 1${columns}`
  const recorded = recordEvents(
    'passkey_removed',
    { userId: Prisma.sql`user_id` },
    Prisma.sql`FROM passkeys_removed`,
  )

  return Prisma.sql`passkeys_removed AS (DELETE FROM passkeys WHERE user_id = ${userId} AND ${isRemovable}${returning})${recorded}, `
}

/**
 * The state of a reset link when it is opened. A `live` link is valid. `email` is the
 * address of the account. `hasPasskeys`: whether the reset can remove passkeys.
 */
export type ResetLink =
  | { kind: 'live'; email: string; hasPasskeys?: boolean }
  | { kind: 'used' | 'expired' | 'invalid' }

/** Returns the state of a reset link, by the SHA-256 of its token. Changes nothing. */
export async function findResetLink(tokenHash: Uint8Array): Promise<ResetLink> {
  const hasPasskeys = env().PASSKEYS
    ? Prisma.sql`EXISTS (
        SELECT FROM passkeys WHERE passkeys.user_id = reset_tokens.user_id AND ${isRemovable}) AS "hasPasskeys",`
    : Prisma.empty

  const [link] = await prisma().$queryRaw<ResetLink[]>`
    SELECT ${hasPasskeys} (SELECT email FROM users WHERE id = user_id) AS email,
      CASE WHEN used_at IS NOT NULL THEN 'used' WHEN expires_at <= now() THEN 'expired' WHEN ${isUsableToken} THEN 'live'
        ELSE 'invalid' END AS kind
    FROM reset_tokens WHERE token_hash = ${tokenHash}`
  return link ?? { kind: 'invalid' }
}
