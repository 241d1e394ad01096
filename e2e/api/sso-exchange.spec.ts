import { createHash, createPublicKey } from 'node:crypto'
import jwt from 'jsonwebtoken'
import * as paths from '../../lib/contract/paths'
import { newSecret } from '../../lib/secret'
import { signSessionToken } from '../../lib/session/token'
import { issueSsoCode } from '../../lib/sso/exchange'
import {
  exchangePath,
  expect,
  keepSecret,
  newAddress,
  newCode,
  newPassword,
  newToken,
  postTo,
  resetPath,
  type Sql,
  test,
  type User,
} from '../support/fixtures'
import { startServer } from '../support/server'

const sha256 = (secret: string) => createHash('sha256').update(secret).digest()
const rejected = { ok: false, code: 'SSO_EXCHANGE_INVALID' }

test('a valid code returns a session JWT for 12 hours, which another library verifies with the JWKS', async ({
  user,
  post,
  url,
  sql,
}) => {
  const response = await post(exchangePath, { code: await newCode(user) })
  expect(response.status).toBe(200)
  expect(Object.keys(response.body)).toEqual(['ok', 'token', 'refreshToken'])
  expect(response.body.ok).toBe(true)

  const { keys } = await (await fetch(`${url}/.well-known/jwks.json`)).json()
  const { header } = jwt.decode(response.body.token!, { complete: true })!
  const key = keys.find(({ kid }: { kid: string }) => kid === header.kid)
  expect(header).toEqual({ alg: 'ES256', typ: 'JWT', kid: key.kid })
  expect(Object.keys(key).sort()).toEqual(['alg', 'crv', 'kid', 'kty', 'use', 'x', 'y']) // but not the private `d`
  const claims = jwt.verify(response.body.token!, createPublicKey({ key, format: 'jwk' }), {
    algorithms: ['ES256'],
    issuer: url,
    audience: 'dashboard',
  }) as jwt.JwtPayload
  expect(Object.keys(claims).sort()).toEqual(['aud', 'exp', 'iat', 'iss', 'jti', 'sid', 'sub'])
  expect(claims.sub).toBe(user.id)
  expect(claims.exp! - claims.iat!).toBe(43_200)
  const [session] = await sql(
    `SELECT id, expires_at - created_at = interval '7 days' AS week FROM sessions WHERE user_id = $1`,
    [user.id],
  )
  expect(session).toEqual({ id: claims.sid, week: true })
})

test('SESSION_AUDIENCE is the audience of session JWTs, and the only one that is accepted', async ({ user, url }) => {
  const server = await startServer({ SESSION_AUDIENCE: 'reports', PUBLIC_URL: url }) // the same issuer and keys
  const tokenOf = async (base: string) =>
    (await postTo(base + exchangePath, { code: await newCode(user) }, { 'X-Forwarded-For': newAddress() })).body.token!
  const [own, other] = [await tokenOf(server.url), await tokenOf(url)]
  const statusOf = async (token: string) =>
    (await fetch(server.url + paths.getSession, { headers: { Authorization: `Bearer ${token}` } })).status
  const statuses = [await statusOf(own), await statusOf(other)]
  await server.stop()
  expect([own, other].map((token) => (jwt.decode(token) as jwt.JwtPayload).aud)).toEqual(['reports', 'dashboard'])
  expect(statuses).toEqual([200, 401])
})

for (const [what, shiftSeconds] of Object.entries({ ahead: 10_800, behind: -10_800 })) {
  test(`on a server whose clock is three hours ${what}, the database’s clock counts`, async ({ user, sql }) => {
    const server = await startServer({
      NODE_OPTIONS: `--import ${new URL('../support/shifted-clock.mjs', import.meta.url).href}`,
      CLOCK_SHIFT_SECONDS: String(shiftSeconds),
    })
    const seconds = async () => Number((await sql('SELECT floor(extract(epoch FROM now())) AS now'))[0]!.now)
    const send = (path: string, body: object) => postTo(server.url + path, body, { 'X-Forwarded-For': newAddress() })
    const [code, expiredCode] = [await newCode(user), await newCode(user)]
    await sql('UPDATE exchange_codes SET expires_at = now() WHERE code_hash = $1', [sha256(expiredCode)])

    const before = await seconds()
    const { status, body } = await send(exchangePath, { code })
    const renewed = await send(paths.refreshSession, { refreshToken: body.refreshToken })
    const again = await send(paths.refreshSession, { refreshToken: body.refreshToken }) // within the ten seconds
    const after = await seconds()
    expect([status, renewed.status, again.status]).toEqual([200, 200, 200])
    expect(again.body.refreshToken).toBe(renewed.body.refreshToken)
    for (const token of [body.token!, renewed.body.token!]) {
      const { iat, exp } = jwt.decode(token) as jwt.JwtPayload
      expect(iat).toBeGreaterThanOrEqual(before)
      expect(iat).toBeLessThanOrEqual(after)
      expect(exp! - iat!).toBe(43_200)
    }
    const [session] = await sql(
      `SELECT expires_at - created_at = interval '7 days' AS week, rotated_at BETWEEN created_at AND now() AS rotated
       FROM sessions WHERE user_id = $1`,
      [user.id],
    )
    expect(session).toEqual({ week: true, rotated: true })
    expect((await send(exchangePath, { code: expiredCode })).status).toBe(400)
    await sql('UPDATE sessions SET expires_at = now() WHERE user_id = $1', [user.id])
    expect((await send(paths.refreshSession, { refreshToken: renewed.body.refreshToken })).status).toBe(400)

    const password = newPassword()
    const expiredToken = await newToken(user)
    await sql('UPDATE reset_tokens SET expires_at = now() WHERE user_id = $1', [user.id])
    expect((await send(resetPath, { token: expiredToken, password })).status).toBe(400)
    expect((await send(resetPath, { token: await newToken(user), password })).status).toBe(200)
    const [{ changed } = { changed: null }] = await sql(
      `SELECT password_changed_at BETWEEN to_timestamp($2) AND now() AS changed FROM users WHERE id = $1`,
      [user.id, before],
    )
    expect(changed).toBe(true)
    await server.stop()
  })
}

test('only the hash of a code is stored, and nothing of a refresh token', async ({ user, post, sql }) => {
  const code = await newCode(user)
  expect(code).toMatch(/^[\w-]{43}$/)
  const { body } = await post(exchangePath, { code })
  expect(body.refreshToken).toMatch(/^[\w-]{48}$/)
  const [stored] = await sql(
    `SELECT code_hash, exchange_codes.expires_at - exchange_codes.created_at = interval '60 seconds' AS minute, sessions
     FROM sessions JOIN exchange_codes ON session_id = sessions.id WHERE sessions.user_id = $1`,
    [user.id],
  )
  expect(stored).toMatchObject({ code_hash: sha256(code), minute: true })
  const mac = Buffer.from(body.refreshToken!, 'base64url').subarray(20)
  for (const form of ['hex', 'base64', 'base64url'] as const) expect(stored!.sessions).not.toContain(mac.toString(form))
})

test('unknown, used and expired codes get the same response', async ({ user, post, sql }) => {
  const used = await newCode(user)
  const expired = await newCode(user)
  expect((await post(exchangePath, { code: used })).status).toBe(200)
  await sql('UPDATE exchange_codes SET expires_at = now() WHERE code_hash = $1', [sha256(expired)])
  for (const code of ['fabricated', used, expired]) {
    const { status, body } = await post(exchangePath, { code }, { 'X-Request-Id': 'the-same-for-all' })
    expect(status).toBe(400)
    expect(body).toEqual({ ...rejected, message: expect.any(String), requestId: 'the-same-for-all' })
  }
  expect(await sql('SELECT 1 FROM sessions WHERE user_id = $1', [user.id])).toHaveLength(1)
})

test('exactly one of 50 concurrent exchanges of one code succeeds', async ({ user, post, sql }) => {
  const code = await newCode(user)
  const responses = await Promise.all(Array.from({ length: 50 }, () => post(exchangePath, { code })))
  expect(responses.filter(({ status }) => status === 200)).toHaveLength(1)
  expect(responses.filter(({ status, body }) => status === 400 && body.code === rejected.code)).toHaveLength(49)
  expect(await sql('SELECT 1 FROM sessions WHERE user_id = $1', [user.id])).toHaveLength(1)
})

test('codes of any length and alphabet are looked up, not validated', async ({ post }) => {
  for (const code of [
    '',
    ' ',
    'x'.repeat(15_000),
    'née\u0000☂',
    '\ud800',
    "' OR 1=1 --",
    '00000000-0000-0000-0000-000000000000',
  ]) {
    const { status, body } = await post(exchangePath, { code })
    expect([status, body.code], JSON.stringify(code).slice(0, 40)).toEqual([400, rejected.code])
  }
})

test('unknown fields are ignored', async ({ user, post }) => {
  const response = await post(exchangePath, { code: await newCode(user), state: 'x', userId: 'another user' })
  expect(response.status).toBe(200)
})

test('a user who was disabled after the code was issued can’t sign in', async ({ user, post, sql }) => {
  const code = await newCode(user)
  await sql('UPDATE users SET disabled_at = now() WHERE id = $1', [user.id])
  const { status, body } = await post(exchangePath, { code })
  expect([status, body.code]).toEqual([400, rejected.code])
  expect(await sql('SELECT 1 FROM sessions WHERE user_id = $1', [user.id])).toHaveLength(0)
})

test.describe('reuse of a code', () => {
  const revoked = async (sql: Sql, user: User) =>
    (await sql('SELECT revoked_at IS NOT NULL AS revoked FROM sessions WHERE user_id = $1', [user.id])).map(
      (session) => session.revoked,
    )
  const usedSecondsAgo = (seconds: number) =>
    `UPDATE exchange_codes SET used_at = now() - interval '${seconds} seconds' WHERE user_id = $1`
  const browser = () => ({ Cookie: `theme=dark; browser=${keepSecret(newSecret())}` })

  test('ends the session that it started, at once', async ({ user, post, sql }) => {
    const code = await newCode(user)
    await post(exchangePath, { code })
    expect((await post(exchangePath, { code })).body.code).toBe(rejected.code)
    expect(await revoked(sql, user)).toEqual([true])
  })

  test('ends it even after the code has expired', async ({ user, post, sql }) => {
    const code = await newCode(user)
    await post(exchangePath, { code })
    await sql(
      `UPDATE exchange_codes SET used_at = now() - interval '6 days', expires_at = now() - interval '6 days' WHERE user_id = $1`,
      [user.id],
    )
    expect((await post(exchangePath, { code })).status).toBe(400)
    expect(await revoked(sql, user)).toEqual([true])
  })

  for (const [when, order] of Object.entries({ first: 0, second: 1, 'at the same instant': 0.5 })) {
    test(`by a thief who is ${when} leaves no live session`, async ({ user, post, sql }) => {
      const code = await newCode(user)
      const exchange = (headers: Record<string, string>) => post(exchangePath, { code }, headers)
      for (const [thief, owner] of [
        [{}, {}], // two clients without cookies are two browsers
        [{}, browser()],
        [browser(), {}],
        [browser(), browser()],
      ] as [Record<string, string>, Record<string, string>][]) {
        const [first, second] = order === 1 ? [owner, thief] : [thief, owner]
        const fresh = await newCode(user)
        const send = (headers: Record<string, string>) => post(exchangePath, { code: fresh }, headers)
        const responses =
          order === 0.5 ? await Promise.all([send(first), send(second)]) : [await send(first), await send(second)]
        expect(responses.map(({ status }) => status).sort()).toEqual([200, 400])
      }
      expect(await revoked(sql, user)).toEqual([true, true, true, true])
      expect((await exchange({})).status).toBe(200) // another code of the user is not affected
    })
  }

  test('by the same browser within 10 seconds is a double submit, later it is not', async ({ user, post, sql }) => {
    const [code, headers] = [await newCode(user), browser()]
    await post(exchangePath, { code }, headers)
    await sql(usedSecondsAgo(8), [user.id])
    expect((await post(exchangePath, { code }, headers)).status).toBe(400)
    expect(await revoked(sql, user)).toEqual([false])
    await sql(usedSecondsAgo(11), [user.id])
    expect((await post(exchangePath, { code }, headers)).status).toBe(400)
    expect(await revoked(sql, user)).toEqual([true])
  })

  test('by the browser that holds the session ends nothing, by one that holds another does', async ({
    user,
    post,
    sql,
  }) => {
    const code = await newCode(user)
    const first = await post(exchangePath, { code })
    const other = await post(exchangePath, {
      code: await newCode({
        id: (await sql(`INSERT INTO users (email) VALUES (gen_random_uuid()::text) RETURNING id`))[0]!.id,
      } as User),
    })
    await sql(usedSecondsAgo(3600), [user.id])
    for (const held of [
      `session=${first.body.token}`,
      `refresh=${first.body.refreshToken}`,
      `session=${other.body.token}; refresh=${first.body.refreshToken}`,
    ]) {
      expect((await post(exchangePath, { code }, { Cookie: `theme=dark; ${held}` })).status).toBe(400)
      expect(await revoked(sql, user)).toEqual([false])
    }
    expect((await post(exchangePath, { code }, { Cookie: `session=${other.body.token}` })).status).toBe(400)
    expect(await revoked(sql, user)).toEqual([true])
  })

  test('with a forged cookie ends the session', async ({ user, post, sql }) => {
    for (const name of ['session', 'refresh'] as const) {
      const code = await newCode(user)
      const { body } = await post(exchangePath, { code })
      const forged = `${body[name === 'session' ? 'token' : 'refreshToken']!.slice(0, -8)}AAAAAAAA`
      await post(exchangePath, { code }, { Cookie: `${name}=${forged}` })
    }
    expect(await revoked(sql, user)).toEqual([true, true])
  })

  test('is a warning in the log', async ({ user }) => {
    const server = await startServer()
    const exchange = (code: string, headers?: Record<string, string>) =>
      postTo(server.url + exchangePath, { code }, headers)
    const same = browser()
    const codes = [await newCode(user), await newCode(user)]
    const bound = keepSecret((await issueSsoCode(user.id, { browser: keepSecret(newSecret()) })).secret)
    for (const headers of [{}, {}]) await exchange(codes[0]!, headers)
    for (const headers of [same, same]) await exchange(codes[1]!, headers)
    await exchange(bound, browser())
    await server.stop()
    const warnings = server
      .output()
      .split('\n')
      .filter((line) => line.includes('"level":"warn"'))
      .map((line) => JSON.parse(line))
    expect(warnings.map(({ msg, sessionId }) => [msg, typeof sessionId])).toEqual([
      ['an exchange code was reused: its session was revoked', 'string'],
      ['an exchange code was reused: its session was not changed', 'string'],
      ['an exchange code was presented by another browser', 'undefined'],
    ])
  })
})

test.describe('a code that was issued for one browser', () => {
  const boundTo = async (user: User, browser: string) => keepSecret((await issueSsoCode(user.id, { browser })).secret)

  test('works there, and in no other, which does not use it up', async ({ user, post, sql }) => {
    const [own, other] = [keepSecret(newSecret()), keepSecret(newSecret())]
    const code = await boundTo(user, own)
    for (const headers of [{}, { Cookie: `browser=${other}` }, { Cookie: 'browser=' }, { Cookie: `browser=${own}x` }]) {
      const { status, body } = await post(exchangePath, { code }, headers as Record<string, string>)
      expect([status, body.code]).toEqual([400, rejected.code])
    }
    expect(await sql('SELECT 1 FROM exchange_codes WHERE user_id = $1 AND used_at IS NULL', [user.id])).toHaveLength(1)
    expect((await post(exchangePath, { code }, { Cookie: `browser=${own}` })).status).toBe(200)
  })

  test('ends nothing when another browser presents it after its use', async ({ user, post, sql }) => {
    const own = keepSecret(newSecret())
    const code = await boundTo(user, own)
    await post(exchangePath, { code }, { Cookie: `browser=${own}` })
    for (const headers of [{}, { Cookie: `browser=${keepSecret(newSecret())}` }])
      expect((await post(exchangePath, { code }, headers as Record<string, string>)).status).toBe(400)
    expect(await sql('SELECT 1 FROM sessions WHERE user_id = $1 AND revoked_at IS NULL', [user.id])).toHaveLength(1)
  })
})

test.describe('a sign-in over a live session', () => {
  const alive = async (sql: Sql, user: User) =>
    (await sql('SELECT id FROM sessions WHERE user_id = $1 AND revoked_at IS NULL', [user.id])).length

  type Tokens = { token?: string; refreshToken?: string }
  const held: Record<string, (one: Tokens, other: Tokens) => [cookie: string, ended: number]> = {
    'the session of the session cookie': ({ token }) => [`session=${token}`, 1],
    'the session of the refresh cookie': ({ refreshToken }) => [`refresh=${refreshToken}`, 1],
    'the session of both cookies': ({ token, refreshToken }) => [`session=${token}; refresh=${refreshToken}`, 1],
    'both sessions of cookies that do not match': ({ token }, { refreshToken }) => [
      `session=${token}; refresh=${refreshToken}`,
      2,
    ],
    'no session of a refresh cookie with an invalid MAC': ({ token }, { refreshToken }) => [
      `session=${token}; refresh=${refreshToken!.slice(0, -8)}AAAAAAAA`,
      1,
    ],
  }
  for (const [what, cookieOf] of Object.entries(held)) {
    test(`ends ${what}, only if it succeeds`, async ({ user, post, sql }) => {
      const signIn = async () => (await post(exchangePath, { code: await newCode(user) })).body
      const [Cookie, ended] = cookieOf(await signIn(), await signIn())
      expect((await post(exchangePath, { code: 'fabricated' }, { Cookie })).status).toBe(400)
      expect(await alive(sql, user)).toBe(2)
      expect((await post(exchangePath, { code: await newCode(user) }, { Cookie })).status).toBe(200)
      expect(await alive(sql, user)).toBe(3 - ended)
    })
  }
})

test.describe('the cookies', () => {
  test('contain the JWT and the refresh token and are HttpOnly', async ({ user, post }) => {
    const { headers, body } = await post(exchangePath, { code: await newCode(user) })
    expect(headers.getSetCookie()).toEqual([
      `session=${body.token}; Path=/; Max-Age=43200; HttpOnly; SameSite=Lax`,
      `refresh=${body.refreshToken}; Path=/; Max-Age=604800; HttpOnly; SameSite=Lax`,
    ])
  })

  test('are __Host- cookies if the public URL is HTTPS', async ({ user, post }) => {
    const server = await startServer({ PUBLIC_URL: 'https://login.example.com' })
    const { headers, body } = await post(`${server.url}${exchangePath}`, { code: await newCode(user) })
    await server.stop()
    expect(headers.getSetCookie()).toEqual([
      `__Host-session=${body.token}; Path=/; Max-Age=43200; HttpOnly; SameSite=Lax; Secure`,
      `__Host-refresh=${body.refreshToken}; Path=/; Max-Age=604800; HttpOnly; SameSite=Lax; Secure`,
    ])
  })

  test('sign in on /, unless the session is revoked or the user disabled', async ({ user, url, post, sql }) => {
    const { body } = await post(exchangePath, { code: await newCode(user) })
    const home = async () => (await fetch(url, { headers: { Cookie: `session=${body.token}` } })).text()
    expect(await home()).toContain(user.email)
    await sql('UPDATE users SET disabled_at = now() WHERE id = $1', [user.id])
    expect(await home()).not.toContain(user.email)
    await sql('UPDATE users SET disabled_at = NULL WHERE id = $1', [user.id])
    await sql('UPDATE sessions SET revoked_at = now() WHERE user_id = $1', [user.id])
    expect(await home()).not.toContain(user.email)
  })

  test('do not sign in with an expired JWT', async ({ user, url, sql }) => {
    const [session] = await sql(
      `INSERT INTO sessions (user_id, expires_at) VALUES ($1, now() + interval '1 hour') RETURNING id`,
      [user.id],
    )
    const now = Math.floor(Date.now() / 1000)
    const token = signSessionToken({ userId: user.id, sessionId: session!.id, issuedAt: now - 60, expiresAt: now - 1 })
    expect(await (await fetch(url, { headers: { Cookie: `session=${token}` } })).text()).not.toContain(user.email)
  })

  test('are deleted, and their sessions revoked, by signing out', async ({ user, url, post, sql }) => {
    const { body } = await post(exchangePath, { code: await newCode(user) })
    const { body: other } = await post(exchangePath, { code: await newCode(user) })
    const response = await fetch(`${url}/sign-out`, {
      method: 'POST',
      headers: { Authorization: 'Bearer x', Cookie: `session=${body.token}; refresh=${other.refreshToken}` },
      redirect: 'manual',
    })
    expect([response.status, response.headers.get('location')]).toEqual([303, '/?signed-out'])
    expect(response.headers.getSetCookie()).toEqual([
      'session=; Path=/; Max-Age=0; HttpOnly; SameSite=Lax',
      'refresh=; Path=/; Max-Age=0; HttpOnly; SameSite=Lax',
    ])
    expect(await sql('SELECT 1 FROM sessions WHERE user_id = $1 AND revoked_at IS NOT NULL', [user.id])).toHaveLength(2)
  })
})
