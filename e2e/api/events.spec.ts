import { randomUUID } from 'node:crypto'
import { decodeJwt } from 'jose'
import pg from 'pg'
import { exchangeSsoCode } from '../../lib/code/exchange'
import { issueOperatorCode, issueSsoCode } from '../../lib/code/issue'
import * as routes from '../../lib/contract/routes'
import { signIn } from '../../lib/password/sign-in'
import { refreshSession } from '../../lib/session/refresh'
import { env } from '../../lib/settings/env'
import { openDashboard, renewTokens, tokensOf } from '../support/browsers/dashboard'
import { Visitor } from '../support/browsers/sso-visitor'
import { openDirectory } from '../support/clients/directory'
import { signInByCode } from '../support/databases/account'
import { connect } from '../support/databases/connection'
import { eventsOf, failureOf } from '../support/databases/events'
import { caller, newPasswordUser } from '../support/databases/password-user'
import { newFactorUser, totp } from '../support/databases/second-factor'
import {
  exchangePath,
  expect,
  newCode,
  newPassword,
  newToken,
  resetPath,
  type TestServer,
  test,
} from '../support/fixtures'
import { startProvider } from '../support/providers/oidc-provider'
import { keepSecret, newAddress } from '../support/secrets'
import { allFeatures } from '../support/servers/settings'

// Tests which events requests cause. e2e/commands/events.spec.ts tests those of commands.

let server: TestServer
test.beforeAll(async ({ serverWith, smtp: _ }) => {
  server = await serverWith(allFeatures)
})

const firefox =
  'Mozilla/5.0 (Windows NT 10.0; Win64; x64; rv:140.0) Gecko/20100101 Firefox/140.0'

/** The headers of a request, and what its event says about them. */
function newClient() {
  const address = newAddress()
  const requestId = randomUUID()
  return {
    requestId,
    headers: {
      'X-Forwarded-For': address,
      'X-Request-Id': requestId,
      'User-Agent': firefox,
    },
    from: {
      device: 'Firefox on Windows',
      network: address.replace(/\.\d+$/, '.0/24'),
    },
  }
}

test('a sign-in and a sign-out have the network, the device and the request', async ({
  sql,
}) => {
  const user = await newPasswordUser(sql, { cost: 4 })
  const { headers, from, requestId } = newClient()
  const { email, password } = user
  const signedIn = await server.post(routes.signIn.path, { email, password }, headers)
  const sessionId = decodeJwt(signedIn.body.token!).sid
  const began = { kind: 'signed_in', actor: 'user', method: 'password', ...from }
  expect(await eventsOf(sql, user.id)).toEqual([{ ...began, session_id: sessionId }])
  expect(
    await sql('SELECT 1 FROM events WHERE request_id = $1 AND user_id = $2', [
      requestId,
      user.id,
    ]),
  ).toHaveLength(1)

  const { refreshToken } = signedIn.body
  await server.post(routes.signOut.path, { refreshToken }, headers)
  await server.post(routes.signOut.path, { refreshToken }, headers) // ends nothing
  expect((await eventsOf(sql, user.id)).slice(1)).toEqual([
    { kind: 'signed_out', actor: 'user', session_id: sessionId, ...from },
  ])
})

test('a failed sign-in is an event for each address, without the address', async ({
  sql,
}) => {
  const user = await newPasswordUser(sql, { cost: 4 })
  const unknown = `unknown-${randomUUID()}@example.com`
  for (const [email, check] of [
    [user.email.toUpperCase(), 'wrong_password'],
    [unknown, 'unknown_user'],
  ] as const) {
    const { headers, from, requestId } = newClient()
    const body = { email, password: newPassword() }
    expect((await server.post(routes.signIn.path, body, headers)).status).toBe(400)
    const event = await failureOf(sql, requestId)
    const known = check === 'wrong_password' ? { user_id: user.id } : {}
    expect(event).toEqual({
      ...{ kind: 'sign_in_failed', actor: 'user', method: 'password', check },
      ...from,
      ...known,
    })
  }

  const [row] = await sql(
    'SELECT count(*)::int AS count FROM events WHERE events::text LIKE $1',
    [`%${unknown}%`],
  )
  expect(row).toEqual({ count: 0 })
})

test('an attempt above a limit, and an unknown code, are no events', async ({ sql }) => {
  const user = await newPasswordUser(sql, { cost: 4 })
  const { headers } = newClient()
  const body = { email: user.email, password: newPassword() }
  const statuses: number[] = []
  for (let attempt = 0; attempt < 12; attempt++)
    statuses.push((await server.post(routes.signIn.path, body, headers)).status)
  expect(statuses.filter((status) => status === 429)).toHaveLength(2)

  const other = newClient()
  const code = keepSecret(randomUUID())
  await server.post(exchangePath, { code }, other.headers)
  // a later failure of the same server, so that all earlier ones are written
  const last = newClient()
  await server.post(routes.signIn.path, body, last.headers)
  await failureOf(sql, last.requestId)

  await expect
    .poll(async () => (await eventsOf(sql, user.id)).length, { intervals: [10] })
    .toBe(11)
  expect(
    await sql('SELECT 1 FROM events WHERE request_id = $1', [other.requestId]),
  ).toEqual([])
})

test('a wrong code of the second factor is a failure of its user', async ({ sql }) => {
  const user = await newFactorUser(sql)
  const { email, password } = user
  const { body } = await server.post(routes.signIn.path, { email, password })
  const { headers, from, requestId } = newClient()
  const path = routes.signInSecondFactor.path
  const { challenge } = body
  await server.post(path, { challenge, code: '000000' }, headers)
  expect(await failureOf(sql, requestId)).toEqual({
    ...{ kind: 'sign_in_failed', actor: 'user', method: 'password', ...from },
    ...{ user_id: user.id, check: 'wrong_code' },
  })

  await server.post(path, { challenge, code: totp(user.secret) })
  expect(await eventsOf(sql, user.id)).toMatchObject([
    { kind: 'sign_in_failed' },
    { kind: 'signed_in', method: 'password' },
  ])
})

test('an exchange, the reuse of its code, and an expired code', async ({ user, sql }) => {
  const code = await newCode(user)
  const { headers, from } = newClient()
  const first = await server.post(exchangePath, { code }, headers)
  const session_id = decodeJwt(first.body.token!).sid
  await server.post(exchangePath, { code }, headers)
  expect(await eventsOf(sql, user.id)).toEqual([
    { kind: 'signed_in', actor: 'user', method: 'code', session_id, ...from },
    { kind: 'code_reused', actor: 'user', session_id, ...from },
    { kind: 'session_ended', actor: 'user', session_id, ...from },
  ])

  const expired = await newCode(user)
  await sql(
    'UPDATE exchange_codes SET expires_at = now() WHERE used_at IS NULL AND user_id = $1',
    [user.id],
  )
  const late = newClient()
  await server.post(exchangePath, { code: expired }, late.headers)
  expect(await failureOf(sql, late.requestId)).toMatchObject({
    ...{ kind: 'sign_in_failed', method: 'code', check: 'code_expired' },
    user_id: user.id,
  })
})

test('a reset is an event, with the sessions that it ends', async ({ user, sql }) => {
  const { token: jwt } = await signInByCode(server.post, user)
  const { headers, from } = newClient()
  const token = await newToken(user)
  await server.post(resetPath, { token, password: newPassword() }, headers)
  await server.post(resetPath, { token, password: newPassword() }, headers) // is rejected
  expect((await eventsOf(sql, user.id)).slice(1)).toEqual([
    { kind: 'reset_link_issued', actor: 'user' },
    { kind: 'password_reset', actor: 'user', ...from },
    { kind: 'session_ended', actor: 'user', session_id: decodeJwt(jwt).sid, ...from },
  ])
})

test('the reuse of a refresh token is an event, and a refresh is none', async ({
  user,
  sql,
}) => {
  const { refreshToken } = await signInByCode(server.post, user)
  const path = routes.refreshSession.path
  expect((await server.post(path, { refreshToken })).status).toBe(200)
  await sql(
    `UPDATE sessions SET rotated_at = now() - interval '1 hour' WHERE user_id = $1`,
    [user.id],
  )
  expect((await server.post(path, { refreshToken })).status).toBe(400)
  expect(await eventsOf(sql, user.id)).toMatchObject([
    { kind: 'signed_in' },
    { kind: 'refresh_token_reused', actor: 'user' },
  ])
})

test('users change their password and end sessions', async ({ sql }) => {
  const user = await newPasswordUser(sql, { cost: 4 })
  const { email, password: currentPassword } = user
  const signInAgain = async () =>
    (await server.post(routes.signIn.path, { email, password: currentPassword })).body
  const [other, own] = [await signInAgain(), await signInAgain()]
  const headers = { Authorization: `Bearer ${own.token}` }
  const sid = (token: string) => decodeJwt(token).sid
  await server.post(routes.endSessions.path, { sessionId: sid(other.token!) }, headers)
  const password = newPassword()
  await server.post(routes.changePassword.path, { currentPassword, password }, headers)
  expect((await eventsOf(sql, user.id)).slice(2)).toMatchObject([
    { kind: 'session_ended', actor: 'user', session_id: sid(other.token!) },
    { kind: 'password_changed', actor: 'user', session_id: sid(own.token!) },
  ])
})

test('a provider links a user, starts a session and is rejected', async ({ sql }) => {
  const provider = await startProvider()
  const slug = await connect(provider)
  const [connection] = await sql('SELECT id FROM connections WHERE slug = $1', [slug])
  const connection_id = connection!.id
  try {
    const visitor = new Visitor(server.url)
    await visitor.exchange(await visitor.signIn(slug))
    const [user] = await sql('SELECT id FROM users WHERE email = $1', [
      provider.person.email,
    ])
    expect(await eventsOf(sql, user!.id)).toMatchObject([
      { kind: 'user_added', actor: 'provider', connection_id },
      { kind: 'user_linked', actor: 'provider', connection_id },
      { kind: 'signed_in', actor: 'user', method: 'sso', connection_id },
    ])

    await sql('UPDATE users SET disabled_at = now() WHERE id = $1', [user!.id])
    const rejected = new Visitor(server.url)
    await rejected.signIn(slug)
    expect(await failureOf(sql, rejected.requestId)).toMatchObject({
      ...{ kind: 'sign_in_failed', method: 'sso', check: 'user_disabled' },
      ...{ connection_id, user_id: user!.id },
    })
  } finally {
    await provider.stop()
  }
})

test('a directory adds and disables a user', async ({ sql }) => {
  const { connection, domain, send } = await openDirectory(() => server.url)
  const userName = `ada@${domain}`
  const emails = [{ value: userName }]
  const schemas = ['urn:ietf:params:scim:schemas:core:2.0:User']
  const { body } = await send('POST', '/Users', { schemas, userName, emails })
  await send('DELETE', `/Users/${body.id}`)
  const by = { actor: 'directory', connection_id: connection.id }
  expect(await eventsOf(sql, body.id)).toMatchObject([
    { kind: 'user_added', ...by },
    { kind: 'directory_user_removed', ...by },
    { kind: 'user_disabled', ...by },
  ])
})

test('the session of an operator is marked before and after a refresh and at clients, and can be short', async ({
  user,
  sql,
}) => {
  const issued = await issueOperatorCode(user.id, { operator: 'Grace', hours: 1 })
  const { body } = await server.post(exchangePath, { code: keepSecret(issued.secret) })
  const { refreshToken } = body
  const renewed = await server.post(routes.refreshSession.path, { refreshToken })
  for (const token of [body.token!, renewed.body.token!]) {
    const claims = decodeJwt(token)
    expect(claims.act).toEqual({ sub: 'operator' })
    expect(claims).not.toHaveProperty('amr')
    expect(claims.exp! - Number(claims.auth_time)).toBeLessThanOrEqual(3_600)
  }

  const listed = await server.get(routes.listSessions.path, {
    Authorization: `Bearer ${body.token}`,
  })
  const { sessions } = (await listed.json()) as { sessions: object[] }
  expect(sessions).toMatchObject([{ signedInWith: { method: 'operator' } }])
  expect((await eventsOf(sql, user.id)).slice(0, 2)).toMatchObject([
    { kind: 'sign_in_link_issued', actor: 'operator' },
    { kind: 'signed_in', actor: 'operator', operator: 'Grace', method: 'operator' },
  ])

  const dashboard = await openDashboard(server.url, body)
  const client = await renewTokens(server.url, dashboard.refreshToken)
  const atClient = [dashboard.token, dashboard.idToken, tokensOf(client).idToken]
  for (const token of [...atClient, tokensOf(client).token]) {
    expect(decodeJwt(token)).toMatchObject({ act: { sub: 'operator' } })
    expect(decodeJwt(token)).not.toHaveProperty('amr')
  }

  const own = await signInByCode(server.post, user)
  const claims = decodeJwt(own.token)
  expect(claims).not.toHaveProperty('act')
  expect(claims.exp! - claims.iat!).toBe(12 * 60 * 60)
})

/** Runs the two specified kinds of sign-ins, and a refresh. Returns their statements. */
async function readStatements(user: { id: string; email: string; password: string }) {
  const statements: string[] = []
  const { query } = pg.Client.prototype
  pg.Client.prototype.query = function (this: pg.Client, ...parameters: any[]) {
    const [given] = parameters
    statements.push(typeof given === 'string' ? given : given.text)
    return Reflect.apply(query, this, parameters)
  } as typeof query
  try {
    const { refreshToken } = await exchangeSsoCode(
      (await issueSsoCode(user.id)).secret,
      caller,
    )
    await refreshSession(refreshToken)
    await signIn(user.email, user.password, caller)
  } finally {
    pg.Client.prototype.query = query
  }
  // without the settings of a new connection, and the clean-up of the start
  return statements.filter((text) => !/^\s*(SET|DELETE) /.test(text))
}

test('events add no statement, and with EVENTS_DAYS=0 no statement has an event', async ({
  sql,
}) => {
  const user = await newPasswordUser(sql) // whose hash is not upgraded
  const days = env().EVENTS_DAYS
  const recorded = await readStatements(user)
  try {
    env().EVENTS_DAYS = 0
    const silent = await readStatements(user)
    expect(silent).toHaveLength(recorded.length)
    expect(silent.join()).not.toMatch(/\bevents\b|_event\b/)
    expect(recorded.join()).toMatch(/INSERT INTO events/)
  } finally {
    env().EVENTS_DAYS = days
  }
})
