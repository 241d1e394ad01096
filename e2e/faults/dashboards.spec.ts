import { disableUser, enableUser } from '../../lib/user/user'
import {
  type ClientCode,
  clientCode,
  exchangeClientCode,
  type TokenResponse,
  tokensOf,
} from '../support/browsers/dashboard'
import { type Account, newAccount, type Tokens } from '../support/databases/account'
import { type Round, race, rounds } from '../support/databases/race'
import { expect, test } from '../support/fixtures'
import { startTwoServers, type TwoServers } from '../support/servers/two-servers'

// the number of rounds is fixed, so a slow machine needs time
test.describe.configure({ timeout: 600_000 })

let servers: TwoServers
test.beforeAll(async () => {
  servers = await startTwoServers()
})
test.afterEach(() => {
  expect(servers.logged('error')).toEqual([]) // no deadlock (40P01), for which the client would get a 503
})
test.afterAll(() => servers.stop())

/** Exchanges a code, and returns whether that succeeded. Adds the tokens to `given`. */
async function exchange(code: ClientCode, given: Tokens[]): Promise<boolean> {
  return keep(await exchangeClientCode(servers.nextUrl(), code), given)
}

function keep(response: TokenResponse, given: Tokens[]): boolean {
  const { status, body } = response
  if (status === 200) given.push(tokensOf(response))
  else expect([status, body.error]).toEqual([400, 'invalid_grant'])
  return status === 200
}

test('10 concurrent exchanges of one code start only one session', async ({
  sql,
  url,
}) => {
  for (let round = 0; round < rounds; round++) {
    const [browser] = (await newAccount(sql, 1, 0)).sessions
    const issued = (await clientCode(url, browser!))!
    const responses = await Promise.all(
      Array.from({ length: 10 }, () => exchangeClientCode(servers.nextUrl(), issued)),
    )
    expect(responses.map(({ status }) => status).sort()).toEqual([
      200,
      ...Array(9).fill(400),
    ])
    const children = await sql('SELECT revoked_at FROM sessions WHERE parent_id = $1', [
      browser!.id,
    ])
    expect(children).toHaveLength(1)
  }
})

test('20 concurrent exchanges of one browser’s codes leave one session of the dashboard', async ({
  sql,
  url,
}) => {
  const [browser] = (await newAccount(sql, 1, 0)).sessions
  const issued = await Promise.all(
    Array.from({ length: 20 }, async () => (await clientCode(url, browser!))!),
  )
  const responses = await Promise.all(
    issued.map((code) => exchangeClientCode(servers.nextUrl(), code)),
  )
  expect(responses.map(({ status }) => status)).toEqual(Array(20).fill(200))
  expect(await servers.alive(responses.map(tokensOf))).toHaveLength(1)
})

/** Ways to end a browser's session and its dashboard sessions. */
const enders: Record<string, (user: Account) => Promise<unknown>> = {
  'a sign-out of the browser': ({ sessions }) => servers.signOut(sessions[0]!),
  'a reset': (user) => servers.reset(user),
  'disabling the user': ({ id }) => disableUser(id),
}

for (const [what, end] of Object.entries(enders)) {
  test(`${what} during sign-ins to dashboards leaves no session of a dashboard`, async ({
    sql,
    url,
  }) => {
    const prepare = async (): Promise<Round> => {
      const user = await newAccount(sql, 1, 0)
      const [browser] = user.sessions
      const codes: ClientCode[] = []
      const given: Tokens[] = []
      const openDashboard = async () => {
        const code = await clientCode(url, browser!)
        if (code) codes.push(code)
        return code !== null && exchange(code, given)
      }
      return {
        contenders: Array.from({ length: 4 }, () => openDashboard),
        end: () => end(user),
        check: async () => {
          // so that nothing is rejected only because the user is disabled
          await enableUser(user.id)
          expect(await servers.alive([browser!, ...given])).toEqual([])
          const later: Tokens[] = []
          // including the unused codes
          for (const code of codes) await exchange(code, later)
          expect([await openDashboard(), later]).toEqual([false, []])
        },
      }
    }
    const { all, some, none } = await race(prepare)
    console.log(
      `of ${rounds} rounds, all contenders succeeded in ${all}, some in ${some}, none in ${none}`,
    )
    expect(Math.min(all, none) + some).toBeGreaterThanOrEqual(rounds / 10)
  })
}
