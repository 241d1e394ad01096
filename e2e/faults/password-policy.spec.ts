import { randomUUID } from 'node:crypto'
import { resetPassword } from '../../lib/password/reset'
import { signIn } from '../../lib/password/sign-in'
import { refreshSession } from '../../lib/session/refresh'
import { makeRefreshToken } from '../../lib/session/tokens'
import { activateDomains } from '../../lib/sso/manage/activate'
import { endPasswordSessions } from '../../lib/sso/manage/batches'
import { updateConnection } from '../../lib/sso/manage/connections'
import { addTestConnection } from '../support/databases/connection'
import {
  caller,
  newPasswordUser,
  type PasswordUser,
} from '../support/databases/password-user'
import { lockRow } from '../support/databases/row-lock'
import { expect, newPassword, newToken, type Sql, test } from '../support/fixtures'

// A connection is added while an operation, with an older snapshot of the database, waits
// for a lock.

let domain: string
let user: PasswordUser
let token: string
test.beforeEach(async ({ sql }) => {
  domain = `${randomUUID()}.example.org`
  user = await newPasswordUser(sql, { cost: 4, email: `${randomUUID()}@${domain}` })
  token = await newToken(user)
})

const hashOf = async (sql: Sql) =>
  (await sql('SELECT password_hash FROM users WHERE id = $1', [user.id]))[0]

/**
 * Operations, each with the table of the row for which it waits and the error when it is
 * rejected.
 */
const operations: Record<
  string,
  [table: string, start: (sessionId: string) => Promise<unknown>, error: string]
> = {
  'a sign-in': [
    'users',
    () => signIn(user.email, user.password, caller),
    'SIGN_IN_INVALID',
  ],
  'a reset': ['users', () => resetPassword(token, newPassword()), 'VALIDATION_ERROR'],
  refresh: [
    'sessions',
    (id) => refreshSession(makeRefreshToken({ sessionId: id, generation: 0 })),
    'REFRESH_INVALID',
  ],
}

/**
 * Ways to forbid a password. Each prepares the change and returns a function that applies
 * it.
 */
const changes: Record<string, () => Promise<() => Promise<unknown>>> = {
  'add --activate': async () => () => addTestConnection(domain),
  activate: async () => {
    const connection = await addTestConnection(domain, { activate: false })
    return () => activateDomains(connection)
  },
  'activate --from': async () => {
    const old = await addTestConnection(domain, { allowPasswords: true })
    const more = { activate: false, beside: old.slug }
    const connection = await addTestConnection(domain, more)
    return () => activateDomains(connection, { from: old.slug })
  },
  'update --no-allow-passwords': async () => {
    const connection = await addTestConnection(domain, { allowPasswords: true })
    return () => updateConnection(connection, { allowPasswords: false })
  },
}

const cases = Object.entries(operations).flatMap(([what, operation]) =>
  Object.entries(changes).flatMap(([name, prepare]) =>
    [true, false].map((isFirst) => [what, operation, name, prepare, isFirst] as const),
  ),
)
for (const [what, [table, start, error], name, prepare, isFirst] of cases)
  test(`${what} that waits during ${name} leaves no session, ${isFirst ? 'before' : 'after'} the sessions were ended`, async ({
    sql,
  }) => {
    const change = await prepare()
    const insert = `INSERT INTO sessions (user_id, expires_at, method)
        VALUES ($1, now() + interval '1 day', 'password') RETURNING id`
    const sessionId = (await sql(insert, [user.id]))[0]!.id as string
    const hash = await hashOf(sql)
    const lock = await lockRow(table, 'id = $1', table === 'users' ? user.id : sessionId)
    const operation = start(sessionId).then(
      () => null,
      (cause) => cause.code,
    )
    await lock.waiting(1)
    await change()
    const ending = isFirst ? endPasswordSessions([domain]) : null
    if (ending) await lock.waiting(2)
    else
      await lock.sql('UPDATE sessions SET revoked_at = now() WHERE id = $1', [sessionId])
    await lock.release()
    expect(await operation).toBe(what === 'refresh' && isFirst ? null : error)
    if (ending) expect(await ending).toMatchObject({ users: 1 })
    expect(
      await sql('SELECT 1 FROM sessions WHERE user_id = $1 AND revoked_at IS NULL', [
        user.id,
      ]),
    ).toEqual([])
    expect(await hashOf(sql)).toEqual(hash)
  })
