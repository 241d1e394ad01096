import jwt from 'jsonwebtoken'
import { prepareSignIn, signInNames } from '../support/databases/sign-in-requests'
import { expect, test } from '../support/fixtures'
import { startTwoServers, type TwoServers } from '../support/servers/two-servers'

test.describe.configure({ timeout: 600_000 })

const rounds = 40

let servers: TwoServers
test.beforeAll(async () => {
  servers = await startTwoServers(process.env.DATABASE_URL!, {
    PASSWORD_SIGN_IN: 'true',
    SECOND_FACTOR: 'true',
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
