import type { SetUpMethod, StepMethod } from '../contract/errors'
import { mayUsePassword } from '../database/domain-rules'
import { dateFromEpoch, Prisma, prisma } from '../database/prisma'
import { type Env, env } from '../settings/env'

/**
 * A user who may use a password, with the second factor, if any. Times are in seconds
 * since 1970. `enabledAt`: since when the password alone starts no session.
 * `encryptedSecret`: null without an authenticator app. `hasPasskey`: false without
 * PASSKEYS.
 */
export type UserWithFactor = {
  userId: string
  email: string
  passwordHash: string | null
  passwordChangedAt: number | null
  enabledAt: number | null
  encryptedSecret: string | null
  hasPasskey: boolean
  recoveryCodesLeft: number
  now: number
}

/** Returns a user with the second factor, or null if the user may not use a password. */
export async function findFactor(userId: string): Promise<UserWithFactor | null> {
  const hasPasskey = env().PASSKEYS
    ? Prisma.sql`EXISTS (SELECT FROM passkeys WHERE passkeys.user_id = users.id) AS "hasPasskey",`
    : Prisma.empty

  type Row = Omit<UserWithFactor, 'hasPasskey'> & { hasPasskey?: boolean }
  const [user] = await prisma().$queryRaw<Row[]>`
    SELECT id AS "userId", email, password_hash AS "passwordHash", ${changedAt} AS "passwordChangedAt", ${hasPasskey}
      ${enabledAt} AS "enabledAt", extract(epoch FROM now())::float8 AS now,
      (SELECT encrypted_secret FROM second_factors WHERE user_id = users.id) AS "encryptedSecret",
      (SELECT count(*)::int FROM recovery_codes WHERE user_id = users.id AND used_at IS NULL) AS "recoveryCodesLeft"
    FROM users WHERE id = ${userId} AND disabled_at IS NULL AND ${mayUsePassword}`
  return user ? { ...user, hasPasskey: user.hasPasskey ?? false } : null
}

/** What follows the password: what the user has, or what the user has to set up. */
export type Steps = { methods: StepMethod[]; setUp?: SetUpMethod[] }

/**
 * Returns what follows the right password of a user, or null if it starts a session. A
 * user with a passkey sets nothing up, because a stolen password must not add a weaker
 * factor.
 */
export function findSteps(
  {
    enabledAt,
    encryptedSecret,
    hasPasskey,
  }: Pick<UserWithFactor, 'enabledAt' | 'encryptedSecret' | 'hasPasskey'>,
  { SECOND_FACTOR, PASSKEYS }: Pick<Env, 'SECOND_FACTOR' | 'PASSKEYS'> = env(),
): Steps | null {
  const passkey: StepMethod[] = hasPasskey ? ['passkey'] : []
  if (enabledAt !== null) {
    const app: StepMethod[] = encryptedSecret === null ? [] : ['totp']
    return { methods: [...app, ...passkey, 'recovery-code'] }
  }

  if (SECOND_FACTOR !== 'required') return null
  if (hasPasskey) return { methods: passkey }

  return { methods: [], setUp: PASSKEYS ? ['passkey', 'totp'] : ['totp'] }
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
 * What users see of their own second factor. `available`: whether an authenticator app can
 * be set up. `methods`: what completes a sign-in with the password, if something has to.
 */
export type OwnFactor = {
  available: boolean
  enabledAt?: Date
  recoveryCodesLeft?: number
  methods?: StepMethod[]
}

/** Returns what a user sees of the own second factor. */
export async function findSecondFactor(userId: string): Promise<OwnFactor> {
  const user = await findFactor(userId)
  const available = Boolean(env().SECOND_FACTOR && user?.passwordHash)
  const steps = user && findSteps(user)
  const methods = steps && steps.methods.length > 0 ? { methods: steps.methods } : {}
  if (!user?.enabledAt) return { available, ...methods }

  return {
    available,
    enabledAt: dateFromEpoch(user.enabledAt),
    recoveryCodesLeft: user.recoveryCodesLeft,
    ...methods,
  }
}
