import { prisma } from '../database/prisma'
import { describeCause, log } from '../log/log'
import type { Origin } from './origin'

/** A sign-in that was rejected. `check` is the reason in the log. */
export type FailedSignIn = {
  method: 'password' | 'passkey' | 'sso' | 'code'
  check: string
  /** The forms of the address that was entered. They are not stored. */
  emails?: string[]
  /** The ID of the user whom the request names, which may be forged. */
  userId?: string | null
  connectionId?: string | null
  /** The account at the provider of the connection, if it was verified. */
  identity?: { issuer: string; subject: string } | undefined
}

/**
 * Writes the event of a failed sign-in. Call it in `after()`, so that its duration tells
 * nobody who has an account. The statement is the same for every address, user and account,
 * known or not. If the request has no address, it is written only about a known user or
 * connection: anybody could fill the table otherwise. Never throws.
 */
export async function recordFailedSignIn(
  failed: FailedSignIn,
  { device = null, network = null, requestId = null }: Omit<Origin, 'actor'>,
): Promise<void> {
  const { method, check, emails = [], userId = null, connectionId = null } = failed
  const { issuer = null, subject = null } = failed.identity ?? {}
  const hasAddress = emails.length > 0

  const written = prisma().$executeRaw`
    WITH tried AS MATERIALIZED (
      SELECT coalesce(
        (SELECT id FROM users WHERE email = ANY (${emails}::text[]) ORDER BY email = ${emails[0] ?? null}::text DESC LIMIT 1),
        (SELECT id FROM users WHERE id = ${userId}::uuid),
        (SELECT user_id FROM identities
          WHERE connection_id = ${connectionId}::uuid AND issuer = ${issuer}::text AND subject = ${subject}::text)) AS user_id
    )
    INSERT INTO events (kind, actor, user_id, method, connection_id, "check", device, network, request_id)
    SELECT 'sign_in_failed', 'user', user_id, ${method}, ${connectionId}::uuid, ${check}, ${device}, ${network}, ${requestId}
    FROM tried WHERE user_id IS NOT NULL OR ${hasAddress} OR ${connectionId}::uuid IS NOT NULL`

  await written.catch((error) =>
    log.error(
      { cause: describeCause(error) },
      'the event of a failed sign-in could not be written',
    ),
  )
}
