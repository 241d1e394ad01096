import { randomUUID } from 'node:crypto'
import bcrypt from 'bcrypt'
import { type Caller, unknownCaller } from '../../../lib/contract/caller'
import { newPassword, type Sql, type User } from '../fixtures'

/** A user who signs in without an earlier session or cookie. */
export const caller: Caller = {
  ...unknownCaller,
  address: '192.0.2.1',
  network: '192.0.2.0/24',
}

export type PasswordUser = User & { password: string }

/**
 * Creates a user with a password. To test an older account, pass a lower `cost` for the
 * hash.
 */
export async function newPasswordUser(
  sql: Sql,
  {
    cost = 12,
    password = newPassword(),
    email = `user-${randomUUID()}@example.com`,
  } = {},
): Promise<PasswordUser> {
  const hash = await bcrypt.hash(password, cost)
  const [row] = await sql(
    `INSERT INTO users (email, email_domain, password_hash) VALUES ($1, split_part($1, '@', 2), $2) RETURNING id`,
    [email, hash],
  )
  return { id: row!.id, email, password }
}
