import { Prisma, type Transaction } from '../database/prisma'
import { withEvents } from '../event/record'
import { endAccess } from '../user/user'

/** What a request has changed, for the log. */
export type Effect =
  | 'created'
  | 'adopted'
  | 'disabled'
  | 'enabled'
  | 'renamed'
  | 'deleted'

/**
 * Disables or enables a user for the directory of a connection, which must be live for the
 * user's domain. Never enables a user whom an operator has disabled.
 */
export async function setActive(
  tx: Transaction,
  connectionId: string,
  userId: string,
  isActive: boolean,
): Promise<Effect[]> {
  return isActive ? enable(tx, userId) : disable(tx, connectionId, userId)
}

/** Locks and disables a user, ends all sessions, and invalidates codes and links. */
export async function disable(
  tx: Transaction,
  connectionId: string,
  userId: string,
): Promise<Effect[]> {
  await endAccess(tx, userId)
  const change = Prisma.sql`
    UPDATE users SET disabled_at = now(), disabled_by = ${connectionId}::uuid
    WHERE id = ${userId}::uuid AND disabled_at IS NULL`
  const changed = await tx.$executeRaw(withEvents(change, 'user_disabled', { userId }))

  return changed > 0 ? ['disabled'] : []
}

async function enable(tx: Transaction, userId: string): Promise<Effect[]> {
  const change = Prisma.sql`
    UPDATE users SET disabled_at = NULL, disabled_by = NULL
    WHERE id = ${userId}::uuid AND disabled_at IS NOT NULL AND disabled_by IS NOT NULL`
  const changed = await tx.$executeRaw(withEvents(change, 'user_enabled', { userId }))

  return changed > 0 ? ['enabled'] : []
}
