import { randomUUID } from 'node:crypto'
import { decodeJwt } from 'jose'
import * as routes from '../../lib/contract/routes'
import { Visitor } from '../support/browsers/sso-visitor'
import { insertConnection } from '../support/databases/connection'
import { type OwnDatabase, openOwnDatabase } from '../support/databases/own-database'
import { newPasswordUser, type PasswordUser } from '../support/databases/password-user'
import {
  exchangePath,
  expect,
  newPassword,
  postTo,
  type TestServer,
  test,
} from '../support/fixtures'
import { type Provider, startProvider } from '../support/providers/oidc-provider'
import { keepSecret, newAddress } from '../support/secrets'
import { runScript } from '../support/servers/command'
import { startSmtp } from '../support/servers/smtp'

// The questions of an auditor, which commands answer. e2e/pages/account.spec.ts tests what
// users see. saml-connections.spec.ts tests who has changed a certificate.

let database: OwnDatabase
let server: TestServer
let provider: Provider
test.beforeAll(async ({ serverWith }) => {
  database = await openOwnDatabase()
  provider = await startProvider()
  server = await serverWith({ DATABASE_URL: database.url(), PASSWORD_SIGN_IN: 'true' })
})
test.afterAll(async () => {
  await provider?.stop()
  await database?.drop()
})

type Listed = Record<string, any>

async function run(...command: string[]): Promise<string> {
  const settings = { DATABASE_URL: database.url(), DIRECT_DATABASE_URL: database.url() }
  const { code, stdout, stderr } = await runScript(command, '', settings)
  expect(code, stderr).toBe(0)
  return stdout
}

const readLines = (output: string): Listed[] =>
  output
    .split('\n')
    .filter(Boolean)
    .map((line) => JSON.parse(line))
const history = async (email: string) =>
  readLines(await run('users', 'history', email, '--json'))
const list = async (...flags: string[]) =>
  readLines(await run('events', 'list', ...flags, '--json'))

const newUser = () => newPasswordUser(database.sql, { cost: 4 })

/** Signs a user in from a new address. Returns the ID of the session and the network. */
async function signIn({ email, password }: PasswordUser, address = newAddress()) {
  const headers = { 'X-Forwarded-For': address, 'X-Request-Id': randomUUID() }
  const path = server.url + routes.signIn.path
  const { status, body } = await postTo(path, { email, password }, headers)
  const network = address.replace(/\.\d+$/, '.0/24')
  const sessionId = status === 200 ? decodeJwt(body.token!).sid : undefined
  return { sessionId, network, requestId: headers['X-Request-Id'], status }
}

test('who signed in as her last month, from which network, and how?', async () => {
  const user = await newUser()
  const { sessionId, network } = await signIn(user)
  await database.sql(
    `UPDATE events SET "at" = now() - interval '31 days' WHERE user_id = $1`,
    [user.id],
  )
  expect(await history(user.email)).toEqual([
    {
      ...{ at: expect.any(String), kind: 'signed_in', actor: 'user', method: 'password' },
      ...{ user: user.email, userId: user.id, sessionId, network },
      requestId: expect.any(String),
    },
  ])
  expect(await run('users', 'history', user.email)).toMatch(
    new RegExp(`^\\S+Z  signed_in  ${user.email}  by user  method password  network `),
  )
})

test('who disabled her, and who enabled her again?', async () => {
  const user = await newUser()
  const { sessionId } = await signIn(user)
  await run('users', 'disable', user.email, '--by', 'Grace')
  await run('users', 'enable', user.email)
  const operator = { actor: 'operator', user: user.email }
  expect((await history(user.email)).slice(1)).toMatchObject([
    { kind: 'session_ended', sessionId, operator: 'Grace', command: 'users disable' },
    { kind: 'user_disabled', ...operator, operator: 'Grace', command: 'users disable' },
    { kind: 'user_enabled', ...operator, command: 'users enable' },
  ])
})

test('which sessions did a connection start since Monday?', async () => {
  const [slug, domain] = ['acme', 'acme.example']
  await insertConnection(database.sql, slug, domain, provider)
  const sessionIds: unknown[] = []
  for (const name of ['ada', 'bob']) {
    provider.person = { sub: name, email: `${name}@${domain}` }
    const visitor = new Visitor(server.url)
    const { body } = await visitor.exchange(await visitor.signIn(slug))
    sessionIds.push(decodeJwt(body.token!).sid)
  }
  await signIn(await newUser())
  await database.sql(
    `UPDATE events SET "at" = now() - interval '8 days' WHERE session_id = $1`,
    [sessionIds[0]],
  )

  const began = ['--kind', 'signed_in', '--connection', slug]
  const since = new Date(Date.now() - 7 * 86_400_000).toISOString().slice(0, 10)
  const sessions = async (time: string) =>
    (await list('--since', time, ...began)).map(({ sessionId }) => sessionId)
  expect(await sessions(since)).toEqual(sessionIds.slice(1))
  expect(await sessions('9d')).toEqual(sessionIds)

  await run('connections', 'remove', slug, '--yes')
  expect(await sessions('9d')).toEqual(sessionIds) // of a removed connection
  const [removed] = await list('--kind', 'connection_removed')
  expect(removed).toMatchObject({ slug, command: 'connections remove' })
})

test('whose password was tried from the network of this failure?', async () => {
  const [ada, bob] = [await newUser(), await newUser()]
  const address = newAddress()
  const neighbor = address.replace(/\d+$/, (last) => String((Number(last) + 1) % 256))
  const wrong = (user: PasswordUser) => ({ ...user, password: newPassword() })
  const { requestId, network } = await signIn(wrong(ada), address)
  await signIn(wrong(bob), neighbor)
  await signIn({ ...wrong(bob), email: `unknown-${randomUUID()}@example.com` }, address)

  const failures = () => list('--kind', 'sign_in_failed')
  await expect.poll(async () => (await failures()).length, { intervals: [50] }).toBe(3)
  const [failure] = (await failures()).filter((each) => each.requestId === requestId)
  expect(failure).toMatchObject({ user: ada.email, network, check: 'wrong_password' })
  const tried = (await failures()).filter((each) => each.network === failure!.network)
  expect(new Set(tried.map(({ user }) => user))).toEqual(
    new Set([ada.email, bob.email, undefined]),
  )
})

test('which operator signed in as her, and did she?', async () => {
  const user = await newUser()
  await signIn(user)
  const flags = ['--by', 'Grace', '--hours', '1', '--json']
  const issued = JSON.parse(await run('issue', 'sso-code', user.email, ...flags))
  const headers = { 'X-Forwarded-For': newAddress() }
  const code = keepSecret(issued.secret)
  const { body } = await postTo(server.url + exchangePath, { code }, headers)
  expect(decodeJwt(body.token!).act).toEqual({ sub: 'operator' })
  const claims = decodeJwt(body.token!)
  expect(claims.exp! - claims.iat!).toBeLessThanOrEqual(3_600)
  expect(await history(user.email)).toMatchObject([
    { kind: 'signed_in', actor: 'user', method: 'password' },
    { kind: 'sign_in_link_issued', operator: 'Grace', command: 'issue sso-code' },
    { kind: 'signed_in', actor: 'operator', operator: 'Grace', method: 'operator' },
  ])
  expect(await run('users', 'show', user.email)).toContain('an operator (npm run issue)')
})

test('an operator emails her with --notify only, and gives right options', async () => {
  const smtp = await startSmtp()
  const settings = { DATABASE_URL: database.url(), ...smtp.settings }
  const issue = (...flags: string[]) =>
    runScript(['issue', 'sso-code', user.email, '--json', ...flags], '', settings)
  const user = await newUser()
  try {
    for (const flags of [[], ['--notify']]) {
      const { code, stdout } = await issue(...flags)
      keepSecret(JSON.parse(stdout).secret)
      expect(code).toBe(0)
    }
    const [mail, ...others] = smtp.mailsTo(user.email)
    expect(others).toEqual([])
    expect(mail!.subject).toBe('An administrator can sign in to your Dashboard account')
    expect(mail!.text).toContain('/account\n')

    for (const hours of ['0', '169', '1.5', 'x'])
      expect(await issue('--hours', hours)).toMatchObject({
        code: 2,
        stderr: '--hours must be a whole number from 1 to 168.\n',
      })
    Object.assign(settings, { SMTP_URL: '', MAIL_FROM: '' })
    expect(await issue('--notify')).toMatchObject({
      code: 2,
      stderr: 'SMTP_URL and MAIL_FROM are not set.\n',
    })
    expect((await history(user.email)).map(({ kind }) => kind)).toEqual([
      'sign_in_link_issued',
      'sign_in_link_issued',
    ])
  } finally {
    await smtp.stop()
  }
})

test('who removed her second factor?', async () => {
  const user = await newUser()
  await database.sql(
    `WITH factor AS (INSERT INTO second_factors VALUES ($1, 'x', 0))
     UPDATE users SET second_factor_at = now() WHERE id = $1`,
    [user.id],
  )
  await run('users', 'remove-second-factor', user.email, '--by', 'Grace')
  expect(await history(user.email)).toMatchObject([
    { kind: 'second_factor_off', actor: 'operator', operator: 'Grace' },
  ])
})

test('when was her address changed, and which sessions ended?', async () => {
  const user = await newUser()
  const { sessionId } = await signIn(user)
  const email = `renamed-${randomUUID()}@example.com`
  await run('users', 'rename', user.email, email)
  expect((await history(email)).slice(1)).toMatchObject([
    { kind: 'session_ended', sessionId, command: 'users rename' },
    { kind: 'user_renamed', user: email, command: 'users rename' },
  ])
})

test('was one of her refresh tokens copied?', async () => {
  const user = await newUser()
  const headers = { 'X-Forwarded-For': newAddress() }
  const { body } = await postTo(
    server.url + exchangePath,
    { code: await ownCode(user) },
    headers,
  )
  const refresh = () =>
    postTo(
      server.url + routes.refreshSession.path,
      { refreshToken: body.refreshToken },
      headers,
    )
  await refresh()
  await database.sql(
    `UPDATE sessions SET rotated_at = now() - interval '1 hour' WHERE user_id = $1`,
    [user.id],
  )
  await refresh()
  const reused = await list('--kind', 'refresh_token_reused')
  expect(reused).toMatchObject([
    { user: user.email, sessionId: decodeJwt(body.token!).sid },
  ])
})

/** Issues a code in the database of this file. */
async function ownCode({ email }: PasswordUser): Promise<string> {
  return keepSecret(JSON.parse(await run('issue', 'sso-code', email, '--json')).secret)
}

test('who added this client and this widget, and changed them?', async () => {
  const redirect = ['--redirect', 'https://shop.example/cb']
  keepSecret((await run('clients', 'add', 'shop', ...redirect, '--by', 'Grace')).trim())
  await run('clients', 'update', 'shop', '--token-minutes', '30')
  keepSecret((await run('clients', 'rotate', 'shop')).trim())
  await run('clients', 'disable', 'shop')
  keepSecret((await run('widgets', 'add', 'chat')).trim())
  await run('widgets', 'add-origin', 'chat', 'https://www.example.com')
  await run('widgets', 'remove', 'chat', '--yes')

  const changes = (await list()).filter(({ kind }) => /^(client|widget)_/.test(kind))
  expect(changes).toMatchObject([
    { kind: 'client_added', client: 'shop', operator: 'Grace', command: 'clients add' },
    { kind: 'client_changed', client: 'shop', changed: ['tokenMinutes'] },
    { kind: 'client_secret_issued', client: 'shop', command: 'clients rotate' },
    { kind: 'client_disabled', client: 'shop' },
    { kind: 'widget_added', slug: 'chat' },
    { kind: 'widget_changed', changed: ['origins'] },
    { kind: 'widget_removed', slug: 'chat', command: 'widgets remove' },
  ])
})

test('what is left of a deleted user, and who deleted one?', async () => {
  const user = await newUser()
  await signIn(user)
  const output = await run('users', 'delete', user.email, '--by', 'Grace')
  expect(output).toContain('The events about the user were deleted too.')
  expect(
    await database.sql('SELECT 1 FROM events WHERE user_id = $1', [user.id]),
  ).toEqual([])
  expect(await list('--kind', 'user_deleted')).toEqual([
    {
      ...{ at: expect.any(String), kind: 'user_deleted', actor: 'operator' },
      ...{ operator: 'Grace', command: 'users delete' },
    },
  ])
})

test('lists more events than one page has, in their order, and names wrong filters', async () => {
  const kinds = `SELECT 'keys_reencrypted', 'operator', now() - interval '1 hour' FROM generate_series(1, 2500)`
  await database.sql(`INSERT INTO events (kind, actor, "at") ${kinds}`)
  expect(await list('--kind', 'keys_reencrypted')).toHaveLength(2_500)

  for (const [flags, message] of [
    [['--connection', 'unknown'], 'There is no connection unknown.'],
    [['--since', 'monday'], 'is neither a time ago'],
    [['--kind', 'x'], 'Allowed choices are signed_in'],
  ] as const) {
    const settings = { DATABASE_URL: database.url() }
    const ended = await runScript(['events', 'list', ...flags], '', settings)
    expect([ended.code, ended.stderr]).toEqual([2, expect.stringContaining(message)])
  }
})
