import type { Caller } from '../contract/caller'
import { lifetimes } from '../contract/lifetimes'
import { Prisma, prisma } from '../database/prisma'
import { describeCause, log } from '../log/log'
import { sendAfterRequest } from '../mail/sender'
import { sendsMail } from '../settings/env'
import { makeKey } from './attempts'
import { readKnownBrowser } from './known-browser'
import { readAccount } from './sign-in'

const maxMailsPerDay = 10 // for programs, which sign in often and send no cookie

/**
 * `isRepeated`: whether an earlier request started it, which may have queued the email.
 * `kind`: of the email, by default that about a password.
 */
type Session = {
  userId: string
  sessionId: string
  isRepeated: boolean
  kind?: 'new-device' | 'new-device-passkey'
}

/**
 * Emails a user after a sign-in with the password or a passkey in a new browser, except after the
 * first sign-in. Sends one email a day about the same device and network, because some
 * browsers forget their cookies. Never throws.
 */
export async function mailNewDevice(session: Session, caller: Caller): Promise<void> {
  if (!sendsMail()) return

  try {
    const { email } = await prisma().user.findUniqueOrThrow({
      where: { id: session.userId },
      select: { email: true },
    })
    const known = readKnownBrowser(caller.knownBrowser, readAccount(email))

    const queued = await queueNotice(session, caller, known?.signedInAt ?? null)
    if (queued > 0) await sendAfterRequest()
  } catch (error) {
    log.error(
      { cause: describeCause(error) },
      'an email about a new device could not be queued',
    )
  }
}

/** A condition on a row of `mails`: both kinds share the limit of a day. */
const isOfNewDevice = Prisma.sql`kind IN ('new-device', 'new-device-passkey')`

/**
 * Queues an email, unless this browser has signed in with the current password. Returns
 * the number of queued emails.
 */
function queueNotice(
  { userId, sessionId, isRepeated, kind = 'new-device' }: Session,
  { language, device, network }: Caller,
  signedInAt: number | null,
): Promise<number> {
  const notified = makeKey(['new device', userId, device, network])

  // All sessions since a recent change of the password are still stored. If there is no
  // other, this is the first. The row in `password_attempts` makes concurrent sign-ins
  // queue only one email.
  return prisma().$executeRaw`
    WITH signed_in AS MATERIALIZED (
      SELECT id FROM users
      WHERE id = ${userId} AND (${signedInAt}::float8 IS NULL OR password_changed_at > to_timestamp(${signedInAt}))
        AND (coalesce(password_changed_at, created_at) < now() - make_interval(secs => ${lifetimes.session})
          OR EXISTS (SELECT FROM sessions WHERE user_id = ${userId}::uuid AND id <> ${sessionId}::uuid))
        AND NOT (${isRepeated} AND EXISTS (
          SELECT FROM mails WHERE user_id = ${userId} AND ${isOfNewDevice}
            AND requested_at >= (SELECT created_at FROM sessions WHERE id = ${sessionId}::uuid)))
        AND ${maxMailsPerDay} > (SELECT count(*) FROM mails
          WHERE user_id = ${userId} AND requested_at > now() - interval '1 day' AND ${isOfNewDevice})
    ), first_today AS (
      INSERT INTO password_attempts AS stored (key_hash, count, expires_at)
      SELECT decode(${notified}, 'hex'), 1, now() + interval '1 day' FROM signed_in
      ON CONFLICT (key_hash) DO UPDATE SET expires_at = EXCLUDED.expires_at WHERE stored.expires_at <= now()
      RETURNING key_hash
    )
    INSERT INTO mails (kind, user_id, language, device)
    SELECT ${kind}, id, ${language}, ${device} FROM signed_in WHERE EXISTS (SELECT FROM first_today)`
}
