import { type Caller, unknownCaller } from '../contract/caller'
import type { Check } from '../contract/checks'
import { mayUsePassword, needsStart } from '../database/domain-rules'
import {
  dateFromEpoch,
  Prisma,
  prisma,
  type Transaction,
  transaction,
} from '../database/prisma'
import { writeEvent } from '../event/record'
import { sendsMail } from '../settings/env'
import type { MailClaim } from './claimed'
import type { MailKind, MailKindName } from './kinds'

/**
 * An email that this process has claimed, with the language and the device of the request
 * that caused it. `email` is `former_email`, or else the user's current address.
 */
export type ClaimedMail = Pick<Caller, 'language' | 'device'> &
  MailClaim & { kind: MailKindName; requestedAt: Date; ageSeconds: number; email: string }

/**
 * A claim lasts longer than the slowest attempt (see transport.ts), so that an email has
 * only one sender at a time.
 */
const claimSeconds = 120

/** How soon an email is sent again that a busy mail server has not seen. */
const busySeconds = 15

/**
 * Queues a reset email for the user with one of these addresses. If the user may not use
 * a password, or is a guest without one, the link begins a sign-in instead. Returns null, or the reason if nothing was
 * queued: above the caps, or without such a user, it executes only one SELECT.
 */
export async function queueResetMail(
  emails: string[],
  { language, device }: Caller,
  priority = 0,
): Promise<Check | null> {
  return transaction(async (tx) => {
    const { userId, check } = await findRecipient(tx, emails)
    if (userId === null) return check

    // Not FOR UPDATE, which would block sign-ins. The next statement checks the caps
    // again, with a newer snapshot.
    const [user] = await tx.$queryRaw<{ canReset: boolean }[]>`
      SELECT ${mayUsePassword} AND NOT ${needsStart} AS "canReset"
      FROM users WHERE id = ${userId} AND disabled_at IS NULL FOR NO KEY UPDATE`
    if (!user) return 'disabled'

    const kind: MailKindName = user.canReset ? 'reset' : 'sign-in'
    const queued = await tx.$executeRaw`
      WITH allowed AS (
        SELECT WHERE ${isWithinCaps(Prisma.sql`${userId}`)}
      ), renewed AS (
        UPDATE mails SET kind = ${kind}, requested_at = now(), language = ${language}, device = ${device}, priority = LEAST(priority, ${priority}),
          due_at = CASE WHEN due_at > now() + make_interval(secs => ${claimSeconds}) THEN now() ELSE due_at END
        WHERE user_id = ${userId} AND requested_at > now() - interval '1 day' AND ${isRequested}
          AND due_at IS NOT NULL AND EXISTS (SELECT FROM allowed)
        RETURNING id
      ), created AS (
        INSERT INTO mails (kind, user_id, language, device, priority)
        SELECT ${kind}, ${userId}::uuid, ${language}, ${device}, ${priority}::int
        WHERE EXISTS (SELECT FROM allowed) AND NOT EXISTS (SELECT FROM renewed)
        RETURNING id
      )
      SELECT id FROM renewed UNION ALL SELECT id FROM created`

    return queued > 0 ? null : 'mail_limit'
  })
}

type Recipient = { userId: string; check: null } | { userId: null; check: Check }

/** Returns the ID of the user with one of these addresses, or why there is no email. */
async function findRecipient(tx: Transaction, emails: string[]): Promise<Recipient> {
  // No lock, because PostgreSQL writes locks to disk, and under load, the duration would
  // reveal that a user exists.
  type Candidate = { id: string | null; isKnown: boolean; isAllowed: boolean }
  const [candidate] = await tx.$queryRaw<Candidate[]>`
    WITH candidate AS MATERIALIZED (
      SELECT (SELECT id FROM users WHERE email = ANY (${emails}) AND disabled_at IS NULL
        ORDER BY email = ${emails[0]!} DESC LIMIT 1) AS id
    )
    SELECT id, EXISTS (SELECT FROM users WHERE email = ANY (${emails})) AS "isKnown",
      ${isWithinCaps(Prisma.sql`candidate.id`)} AS "isAllowed"
    FROM candidate`

  const { id, isKnown, isAllowed } = candidate!
  if (id === null) return { userId: null, check: isKnown ? 'disabled' : 'unknown_user' }

  return isAllowed ? { userId: id, check: null } : { userId: null, check: 'mail_limit' }
}

/**
 * Queues an invitation for a user without a password, in place of an unsent one. If the
 * user may not use a password, the link opens the sign-in page. Returns false above the
 * caps or without such a user.
 */
export async function queueInvitation(
  userId: string,
  language: string,
): Promise<boolean> {
  return transaction(async (tx) => {
    const [user] = await tx.$queryRaw<{ mayUsePassword: boolean }[]>`
      SELECT ${mayUsePassword} AS "mayUsePassword" FROM users
      WHERE id = ${userId} AND disabled_at IS NULL AND (password_hash IS NULL OR NOT ${mayUsePassword})
      FOR NO KEY UPDATE`

    if (!user) return false

    const kind: MailKindName = user.mayUsePassword ? 'invitation' : 'sso-invitation'
    const queued = await tx.$executeRaw`
      WITH allowed AS MATERIALIZED (
        SELECT WHERE ${isWithinCaps(Prisma.sql`${userId}::uuid`, isInvitation)}
      ), deleted AS (
        DELETE FROM mails
        WHERE user_id = ${userId}::uuid AND requested_at > now() - interval '1 day' AND ${isInvitation}
          AND due_at IS NOT NULL AND EXISTS (SELECT FROM allowed)
      )
      INSERT INTO mails (kind, user_id, language) SELECT ${kind}, ${userId}::uuid, ${language} FROM allowed`
    if (queued > 0) await writeEvent(tx, 'user_invited', { userId })

    return queued > 0
  })
}

/** Queues the notice that an operator can sign in as a user. */
export async function queueOperatorNotice(
  userId: string,
  language: string,
): Promise<void> {
  const user = Prisma.sql`${userId}::uuid`
  const queued = notice('operator-sign-in', user, { ...unknownCaller, language })
  await prisma().$executeRaw`WITH ${queued} SELECT 1`
}

/** A condition: whether a forgot-password request caused the email. */
const isRequested = Prisma.sql`kind IN ('reset', 'sign-in')`

/** A condition: whether the email is an invitation. */
const isInvitation = Prisma.sql`kind IN ('invitation', 'sso-invitation')`

/**
 * A condition: whether the caps allow another email like `isOfKind` to the user with this
 * ID.
 */
function isWithinCaps(userId: Prisma.Sql, isOfKind = isRequested): Prisma.Sql {
  return Prisma.sql`(
    SELECT count(*) FILTER (WHERE requested_at > now() - interval '1 minute') < 1
      AND count(*) FILTER (WHERE requested_at > now() - interval '1 hour') < CASE WHEN count(*) < 10 THEN 3 ELSE 1 END
    FROM mails WHERE user_id = ${userId} AND requested_at > now() - interval '1 day' AND ${isOfKind})`
}

/**
 * Returns the CTEs that replace unsent links to choose a password with a notice. Lock the
 * user's row in an earlier statement.
 */
export function noticeInsteadOfResets(userId: Prisma.Sql, caller: Caller): Prisma.Sql {
  return Prisma.sql`
    mails_deleted AS (
      DELETE FROM mails
      WHERE user_id = ${userId} AND requested_at > now() - interval '1 day'
        AND kind IN ('reset', 'invitation') AND due_at IS NOT NULL
    ), ${notice('password-changed', userId, caller)}`
}

/**
 * Returns the CTE that queues a notice. `userId` is an SQL expression. If it is null,
 * nothing is queued.
 */
export function notice(
  kind: MailKindName,
  userId: Prisma.Sql,
  { language, device }: Caller,
): Prisma.Sql {
  return Prisma.sql`
    notice AS (
      INSERT INTO mails (kind, user_id, language, device)
      SELECT ${kind}, id, ${language}, ${device} FROM (SELECT ${userId} AS id) AS changed_user
      WHERE id IS NOT NULL AND ${sendsMail()}
    )`
}

/**
 * Claims the oldest due email of the lowest `priority`, or returns null. Concurrent
 * senders get different emails.
 */
export async function claimMail(): Promise<ClaimedMail | null> {
  const [mail] = await prisma().$queryRaw<
    (Omit<ClaimedMail, 'requestedAt'> & { requestedAt: number })[]
  >`
    UPDATE mails SET attempts = attempts + 1, due_at = now() + make_interval(secs => ${claimSeconds})
    WHERE id = (
      SELECT id FROM mails WHERE due_at <= now() ORDER BY priority, due_at LIMIT 1 FOR UPDATE SKIP LOCKED
    )
    RETURNING id, kind, language, device, attempts, extract(epoch FROM requested_at)::float8 AS "requestedAt",
      extract(epoch FROM now() - requested_at)::float8 AS "ageSeconds",
      coalesce(former_email, (SELECT email FROM users WHERE id = user_id)) AS email`

  return mail ? { ...mail, requestedAt: dateFromEpoch(mail.requestedAt) } : null
}

/** Marks a claimed email as sent, or as given up. */
export async function finish(
  { id, attempts }: MailClaim,
  as: 'sent' | 'gave_up',
): Promise<void> {
  await prisma().$executeRaw`
    UPDATE mails SET ${Prisma.raw(as)}_at = now(), due_at = NULL
    WHERE id = ${id} AND attempts = ${attempts} AND due_at IS NOT NULL`
}

/**
 * Schedules the next attempt of a claimed email. If that would be too late, gives the
 * email up and returns false.
 */
export async function retryLater(
  { id, attempts }: MailClaim,
  kind: MailKind,
): Promise<boolean> {
  const { retryAfterSeconds, lifetimeSeconds } = kind
  const delay = retryAfterSeconds[Math.min(attempts, retryAfterSeconds.length) - 1]!

  const [mail] = await prisma().$queryRaw<{ isDue: boolean }[]>`
    UPDATE mails SET (due_at, gave_up_at) = (
      SELECT CASE WHEN in_time THEN next END, CASE WHEN NOT in_time THEN now() END
      FROM (SELECT now() + make_interval(secs => ${delay}) AS next) AS retry,
        LATERAL (SELECT next < requested_at + make_interval(secs => ${lifetimeSeconds}) AS in_time) AS verdict
    )
    WHERE id = ${id} AND attempts = ${attempts} AND due_at IS NOT NULL
    RETURNING due_at IS NOT NULL AS "isDue"`

  // without a row, the email was withdrawn or claimed by another sender
  return mail?.isDue ?? true
}

/**
 * Schedules a claimed email for a few seconds later, because the mail server was busy.
 * Does not count the attempt.
 */
export async function postpone({ id, attempts }: MailClaim): Promise<void> {
  // A claim subtracts only what it has added itself, so a later claim still has a higher
  // number than a claim that has not ended.
  await prisma().$executeRaw`
    UPDATE mails SET attempts = attempts - 1, due_at = now() + make_interval(secs => ${busySeconds})
    WHERE id = ${id} AND attempts = ${attempts} AND due_at IS NOT NULL`
}

/**
 * Makes all emails that wait for a retry due now. Does not affect claimed emails. Returns
 * the number of emails.
 */
export async function retryNow(): Promise<number> {
  return prisma().$executeRaw`
    UPDATE mails SET due_at = now() WHERE due_at > now() + make_interval(secs => ${claimSeconds})`
}

export type OutboxStatus = {
  kind: MailKindName
  waiting: number
  tried: number
  sent: number
  gaveUp: number
}

/** Counts the emails of the past day by kind and outcome, including queued emails. */
export async function outboxStatus(): Promise<OutboxStatus[]> {
  return prisma().$queryRaw<OutboxStatus[]>`
    SELECT kind, count(due_at)::int AS waiting, count(due_at) FILTER (WHERE attempts > 0)::int AS tried,
      count(sent_at)::int AS sent, count(gave_up_at)::int AS "gaveUp"
    FROM mails WHERE requested_at > now() - interval '1 day' GROUP BY kind ORDER BY kind`
}

/** The number of emails that wait, and the age of the oldest one in seconds, or 0. */
export type OutboxBacklog = { waiting: number; oldestSeconds: number }

/** Returns the emails that were neither sent nor given up. */
export async function readOutboxBacklog(): Promise<OutboxBacklog> {
  const [backlog] = await prisma().$queryRaw<OutboxBacklog[]>`
    SELECT count(*)::int AS waiting,
      coalesce(extract(epoch FROM now() - min(requested_at)), 0)::float8 AS "oldestSeconds"
    FROM mails WHERE due_at IS NOT NULL`

  return backlog!
}
