import type { Caller } from '../contract/caller'
import { mayUsePassword } from '../database/domain-rules'
import { NothingChanged } from '../database/errors'
import { Prisma, prisma, transaction } from '../database/prisma'
import { recordEvents } from '../event/record'
import { noticeInsteadOfResets } from '../mail/outbox'
import type { LiveSession } from '../session/find'
import { repetitionSeconds } from '../session/repetition'
import { endAllSessions, lockUsers } from '../session/revoke'
import { env } from '../settings/env'
import { releaseAttempt } from './attempts'
import { verifyPassword } from './hash'
import { hashNewPassword, passwordFormatError } from './new-password'
import { tryPassword, wrongPassword } from './sign-in'

/** Returns whether a user has a password to change. */
export async function canChangePassword(userId: string): Promise<boolean> {
  const count = await prisma().$executeRaw`
    SELECT 1 FROM users WHERE id = ${userId} AND disabled_at IS NULL AND ${mayUsePassword} AND password_hash IS NOT NULL`
  return count > 0
}

type Passwords = { currentPassword: string; password: string }

/**
 * Replaces the password of a session's user, and ends all other sessions. If the session
 * has just done so, does nothing. Throws as in the contract.
 */
export async function changePassword(
  session: LiveSession,
  passwords: Passwords,
  caller: Caller,
): Promise<void> {
  const { currentPassword, password } = passwords
  const formatError = passwordFormatError(password)
  if (formatError) throw formatError

  const { attempt, passwordHash, check } = await tryPassword(
    session,
    currentPassword,
    caller,
  )
  const releaseAndThrow = async (error: unknown) => {
    await releaseAttempt(attempt)
    throw error
  }

  // after the first request, the current password is the new one
  const mayBeRepeated = passwordHash === null || currentPassword === password
  const isDone =
    mayBeRepeated && (await isRepeated(session, password).catch(releaseAndThrow))
  if (passwordHash === null && !isDone) throw wrongPassword(check)

  await releaseAttempt(attempt)
  if (isDone || passwordHash === null) return

  const newHash = await hashNewPassword(password, [session.email, env().APP_NAME])
  const isChanged = await replaceHash(session, passwordHash, newHash, caller)

  // the same request may have been processed at the same time
  if (!isChanged && !(await isRepeated(session, password)))
    throw wrongPassword('user_changed')
}

/**
 * Whether the session has just changed the password to this one, so that the request is a
 * repetition. A change ends every other session that began before it.
 */
async function isRepeated(
  { userId, sessionId }: LiveSession,
  password: string,
): Promise<boolean> {
  const [changed] = await prisma().$queryRaw<{ passwordHash: string }[]>`
    SELECT password_hash AS "passwordHash" FROM users
    WHERE id = ${userId} AND disabled_at IS NULL AND ${mayUsePassword}
      AND password_changed_at > now() - make_interval(secs => ${repetitionSeconds})
      AND password_changed_at > (SELECT created_at FROM sessions WHERE id = ${sessionId} AND revoked_at IS NULL)`.catch(
    NothingChanged.rethrow,
  )

  return changed ? (await verifyPassword(password, changed.passwordHash)) !== null : false
}

/**
 * Stores the new hash, unless the stored one was changed since the password was verified.
 * Returns whether it did.
 */
async function replaceHash(
  { userId, sessionId }: LiveSession,
  passwordHash: string,
  newHash: string,
  caller: Caller,
): Promise<boolean> {
  const changed = Prisma.sql`(SELECT id FROM changed)`
  const recorded = recordEvents(
    'password_changed',
    { userId: Prisma.sql`id`, sessionId },
    Prisma.sql`FROM changed`,
  )

  const count = await transaction(async (tx) => {
    await lockUsers(tx, [userId])

    // statement_timestamp(), because now() is the time before the wait for the lock.
    return tx.$executeRaw`
      WITH changed AS (
        UPDATE users SET password_hash = ${newHash}, password_changed_at = statement_timestamp()
        WHERE id = ${userId} AND password_hash = ${passwordHash} AND disabled_at IS NULL AND ${mayUsePassword}
        RETURNING id
      ), ${endAllSessions(changed, sessionId)}, ${noticeInsteadOfResets(changed, caller)}${recorded}
      SELECT 1 FROM changed`
  })

  return count > 0
}
