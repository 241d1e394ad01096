import { lifetimes } from '../contract/lifetimes'
import { hashSecret } from '../crypto/secret'
import { mayUsePassword } from '../database/conditions'
import { prisma } from '../database/prisma'

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
    INSERT INTO reset_tokens (user_id, token_hash, expires_at)
    SELECT user_id, ${hashSecret(secret)}::bytea, now() + make_interval(secs => ${lifetimeSeconds}) FROM mail
    ON CONFLICT (user_id) DO UPDATE
      SET token_hash = EXCLUDED.token_hash, expires_at = EXCLUDED.expires_at, created_at = now(), used_at = NULL,
        attempts = 0`

  return issued === 1
}

/** Returns how many recovery codes the user of an email has left. */
export async function recoveryCodesLeft({ id }: MailClaim): Promise<number> {
  const [row] = await prisma().$queryRaw<{ left: number }[]>`
    SELECT count(*)::int AS left FROM recovery_codes
    WHERE user_id = (SELECT user_id FROM mails WHERE id = ${id}) AND used_at IS NULL`
  return row!.left
}
