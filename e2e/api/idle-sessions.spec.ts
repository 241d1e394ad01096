import * as routes from '../../lib/contract/routes'
import { env } from '../../lib/settings/env'
import { detailsOfUser } from '../../lib/user/user'
import {
  claimsOf,
  clientCode,
  isLive,
  openDashboard,
  renewTokens,
  tokensOf,
} from '../support/browsers/dashboard'
import {
  exchangePath,
  expect,
  newCode,
  type Sql,
  type TestServer,
  test,
  type User,
} from '../support/fixtures'

// The limit of inactivity. Minutes pass by moving the times of sessions into the past.

const limit = 60
let server: TestServer
let unlimited: TestServer
test.beforeAll(async ({ serverWith }) => {
  server = await serverWith({ SESSION_IDLE_MINUTES: String(limit) })
  unlimited = await serverWith()
})

type Browser = { token: string; refreshToken: string }

async function signIn(user: User, at = server): Promise<Browser> {
  const { body } = await at.post(exchangePath, { code: await newCode(user) })
  return { token: body.token!, refreshToken: body.refreshToken! }
}

/** Moves the activity of a user's browser, or of its clients, into the past. */
const rest = (sql: Sql, { id }: User, minutes: number, whose = 'true') =>
  sql(
    `UPDATE sessions SET created_at = created_at - make_interval(mins => $2),
       rotated_at = rotated_at - make_interval(mins => $2)
     WHERE user_id = $1 AND ${whose}`,
    [id, minutes],
  )

const ofBrowser = 'parent_id IS NULL'
const ofClient = 'parent_id IS NOT NULL'

const renew = async ({ refreshToken }: Browser, at = server) =>
  (await at.post(routes.refreshSession.path, { refreshToken })).status

async function countListed({ token }: Browser, at = server): Promise<number> {
  const headers = { Authorization: `Bearer ${token}` }
  const response = await at.get(routes.listSessions.path, headers)
  return (await response.json()).sessions.length
}

test('a session that nobody uses ends, in the browser and at its clients', async ({
  sql,
  user,
}) => {
  const browser = await signIn(user)
  const dashboard = await openDashboard(server.url, browser)
  await rest(sql, user, limit + 1)

  expect(await renew(browser)).toBe(400)
  expect(await server.logged('"check":"session_idle"')).toHaveLength(1)
  expect((await renewTokens(server.url, dashboard.refreshToken)).status).toBe(400)
  expect(await server.logged('"check":"session_idle"')).toHaveLength(2)
  expect(await clientCode(server.url, browser), 'no client gets a session').toBeNull()

  const other = await signIn(user)
  expect(await countListed(other), 'the list has only the new one').toBe(1)
})

test('operators see that such a session is over', async ({ sql, user }) => {
  await signIn(user)
  await rest(sql, user, limit + 1)
  await signIn(user)

  const liveOf = async () => {
    const { sessions } = await detailsOfUser(user.id)
    return sessions.map(({ isLive }) => isLive)
  }
  expect(await liveOf()).toEqual([true, true])
  env().SESSION_IDLE_MINUTES = limit
  try {
    expect(await liveOf()).toEqual([true, false])
  } finally {
    env().SESSION_IDLE_MINUTES = undefined
  }
})

test('a session that is renewed before the limit lives on', async ({ sql, user }) => {
  const browser = await signIn(user)
  for (let round = 0; round < 3; round++) {
    await rest(sql, user, limit - 1)
    const { status, body } = await server.post(routes.refreshSession.path, {
      refreshToken: browser.refreshToken,
    })
    expect(status).toBe(200)
    browser.refreshToken = body.refreshToken!
  }
})

test('work in a dashboard keeps the session of the browser, and the reverse', async ({
  sql,
  user,
}) => {
  const browser = await signIn(user)
  let { refreshToken } = await openDashboard(server.url, browser)
  await rest(sql, user, limit + 1, ofBrowser)
  await rest(sql, user, limit - 1, ofClient)
  const renewed = await renewTokens(server.url, refreshToken)
  expect(renewed.status).toBe(200)
  refreshToken = tokensOf(renewed).refreshToken
  expect(await countListed(await signIn(user))).toBe(2)
  expect(await renew(browser)).toBe(200)

  await rest(sql, user, limit + 1, ofClient)
  expect((await renewTokens(server.url, refreshToken)).status).toBe(200)
})

test('a JWT lives for half of the limit, in the browser and at its clients', async ({
  user,
}) => {
  const browser = await signIn(user)
  const dashboard = await openDashboard(server.url, browser)
  for (const { token } of [browser, dashboard]) {
    const { iat, exp } = claimsOf(token)
    expect(exp - iat).toBeLessThanOrEqual(limit * 30)
    expect(await isLive(server.url, { token })).toBe(true)
  }
  expect(claimsOf(browser.token).exp - claimsOf(browser.token).iat).toBe(limit * 30)
})

test('without the setting, a session does not end by inactivity', async ({
  sql,
  user,
}) => {
  const browser = await signIn(user, unlimited)
  await rest(sql, user, limit + 1)
  expect(await countListed(browser, unlimited)).toBe(1)
  expect(await renew(browser), 'switched on over existing sessions').toBe(400)
  expect(await renew(browser, unlimited), 'and off again').toBe(200)
})
