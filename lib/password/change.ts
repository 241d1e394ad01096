import type { Caller } from '../contract/caller'
import { ApiError, wrongPasswordMessage } from '../contract/errors'
import { mayUsePassword } from '../database/domain-rules'
import { Prisma, prisma, transaction } from '../database/prisma'
import { noticeInsteadOfResets } from '../mail/outbox'
import type { LiveSession } from '../session/find'
import { endAllSessions, lockUsers } from '../session/revoke'
import { env } from '../settings/env'
import { hashNewPassword, passwordFormatError } from './new-password'
import { checkPassword } from './sign-in'

/** Returns whether a user has a password to change. */
export async function canChangePassword(userId: string): Promise<boolean> {
  const count = await prisma().$executeRaw`
    SELECT 1 FROM users WHERE id = ${userId} AND disabled_at IS NULL AND ${mayUsePassword} AND password_hash IS NOT NULL`
  return count > 0
}

type Passwords = { currentPassword: string; password: string }

/**
 * Replaces the password of a session's user, and ends all other sessions. Throws as in
 * the contract.
 */
export async function changePassword(
  session: LiveSession,
  passwords: Passwords,
  caller: Caller,
): Promise<void> {
  const { userId, sessionId } = session
  const { currentPassword, password } = passwords
  const formatError = passwordFormatError(password)
  if (formatError) throw formatError

  const passwordHash = await checkPassword(session, currentPassword, caller)
  const newHash = await hashNewPassword(password, [session.email, env().APP_NAME])
  const changed = Prisma.sql`(SELECT id FROM changed)`

  const count = await transaction(async (tx) => {
    await lockUsers(tx, [userId])

    // statement_timestamp(), because now() is the time before the wait for the lock.
    return tx.$executeRaw`
      WITH changed AS (
        UPDATE users SET password_hash = ${newHash}, password_changed_at = statement_timestamp()
        WHERE id = ${userId} AND password_hash = ${passwordHash} AND disabled_at IS NULL AND ${mayUsePassword}
        RETURNING id
      ), ${endAllSessions(changed, sessionId)}, ${noticeInsteadOfResets(changed, caller)}
      SELECT 1 FROM changed`
  })

  if (count === 0)
    throw new ApiError('SIGN_IN_INVALID', {
      message: wrongPasswordMessage,
      check: 'user_changed',
    })
}
