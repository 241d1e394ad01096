import { HOTP, Secret } from 'otpauth'
import {
  hashRecoveryCode,
  newRecoveryCodes,
  newTotpSecret,
} from '../../../lib/second-factor/codes'
import { encrypt } from '../../../lib/second-factor/encryption'
import type { Sql } from '../fixtures'
import { keepSecret } from '../secrets'
import { newPasswordUser, type PasswordUser } from './password-user'

export type FactorUser = PasswordUser & { secret: string; recoveryCodes: string[] }

/** Creates a user with a password and a second factor. */
export async function newFactorUser(sql: Sql, options = {}): Promise<FactorUser> {
  const user = await newPasswordUser(sql, { cost: 4, ...options })
  const secret = keepSecret(await newTotpSecret())
  const recoveryCodes = newRecoveryCodes().map(keepSecret)
  const hashes = recoveryCodes.map((code) => Buffer.from(hashRecoveryCode(code)))
  await sql(
    `WITH factor AS (INSERT INTO second_factors VALUES ($1, $2, 0)),
       codes AS (INSERT INTO recovery_codes SELECT $1, unnest($3::bytea[]))
     UPDATE users SET second_factor_at = now() WHERE id = $1`,
    [user.id, await encrypt(secret, `totp ${user.id}`), hashes],
  )
  return { ...user, secret, recoveryCodes }
}

const codeAt = (secret: string, offset: number) =>
  HOTP.generate({
    secret: Secret.fromBase32(secret),
    counter: Math.floor(Date.now() / 30_000) + offset,
  })

/**
 * Returns the code of the current or the next time step, which stays valid for at least
 * 30 seconds.
 */
export const totp = (secret: string, offset: 0 | 1 = 0) => codeAt(secret, offset)

/** Returns a code of six digits that does not match any current time step. */
export function wrongCode(secret: string): string {
  const right = [-2, -1, 0, 1, 2].map((offset) => codeAt(secret, offset))
  return ['111111', '222222', '333333', '444444', '555555', '666666'].find(
    (code) => !right.includes(code),
  )!
}
