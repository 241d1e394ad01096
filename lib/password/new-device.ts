import { lifetimes } from '../contract/lifetimes'
import { prisma } from '../database/prisma'
import { describeCause, log } from '../log'
import type { MailRequest } from '../mail/outbox'
import { sendAfterRequest } from '../mail/sender'
import { sendsMail } from '../settings/env'
import { readKnownBrowser } from './known-browser'
import { accountOf } from './sign-in'

const maxMailsPerDay = 10 // a program that signs in often sends no cookie

/** Emails a user who signed in with the password in an unknown browser, unless it was the first sign-in. Never throws. */
export async function mailNewDevice(
  { userId, sessionId }: { userId: string; sessionId: string },
  knownBrowser: string | null,
  { language, device }: MailRequest,
): Promise<void> {
  if (!sendsMail()) return
  try {
    const { email } = await prisma().user.findUniqueOrThrow({ where: { id: userId }, select: { email: true } })
    const signedInAt = readKnownBrowser(knownBrowser, accountOf(email))?.signedInAt ?? null
    // Session rows are kept for longer than a session lasts: with a younger password, no row means no earlier sign-in.
    const queued = await prisma().$executeRaw`
      INSERT INTO mails (kind, user_id, language, device)
      SELECT 'new-device', id, ${language}, ${device} FROM users
      WHERE id = ${userId} AND (${signedInAt}::float8 IS NULL OR password_changed_at > to_timestamp(${signedInAt}))
        AND (coalesce(password_changed_at, created_at) < now() - make_interval(secs => ${lifetimes.session})
          OR EXISTS (SELECT FROM sessions WHERE user_id = ${userId}::uuid AND id <> ${sessionId}::uuid))
        AND ${maxMailsPerDay} > (SELECT count(*) FROM mails
          WHERE user_id = ${userId} AND requested_at > now() - interval '1 day' AND kind = 'new-device')`
    if (queued > 0) await sendAfterRequest()
  } catch (error) {
    log.error({ cause: describeCause(error) }, 'an email about a new device could not be queued')
  }
}
