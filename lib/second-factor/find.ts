import { mayUsePassword } from '../database/domain-rules'
import { dateFromEpoch, Prisma, prisma } from '../database/prisma'
import { env } from '../settings/env'

/**
 * A user who may use a password, with the second factor, if any. Times are in seconds
 * since 1970.
 */
export type UserWithFactor = {
  userId: string
  email: string
  passwordHash: string | null
  passwordChangedAt: number | null
  enabledAt: number | null
  encryptedSecret: string | null
  recoveryCodesLeft: number
  now: number
}

/** Returns a user with the second factor, or null if the user may not use a password. */
export async function findFactor(userId: string): Promise<UserWithFactor | null> {
  const [user] = await prisma().$queryRaw<UserWithFactor[]>`
    SELECT id AS "userId", email, password_hash AS "passwordHash", ${changedAt} AS "passwordChangedAt",
      ${enabledAt} AS "enabledAt", extract(epoch FROM now())::float8 AS now,
      (SELECT encrypted_secret FROM second_factors WHERE user_id = users.id) AS "encryptedSecret",
      (SELECT count(*)::int FROM recovery_codes WHERE user_id = users.id AND used_at IS NULL) AS "recoveryCodesLeft"
    FROM users WHERE id = ${userId} AND disabled_at IS NULL AND ${mayUsePassword}`
  return user ?? null
}

const changedAt = Prisma.sql`extract(epoch FROM password_changed_at)::float8`
const enabledAt = Prisma.sql`extract(epoch FROM second_factor_at)::float8`

/**
 * Returns a condition on a row of `users`: whether the password and the second factor are
 * the same as in `user`.
 */
export function isUnchanged(user: UserWithFactor): Prisma.Sql {
  return Prisma.sql`(id = ${user.userId} AND disabled_at IS NULL AND ${mayUsePassword}
    AND ${enabledAt} IS NOT DISTINCT FROM ${user.enabledAt}::float8
    AND ${changedAt} IS NOT DISTINCT FROM ${user.passwordChangedAt}::float8)`
}

/**
 * Returns what users see of their own second factor. `available`: whether a user without
 * one could set one up.
 */
export async function findSecondFactor(userId: string) {
  const user = await findFactor(userId)
  const available = env().SECOND_FACTOR && Boolean(user?.passwordHash)
  if (!user?.enabledAt) return { available }

  return {
    available,
    enabledAt: dateFromEpoch(user.enabledAt),
    recoveryCodesLeft: user.recoveryCodesLeft,
  }
}
