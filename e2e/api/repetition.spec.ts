import jwt from 'jsonwebtoken'
import * as routes from '../../lib/contract/routes'
import { makeChallenge } from '../../lib/second-factor/challenge'
import { findFactor } from '../../lib/second-factor/find'
import { newPasswordUser } from '../support/databases/password-user'
import { type FactorUser, totp } from '../support/databases/second-factor'
import {
  newBrowser,
  newKey,
  prepareSignIn,
  type SignInRequest,
  signInNames,
} from '../support/databases/sign-in-requests'
import {
  type ApiResponse,
  expect,
  newCode,
  newPassword,
  newToken,
  newUsers,
  type Sql,
  type TestServer,
  test,
  type User,
} from '../support/fixtures'
import { keepSecret, newAddress } from '../support/secrets'
import { allFeatures } from '../support/servers/settings'

let server: TestServer
test.beforeAll(async ({ serverWith }) => {
  // at this URL, for which the helpers sign
  server = await serverWith({ ...allFeatures, PUBLIC_URL: process.env.PUBLIC_URL! })
})

const send = ({ path, body, headers }: SignInRequest) => server.post(path, body, headers)

const readSession = ({ body }: ApiResponse) =>
  body.token ? (jwt.decode(body.token) as jwt.JwtPayload).sid : null

async function start(what: string, sql: Sql) {
  const { user, request } = await prepareSignIn(what, sql)
  const first = await send(request)
  expect(first.status).toBe(200)
  return { user, request, first, sessionId: readSession(first) as string }
}

/** The emails about a sign-in, of a user with another session. */
const mailsOf: Record<string, string[]> = {
  'an exchange': [],
  'a password sign-in': ['new-device'],
  'a sign-in with a passkey': ['new-device-passkey'],
  'a sign-in with TOTP': ['new-device'],
  'a sign-in with a recovery code': ['new-device', 'recovery-code-used'],
}

for (const what of signInNames) {
  test.describe(what, () => {
    test('that the same browser repeats gets the same session, and counts once', async ({
      sql,
    }) => {
      const { user, request } = await prepareSignIn(what, sql)
      // with an earlier session, a sign-in with a password causes an email
      const [earlier] = await sql(
        `INSERT INTO sessions (user_id, expires_at) VALUES ($1, now() + interval '1 day') RETURNING id`,
        [user.id],
      )
      const mails = () =>
        sql('SELECT kind FROM mails WHERE user_id = $1 ORDER BY kind', [user.id])
      const first = await send(request)
      const sessionId = readSession(first)
      const sent = mailsOf[what]!.map((kind) => ({ kind }))
      await expect.poll(mails).toEqual(sent)

      // more often than any limit of attempts allows, and from other networks
      for (let repetition = 0; repetition < 12; repetition++) {
        const headers = { ...request.headers, 'X-Forwarded-For': newAddress() }
        const repeated = await send({ ...request, headers })
        expect(repeated.status).toBe(200)
        expect(readSession(repeated)).toBe(sessionId)
        expect(repeated.body.refreshToken).toBe(first.body.refreshToken)
        expect(Object.keys(repeated.body)).toEqual(Object.keys(first.body))
      }
      expect(
        await sql('SELECT id FROM sessions WHERE user_id = $1 AND id <> $2', [
          user.id,
          earlier!.id,
        ]),
      ).toEqual([{ id: sessionId }])
      expect(await mails()).toEqual(sent)

      const refreshed = await server.post(routes.refreshSession.path, {
        refreshToken: first.body.refreshToken,
      })
      expect(refreshed.status).toBe(200)
    })

    /** Each changes the second request, or the state before it. */
    const differences: Record<
      string,
      (
        started: Awaited<ReturnType<typeof start>>,
        sql: Sql,
      ) => Promise<Partial<SignInRequest>>
    > = {
      'of another browser': async ({ request: { headers } }) => ({
        headers: { ...headers, Cookie: newBrowser() },
      }),
      'without the cookie of the browser': async ({ request: { headers } }) => {
        const { Cookie: _, ...others } = headers
        return { headers: others }
      },
      'with another live session in the cookies': async (
        { request: { headers } },
        sql,
      ) => {
        const [other] = await newUsers(sql, 1)
        const code = await newCode(other!)
        const { body } = await server.post(routes.exchangeSsoCode.path, { code })
        const Cookie = `${headers.Cookie}; session=${body.token}`
        return { headers: { ...headers, Cookie } }
      },
      '60 seconds later': async ({ sessionId, user }, sql) => {
        const earlier = `- interval '61 seconds'`
        await sql(
          `WITH used AS (UPDATE recovery_codes SET used_at = used_at ${earlier} WHERE user_id = $2 AND used_at IS NOT NULL)
           UPDATE sessions SET created_at = created_at ${earlier} WHERE id = $1`,
          [sessionId, user.id],
        )
        return {}
      },
      'after a refresh': async ({ first }) => {
        const { refreshToken } = first.body
        await server.post(routes.refreshSession.path, { refreshToken })
        return {}
      },
      'after the session ended': async ({ sessionId }, sql) => {
        await sql('UPDATE sessions SET revoked_at = now() WHERE id = $1', [sessionId])
        return {}
      },
      'after the user was disabled': async ({ user }, sql) => {
        await sql('UPDATE users SET disabled_at = now() WHERE id = $1', [user.id])
        return {}
      },
    }

    for (const [difference, change] of Object.entries(differences))
      test(`${difference}, is not answered with the session`, async ({ sql }) => {
        const started = await start(what, sql)
        const changed = await change(started, sql)
        const second = await send({ ...started.request, ...changed })
        expect(readSession(second)).not.toBe(started.sessionId)
        if (what !== 'a password sign-in') expect(second.status).toBe(400)
      })
  })
}

for (const what of ['an exchange', 'a password sign-in'])
  for (const [key, value] of Object.entries({
    'another key': newKey(),
    'no key': null,
    'a key that is too short': 'x'.repeat(21),
    'a key that is too long': 'x'.repeat(65),
  }))
    test(`${what} with ${key} is not answered with the session`, async ({ sql }) => {
      const { request, sessionId } = await start(what, sql)
      const { 'Idempotency-Key': _, ...others } = request.headers
      const headers = { ...others, ...(value && { 'Idempotency-Key': value }) }
      expect(readSession(await send({ ...request, headers }))).not.toBe(sessionId)
    })

test('the key of a sign-in with another code, or of another user, starts another session', async ({
  sql,
}) => {
  for (const what of ['an exchange', 'a password sign-in']) {
    const { request, sessionId } = await start(what, sql)
    const { user, request: other } = await prepareSignIn(what, sql)
    const second = await send({ ...other, headers: request.headers })
    expect(second.status).toBe(200)
    expect(readSession(second)).not.toBe(sessionId)
    const [session] = await sql('SELECT user_id FROM sessions WHERE id = $1', [
      readSession(second),
    ])
    expect(session!.user_id).toBe(user.id)
  }
})

test('a challenge with a code that another sign-in has used is not answered', async ({
  sql,
}) => {
  for (const what of ['a sign-in with TOTP', 'a sign-in with a recovery code']) {
    const { user, request, sessionId } = await start(what, sql)
    const { secret, recoveryCodes } = user as FactorUser
    await sql('UPDATE second_factors SET last_step = 0 WHERE user_id = $1', [user.id])

    const used = [{ recoveryCode: recoveryCodes[1] }, { code: totp(secret, 1) }]
    for (const given of used) {
      const { challenge } = makeChallenge((await findFactor(user.id))!)
      const headers = { Cookie: newBrowser() }
      const body = { challenge: keepSecret(challenge), ...given }
      expect((await send({ ...request, body, headers })).status).toBe(200)
    }

    const { challenge } = request.body as { challenge: string }
    const others = what === 'a sign-in with TOTP' ? used.slice(0, 1) : used
    for (const given of [...others, { code: '000000' }]) {
      const second = await send({ ...request, body: { challenge, ...given } })
      expect(second.status).toBe(400)
      expect(readSession(second)).not.toBe(sessionId)
    }
  }
})

test('a repeated TOTP code leaves the count of wrong codes as it was', async ({
  sql,
}) => {
  const { user, request } = await start('a sign-in with TOTP', sql)
  await sql('UPDATE second_factors SET failures = 7 WHERE user_id = $1', [user.id])
  expect((await send(request)).status).toBe(200)
  expect(
    await sql('SELECT failures FROM second_factors WHERE user_id = $1', [user.id]),
  ).toEqual([{ failures: 7 }])
})

async function signIn(sql: Sql) {
  const user = await newPasswordUser(sql, { cost: 4 })
  const { email, password } = user
  const { body } = await server.post(routes.signIn.path, { email, password })
  const headers = { Authorization: `Bearer ${body.token}` }
  return { user, password, headers }
}

/** What a repetition must not change. */
const passwordState = (sql: Sql, { id }: User) =>
  sql(
    `SELECT password_hash, password_changed_at, (SELECT count(*)::int FROM mails WHERE user_id = users.id) AS mails
     FROM users WHERE id = $1`,
    [id],
  )

test.describe('a repeated change of the password', () => {
  async function change(sql: Sql) {
    const { user, password, headers } = await signIn(sql)
    const passwords = { currentPassword: password, password: newPassword() }
    const post = (body = passwords, as = headers) =>
      server.post(routes.changePassword.path, body, as)
    expect((await post()).status).toBe(200)
    return { user, passwords, post }
  }

  test('is answered, changes nothing, and does not count', async ({ sql }) => {
    const { user, post } = await change(sql)
    const before = await passwordState(sql, user)
    for (let repetition = 0; repetition < 12; repetition++)
      expect((await post()).status).toBe(200)
    expect(await passwordState(sql, user)).toEqual(before)
  })

  test('is rejected with another new password, later, or in another session', async ({
    sql,
  }) => {
    const { user, passwords, post } = await change(sql)
    expect(await post({ ...passwords, password: newPassword() })).toMatchObject({
      status: 400,
      body: { code: 'SIGN_IN_INVALID' },
    })

    const { body } = await server.post(routes.signIn.path, {
      email: user.email,
      password: passwords.password,
    })
    const other = { Authorization: `Bearer ${body.token}` }
    expect((await post(passwords, other)).status).toBe(400)

    await sql(
      `WITH began AS (UPDATE sessions SET created_at = created_at - interval '61 seconds' WHERE user_id = $1)
       UPDATE users SET password_changed_at = password_changed_at - interval '61 seconds' WHERE id = $1`,
      [user.id],
    )
    expect((await post()).status).toBe(400)
  })
})

test.describe('a repeated reset', () => {
  async function reset(sql: Sql) {
    const user = await newPasswordUser(sql, { cost: 4 })
    const body = { token: await newToken(user), password: newPassword() }
    const key = { 'Idempotency-Key': newKey() }
    const post = (given = body, headers: Record<string, string> = key) =>
      server.post(routes.resetPassword.path, given, headers)
    expect((await post()).status).toBe(200)
    return { user, body, post }
  }

  test('is answered at most 29 times, and changes nothing', async ({ sql }) => {
    const { user, post } = await reset(sql)
    const before = await passwordState(sql, user)
    for (let repetition = 0; repetition < 29; repetition++)
      expect((await post()).body).toEqual({ ok: true })
    expect((await post()).status).toBe(400)
    expect(await passwordState(sql, user)).toEqual(before)
  })

  test('is rejected with another password, without a key, later, or for a disabled user', async ({
    sql,
  }) => {
    const { user, body, post } = await reset(sql)
    expect((await post({ ...body, password: newPassword() })).status).toBe(400)
    expect((await post(body, {})).status).toBe(400)

    const later = (seconds: number) =>
      sql(
        `UPDATE reset_tokens SET used_at = used_at - make_interval(secs => $2) WHERE user_id = $1`,
        [user.id, seconds],
      )
    await later(61)
    expect((await post()).status).toBe(400)

    await later(-61)
    expect((await post()).status).toBe(200)
    await sql('UPDATE users SET disabled_at = now() WHERE id = $1', [user.id])
    expect((await post()).status).toBe(400)
  })
})

test('a repeated reset is answered without PASSWORD_SIGN_IN', async ({ post, user }) => {
  const body = { token: await newToken(user), password: newPassword() }
  const headers = { 'Idempotency-Key': newKey() }
  for (let delivery = 0; delivery < 2; delivery++)
    expect((await post(routes.resetPassword.path, body, headers)).body).toEqual({
      ok: true,
    })
})

test.describe('a repeated set-up of the second factor', () => {
  async function setUp(sql: Sql) {
    const { user, password, headers } = await signIn(sql)
    const enroll = async () => {
      const { body } = await server.post(
        routes.startSecondFactor.path,
        { password },
        headers,
      )
      const { secret, enrolment } = body as unknown as Record<string, string>
      return { secret: secret!, given: { enrolment, code: totp(keepSecret(secret!)) } }
    }
    const other = await enroll()
    const { secret, given } = await enroll()
    const post = (body = given) =>
      server.post(routes.confirmSecondFactor.path, body, headers)
    const first = await post()
    expect(first.status).toBe(200)
    return { user, given, other, secret, post }
  }

  test('is answered without recovery codes, and changes nothing', async ({ sql }) => {
    const { user, post } = await setUp(sql)
    const state = () =>
      sql(
        `SELECT second_factor_at, (SELECT count(*)::int FROM recovery_codes WHERE user_id = users.id) AS codes,
           (SELECT count(*)::int FROM mails WHERE user_id = users.id) AS mails
         FROM users WHERE id = $1`,
        [user.id],
      )
    const before = await state()
    expect((await post()).body).toEqual({ ok: true, recoveryCodes: [] })
    expect(await state()).toEqual(before)
  })

  test('is a conflict with another code, another enrolment, or later', async ({
    sql,
  }) => {
    const { user, given, other, secret, post } = await setUp(sql)
    const conflict = { status: 409, body: { code: 'SECOND_FACTOR_CONFLICT' } }
    expect(await post({ ...given, code: totp(secret, 1) })).toMatchObject(conflict)
    expect(await post(other.given)).toMatchObject(conflict)
    expect(await post({ ...given, enrolment: 'x'.repeat(100) })).toMatchObject(conflict)

    await sql(
      `WITH began AS (UPDATE sessions SET created_at = created_at - interval '61 seconds' WHERE user_id = $1)
       UPDATE users SET second_factor_at = second_factor_at - interval '61 seconds' WHERE id = $1`,
      [user.id],
    )
    expect(await post()).toMatchObject(conflict)
  })
})
