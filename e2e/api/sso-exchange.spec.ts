import { createHash, createPublicKey } from 'node:crypto'
import jwt from 'jsonwebtoken'
import { issueSsoCode } from '../../lib/code/issue'
import * as routes from '../../lib/contract/routes'
import { newSecret } from '../../lib/crypto/token'
import { newPasswordUser } from '../support/databases/password-user'
import {
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
import { shiftClock, startServer } from '../support/servers/server'
import { otherValues, shiftedClock } from '../support/servers/settings'

const sha256 = (secret: string) => createHash('sha256').update(secret).digest()
const rejected = { ok: false, code: 'SSO_EXCHANGE_INVALID' }

test('returns a 12-hour session JWT that another library can verify', async ({
  user,
  post,
  url,
  sql,
}) => {
  const response = await post(routes.exchangeSsoCode.path, {
    code: await newCode(user),
    state: 'ignored',
    userId: 'another user',
  })
  expect(response.status).toBe(200)
  expect(Object.keys(response.body)).toEqual(['ok', 'token', 'refreshToken'])
  expect(response.body.ok).toBe(true)
  expect(response.headers.getSetCookie()).toEqual([
    `session=${response.body.token}; Path=/; Max-Age=43200; HttpOnly; SameSite=Lax`,
    `refresh=${response.body.refreshToken}; Path=/; Max-Age=604800; HttpOnly; SameSite=Lax`,
  ])

  const { keys } = await (await fetch(`${url}/.well-known/jwks.json`)).json()
  const { header } = jwt.decode(response.body.token!, { complete: true })!
  const key = keys.find(({ kid }: { kid: string }) => kid === header.kid)
  expect(header).toEqual({ alg: 'ES256', typ: 'JWT', kid: key.kid })
  expect(Object.keys(key).sort()).toEqual(['alg', 'crv', 'kid', 'kty', 'use', 'x', 'y']) // but not the private `d`
  const claims = jwt.verify(
    response.body.token!,
    createPublicKey({ key, format: 'jwk' }),
    {
      algorithms: ['ES256'],
      issuer: url,
      audience: 'dashboard',
    },
  ) as jwt.JwtPayload
  expect(Object.keys(claims).sort()).toEqual([
    'aud',
    'auth_time',
    'email',
    'exp',
    'iat',
    'iss',
    'jti',
    'sid',
    'sub',
  ])
  expect([claims.sub, claims.email]).toEqual([user.id, user.email])
  expect(claims.exp! - claims.iat!).toBe(43_200)
  const [session] = await sql(
    `SELECT id, expires_at - created_at = interval '7 days' AS week FROM sessions WHERE user_id = $1`,
    [user.id],
  )
  expect(session).toEqual({ id: claims.sid, week: true })
})

test('accepts only session JWTs with the audience SESSION_AUDIENCE', async ({
  serverWith,
  user,
  url,
}) => {
  const server = await serverWith({ SESSION_AUDIENCE: 'reports', PUBLIC_URL: url }) // with the same issuer and keys
  for (const [base, audience, status] of [
    [server.url, 'reports', 200],
    [url, 'dashboard', 401],
  ] as const) {
    const headers = { 'X-Forwarded-For': newAddress() }
    const { token } = (
      await postTo(
        base + routes.exchangeSsoCode.path,
        { code: await newCode(user) },
        headers,
      )
    ).body
    expect((jwt.decode(token!) as jwt.JwtPayload).aud).toBe(audience)
    const authorization = { ...headers, Authorization: `Bearer ${token}` }
    expect(
      (await fetch(server.url + routes.getSession.path, { headers: authorization }))
        .status,
    ).toBe(status)
  }
})

for (const [what, shiftSeconds] of Object.entries({ ahead: 10_800, behind: -10_800 })) {
  test(`uses the clock of the database on a server whose clock is three hours ${what}`, async ({
    serverWith,
    user,
    sql,
  }) => {
    const server = await serverWith(shiftedClock)
    await shiftClock(server, shiftSeconds)
    const send = server.post
    const seconds = async () =>
      Number((await sql('SELECT floor(extract(epoch FROM now())) AS now'))[0]!.now)
    const expire = (table: string) =>
      sql(`UPDATE ${table} SET expires_at = now() WHERE user_id = $1`, [user.id])
    const expiredCode = await newCode(user)
    await expire('exchange_codes')

    const before = await seconds()
    const { body } = await send(routes.exchangeSsoCode.path, {
      code: await newCode(user),
    })
    const renewed = await send(routes.refreshSession.path, {
      refreshToken: body.refreshToken,
    })
    // within ten seconds of the rotation
    const again = await send(routes.refreshSession.path, {
      refreshToken: body.refreshToken,
    })
    const after = await seconds()
    expect(again.body.refreshToken).toBe(renewed.body.refreshToken)
    for (const token of [body.token!, renewed.body.token!]) {
      const { iat, exp } = jwt.decode(token) as jwt.JwtPayload
      expect(iat! >= before && iat! <= after).toBe(true)
      expect(exp! - iat!).toBe(43_200)
    }
    const [session] = await sql(
      `SELECT expires_at - created_at = interval '7 days' AS week, rotated_at BETWEEN created_at AND now() AS rotated
       FROM sessions WHERE user_id = $1`,
      [user.id],
    )
    expect(session).toEqual({ week: true, rotated: true })
    expect((await send(routes.exchangeSsoCode.path, { code: expiredCode })).status).toBe(
      400,
    )
    await expire('sessions')
    expect(
      (
        await send(routes.refreshSession.path, {
          refreshToken: renewed.body.refreshToken,
        })
      ).status,
    ).toBe(400)

    const password = newPassword()
    const expiredToken = await newToken(user)
    await expire('reset_tokens')
    expect(
      (await send(routes.resetPassword.path, { token: expiredToken, password })).status,
    ).toBe(400)
    expect(
      (await send(routes.resetPassword.path, { token: await newToken(user), password }))
        .status,
    ).toBe(200)
    const changed =
      'SELECT 1 FROM users WHERE id = $1 AND password_changed_at BETWEEN to_timestamp($2) AND now()'
    expect(await sql(changed, [user.id, before])).toHaveLength(1)
  })
}

test('stores codes as hashes, and does not store refresh tokens', async ({
  user,
  post,
  sql,
}) => {
  const code = await newCode(user)
  expect(code).toMatch(/^[\w-]{43}$/)
  const { body } = await post(routes.exchangeSsoCode.path, { code })
  expect(body.refreshToken).toMatch(/^[\w-]{48}$/)
  const [stored] = await sql(
    `SELECT code_hash, exchange_codes.expires_at - exchange_codes.created_at = interval '60 seconds' AS minute, sessions
     FROM sessions JOIN exchange_codes ON session_id = sessions.id WHERE sessions.user_id = $1`,
    [user.id],
  )
  expect(stored).toMatchObject({ code_hash: sha256(code), minute: true })
  const mac = Buffer.from(body.refreshToken!, 'base64url').subarray(20)
  for (const form of ['hex', 'base64', 'base64url'] as const)
    expect(stored!.sessions).not.toContain(mac.toString(form))
})

test('stores only the names of the browser and the system, not the User-Agent header', async ({
  user,
  post,
  sql,
}) => {
  const agents = [
    'Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0',
    '<b>curl/8',
  ]
  for (const agent of agents)
    await post(
      routes.exchangeSsoCode.path,
      { code: await newCode(user) },
      { 'User-Agent': agent },
    )
  const stored = await sql(
    'SELECT device FROM sessions WHERE user_id = $1 ORDER BY created_at',
    [user.id],
  )
  expect(stored).toEqual([{ device: 'Firefox on Linux' }, { device: null }])
})

test('the response is the same for unknown, used and expired codes and disabled users', async ({
  user,
  post,
  sql,
}) => {
  const used = await newCode(user)
  const expired = await newCode(user)
  expect((await post(routes.exchangeSsoCode.path, { code: used })).status).toBe(200)
  await sql('UPDATE exchange_codes SET expires_at = now() WHERE code_hash = $1', [
    sha256(expired),
  ])
  const disabled = await newCode(user)
  for (const code of ['fabricated', used, expired, disabled]) {
    if (code === disabled)
      await sql('UPDATE users SET disabled_at = now() WHERE id = $1', [user.id])
    const { status, body } = await post(
      routes.exchangeSsoCode.path,
      { code },
      { 'X-Request-Id': 'the-same-for-all' },
    )
    expect(status).toBe(400)
    expect(body).toEqual({
      ...rejected,
      message: expect.any(String),
      requestId: 'the-same-for-all',
    })
  }
  expect(await sql('SELECT 1 FROM sessions WHERE user_id = $1', [user.id])).toHaveLength(
    1,
  )
})

test('accepts exactly one of 50 concurrent exchanges of the same code', async ({
  user,
  post,
  sql,
}) => {
  const code = await newCode(user)
  const responses = await Promise.all(
    Array.from({ length: 50 }, () => post(routes.exchangeSsoCode.path, { code })),
  )
  expect(responses.filter(({ status }) => status === 200)).toHaveLength(1)
  expect(
    responses.filter(({ status, body }) => status === 400 && body.code === rejected.code),
  ).toHaveLength(49)
  expect(await sql('SELECT 1 FROM sessions WHERE user_id = $1', [user.id])).toHaveLength(
    1,
  )
})

test('looks up codes of any length and with any characters', async ({ post }) => {
  for (const code of [
    '',
    ' ',
    'x'.repeat(15_000),
    'née\u0000☂',
    '\ud800',
    "' OR 1=1 --",
  ]) {
    const { status, body } = await post(routes.exchangeSsoCode.path, { code })
    expect([status, body.code], JSON.stringify(code).slice(0, 40)).toEqual([
      400,
      rejected.code,
    ])
  }
})

test.describe('reuse of a code', () => {
  const revoked = async (sql: Sql, user: { id: string }) =>
    (
      await sql(
        'SELECT revoked_at IS NOT NULL AS revoked FROM sessions WHERE user_id = $1',
        [user.id],
      )
    ).map((session) => session.revoked)
  const usedSecondsAgo = (seconds: number) =>
    `UPDATE exchange_codes SET used_at = now() - interval '${seconds} seconds' WHERE user_id = $1`
  const browser = () => ({ Cookie: `theme=dark; browser=${keepSecret(newSecret())}` })

  test('ends the session that the code started, even after the code has expired', async ({
    user,
    post,
    sql,
  }) => {
    for (const ago of ['0 days', '6 days']) {
      const code = await newCode(user)
      await post(routes.exchangeSsoCode.path, { code })
      const passed =
        'used_at = used_at - $1::interval, expires_at = expires_at - $1::interval'
      await sql(`UPDATE exchange_codes SET ${passed} WHERE code_hash = $2`, [
        ago,
        sha256(code),
      ])
      expect((await post(routes.exchangeSsoCode.path, { code })).body.code).toBe(
        rejected.code,
      )
    }
    expect(await revoked(sql, user)).toEqual([true, true])
  })

  for (const [when, order] of Object.entries({
    before: 0,
    after: 1,
    'at the same time as': 0.5,
  })) {
    test(`leaves no live session if a thief sends the code ${when} the user`, async ({
      user,
      post,
      sql,
    }) => {
      const unused = await newCode(user)
      for (const [thief, owner] of [
        [{}, {}], // two clients without cookies are two browsers
        [{}, browser()],
        [browser(), {}],
        [browser(), browser()],
      ] as [Record<string, string>, Record<string, string>][]) {
        const [first, second] = order === 1 ? [owner, thief] : [thief, owner]
        const code = await newCode(user)
        const send = (headers: Record<string, string>) =>
          post(routes.exchangeSsoCode.path, { code }, headers)
        const responses =
          order === 0.5
            ? await Promise.all([send(first), send(second)])
            : [await send(first), await send(second)]
        expect(responses.map(({ status }) => status).sort()).toEqual([200, 400])
      }
      expect(await revoked(sql, user)).toEqual([true, true, true, true])
      // another code of the user is not affected
      expect((await post(routes.exchangeSsoCode.path, { code: unused })).status).toBe(200)
    })
  }

  test('by the same browser is a duplicate request within 10 seconds, but not later', async ({
    user,
    post,
    sql,
  }) => {
    const [code, headers] = [await newCode(user), browser()]
    await post(routes.exchangeSsoCode.path, { code }, headers)
    await sql(usedSecondsAgo(8), [user.id])
    expect((await post(routes.exchangeSsoCode.path, { code }, headers)).status).toBe(400)
    expect(await revoked(sql, user)).toEqual([false])
    await sql(usedSecondsAgo(11), [user.id])
    expect((await post(routes.exchangeSsoCode.path, { code }, headers)).status).toBe(400)
    expect(await revoked(sql, user)).toEqual([true])
  })

  test('ends the session unless the request contains the cookies of that session', async ({
    user,
    post,
    sql,
  }) => {
    const somebody = (await newUsers(sql, 1))[0]!
    const other = (
      await post(routes.exchangeSsoCode.path, { code: await newCode(somebody) })
    ).body
    const forged = (token: string) => `${token.slice(0, -8)}AAAAAAAA`
    const cookies: [cookie: (own: Tokens) => string, isRevoked: boolean][] = [
      [({ token }) => `session=${token}`, false],
      [({ refreshToken }) => `refresh=${refreshToken}`, false],
      [({ refreshToken }) => `session=${other.token}; refresh=${refreshToken}`, false],
      [() => `session=${other.token}`, true],
      [({ token }) => `session=${forged(token!)}`, true],
      [({ refreshToken }) => `refresh=${forged(refreshToken!)}`, true],
    ]
    for (const [cookieOf, isRevoked] of cookies) {
      await sql('DELETE FROM sessions WHERE user_id = $1', [user.id])
      const code = await newCode(user)
      const { body } = await post(routes.exchangeSsoCode.path, { code })
      await sql(usedSecondsAgo(3600), [user.id])
      expect(
        (
          await post(
            routes.exchangeSsoCode.path,
            { code },
            { Cookie: `theme=dark; ${cookieOf(body)}` },
          )
        ).status,
      ).toBe(400)
      expect(await revoked(sql, user), cookieOf.toString()).toEqual([isRevoked])
    }
  })

  test('is logged as a warning, and LOG_LEVEL=warn logs nothing else', async ({
    user,
  }) => {
    const noEmptySetting = { DIRECT_DATABASE_URL: process.env.DATABASE_URL! }
    const server = await startServer({ LOG_LEVEL: 'warn', ...noEmptySetting })
    const exchange = (code: string, headers?: Record<string, string>) =>
      postTo(server.url + routes.exchangeSsoCode.path, { code }, headers)
    const same = browser()
    const codes = [await newCode(user), await newCode(user)]
    const bound = keepSecret(
      (await issueSsoCode(user.id, { browser: keepSecret(newSecret()) })).secret,
    )
    for (const headers of [{}, {}]) await exchange(codes[0]!, headers)
    for (const headers of [same, same]) await exchange(codes[1]!, headers)
    await exchange(bound, browser())
    await server.stop() // `serverWith` would wait for a line of the level "info"
    expect(
      server
        .logged('')
        .map(({ level, msg, sessionId }) => [level, msg, typeof sessionId]),
    ).toEqual([
      ['warn', 'an exchange code was reused: its session was revoked', 'string'],
      ['warn', 'an exchange code was reused: its session was not changed', 'string'],
      ['warn', 'an exchange code was presented by another browser', 'undefined'],
    ])
  })
})

test('a code that was issued for one browser is accepted only from that browser', async ({
  user,
  post,
  sql,
}) => {
  const own = keepSecret(newSecret())
  const code = keepSecret((await issueSsoCode(user.id, { browser: own })).secret)
  const expectRejected = async () => {
    for (const Cookie of [
      '',
      `browser=${keepSecret(newSecret())}`,
      'browser=',
      `browser=${own}x`,
    ]) {
      const { status, body } = await post(
        routes.exchangeSsoCode.path,
        { code },
        { Cookie },
      )
      expect([status, body.code]).toEqual([400, rejected.code])
    }
  }
  await expectRejected()
  expect(
    (await post(routes.exchangeSsoCode.path, { code }, { Cookie: `browser=${own}` }))
      .status,
  ).toBe(200)
  await expectRejected()
  expect(
    await sql('SELECT 1 FROM sessions WHERE user_id = $1 AND revoked_at IS NULL', [
      user.id,
    ]),
  ).toHaveLength(1)
})

type Tokens = { token?: string; refreshToken?: string }

/** The cookies that a sign-in sends, and how many of two sessions it ends. */
const held: Record<
  string,
  (one: Tokens, other: Tokens) => [cookie: string, ended: number]
> = {
  'the session of the session cookie': ({ token }) => [`session=${token}`, 1],
  'the session of the refresh cookie': ({ refreshToken }) => [
    `refresh=${refreshToken}`,
    1,
  ],
  'the sessions of two cookies': ({ token }, { refreshToken }) => [
    `session=${token}; refresh=${refreshToken}`,
    2,
  ],
  'the session of a valid cookie, but not of one with an invalid MAC,': (
    { token },
    { refreshToken },
  ) => [`session=${token}; refresh=${refreshToken!.slice(0, -8)}AAAAAAAA`, 1],
}
for (const [what, cookieOf] of Object.entries(held)) {
  test(`ends ${what} only if the sign-in succeeds`, async ({ user, post, sql }) => {
    const live = 'SELECT id FROM sessions WHERE user_id = $1 AND revoked_at IS NULL'
    const signIn = async () =>
      (await post(routes.exchangeSsoCode.path, { code: await newCode(user) })).body
    const [Cookie, ended] = cookieOf(await signIn(), await signIn())
    expect(
      (await post(routes.exchangeSsoCode.path, { code: 'fabricated' }, { Cookie }))
        .status,
    ).toBe(400)
    expect(await sql(live, [user.id])).toHaveLength(2)
    expect(
      (await post(routes.exchangeSsoCode.path, { code: await newCode(user) }, { Cookie }))
        .status,
    ).toBe(200)
    expect(await sql(live, [user.id])).toHaveLength(3 - ended)
  })
}

test('sets __Host- cookies if the public URL is HTTPS', async ({
  serverWith,
  post,
  sql,
}) => {
  const server = await serverWith(otherValues)
  const user = await newPasswordUser(sql, { cost: 4 })
  const { headers, body } = await post(`${server.url}${routes.exchangeSsoCode.path}`, {
    code: await newCode(user),
  })
  const signedIn = await post(`${server.url}${routes.signIn.path}`, user)
  expect(headers.getSetCookie()).toEqual([
    `__Host-session=${body.token}; Path=/; Max-Age=43200; HttpOnly; SameSite=Lax; Secure`,
    `__Host-refresh=${body.refreshToken}; Path=/; Max-Age=604800; HttpOnly; SameSite=Lax; Secure`,
  ])
  const known = signedIn.headers
    .getSetCookie()
    .find((cookie) => cookie.startsWith('__Host-known='))!
  keepSecret(known.match(/=([\w-]+)/)![1]!)
  expect(known).toMatch(/; Path=\/; Max-Age=15552000; HttpOnly; SameSite=Lax; Secure$/)
})
