import { randomUUID } from 'node:crypto'
import { exchangeSsoCode } from '../../lib/code/exchange'
import { issueSsoCode } from '../../lib/code/issue'
import { issueResetToken, resetPassword } from '../../lib/password/reset'
import { signIn } from '../../lib/password/sign-in'
import { refreshSession } from '../../lib/session/refresh'
import { makeRefreshToken } from '../../lib/session/tokens'
import { deleteUser, findUserByEmail, renameUser } from '../../lib/user/user'
import {
  caller,
  newPasswordUser,
  type PasswordUser,
} from '../support/databases/password-user'
import { inOrderOfLock, lockRow } from '../support/databases/row-lock'
import { expect, newPassword, type Sql, test } from '../support/fixtures'

// A user is renamed or deleted while an operation waits for the same row.

/**
 * Operations that start a session or change a password. Each prepares the operation, and
 * returns a function for it.
 */
const operations: Record<
  string,
  (user: PasswordUser, sql: Sql) => Promise<() => Promise<unknown>>
> = {
  'a sign-in': async ({ email, password }) => {
    return () => signIn(email, password, caller)
  },
  'a reset': async ({ id }) => {
    const { secret } = await issueResetToken(id)
    return () => resetPassword(secret, newPassword())
  },
  'an exchange': async ({ id }) => {
    const { secret } = await issueSsoCode(id)
    return () => exchangeSsoCode(secret, caller)
  },
  'a refresh': async ({ id }, sql) => {
    const insert = `INSERT INTO sessions (user_id, expires_at) VALUES ($1, now() + interval '1 day') RETURNING id`
    const sessionId = (await sql(insert, [id]))[0]!.id as string
    return () => refreshSession(makeRefreshToken({ sessionId, generation: 0 }))
  },
}
const changes: Record<string, (user: PasswordUser) => Promise<unknown>> = {
  rename: async ({ email }) =>
    renameUser((await findUserByEmail(email))!, `${randomUUID()}@example.com`, 'en'),
  delete: ({ id }) => deleteUser(id),
}

for (const [name, apply] of Object.entries(changes))
  for (const [what, prepare] of Object.entries(operations))
    for (const order of ['before', 'after'])
      test(`${what} that gets the row lock ${order} a ${name} leaves no session`, async ({
        sql,
      }) => {
        const user = await newPasswordUser(sql, {
          cost: 4,
          email: `${randomUUID()}@example.org`,
        })
        const start = await prepare(user, sql)
        const lock =
          what === 'a refresh'
            ? await lockRow('sessions', 'user_id = $1', user.id)
            : await lockRow('users', 'id = $1', user.id)
        const begin = (one: () => Promise<unknown>) => () =>
          one().then(
            () => null,
            (error) => error.code,
          )
        const change = begin(() => apply(user))
        const [first, second] = await (order === 'before'
          ? inOrderOfLock(lock, begin(start), change)
          : inOrderOfLock(lock, change, begin(start)))
        expect(order === 'before' ? second : first).toBeNull()
        if (order === 'after') expect(second).toEqual(expect.any(String))
        expect(
          await sql('SELECT 1 FROM sessions WHERE user_id = $1 AND revoked_at IS NULL', [
            user.id,
          ]),
        ).toEqual([])
      })
