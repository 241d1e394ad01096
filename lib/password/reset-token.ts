import { hashSecret } from '../crypto/token'
import { Prisma } from '../database/prisma'

/**
 * Returns the statement that stores a reset token for each row of `users (user_id)`. It
 * replaces every earlier token of the user.
 */
export function insertResetToken(
  secret: string,
  lifetimeSeconds: number,
  users: Prisma.Sql,
): Prisma.Sql {
  return Prisma.sql`
    INSERT INTO reset_tokens (user_id, token_hash, expires_at)
    SELECT user_id, ${hashSecret(secret)}::bytea, now() + make_interval(secs => ${lifetimeSeconds}) FROM ${users}
    ON CONFLICT (user_id) DO UPDATE
      SET token_hash = EXCLUDED.token_hash, expires_at = EXCLUDED.expires_at, created_at = now(), used_at = NULL,
        attempts = 0`
}
