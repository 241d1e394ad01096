import { ApiError, wrongPasswordMessage } from '../contract/errors'
import { mayUsePassword } from '../database/password-policy'
import { Prisma, prisma, transaction } from '../database/prisma'
import { type MailRequest, noticeInsteadOfResets } from '../mail/outbox'
import type { LiveSession } from '../session/find'
import { endAllSessions, lockUser } from '../session/revoke'
import { env, sendsMail } from '../settings/env'
import { releaseAttempt } from './attempts'
import { hashNewPassword } from './hash'
import { passwordFormatError } from './rules'
import { type Client, checkPassword } from './sign-in'

/** A condition on a row of `users`: whether the user has a password that can be used. */
const hasPassword = Prisma.sql`disabled_at IS NULL AND ${mayUsePassword} AND password_hash IS NOT NULL`

/** Returns whether a user has a password to change. */
export async function canChangePassword(userId: string): Promise<boolean> {
  return (await prisma().$executeRaw`SELECT 1 FROM users WHERE id = ${userId} AND ${hasPassword}`) > 0
}

/**
 * Replaces the password of a session's user, and ends all other sessions. The check of the current one counts as an
 * attempt to sign in. Throws SIGN_IN_INVALID if that is wrong, also if it was changed meanwhile; RATE_LIMITED; and as
 * a reset does, VALIDATION_ERROR for `password` or SERVICE_UNAVAILABLE.
 */
export async function changePassword(
  session: LiveSession,
  { currentPassword, password }: { currentPassword: string; password: string },
  client: Client,
): Promise<void> {
  const formatError = passwordFormatError(password)
  if (formatError) throw formatError
  const { passwordHash: storedHash, attempt } = await checkPassword(session, currentPassword, client)
  await releaseAttempt(attempt)
  const passwordHash = await hashNewPassword(password, [session.email, env().APP_NAME])
  const changed = await replaceHash(session, storedHash, passwordHash, client)
  if (!changed) throw new ApiError('SIGN_IN_INVALID', { message: wrongPasswordMessage })
}

/** Returns whether the user still had that hash, and now has the other. */
async function replaceHash(
  { userId, familyId }: LiveSession,
  storedHash: string,
  passwordHash: string,
  request: MailRequest,
): Promise<boolean> {
  const notice = sendsMail()
    ? Prisma.sql`, ${noticeInsteadOfResets(Prisma.sql`(SELECT id FROM changed)`, request)}`
    : Prisma.empty
  const changed = await transaction(async (tx) => {
    await lockUser(tx, userId)
    // statement_timestamp(), because now() is from before the wait for the user.
    return tx.$executeRaw`
      WITH changed AS (
        UPDATE users SET password_hash = ${passwordHash}, password_changed_at = statement_timestamp()
        WHERE id = ${userId} AND password_hash = ${storedHash} AND disabled_at IS NULL AND ${mayUsePassword}
        RETURNING id
      ), ${endAllSessions(Prisma.sql`(SELECT id FROM changed)`, familyId)}${notice}
      SELECT 1 FROM changed`
  })
  return changed > 0
}
