import { type Caller, unknownCaller } from '../contract/caller'
import { invalid } from '../contract/errors'
import { Prisma, prisma, transaction } from '../database/prisma'
import { recordEvents } from '../event/record'
import { notice } from '../mail/outbox'
import type { LiveSession } from '../session/find'
import { endAllSessions, lockUsers } from '../session/revoke'

const isUuid = (text: string) => /^[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}$/i.test(text)

/**
 * Gives a passkey of a user another name of 1 to 60 characters. Ignores the ID of any
 * other passkey. Throws VALIDATION_ERROR.
 */
export async function renamePasskey(
  { userId }: LiveSession,
  { passkeyId, name }: { passkeyId: string; name: string },
): Promise<void> {
  const trimmed = name.trim()
  if (!/^[^\p{Cc}\p{Cs}]{1,60}$/u.test(trimmed))
    throw invalid(['name'], 'invalid_name', 'Enter a name of 1 to 60 characters.')
  if (!isUuid(passkeyId)) return

  await prisma().passkey.updateMany({
    where: { id: passkeyId, userId },
    data: { name: trimmed },
  })
}

/**
 * Removes a passkey of a session's user, ends all other sessions, and queues a notice.
 * Ignores the ID of any other passkey.
 */
export async function removePasskey(
  { userId, sessionId }: LiveSession,
  { passkeyId }: { passkeyId: string },
  caller: Caller,
): Promise<void> {
  if (!isUuid(passkeyId)) return

  const isRemoved = Prisma.sql`id = ${passkeyId}::uuid AND user_id = ${userId}::uuid`
  await transaction(async (tx) => {
    await lockUsers(tx, [userId])
    await tx.$executeRaw(removal(isRemoved, caller, sessionId))
  })
}

/**
 * Removes all passkeys of a user and ends all sessions, for an operator. Returns how many
 * sessions ended, or null if the user had no passkey.
 */
export async function removeAllPasskeys(
  userId: string,
  language: string,
): Promise<number | null> {
  return transaction(async (tx) => {
    await lockUsers(tx, [userId])
    const count = await tx.passkey.count({ where: { userId } })
    const isRemoved = Prisma.sql`user_id = ${userId}::uuid`
    return count > 0
      ? tx.$executeRaw(removal(isRemoved, { ...unknownCaller, language }))
      : null
  })
}

/**
 * Returns a statement that deletes passkeys of one user and, if there were any, ends
 * sessions. If the user has no other factor, the password alone signs in again, or sets
 * one up. Its row count is the number of ended sessions. Lock order: user, passkey,
 * session, email.
 */
function removal(
  isRemoved: Prisma.Sql,
  caller: Caller,
  spared: string | null = null,
): Prisma.Sql {
  const user = Prisma.sql`(SELECT user_id FROM removed LIMIT 1)`
  const recorded = recordEvents(
    'passkey_removed',
    { userId: Prisma.sql`user_id` },
    Prisma.sql`FROM removed`,
  )

  // The statement still sees the deleted rows in `passkeys`.
  return Prisma.sql`
    WITH removed AS (DELETE FROM passkeys WHERE ${isRemoved} RETURNING user_id),
      switched_off AS (
        UPDATE users SET second_factor_at = NULL
        WHERE id = ${user} AND second_factor_at IS NOT NULL
          AND NOT EXISTS (SELECT FROM second_factors WHERE second_factors.user_id = users.id)
          AND (SELECT count(*) FROM passkeys WHERE passkeys.user_id = users.id) = (SELECT count(*) FROM removed)
        RETURNING id
      ), codes AS (DELETE FROM recovery_codes WHERE user_id = (SELECT id FROM switched_off)),
      ${endAllSessions(user, spared)}, ${notice('passkey-removed', user, caller)}${recorded}
    SELECT id FROM revoked`
}
