import { lifetimes } from '../contract/lifetimes'
import { mayUsePassword, onlyStart } from '../database/domain-rules'
import { Prisma, prisma } from '../database/prisma'
import { insertResetToken } from '../password/reset-token'

/**
 * A sender's claim of an email. Each claim increases `attempts`, so an older claim is
 * recognized as ended.
 */
export type MailClaim = { id: string; attempts: number }

/**
 * Issues the token of a claimed email, unless the claim has ended or no reset is allowed.
 * Lock order: user, email.
 */
export async function issueTokenOfMail(
  { id, attempts }: MailClaim,
  secret: string,
  lifetimeSeconds: number = lifetimes.resetToken,
): Promise<boolean> {
  const issued = await prisma().$executeRaw`
    WITH locked_user AS MATERIALIZED (
      SELECT id FROM users
      WHERE id = (SELECT user_id FROM mails WHERE id = ${id}) AND disabled_at IS NULL AND ${mayUsePassword}
      FOR KEY SHARE
    ), mail AS MATERIALIZED (
      SELECT user_id FROM mails
      WHERE id = ${id} AND attempts = ${attempts} AND due_at IS NOT NULL AND user_id = (SELECT id FROM locked_user)
      FOR UPDATE
    )
    ${insertResetToken(secret, lifetimeSeconds, Prisma.sql`mail`)}`

  return issued === 1
}

/** Returns the slug of the connection at which the user of an email has to start, or null. */
export async function findStart({ id }: MailClaim): Promise<string | null> {
  const [row] = await prisma().$queryRaw<{ slug: string | null }[]>`
    SELECT ${onlyStart} AS slug FROM users WHERE users.id = (SELECT user_id FROM mails WHERE mails.id = ${id})`
  return row?.slug ?? null
}

/** Returns how many recovery codes the user of an email has left. */
export async function recoveryCodesLeft({ id }: MailClaim): Promise<number> {
  const [row] = await prisma().$queryRaw<{ left: number }[]>`
    SELECT count(*)::int AS left FROM recovery_codes
    WHERE user_id = (SELECT user_id FROM mails WHERE id = ${id}) AND used_at IS NULL`
  return row!.left
}
