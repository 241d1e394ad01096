import { randomUUID } from 'node:crypto'
import bcrypt from 'bcrypt'
import { hashSecret, newSecret } from '../../lib/crypto/token'
import { issueTokenOfMail } from '../../lib/mail/claimed'
import { queueResetMail } from '../../lib/mail/outbox'
import { findResetLink, issueResetToken, resetPassword } from '../../lib/password/reset'
import { signIn } from '../../lib/password/sign-in'
import { findRefreshableSession } from '../../lib/session/find'
import { refreshSession } from '../../lib/session/refresh'
import { makeRefreshToken } from '../../lib/session/tokens'
import {
  disableConnection,
  enableConnection,
  removeConnection,
} from '../../lib/sso/manage/connections'
import { allowPassword, createUser, findUserByEmail } from '../../lib/user/user'
import { addTestConnection } from '../support/databases/connection'
import { caller } from '../support/databases/password-user'
import { expect, newPassword, type Sql, test } from '../support/fixtures'
import { keepSecret } from '../support/secrets'

type Member = { id: string; email: string; password: string }

const succeeds = (work: Promise<unknown>) =>
  work.then(
    () => true,
    (error) => {
      expect(['SIGN_IN_INVALID', 'VALIDATION_ERROR', 'REFRESH_INVALID']).toContain(
        error.code,
      )
      return false
    },
  )
const newRefreshToken = async (sql: Sql, { id }: Member, columns = '', values = '') => {
  const insert = `INSERT INTO sessions (user_id, expires_at${columns}) VALUES ($1, now() + interval '1 day'${values}) RETURNING id`
  return keepSecret(
    makeRefreshToken({ sessionId: (await sql(insert, [id]))[0]!.id, generation: 0 }),
  )
}

/**
 * Every operation that needs permission to use a password. Each returns whether it was
 * allowed.
 */
const uses: Record<string, (user: Member, sql: Sql) => Promise<boolean>> = {
  'a sign-in': ({ email, password }) => succeeds(signIn(email, password, caller)),
  'the look-up of a reset link': async ({ id }) =>
    (await findResetLink(hashSecret((await issueResetToken(id)).secret))).kind === 'live',
  'a reset with a malformed password': async ({ id }) =>
    resetPassword((await issueResetToken(id)).secret, '').catch(
      (error) => error.details.issues[0].path[0] === 'password',
    ) as Promise<boolean>,
  'a reset': async ({ id }) =>
    succeeds(resetPassword((await issueResetToken(id)).secret, newPassword())),
  'a reset email': async ({ id, email }, sql) => {
    await queueResetMail([email], caller)
    const [mail] = await sql('SELECT kind FROM mails WHERE user_id = $1', [id])
    return mail!.kind === 'reset'
  },
  'the token of an email that is already queued': async ({ id }, sql) => {
    const insert = `INSERT INTO mails (kind, user_id, language, attempts, due_at)
      VALUES ('reset', $1, 'en', 1, now() + interval '1 hour') RETURNING id, attempts`
    return issueTokenOfMail(
      (await sql(insert, [id]))[0] as { id: string; attempts: number },
      newSecret(),
    )
  },
  'a refresh after a sign-in with a password': async (user, sql) =>
    succeeds(
      refreshSession(await newRefreshToken(sql, user, ', method', `, 'password'`)),
    ),
  'a refresh of a session from before 0.2.0': async (user, sql) =>
    succeeds(refreshSession(await newRefreshToken(sql, user))),
  'the look-up of a session that can be renewed': async (user, sql) =>
    (await findRefreshableSession(await newRefreshToken(sql, user))) !== null,
  'the commands': async ({ email }) => !(await findUserByEmail(email))!.ssoOnly,
}

/**
 * The connections of a domain before the user is added, and whether the user may then use
 * a password.
 */
const domains: Record<
  string,
  [isAllowed: boolean, prepare: (domain: string) => Promise<unknown>]
> = {
  'without a connection': [true, async () => {}],
  'with the connection of a parent domain': [
    true,
    (domain) => addTestConnection(domain.replace(/^\w+\./, '')),
  ],
  'with a connection that allows passwords': [
    true,
    (domain) => addTestConnection(domain, { allowPasswords: true }),
  ],
  'with a connection': [false, (domain) => addTestConnection(domain)],
  'with a disabled connection': [
    false,
    async (domain) => disableConnection(await addTestConnection(domain)),
  ],
  'with a connection that was enabled again': [
    false,
    async (domain) => {
      const connection = await addTestConnection(domain)
      await disableConnection(connection)
      await enableConnection(connection)
    },
  ],
  'with a connection that was removed': [
    true,
    async (domain) => removeConnection(await addTestConnection(domain)),
  ],
}

const password = newPassword()
const passwordHash = bcrypt.hashSync(password, 4)
const { compare, hash } = bcrypt
test.beforeAll(() => import('../support/servers/cheap-hash.mjs'))
// for the other files of this worker
test.afterAll(() => Object.assign(bcrypt, { compare, hash }))

const policies = { 'of the domain': null, allowed: true, never: false }
for (const [state, [isAllowedByDomain, prepare]] of Object.entries(domains))
  for (const [policy, isAllowedByUser] of Object.entries(policies))
    test(`allows or rejects passwords of a user of a domain ${state}, with the policy ${policy}`, async ({
      sql,
    }) => {
      const domain = `x${randomUUID().slice(0, 8)}.${randomUUID()}.example.org`
      await prepare(domain)
      const expected = isAllowedByUser ?? isAllowedByDomain
      for (const [use, isAllowed] of Object.entries(uses)) {
        const email = `${randomUUID()}@${domain}`
        await createUser(email, { ssoOnly: isAllowedByUser === false })
        const { id } = (await findUserByEmail(email))!
        if (isAllowedByUser) expect(await allowPassword({ userId: id })).toBe(1)
        await sql('UPDATE users SET password_hash = $2 WHERE id = $1', [id, passwordHash])
        expect(await isAllowed({ id, email, password }, sql), use).toBe(expected)
      }
    })

test('every policy allows sessions that began at an identity provider', async ({
  sql,
}) => {
  const domain = `${randomUUID()}.example.org`
  const { id: connectionId } = await addTestConnection(domain)
  for (const ssoOnly of [false, true]) {
    const email = `${randomUUID()}@${domain}`
    await createUser(email, { ssoOnly })
    const user = { ...(await findUserByEmail(email))!, password }
    for (const method of ['sso', 'code'])
      expect(
        await succeeds(
          refreshSession(await newRefreshToken(sql, user, ', method', `, '${method}'`)),
        ),
      ).toBe(true)
    const ofConnection = await newRefreshToken(
      sql,
      user,
      ', connection_id',
      `, '${connectionId}'`,
    )
    expect(await succeeds(refreshSession(ofConnection)), 'from before 0.2.0').toBe(true)
  }
})
