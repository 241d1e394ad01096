import { randomUUID } from 'node:crypto'
import { issueSsoCode } from '../../lib/code/issue'
import { checks as knownChecks } from '../../lib/contract/checks'
import { passwordLimits } from '../../lib/contract/lifetimes'
import * as routes from '../../lib/contract/routes'
import { hashSecret, newSecret } from '../../lib/crypto/token'
import { makeChallenge } from '../../lib/second-factor/challenge'
import { findFactor } from '../../lib/second-factor/find'
import { makeRefreshToken, signSessionToken } from '../../lib/session/tokens'
import {
  addWidget,
  listWidgets,
  revokeTokens,
  setDisabled,
} from '../../lib/widget/manage'
import {
  authorize,
  type ClientCode,
  clientCode,
  exchangeClientCode,
  newRequest,
  openDashboard,
  renewTokens,
  requestTokens,
  secretOf,
  type TokenResponse,
  tokensOf,
} from '../support/browsers/dashboard'
import { newAccount } from '../support/databases/account'
import { addTestConnection } from '../support/databases/connection'
import { newPasswordUser } from '../support/databases/password-user'
import { newFactorUser, totp, wrongCode } from '../support/databases/second-factor'
import {
  type ApiResponse,
  cookiesOf,
  expect,
  newCode,
  newPassword,
  newToken,
  newUsers,
  postTo,
  type Sql,
  test,
} from '../support/fixtures'
import { keepSecret, newAddress } from '../support/secrets'
import { type Server, startServer } from '../support/servers/server'
import { type Smtp, startSmtp } from '../support/servers/smtp'

// Tests that the log line of each rejected request has the reason in `check`, and that the
// response does not depend on it.

test.describe.configure({ mode: 'serial' }) // the tests share one server

let server: Server
let smtp: Smtp
test.beforeAll(async () => {
  smtp = await startSmtp()
  server = await startServer({
    ...smtp.settings,
    PUBLIC_URL: process.env.PUBLIC_URL!, // so that both sign the same tokens
    PASSWORD_SIGN_IN: 'true',
    SECOND_FACTOR: 'true',
  })
})
test.afterAll(async () => {
  await server?.stop()
  await smtp?.stop()
})

type Headers = Record<string, string>
const post = (path: string, body: unknown, headers: Headers = {}) =>
  postTo(server.url + path, body, { 'X-Forwarded-For': newAddress(), ...headers })

const linesOf = ({ headers }: { headers: globalThis.Headers }) =>
  server.logged(headers.get('x-request-id')!)
const lineOf = (response: { headers: globalThis.Headers }) =>
  linesOf(response).find(({ status }) => status)!

/** Sends each request, and expects its check in the log and the same response for all. */
async function expectChecks(
  cases: Record<string, () => Promise<ApiResponse | TokenResponse>>,
  code: string,
): Promise<void> {
  const found: Record<string, string> = {}
  const responses = new Set<string>()

  for (const [check, send] of Object.entries(cases)) {
    const response = await send()
    const { requestId, ...body } = response.body
    responses.add(JSON.stringify([response.status, body]))
    found[check] = lineOf(response).check
    expect(response.body.code ?? response.body.error, check).toBe(code)
  }

  expect(found).toEqual(
    Object.fromEntries(Object.keys(cases).map((each) => [each, each])),
  )
  expect([...responses], 'one response for all reasons').toHaveLength(1)
}

const change = (sql: Sql, { id }: { id: string }, assignment: string) =>
  sql(`UPDATE users SET ${assignment} WHERE id = $1`, [id])

test('a sign-in with a password', async ({ sql }) => {
  const wrong = 'not the password'
  const enter = async (assignment: string | null, given?: string) => {
    const user = await newPasswordUser(sql, { cost: 4 })
    if (assignment) await change(sql, user, assignment)
    const { email, password } = user
    return post(routes.signIn.path, { email, password: given ?? password })
  }
  const domain = `${randomUUID()}.example.com`
  await addTestConnection(domain)

  await expectChecks(
    {
      unknown_user: () =>
        post(routes.signIn.path, {
          email: `${randomUUID()}@example.com`,
          password: wrong,
        }),
      wrong_password: () => enter(null, wrong),
      no_password: () => enter('password_hash = NULL'),
      unknown_hash: () => enter(`password_hash = '{bcrypt}' || password_hash`),
      sso_only: () => enter(`password_policy = 'never'`),
      disabled: () => enter('disabled_at = now()'),
    },
    'SIGN_IN_INVALID',
  )

  const byDomain = await newPasswordUser(sql, { email: `ada@${domain}` })
  const { email, password } = byDomain
  const ofDomain = await post(routes.signIn.path, { email, password })
  expect(lineOf(ofDomain).check).toBe('sso_only')

  // A user with two forms of an address: the one who may use a password is preferred.
  const factor = await newFactorUser(sql)
  const needed = await post(routes.signIn.path, factor)
  expect(lineOf(needed)).toMatchObject({ status: 403, check: 'second_factor' })
})

test('limits of attempts and of requests', async ({ sql }) => {
  const { perAccountAndNetwork, perKnownBrowser } = passwordLimits
  const user = await newPasswordUser(sql, { cost: 4 })
  const known = cookiesOf(await post(routes.signIn.path, user)).known!
  const guess = (headers: Headers) =>
    post(routes.signIn.path, { ...user, password: 'not the password' }, headers)
  const network = { 'X-Forwarded-For': newAddress() }
  const limitedAfter = async (count: number, headers: Headers) => {
    for (let attempt = 0; attempt < count; attempt++) await guess(headers)
    return lineOf(await guess(headers))
  }

  expect(await limitedAfter(perAccountAndNetwork, network)).toMatchObject({
    status: 429,
    check: 'account_network_limit',
  })
  const browser = { Cookie: `known=${known}` }
  expect((await limitedAfter(perKnownBrowser, browser)).check).toBe('browser_limit')

  const limited = await startServer({ RATE_LIMIT_REQUESTS: '1' })
  const { refreshToken } = (await newAccount(sql, 1, 0)).sessions[0]!
  const send = () =>
    postTo(limited.url + routes.refreshSession.path, { refreshToken }, network)
  await send()
  await send()
  const health = () => fetch(`${limited.url}/api/health`, { headers: network })
  await health()
  await health()
  const page = { ...network, Accept: 'text/html' }
  await fetch(`${limited.url}/sign-in`, { headers: page })
  await limited.stop()
  expect(
    limited.logged('"status":429').map(({ route, check }) => [route, check]),
  ).toEqual([
    ['refresh', 'session_requests'],
    ['health', 'client_requests'],
    ['page', 'client_requests'],
  ])
})

test('an exchange of a code', async ({ sql }) => {
  const exchange = (code: string, headers?: Headers) =>
    post(routes.exchangeSsoCode.path, { code }, headers)
  const newUser = async () => (await newUsers(sql, 1))[0]!
  const changed = async (table: string, assignment: string, code: string) => {
    await sql(`UPDATE ${table} SET ${assignment}`, [hashSecret(code)])
    return exchange(code)
  }
  const ofCode = 'WHERE code_hash = $1'
  const ofUser = `WHERE id = (SELECT user_id FROM exchange_codes ${ofCode})`
  const connected = async (assignment: string) => {
    const connection = await addTestConnection(`${randomUUID()}.example.com`)
    await sql(`UPDATE connections SET ${assignment} WHERE id = $1`, [connection.id])
    const { secret } = await issueSsoCode((await newUser()).id, {
      connectionId: connection.id,
    })
    return exchange(keepSecret(secret))
  }

  await expectChecks(
    {
      code_unknown: () => exchange('fabricated'),
      code_used: async () => {
        const code = await newCode(await newUser())
        await exchange(code)
        return exchange(code)
      },
      code_expired: async () =>
        changed(
          'exchange_codes',
          `expires_at = now() ${ofCode}`,
          await newCode(await newUser()),
        ),
      browser: async () => {
        const { secret } = await issueSsoCode((await newUser()).id, {
          browser: keepSecret(newSecret()),
        })
        return exchange(keepSecret(secret), {
          Cookie: `browser=${keepSecret(newSecret())}`,
        })
      },
      disabled: async () =>
        changed('users', `disabled_at = now() ${ofUser}`, await newCode(await newUser())),
      connection: () => connected('disabled_at = now()'),
      identity_unlinked: () => connected('provision = true'),
    },
    'SSO_EXCHANGE_INVALID',
  )
})

test('a request of an OpenID client for tokens', async ({ sql }) => {
  const { url } = server
  const signedIn = async () => {
    const { id, sessions } = await newAccount(sql, 1, 0)
    return { id, browser: sessions[0]! }
  }
  const newCodeOf = async () => (await clientCode(url, (await signedIn()).browser))!
  const exchange = async (changed: Partial<ClientCode>, more = {}) =>
    exchangeClientCode(url, { ...(await newCodeOf()), ...changed }, more)
  const exchangeAfter = async (table: string, assignment: string) => {
    const { id, browser } = await signedIn()
    const code = (await clientCode(url, browser))!
    const key = table === 'users' ? id : browser.id
    await sql(`UPDATE ${table} SET ${assignment} WHERE id = $1`, [key])
    return exchangeClientCode(url, code)
  }

  await expectChecks(
    {
      code_unknown: () => exchange({ code: 'fabricated' }),
      code_client: () => exchange({ slug: 'reports' }),
      redirect_uri: () => exchange({ redirectUri: 'https://app.example.com/' }),
      code_verifier: () => exchange({ codeVerifier: 'fabricated' }),
      code_used: async () => {
        const code = await newCodeOf()
        await exchangeClientCode(url, code)
        return exchangeClientCode(url, code)
      },
      code_expired: async () => {
        const code = await newCodeOf()
        await sql(
          `UPDATE authorization_codes SET expires_at = now() WHERE code_hash = $1`,
          [hashSecret(code.code)],
        )
        return exchangeClientCode(url, code)
      },
      disabled: () => exchangeAfter('users', 'disabled_at = now()'),
      parent_ended: () => exchangeAfter('sessions', 'revoked_at = now()'),
      not_renewable: () => exchangeAfter('sessions', 'renewable_until = now()'),
      sso_only: () => exchangeAfter('users', `password_policy = 'never'`),
      connection: () =>
        exchangeAfter('sessions', `method = 'sso', connection_id = '${randomUUID()}'`),
      token_client: async () => {
        const { refreshToken } = await openDashboard(url, (await signedIn()).browser)
        return renewTokens(url, refreshToken, 'reports')
      },
      session_ended: async () => {
        const { refreshToken } = await openDashboard(url, (await signedIn()).browser)
        await sql('UPDATE sessions SET revoked_at = now() WHERE parent_id IS NOT NULL')
        return renewTokens(url, refreshToken)
      },
      token_unknown: () => renewTokens(url, 'A'.repeat(48)),
    },
    'invalid_grant',
  )

  const ofBrowser = await renewTokens(url, (await signedIn()).browser.refreshToken)
  expect(lineOf(ofBrowser)).toMatchObject({
    check: 'token_client',
    code: 'GRANT_INVALID',
  })
  const ofClient = await openDashboard(url, (await signedIn()).browser)
  const { refreshToken } = ofClient
  const renewed = await post(routes.refreshSession.path, { refreshToken })
  expect(lineOf(renewed)).toMatchObject({ status: 400, check: 'token_client' })
  const tokens = tokensOf(await renewTokens(url, refreshToken))
  const headers = { Authorization: `Bearer ${tokens.token}` }
  const listed = await fetch(url + routes.listSessions.path, { headers })
  expect(lineOf(listed)).toMatchObject({ status: 401, check: 'token_client' })
})

test('the credentials of an OpenID client', async ({ sql }) => {
  const form = { grant_type: 'authorization_code', code: 'fabricated' }
  const request = (slug: string | null, more: Record<string, string | null> = {}) =>
    requestTokens(server.url, slug, { ...form, ...more })
  await sql(`UPDATE clients SET disabled_at = now() WHERE slug = 'local'`)

  await expectChecks(
    {
      client_missing: () => request(null),
      client_unknown: () => request('nobody'),
      client_disabled: () => request('local'),
      client_secret: () => request('app', { client_secret: secretOf('reports') }),
      client_public: () => request('page', { client_secret: secretOf('page') }),
    },
    'invalid_client',
  )

  await sql(`UPDATE clients SET disabled_at = NULL WHERE slug = 'local'`)
  const other = await request('app', { grant_type: 'password' })
  expect([other.body.error, lineOf(other).check]).toEqual([
    'unsupported_grant_type',
    'grant_type',
  ])
})

/** Returns a function that creates a session, changes it, and returns its tokens. */
const sessionsWith =
  (sql: Sql) =>
  async (assignment: string, table = 'sessions') => {
    const { id, sessions } = await newAccount(sql, 1, 0)
    const key = table === 'users' ? id : sessions[0]!.id
    await sql(`UPDATE ${table} SET ${assignment} WHERE id = $1`, [key])
    return sessions[0]!
  }

test('a refresh', async ({ sql }) => {
  const sessionWith = sessionsWith(sql)
  const refresh = (refreshToken?: string) =>
    post(routes.refreshSession.path, { refreshToken })
  const refreshWith = async (assignment: string, table?: string) =>
    refresh((await sessionWith(assignment, table)).refreshToken)

  await expectChecks(
    {
      token_missing: () => refresh(),
      token_unknown: () => refresh('A'.repeat(48)),
      token_used: () => refreshWith('generation = 2'),
      token_newer: async () => {
        const { id } = await sessionWith('generation = 0')
        const newer = { sessionId: id, generation: 3 }
        return refresh(keepSecret(makeRefreshToken(newer)))
      },
      session_unknown: () =>
        refresh(keepSecret(makeRefreshToken({ sessionId: randomUUID(), generation: 0 }))),
      session_ended: () => refreshWith('revoked_at = now()'),
      session_expired: () => refreshWith('expires_at = now()'),
      not_renewable: () => refreshWith('renewable_until = now()'),
      parent_ended: async () => {
        const parent = await sessionWith('revoked_at = now()')
        return refreshWith(`parent_id = '${parent.id}', client_id = '${randomUUID()}'`)
      },
      disabled: () => refreshWith('disabled_at = now()', 'users'),
      sso_only: () => refreshWith(`password_policy = 'never'`, 'users'),
      connection: () => refreshWith(`method = 'sso', connection_id = '${randomUUID()}'`),
    },
    'REFRESH_INVALID',
  )
})

test('a session JWT, at each operation that needs one', async ({ sql }) => {
  const sessionWith = sessionsWith(sql)
  const get = async (path: string, headers: Headers) => {
    const response = await fetch(server.url + path, {
      headers: { 'X-Forwarded-For': newAddress(), ...headers },
    })
    return { ...response, headers: response.headers, status: response.status }
  }
  const bearer = (token: string) => ({ Authorization: `Bearer ${keepSecret(token)}` })
  const withSession = async (assignment: string, table?: string) =>
    bearer((await sessionWith(assignment, table)).token)
  const account = await newAccount(sql, 1, 0)
  const issuedAt = Math.floor(Date.now() / 1_000) - 60
  const expired = signSessionToken({
    ...{ userId: account.id, email: account.email, sessionId: account.sessions[0]!.id },
    ...{ connection: null, amr: null, authenticatedAt: issuedAt },
    ...{ issuedAt, expiresAt: issuedAt + 1 },
  })
  const [head, payload] = account.sessions[0]!.token.split('.')

  for (const [check, headers] of [
    ['token_missing', {}],
    ['token_unknown', bearer(`${head}.${payload}.${'A'.repeat(86)}`)],
    ['token_expired', bearer(expired)],
    ['token_expired', { Cookie: `session=${expired}` }],
    ['session_ended', await withSession('revoked_at = now()')],
    ['session_expired', await withSession('expires_at = now()')],
    ['session_unknown', await withSession('id = gen_random_uuid()')],
    ['disabled', await withSession('disabled_at = now()', 'users')],
  ] as [string, Headers][])
    for (const path of [
      routes.getSession.path,
      routes.listSessions.path,
      routes.getSecondFactor.path,
    ]) {
      const response = await get(path, headers)
      expect([response.status, lineOf(response).check], path).toEqual([401, check])
    }

  const form = await fetch(`${server.url}/account/update`, {
    method: 'POST',
    redirect: 'manual',
    headers: { 'X-Forwarded-For': newAddress() },
    body: new URLSearchParams({ others: '' }),
  })
  expect(lineOf(form)).toMatchObject({ status: 303, check: 'token_missing' })
})

test('a reset of a password', async ({ sql }) => {
  const reset = (token: string, password = newPassword()) =>
    post(routes.resetPassword.path, { token, password })
  const resetWith = async (assignment: string, table = 'reset_tokens') => {
    const [user] = await newUsers(sql, 1)
    const token = await newToken(user!)
    const key = table === 'users' ? 'id' : 'user_id'
    await sql(`UPDATE ${table} SET ${assignment} WHERE ${key} = $1`, [user!.id])
    return reset(token)
  }

  await expectChecks(
    {
      token_unknown: () => reset('fabricated'),
      token_used: async () => {
        const token = await newToken((await newUsers(sql, 1))[0]!)
        await reset(token)
        return reset(token)
      },
      token_expired: () => resetWith('expires_at = now()'),
      token_attempts: () => resetWith('attempts = 30'),
      disabled: () => resetWith('disabled_at = now()', 'users'),
      sso_only: () => resetWith(`password_policy = 'never'`, 'users'),
    },
    'VALIDATION_ERROR',
  )

  // The token of an earlier email is replaced, so it is unknown.
  const [user] = await newUsers(sql, 1)
  const [replaced, token] = [await newToken(user!), await newToken(user!)]
  expect(lineOf(await reset(replaced)).check).toBe('token_unknown')
  expect(lineOf(await reset(token, 'short')).check).toBe('too_short')
  expect(lineOf(await reset(token, 'password1')).check).toBe('too_guessable')
})

test('a second factor', async ({ sql }) => {
  const factor = () => newFactorUser(sql)
  const challengeOf = async (id: string, passedSeconds = 0) => {
    const user = (await findFactor(id))!
    const { challenge } = makeChallenge({ ...user, now: user.now - passedSeconds })
    return keepSecret(challenge)
  }
  const second = (challenge: string, given: object) =>
    post(routes.signInSecondFactor.path, { challenge, ...given })

  await expectChecks(
    {
      challenge_unknown: () => second('fabricated', { code: '123456' }),
      challenge_expired: async () => {
        const { id, secret } = await factor()
        return second(await challengeOf(id, 601), { code: totp(secret) })
      },
      challenge_changed: async () => {
        const user = await factor()
        const challenge = await challengeOf(user.id)
        await change(sql, user, 'password_changed_at = now()')
        return second(challenge, { code: totp(user.secret) })
      },
      challenge_used: async () => {
        const { id, recoveryCodes } = await factor()
        const challenge = await challengeOf(id)
        await second(challenge, { recoveryCode: recoveryCodes[0] })
        return second(challenge, { recoveryCode: recoveryCodes[1] })
      },
    },
    'CHALLENGE_INVALID',
  )

  const { id, secret, recoveryCodes } = await factor()
  const enter = async (given: object) =>
    lineOf(await second(await challengeOf(id), given)).check
  expect(await enter({ code: wrongCode(secret) })).toBe('wrong_code')
  expect(await enter({ recoveryCode: 'AAAA' })).toBe('wrong_code')
  expect(await enter({ recoveryCode: recoveryCodes[0] })).toBeUndefined()
  expect(await enter({ recoveryCode: recoveryCodes[0] })).toBe('used_code')
  await sql('UPDATE second_factors SET failures = 100 WHERE user_id = $1', [id])
  expect(await enter({ code: totp(secret) })).toBe('factor_locked')
  for (let attempt = 0; attempt < passwordLimits.perSecondFactor; attempt++)
    await enter({ recoveryCode: 'AAAA' })
  expect(await enter({ recoveryCode: 'AAAA' })).toBe('second_factor_limit')
})

test('a change of the password and of the second factor', async ({ sql }) => {
  const user = await newPasswordUser(sql, { cost: 4 })
  const { token } = (await post(routes.signIn.path, user)).body
  const own = { Authorization: `Bearer ${token}` }
  const check = async (path: string, body: object) =>
    lineOf(await post(path, body, own)).check
  const password = newPassword()
  const wrong = { currentPassword: 'not the password', password }
  const codes = { password: user.password, code: '123456' }

  for (const [path, body, expected] of [
    [routes.changePassword.path, wrong, 'wrong_password'],
    [routes.changePassword.path, { ...wrong, password: 'short' }, 'too_short'],
    [routes.startSecondFactor.path, { password: 'not the password' }, 'wrong_password'],
    [routes.confirmSecondFactor.path, { enrolment: 'x', code: '1' }, 'enrolment_unknown'],
    [routes.removeSecondFactor.path, codes, 'factor_off'],
    [routes.replaceRecoveryCodes.path, codes, 'factor_off'],
    [routes.endSessions.path, {}, 'invalid_type'],
  ] as const)
    expect(await check(path, body), path).toBe(expected)

  const form = { current: 'not the password', password }
  const response = await fetch(`${server.url}/account/update`, {
    method: 'POST',
    redirect: 'manual',
    headers: { Cookie: `session=${token}`, 'X-Forwarded-For': newAddress() },
    body: new URLSearchParams(form),
  })
  expect(lineOf(response)).toMatchObject({ status: 303, check: 'wrong_password' })
})

test('a widget', async ({ sql }) => {
  const origin = 'https://www.example.com'
  const ask = (widgetToken: string, Origin?: string) =>
    post(routes.startWidgetSession.path, { widgetToken }, Origin ? { Origin } : {})
  const newWidget = async () => {
    const slug = `w-${randomUUID()}`
    const token = keepSecret(await addWidget(slug, slug, [origin]))
    return { token, widget: (await listWidgets(slug))[0]! }
  }

  await expectChecks(
    {
      token_unknown: () => ask('fabricated', origin),
      token_revoked: async () => {
        const { token, widget } = await newWidget()
        await revokeTokens(widget, token.slice(-4))
        return ask(token, origin)
      },
      token_expired: async () => {
        const { token, widget } = await newWidget()
        const expire = 'UPDATE widget_tokens SET expires_at = now() WHERE widget_id = $1'
        await sql(expire, [widget.id])
        return ask(token, origin)
      },
      widget_disabled: async () => {
        const { token, widget } = await newWidget()
        await setDisabled(widget, true)
        return ask(token, origin)
      },
    },
    'WIDGET_TOKEN_INVALID',
  )

  const { token, widget } = await newWidget()
  const elsewhere = lineOf(await ask(token, 'https://other.example.com'))
  expect(elsewhere).toMatchObject({ check: 'origin_unapproved', widget: widget.slug })
  expect(lineOf(await ask(token)).check).toBe('origin_missing')
})

test('a request that no operation accepts', async ({ url }) => {
  const send = async (path: string, init: RequestInit = {}) => {
    const headers = { 'X-Forwarded-For': newAddress(), ...init.headers }
    return lineOf(await fetch(server.url + path, { ...init, headers })).check
  }
  const json = { 'Content-Type': 'application/json' }
  const body = JSON.stringify({ code: 'x' })
  const exchange = { method: 'POST', headers: json, body }
  const { path } = routes.exchangeSsoCode
  const encoded = { ...json, 'Content-Encoding': 'gzip' }
  const large = JSON.stringify({ code: 'x'.repeat(20_000) })

  expect(url).toBeTruthy()
  for (const [check, target, init] of [
    ['path_unknown', '/api/nothing', {}],
    ['switched_off', routes.sendMails.path, {}],
    ['method', path, {}],
    ['content_type', path, { ...exchange, headers: { 'Content-Type': 'text/plain' } }],
    ['content_encoding', path, { ...exchange, headers: encoded }],
    ['size', path, { ...exchange, body: large }],
    ['invalid_json', path, { ...exchange, body: '{' }],
    ['invalid_type', path, { ...exchange, body: '{}' }],
    ['connection', '/api/auth/sso/nothing/metadata', {}],
  ] as [string, string, RequestInit][])
    expect(await send(target, init), target).toBe(check)

  const Origin = 'https://evil.example'
  for (const form of ['/sign-out', '/account/update', '/forgot-password/send'])
    expect(await send(form, { method: 'POST', headers: { Origin } })).toBe('other_site')
})

test('an authorization request of a client', async ({ sql }) => {
  const ask = async (refreshToken?: string, changes = {}, headers = {}) => {
    const { query } = newRequest()
    for (const [name, value] of Object.entries(changes)) query.set(name, `${value}`)
    const cookies = refreshToken ? { refreshToken } : {}
    return lineOf(await authorize(server.url, query, cookies, headers))
  }
  const sessionWith = sessionsWith(sql)

  expect(await ask()).toMatchObject({ status: 303, check: 'token_missing' })
  for (const [assignment, check] of [
    ['revoked_at = now()', 'session_ended'],
    ['generation = 2', 'token_used'],
    ['renewable_until = now()', 'not_renewable'],
  ] as const)
    expect((await ask((await sessionWith(assignment)).refreshToken)).check).toBe(check)

  const { refreshToken } = await sessionWith('generation = 0')
  const ofClient = await openDashboard(server.url, { refreshToken })
  expect((await ask(ofClient.refreshToken)).check).toBe('token_client')
  for (const [check, changes] of Object.entries({
    client_unknown: { client_id: 'nobody' },
    redirect_uri_unknown: { redirect_uri: 'https://app.example.com/' },
    url_too_long: { state: 'x'.repeat(2_001) },
    authorization_request: { scope: 'email' },
  }))
    expect((await ask(refreshToken, changes)).check).toBe(check)
  const embedded = { 'Sec-Fetch-Mode': 'cors', 'Sec-Fetch-Dest': 'empty' }
  expect((await ask(refreshToken, {}, embedded)).check).toBe('not_a_navigation')
})

test('a forgotten password for which no email is sent', async ({ sql }) => {
  const forgot = (email: string) => post(routes.forgotPassword.path, { email })
  const [user, disabled, capped] = (await newUsers(sql, 3)) as [User, User, User]
  await change(sql, disabled, 'disabled_at = now()')
  await forgot(capped.email)
  const queued = 'SELECT 1 FROM mails WHERE user_id = $1'
  await expect.poll(async () => (await sql(queued, [capped.id])).length).toBe(1)

  const reasonFor = async (email: string) => {
    const response = await forgot(email)
    expect(response.body).toEqual({ ok: true })
    const reason = () => linesOf(response).find(({ msg }) => msg)
    await expect.poll(reason).toBeTruthy()
    return [reason()!.msg, reason()!.check]
  }
  const none = 'no reset email was queued'
  expect(await reasonFor(`${randomUUID()}@example.com`)).toEqual([none, 'unknown_user'])
  expect(await reasonFor(disabled.email)).toEqual([none, 'disabled'])
  expect(await reasonFor(capped.email)).toEqual([none, 'mail_limit'])

  const sent = await forgot(user.email)
  await expect.poll(() => smtp.mailsTo(user.email).length).toBe(1)
  expect(linesOf(sent).filter(({ msg }) => msg)).toEqual([])
  const { output } = server
  for (const { email } of [user, disabled, capped]) expect(output()).not.toContain(email)
})

type User = { id: string; email: string }

test('warnings have the ID of their request, and lines about other requests do not', async ({
  sql,
}) => {
  const code = await newCode((await newUsers(sql, 1))[0]!)
  const exchange = () => post(routes.exchangeSsoCode.path, { code })
  await exchange()
  const reused = await exchange()
  expect(linesOf(reused).map(({ level, msg }) => [level, msg])).toEqual([
    ['warn', 'an exchange code was reused: its session was revoked'],
    ['info', undefined],
  ])

  const { refreshToken } = await sessionsWith(sql)('generation = 2')
  const refreshed = await post(routes.refreshSession.path, { refreshToken })
  expect(linesOf(refreshed).map(({ msg }) => msg)).toEqual([
    'a refresh token was reused: its session was revoked',
    undefined,
  ])

  const factor = await newFactorUser(sql)
  await sql('UPDATE second_factors SET failures = 100 WHERE user_id = $1', [factor.id])
  const { challenge } = (await post(routes.signIn.path, factor)).body
  const locked = await post(routes.signInSecondFactor.path, { challenge, code: '123456' })
  expect(linesOf(locked)[0]!.msg).toMatch(/^a second factor is locked/)

  const sent = server.logged('"msg":"an email was sent"')
  expect(sent.length).toBeGreaterThan(0)
  for (const line of sent) expect(line).not.toHaveProperty('requestId')
})

test('every check in the log of this file is a known one', () => {
  const issues = /^(wrong_code|used_code|invalid_\w+|too_\w+|unrecognized_keys)$/
  const logged = new Set(server.logged('"check"').map(({ check }) => check as string))
  const known: readonly string[] = knownChecks
  expect(
    [...logged].filter((check) => !known.includes(check) && !issues.test(check)),
  ).toEqual([])
})
