import jwt from 'jsonwebtoken'
import * as routes from '../../lib/contract/routes'
import { newPasswordUser } from '../support/databases/password-user'
import { totp } from '../support/databases/second-factor'
import { newKey, prepareSignIn, signInNames } from '../support/databases/sign-in-requests'
import { expect, newPassword, newToken, type Sql, test } from '../support/fixtures'
import { keepSecret } from '../support/secrets'
import { startTwoServers, type TwoServers } from '../support/servers/two-servers'

test.describe.configure({ timeout: 600_000 })

const rounds = 40

let servers: TwoServers
test.beforeAll(async () => {
  servers = await startTwoServers(process.env.DATABASE_URL!, {
    PASSWORD_SIGN_IN: 'true',
    SECOND_FACTOR: 'true',
    PASSKEYS: 'true',
  })
})
test.afterEach(() => {
  expect(servers.logged('error')).toEqual([])
})
test.afterAll(() => servers.stop())

for (const name of signInNames)
  test(`two processes that get ${name} at once start one session, and return it twice`, async ({
    sql,
  }) => {
    for (let round = 0; round < rounds; round++) {
      const { user, request } = await prepareSignIn(name, sql)
      const { path, body, headers } = request
      const send = () => servers.post(path, body, headers)
      const answers = await Promise.all([send(), send()])

      expect(answers.map(({ status }) => status)).toEqual([200, 200])
      const ids = answers.map(
        ({ body }) => (jwt.decode(body.token!) as jwt.JwtPayload).sid,
      )
      expect(ids[0]).toBe(ids[1])
      expect(await sql('SELECT id FROM sessions WHERE user_id = $1', [user.id])).toEqual([
        { id: ids[0] },
      ])
    }
  })

async function signIn(sql: Sql) {
  const { email, password } = await newPasswordUser(sql, { cost: 4 })
  const { body } = await servers.post(routes.signIn.path, { email, password })
  return { email, password, headers: { Authorization: `Bearer ${body.token}` } }
}

async function expectPassword(email: string, password: string): Promise<void> {
  const { status } = await servers.post(routes.signIn.path, { email, password })
  expect(status).toBe(200)
}

test('two processes that get a change of the password at once report success twice', async ({
  sql,
}) => {
  for (let round = 0; round < rounds; round++) {
    const { email, password: currentPassword, headers } = await signIn(sql)
    const password = newPassword()
    const send = () =>
      servers.post(routes.changePassword.path, { currentPassword, password }, headers)
    const answers = await Promise.all([send(), send()])

    expect(answers.map(({ body }) => body)).toEqual([{ ok: true }, { ok: true }])
    await expectPassword(email, password)
  }
})

test('two processes that get a reset at once report success twice', async ({ sql }) => {
  for (let round = 0; round < rounds; round++) {
    const user = await newPasswordUser(sql, { cost: 4 })
    const password = newPassword()
    const token = await newToken(user)
    const headers = { 'Idempotency-Key': newKey() }
    const send = () =>
      servers.post(routes.resetPassword.path, { token, password }, headers)
    const answers = await Promise.all([send(), send()])

    expect(answers.map(({ body }) => body)).toEqual([{ ok: true }, { ok: true }])
    await expectPassword(user.email, password)
  }
})

test('two processes that get a set-up of the second factor at once return recovery codes once', async ({
  sql,
}) => {
  for (let round = 0; round < rounds; round++) {
    const { password, headers } = await signIn(sql)
    const { body } = await servers.post(
      routes.startSecondFactor.path,
      { password },
      headers,
    )
    const { secret, enrolment } = body as unknown as Record<string, string>
    const given = { enrolment, code: totp(keepSecret(secret!)) }
    const send = () => servers.post(routes.confirmSecondFactor.path, given, headers)
    const answers = await Promise.all([send(), send()])

    const counts = answers.map(
      ({ body }) =>
        (body as unknown as { recoveryCodes?: string[] }).recoveryCodes?.length,
    )
    expect(counts.sort()).toEqual([0, 10])
  }
})
