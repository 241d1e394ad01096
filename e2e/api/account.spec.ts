import { randomUUID } from 'node:crypto'
import bcrypt from 'bcrypt'
import { passwordLimits } from '../../lib/contract/lifetimes'
import * as routes from '../../lib/contract/routes'
import { makeKnownBrowser } from '../../lib/password/known-browser'
import { disableUser } from '../../lib/user/user'
import { openDashboard as open } from '../support/browsers/dashboard'
import { newPasswordUser, type PasswordUser } from '../support/databases/password-user'
import { inOrderOfLock, lockRow } from '../support/databases/row-lock'
import {
  cookiesOf,
  expect,
  newCode,
  newPassword,
  newToken,
  type Post,
  postTo,
  type Sql,
  type TestServer,
  test,
} from '../support/fixtures'
import { newAddress } from '../support/secrets'
import { allFeatures } from '../support/servers/settings'
import { send } from '../support/wire/raw-http'

// The sessions and the password of a signed-in user.

let server: TestServer
test.beforeAll(async ({ serverWith, smtp }) => {
  server = await serverWith(allFeatures)
  smtp.respondWith(() => 451) // so that emails stay in the database
})
test.afterAll(({ smtp }) => smtp.respondWith(() => undefined))

type Tokens = { token: string; refreshToken: string }
const firefox = {
  'User-Agent': 'Mozilla/5.0 (Windows NT 10.0; rv:140.0) Gecko/20100101 Firefox/140.0',
}

const call: Post = (path, body, headers) => server.post(path, body, headers)
const bearer = ({ token }: Tokens) => ({ Authorization: `Bearer ${token}` })
const sessionIdOf = ({ token }: Tokens) =>
  JSON.parse(Buffer.from(token.split('.')[1]!, 'base64url').toString()).sid
const signIn = async ({ email, password }: PasswordUser, headers = {}) =>
  (await call(routes.signIn.path, { email, password }, headers)).body as Tokens
const signInWithCode = async (user: { id: string; email: string }) =>
  (await call(routes.exchangeSsoCode.path, { code: await newCode(user) })).body as Tokens
const openDashboard = (browser: Tokens): Promise<Tokens> => open(server.url, browser)
/** Returns for each session whether it is live. */
const liveOf = (...sessions: Tokens[]) =>
  Promise.all(
    sessions.map(
      async (session) => (await server.get(routes.getSession.path, bearer(session))).ok,
    ),
  )

test.describe('sessions', () => {
  test('lists a browser session and its dashboard sessions as one live session', async ({
    sql,
  }) => {
    const [user, stranger] = [
      await newPasswordUser(sql, { cost: 4 }),
      await newPasswordUser(sql, { cost: 4 }),
    ]
    const ended = await signInWithCode(user)
    await call(routes.signOut.path, {}, bearer(ended))
    const expired = sessionIdOf(await signInWithCode(user))
    await sql(`UPDATE sessions SET expires_at = now() WHERE id = $1`, [expired])
    await signIn(stranger)
    const slug = `account-${randomUUID()}`
    await sql(
      `WITH connection AS (
         INSERT INTO connections (slug, name, kind, settings) VALUES ($1, 'Acme', 'oidc', '{}') RETURNING id
       )
       INSERT INTO sessions (user_id, connection_id, method, expires_at, created_at, rotated_at)
       SELECT $2, id, 'sso', now() + interval '1 day', now() - interval '3 days', now() - interval '2 days' FROM connection`,
      [slug, user.id],
    )
    const browser = await signIn(user, firefox)
    const dashboard = await openDashboard(browser)
    const code = await signInWithCode(user)
    const used = (id: string, hours: number) =>
      sql(
        `UPDATE sessions SET rotated_at = created_at + make_interval(hours => $2) WHERE id = $1`,
        [id, hours],
      )
    await used(sessionIdOf(browser), 1)
    await used(sessionIdOf(dashboard), 2)
    const [times] = await sql(
      `SELECT created_at, rotated_at FROM sessions WHERE id = $1`,
      [sessionIdOf(dashboard)],
    )

    const listed = async (headers: Record<string, string>) =>
      (await (await server.get(routes.listSessions.path, headers)).json()).sessions
    const sessions = await listed(bearer(browser))
    expect(sessions).toMatchObject([
      {
        id: sessionIdOf(code),
        device: null,
        current: false,
        signedInWith: { method: 'code' },
      },
      {
        ...{
          id: sessionIdOf(browser),
          device: 'Firefox on Windows',
          current: true,
          signedInWith: { method: 'password' },
        },
        lastUsedAt: times!.rotated_at.toISOString(),
      },
      {
        current: false,
        signedInWith: { method: 'sso', connection: { slug, name: 'Acme' } },
      },
    ])
    const daysAgo = (instant: string) =>
      Math.round((Date.now() - Date.parse(instant)) / 86_400_000)
    expect([daysAgo(sessions[2].createdAt), daysAgo(sessions[2].lastUsedAt)]).toEqual([
      3, 2,
    ])
    expect(await listed({ Cookie: `session=${browser.token}` })).toEqual(sessions)
    await sql('DELETE FROM connections WHERE slug = $1', [slug])
    expect((await listed(bearer(browser)))[2].signedInWith).toEqual({ method: 'sso' })
  })

  test('ends a browser session of the user and its dashboard sessions, and ignores all other IDs', async ({
    sql,
  }) => {
    const [user, stranger] = [
      await newPasswordUser(sql, { cost: 4 }),
      await newPasswordUser(sql, { cost: 4 }),
    ]
    const [browser, other, foreign] = [
      await signIn(user),
      await signIn(user),
      await signIn(stranger),
    ]
    const [dashboard, ofOther] = [
      await openDashboard(browser),
      await openDashboard(other),
    ]
    const end = async (sessionId: string) => {
      const { status, body } = await call(
        routes.endSessions.path,
        { sessionId },
        bearer(browser),
      )
      expect([status, body], sessionId).toEqual([200, { ok: true }])
      return liveOf(browser, dashboard, other, ofOther, foreign)
    }
    const ignored = [
      sessionIdOf(foreign),
      sessionIdOf(dashboard),
      sessionIdOf(ofOther),
      randomUUID(),
      'x',
      '',
    ]
    for (const id of ignored)
      expect(await end(id), id).toEqual([true, true, true, true, true])
    expect(await end(sessionIdOf(other))).toEqual([true, true, false, false, true])
    expect(await end(sessionIdOf(browser))).toEqual([false, false, false, false, true])
  })

  test('ends the sessions of all other browsers and their dashboards, and deletes unused codes', async ({
    sql,
  }) => {
    const user = await newPasswordUser(sql, { cost: 4 })
    const [browser, other] = [await signIn(user), await signInWithCode(user)]
    const [dashboard, ofOther] = [
      await openDashboard(browser),
      await openDashboard(other),
    ]
    const code = await newCode(user)
    const others = { others: true }
    const { status } = await call(routes.endSessions.path, others, bearer(browser))
    expect(status).toBe(200)
    expect(await liveOf(browser, dashboard, other, ofOther)).toEqual([
      true,
      true,
      false,
      false,
    ])
    expect((await call(routes.exchangeSsoCode.path, { code })).status).toBe(400)
  })

  test('ends a session that starts while the user ends all other sessions', async ({
    sql,
  }) => {
    const user = await newPasswordUser(sql, { cost: 4 })
    const browser = await signIn(user)
    const lock = await lockRow('users', 'id = $1', user.id)
    const endOthers = () =>
      call(routes.endSessions.path, { others: true }, bearer(browser))
    await inOrderOfLock(lock, () => signIn(user), endOthers)
    expect(
      await sql('SELECT id FROM sessions WHERE user_id = $1 AND revoked_at IS NULL', [
        user.id,
      ]),
    ).toEqual([{ id: sessionIdOf(browser) }])
  })

  test('rejects requests without a live session and requests from another site', async ({
    sql,
  }) => {
    const user = await newPasswordUser(sql, { cost: 4 })
    const [browser, other] = [await signIn(user), await signIn(user)]
    const ended = await signIn(user)
    await call(routes.signOut.path, {}, bearer(ended))
    const change = { currentPassword: user.password, password: newPassword() }
    const requests = {
      [routes.endSessions.path]: { others: true },
      [routes.changePassword.path]: change,
    }
    const without = [
      {},
      bearer(ended),
      { Cookie: `refresh=${browser.refreshToken}` },
    ] as Record<string, string>[]
    for (const headers of without) {
      expect((await server.get(routes.listSessions.path, headers)).status).toBe(401)
      for (const [path, body] of Object.entries(requests))
        expect((await call(path, body, headers)).body.code, path).toBe('SESSION_INVALID')
    }
    const cookie = { Cookie: `session=${browser.token}`, 'X-Forwarded-For': newAddress() }
    const json = {
      'Content-Type': 'application/json',
      'Sec-Fetch-Site': 'cross-site',
      'Sec-Fetch-Mode': 'cors',
    }
    for (const [path, body] of Object.entries(requests)) {
      const post = (headers: Record<string, string>) =>
        send(server.url + path, {
          method: 'POST',
          headers: { ...cookie, ...headers },
          body: JSON.stringify(body),
        })
      expect((await post(json)).status).toBe(403)
      expect(
        (await post({ 'Content-Type': 'text/plain', 'Sec-Fetch-Site': 'same-site' }))
          .status,
      ).toBe(415)
    }
    for (const body of [{}, { others: false }, { others: 'true' }, { sessionId: 1 }]) {
      const { status, body: rejection } = await call(
        routes.endSessions.path,
        body,
        bearer(browser),
      )
      expect([status, rejection.issues![0]!.code], JSON.stringify(body)).toEqual([
        400,
        'invalid_type',
      ])
    }
    expect(await liveOf(browser, other)).toEqual([true, true])
  })
})

test.describe('password change', () => {
  const wrong = 'not the password'
  const newUser = (sql: Sql) => newPasswordUser(sql, { cost: 4 })
  const change = (
    by: Tokens,
    currentPassword: string,
    password: string,
    headers: Record<string, string> = {},
  ) =>
    call(
      routes.changePassword.path,
      { currentPassword, password },
      { ...bearer(by), ...headers },
    )
  const mailsOf = async (sql: Sql, { id }: { id: string }) =>
    (await sql('SELECT kind FROM mails WHERE user_id = $1 ORDER BY kind', [id])).map(
      ({ kind }) => kind,
    )
  const hashOf = async (sql: Sql, { id }: { id: string }) =>
    (await sql('SELECT password_hash FROM users WHERE id = $1', [id]))[0]!.password_hash

  test('replaces the password, ends other sessions, deletes unused codes, emails a notice', async ({
    sql,
    url,
  }) => {
    const user = await newUser(sql)
    const [browser, other] = [await signIn(user), await signIn(user)]
    const [dashboard, ofOther] = [
      await openDashboard(browser),
      await openDashboard(other),
    ]
    const [code, password] = [await newCode(user), newPassword()]
    await sql(`INSERT INTO mails (kind, user_id, language) VALUES ('reset', $1, 'en')`, [
      user.id,
    ])
    const { status, body, headers } = await change(
      browser,
      user.password,
      password,
      firefox,
    )
    expect([status, body]).toEqual([200, { ok: true }])
    expect(await liveOf(browser, dashboard, other, ofOther)).toEqual([
      true,
      true,
      false,
      false,
    ])
    expect((await call(routes.exchangeSsoCode.path, { code })).status).toBe(400)
    expect((await call(routes.signIn.path, { ...user })).body.code).toBe(
      'SIGN_IN_INVALID',
    )
    expect((await call(routes.signIn.path, { ...user, password })).status).toBe(200)
    expect(await mailsOf(sql, user)).toContain('password-changed')
    expect(await mailsOf(sql, user), 'its link would still work').not.toContain('reset')
    const line = {
      route: 'password-change',
      userId: user.id,
      sessionId: sessionIdOf(browser),
    }
    expect(await server.logged(headers.get('x-request-id')!)).toMatchObject([line])
    const elsewhere = await postTo(url + routes.changePassword.path, {}, bearer(browser))
    expect([elsewhere.status, elsewhere.body.code], 'without PASSWORD_SIGN_IN').toEqual([
      404,
      'NOT_FOUND',
    ])
  })

  test('changes nothing if the current password is wrong or a reset would reject the new one', async ({
    sql,
  }) => {
    const user = await newUser(sql)
    const [browser, other] = [await signIn(user), await signIn(user)]
    const before = await hashOf(sql, user)
    for (const [current, password, code] of [
      [wrong, newPassword(), undefined],
      ['', newPassword(), undefined],
      [user.password, 'short', 'too_short'],
      [user.password, 'x'.repeat(73), 'too_long'],
      [user.password, 'password1', 'too_guessable'],
      [user.password, user.email, 'too_guessable'],
    ] as const) {
      const { status, body } = await change(browser, current, password)
      const expected = code
        ? ['VALIDATION_ERROR', ['password'], code]
        : ['SIGN_IN_INVALID', undefined, undefined]
      expect([status, body.code, body.issues?.[0]?.path, body.issues?.[0]?.code]).toEqual(
        [400, ...expected],
      )
    }
    expect([await hashOf(sql, user), await liveOf(browser, other)]).toEqual([
      before,
      [true, true],
    ])
    expect(await mailsOf(sql, user)).not.toContain('password-changed')
    for (const assignment of [
      `password_policy = 'never'`,
      'password_policy = NULL, password_hash = NULL',
    ]) {
      await sql(`UPDATE users SET ${assignment} WHERE id = $1`, [user.id])
      expect(
        (await change(browser, user.password, newPassword())).body.code,
        assignment,
      ).toBe('SIGN_IN_INVALID')
    }
  })

  test('counts only a wrong current password as a sign-in attempt', async ({ sql }) => {
    const [user, password] = [await newUser(sql), newPassword()]
    const known = await call(routes.signIn.path, { ...user })
    const Cookie = `known=${cookiesOf(known).known}`
    const browser = known.body as Tokens
    const network = { 'X-Forwarded-For': newAddress() }
    for (let count = 0; count <= passwordLimits.perAccountAndNetwork; count++)
      expect((await change(browser, user.password, 'password1', network)).body.code).toBe(
        'VALIDATION_ERROR',
      )
    for (let count = 0; count < passwordLimits.perAccountAndNetwork; count++)
      expect((await change(browser, wrong, password, network)).status).toBe(400)
    expect((await call(routes.signIn.path, { ...user }, network)).status).toBe(429)
    expect((await change(browser, user.password, password, network)).status).toBe(429)
    expect(
      (await change(browser, user.password, password, { ...network, Cookie })).status,
      'a recognized browser',
    ).toBe(200)
  })

  for (const [what, prepare] of Object.entries<
    (user: PasswordUser, sql: Sql) => Promise<() => Promise<unknown>>
  >({
    'a reset': async (user) => {
      const token = await newToken(user)
      return () => call(routes.resetPassword.path, { token, password: newPassword() })
    },
    'another change': async (user) => {
      const session = await signIn(user)
      return () => change(session, user.password, newPassword())
    },
    'an SSO policy':
      async ({ id }, sql) =>
      () =>
        sql(`UPDATE users SET password_policy = 'never' WHERE id = $1`, [id]),
    'disabling the user':
      async ({ id }) =>
      () =>
        disableUser(id),
  })) {
    test(`changes nothing if ${what} commits first`, async ({ sql }) => {
      const [user, password] = [await newUser(sql), newPassword()]
      const browser = await signIn(user)
      const first = await prepare(user, sql)
      const lock = await lockRow('users', 'id = $1', user.id)
      const [, slower] = await inOrderOfLock(lock, first, () =>
        change(browser, user.password, password),
      )
      expect([slower.status, slower.body.code]).toEqual([400, 'SIGN_IN_INVALID'])
      expect(await bcrypt.compare(password, await hashOf(sql, user))).toBe(false)
    })
  }
})

test('emails a user about a password sign-in in a new browser, except about the first sign-in', async ({
  sql,
}) => {
  const newUser = () => newPasswordUser(sql, { cost: 4 })
  const [user, fresh, old] = [await newUser(), await newUser(), await newUser()]
  const mails = (of = user) =>
    sql(`SELECT kind, language, device FROM mails WHERE user_id = $1`, [of.id])
  // each time from another network, because each network causes one email a day
  const enter = (headers = {}, as = user) => {
    const address = { 'X-Forwarded-For': newAddress() }
    return call(routes.signIn.path, { ...as }, { ...address, ...headers })
  }
  const expectMails = (count: number, of = user) =>
    expect.poll(async () => (await mails(of)).length).toBe(count)
  const change = (of: typeof user, assignment: string) =>
    sql(`UPDATE users SET ${assignment} WHERE id = $1`, [of.id])
  await enter({}, fresh)
  await sql(
    `INSERT INTO sessions (user_id, expires_at) VALUES ($1, now() + interval '1 day')`,
    [user.id],
  )
  const Cookie = `known=${makeKnownBrowser(user.email, null, Math.floor(Date.now() / 1000))}`
  await enter({ Cookie })
  await call(routes.signIn.path, { ...user, password: 'not the password' })
  await enter({ ...firefox, 'Accept-Language': 'de' })
  await expectMails(1)
  expect(await mails()).toEqual([
    { kind: 'new-device', language: 'de', device: 'Firefox on Windows' },
  ])
  await change(user, `password_changed_at = now() + interval '2 seconds'`) // the time in the cookie is in whole seconds
  await enter({ Cookie })
  await expectMails(2)
  await change(old, `password_changed_at = NULL, created_at = now() - interval '8 days'`)
  // the app can't know that this is the first sign-in, because old sessions are deleted
  await enter({}, old)
  await expectMails(1, old)
  expect(await mails(fresh)).toEqual([])
  for (let count = 0; count < 10; count++) await enter()
  await expectMails(10)

  await sql(
    `ALTER TABLE mails ADD CONSTRAINT no_new_device CHECK (kind <> 'new-device') NOT VALID`,
  )
  await sql('DELETE FROM mails WHERE user_id = $1', [user.id])
  expect((await enter()).status).toBe(200)
  await expect
    .poll(server.output)
    .toContain('an email about a new device could not be queued')
  await sql('ALTER TABLE mails DROP CONSTRAINT no_new_device')
  expect(await mails()).toEqual([])
})
