import { createHmac, hkdfSync } from 'node:crypto'
import * as routes from '../../lib/contract/routes'
import { makeRefreshToken, readRefreshToken } from '../../lib/session/tokens'
import { newSigningKeys } from '../../lib/settings/signing-keys'
import { expireToken } from '../support/browsers/expired-token'
import { lockRow } from '../support/databases/row-lock'
import { documentedFetch } from '../support/documents/documented'
import {
  type ApiResponse,
  exchangePath,
  expect,
  newCode,
  newPassword,
  newToken,
  type Post,
  postTo,
  resetPath,
  type Sql,
  type TestServer,
  test,
  type User,
} from '../support/fixtures'
import { keepSecret, newAddress } from '../support/secrets'

const refreshPath = routes.refreshSession.path
const sessionPath = routes.getSession.path
const signOutPath = routes.signOut.path
const invalid = { ok: false, code: 'REFRESH_INVALID' }

const signIn = async (post: Post, user: User) =>
  (await post(exchangePath, { code: await newCode(user) })).body
const claimsOf = (token: string) =>
  JSON.parse(Buffer.from(token.split('.')[1]!, 'base64url').toString())
const generationOf = (token: unknown) => readRefreshToken(String(token))!.generation
/** Moves the last rotation of a user's sessions into the past. */
const rotatedSecondsAgo = (sql: Sql, user: User, seconds: number) =>
  sql(
    `UPDATE sessions SET rotated_at = now() - make_interval(secs => $2) WHERE user_id = $1`,
    [user.id, seconds],
  )
const sessionsOf = (sql: Sql, user: User) =>
  sql(
    `SELECT generation, rotated_at IS NOT NULL AS rotated, revoked_at IS NOT NULL AS revoked FROM sessions WHERE user_id = $1`,
    [user.id],
  )
/** Statements that end a session, each with the statement that undoes it. */
const endings = [
  ['users SET disabled_at = now() WHERE id', 'users SET disabled_at = NULL WHERE id'],
  [
    'sessions SET expires_at = now() WHERE user_id',
    `sessions SET expires_at = now() + interval '1 day' WHERE user_id`,
  ],
  [
    'sessions SET revoked_at = now() WHERE user_id',
    'sessions SET revoked_at = NULL WHERE user_id',
  ],
] as const

test.describe('refresh', () => {
  let server: TestServer
  test.beforeAll(async ({ serverWith }) => {
    server = await serverWith()
  })

  test('returns a new JWT and a new refresh token of the same session', async ({
    user,
    post,
    sql,
  }) => {
    const first = await signIn(post, user)
    const { status, headers, body } = await post(refreshPath, {
      refreshToken: first.refreshToken,
    })
    expect(status).toBe(200)
    expect(Object.keys(body)).toEqual(['ok', 'token', 'refreshToken'])
    const [before, after] = [claimsOf(first.token!), claimsOf(body.token!)]
    expect([after.sid, after.sub, after.exp - after.iat]).toEqual([
      before.sid,
      user.id,
      43_200,
    ])
    expect(after.jti).not.toBe(before.jti)
    expect([generationOf(first.refreshToken), generationOf(body.refreshToken)]).toEqual([
      0, 1,
    ])
    expect(await sessionsOf(sql, user)).toEqual([
      { generation: 1, rotated: true, revoked: false },
    ])
    expect(headers.getSetCookie()).toEqual([
      `session=${body.token}; Path=/; Max-Age=43200; HttpOnly; SameSite=Lax`,
      expect.stringMatching(
        new RegExp(
          `^refresh=${body.refreshToken}; Path=/; Max-Age=6047\\d\\d|6048\\d\\d; HttpOnly; SameSite=Lax$`,
        ),
      ),
    ])
  })

  test('returns the time of the sign-in, or the session’s start if none is stored', async ({
    user,
    post,
    sql,
  }) => {
    const { token, refreshToken } = await signIn(post, user)
    const { auth_time, iat, amr } = claimsOf(token!)
    expect([auth_time, amr]).toEqual([iat, undefined])
    const earlier = `UPDATE sessions SET created_at = created_at - interval '1 day', authenticated_at =`
    for (const [authenticatedAt, expected] of [
      [`authenticated_at - interval '1 hour'`, iat - 3_600],
      ['NULL', iat - 2 * 86_400],
    ]) {
      await sql(`${earlier} ${authenticatedAt} WHERE user_id = $1`, [user.id])
      const renewed = (await post(refreshPath, { refreshToken })).body.token!
      expect(claimsOf(renewed).auth_time).toBe(expected)
    }
  })

  test('returns only a JWT if the refresh cookie is used, and prefers a token in the body', async ({
    user,
    post,
  }) => {
    const [cookie, token] = [await signIn(post, user), await signIn(post, user)]
    const headers = { Cookie: `theme=dark; refresh=${cookie.refreshToken}` }
    const ofCookie = await post(refreshPath, {}, headers)
    expect(claimsOf(ofCookie.body.token!).sid).toBe(claimsOf(cookie.token!).sid)
    expect(Object.keys(ofCookie.body)).toEqual(['ok', 'token']) // no refresh token, because a script could read it
    expect(ofCookie.headers.getSetCookie()).toEqual([
      expect.stringMatching(`^session=${ofCookie.body.token};`),
      expect.stringMatching(/^refresh=[\w-]{48};/),
    ])
    const ofBody = await post(refreshPath, { refreshToken: token.refreshToken }, headers)
    expect(claimsOf(ofBody.body.token!).sid).toBe(claimsOf(token.token!).sid)
    expect(generationOf(ofBody.body.refreshToken)).toBe(1)
    expect((await post(refreshPath, { refreshToken: '' }, headers)).body.code).toBe(
      invalid.code,
    )
  })

  test('rotates the refresh token at most once in 10 seconds', async ({
    user,
    post,
    sql,
  }) => {
    const first = await signIn(post, user)
    const refresh = (refreshToken: unknown) => post(refreshPath, { refreshToken })
    const { refreshToken: second } = (await refresh(first.refreshToken)).body
    // the current refresh token
    expect((await refresh(second)).body.refreshToken).toBe(second)
    await rotatedSecondsAgo(sql, user, 9)
    expect((await refresh(first.refreshToken)).body.refreshToken).toBe(second)
    await rotatedSecondsAgo(sql, user, 10)
    const { refreshToken: third } = (await refresh(second)).body
    expect(generationOf(third)).toBe(2)
    expect((await refresh(second)).body.refreshToken).toBe(third)
  })

  const stolen = {
    'the previous token is used after 10 seconds': {
      generation: 1,
      presented: 0,
      rotatedSeconds: 10,
    },
    'an older token is used immediately': {
      generation: 2,
      presented: 0,
      rotatedSeconds: 0,
    },
  }
  for (const [what, { generation, presented, rotatedSeconds }] of Object.entries(
    stolen,
  )) {
    test(`ends the session if ${what}, and logs no token`, async ({
      user,
      post,
      sql,
    }) => {
      const { token, refreshToken } = await signIn(post, user)
      const { sid: sessionId } = claimsOf(token!)
      await postTo(server.url + refreshPath, { refreshToken })
      await sql(
        `UPDATE sessions SET generation = $2, rotated_at = now() - make_interval(secs => $3) WHERE id = $1`,
        [sessionId, generation, rotatedSeconds],
      )
      const refresh = (count: number) =>
        postTo(server.url + refreshPath, {
          refreshToken: keepSecret(makeRefreshToken({ sessionId, generation: count })),
        })
      expect((await refresh(presented)).body).toMatchObject(invalid)
      expect(await sessionsOf(sql, user)).toEqual([
        { generation, rotated: true, revoked: true },
      ])
      // the current refresh token of the user is invalid too
      expect((await refresh(generation)).body).toMatchObject(invalid)
      const warnings = async () =>
        (await server.logged(sessionId)).filter(({ level }) => level === 'warn')
      const msg = 'a refresh token was reused: its session was revoked'
      await expect.poll(warnings).toMatchObject([{ sessionId, msg }])
      const [, first] = await server.logged(sessionId) // after the line of the sign-in
      expect(first).toMatchObject({
        route: 'refresh',
        status: 200,
        userId: user.id,
        sessionId,
      })
      expect(await server.output()).not.toContain(refreshToken)
    })
  }

  test('every other invalid token gets the same response, and nothing is changed', async ({
    user,
    post,
    sql,
  }) => {
    const forge = (bytes: Buffer) => keepSecret(bytes.toString('base64url'))
    const { refreshToken, token } = await signIn(post, user)
    const genuine = Buffer.from(refreshToken!, 'base64url')
    const altered = (index: number) => {
      const copy = Buffer.from(genuine)
      copy[index]! ^= 1
      return forge(copy)
    }
    const { sid: sessionId } = claimsOf(token!)
    const { keys } = JSON.parse(newSigningKeys())
    const signed = genuine.subarray(0, 20)
    const withMacOf = (secret: string) => {
      const key = hkdfSync(
        'sha256',
        Buffer.from(secret, 'base64url'),
        '',
        'refresh-v1',
        32,
      )
      const mac = createHmac('sha256', Buffer.from(key)).update(signed).digest()
      return forge(Buffer.concat([signed, mac.subarray(0, 16)]))
    }
    const { x } = JSON.parse(process.env.SESSION_SIGNING_KEYS!).keys[0]
    const rejected = {
      'another session': altered(0),
      'another generation': altered(19),
      'another MAC': altered(35),
      'no MAC': forge(Buffer.concat([signed, Buffer.alloc(16)])),
      'the MAC of another key': withMacOf(keys[0].d),
      'the MAC of the public key': withMacOf(x),
      'too short': refreshToken!.slice(0, -4),
      'too long': `${refreshToken}AAAA`,
      padded: `${refreshToken!.slice(0, -1)}=`,
      'a JWT': token!,
      'an unknown session': keepSecret(
        makeRefreshToken({
          sessionId: '00000000-0000-4000-8000-000000000000',
          generation: 0,
        }),
      ),
      // as after a restore of an older backup
      'a generation that the session has not reached': keepSecret(
        makeRefreshToken({ sessionId, generation: 1 }),
      ),
      '': '',
    }
    for (const [what, each] of Object.entries(rejected)) {
      const sameId = { 'X-Request-Id': 'the-same-for-all' }
      const { status, headers, body } = await post(
        refreshPath,
        { refreshToken: each },
        sameId,
      )
      expect([status, body, headers.getSetCookie()], what).toEqual([
        400,
        {
          ...invalid,
          message: 'This session has ended. Sign in again.',
          requestId: 'the-same-for-all',
        },
        [],
      ])
    }
    expect((await post(refreshPath, {})).body).toMatchObject(invalid)
    expect(await sessionsOf(sql, user)).toEqual([
      { generation: 0, rotated: false, revoked: false },
    ])

    for (const [ended, live] of endings) {
      await sql(`UPDATE ${ended} = $1`, [user.id])
      expect((await post(refreshPath, { refreshToken })).body, ended).toMatchObject(
        invalid,
      )
      await sql(`UPDATE ${live} = $1`, [user.id])
    }
    expect(await sessionsOf(sql, user)).toEqual([
      { generation: 0, rotated: false, revoked: false },
    ])
    expect((await post(refreshPath, { refreshToken })).status).toBe(200)
  })

  test('issues a JWT and cookies that expire with the session', async ({
    user,
    post,
    sql,
  }) => {
    const { refreshToken } = await signIn(post, user)
    await sql(
      `UPDATE sessions SET expires_at = now() + interval '1 hour' WHERE user_id = $1`,
      [user.id],
    )
    const before = await sql('SELECT expires_at FROM sessions WHERE user_id = $1', [
      user.id,
    ])
    const { headers, body } = await post(refreshPath, { refreshToken })
    const { iat, exp } = claimsOf(body.token!)
    expect(exp - iat).toBeGreaterThan(3_590)
    expect(exp - iat).toBeLessThanOrEqual(3_600)
    for (const cookie of headers.getSetCookie())
      expect(cookie).toContain(`Max-Age=${exp - iat};`)
    expect(
      await sql('SELECT expires_at FROM sessions WHERE user_id = $1', [user.id]),
    ).toEqual(before)
  })

  test('accepts JSON only', async ({ post }) => {
    for (const type of ['text/plain', 'application/x-www-form-urlencoded'])
      expect((await post(refreshPath, {}, { 'Content-Type': type })).status).toBe(415)
  })
})

test.describe('GET /api/auth/session', () => {
  const get = (url: string, headers: Record<string, string>, method = 'GET') =>
    documentedFetch(url + sessionPath, {
      method,
      headers: { 'X-Forwarded-For': newAddress(), ...headers },
    })

  test('returns user and expiry of the session for a Bearer token or a cookie', async ({
    url,
    user,
    post,
    sql,
  }) => {
    const { token } = await signIn(post, user)
    const { sid, exp } = claimsOf(token!)
    const [{ end } = { end: null }] = await sql(
      'SELECT expires_at AS end FROM sessions WHERE id = $1',
      [sid],
    )
    const expected = {
      ok: true,
      user: { id: user.id, email: user.email },
      sessionId: sid,
      expiresAt: new Date(exp * 1000).toISOString(),
      sessionExpiresAt: end.toISOString(),
    }
    for (const headers of [
      { Authorization: `Bearer ${token}` },
      { Authorization: `bearer ${token}` },
      { Cookie: `a=b; session=${token}` },
    ] as Record<string, string>[]) {
      const response = await get(url, headers)
      expect([response.status, await response.json()]).toEqual([200, expected])
    }
    expect((await get(url, { Cookie: `session=${token}` }, 'HEAD')).status).toBe(200)
  })

  test('responds with 401 and WWW-Authenticate to every other request', async ({
    url,
    user,
    post,
    sql,
  }) => {
    const { token, refreshToken } = await signIn(post, user)
    const demand401 = async (headers: Record<string, string>) => {
      const response = await get(url, headers)
      expect([response.status, response.headers.get('www-authenticate')]).toEqual([
        401,
        'Bearer',
      ])
      expect((await response.json()).code).toBe('SESSION_INVALID')
    }
    for (const headers of [
      {},
      { Cookie: `refresh=${refreshToken}` },
      { Authorization: `Bearer ${refreshToken}` },
      { Authorization: `Basic ${token}` },
      { Authorization: 'Bearer x', Cookie: `session=${token}` },
      { Authorization: `Bearer ${token!.slice(0, -8)}AAAAAAAA` },
    ] as Record<string, string>[])
      await demand401(headers)
    const home = async () =>
      (await fetch(url, { headers: { Cookie: `session=${token}` } })).text()
    const name = user.email.split('@')[0] // the page has a <wbr/> after the @
    expect(await home()).toContain(name)
    for (const [ended, live] of endings) {
      await sql(`UPDATE ${ended} = $1`, [user.id])
      expect(await home(), ended).not.toContain(name)
      await demand401({ Authorization: `Bearer ${token}` })
      await sql(`UPDATE ${live} = $1`, [user.id])
    }
  })
})

test.describe('POST /api/auth/sign-out', () => {
  const deleted = ['session', 'refresh'].map(
    (name) => `${name}=; Path=/; Max-Age=0; HttpOnly; SameSite=Lax`,
  )
  const ways: Record<
    string,
    (tokens: ApiResponse['body']) => [body: object, headers: Record<string, string>]
  > = {
    'the refresh token in the body': ({ refreshToken }) => [{ refreshToken }, {}],
    'the Bearer token': ({ token }) => [{}, { Authorization: `Bearer ${token}` }],
    'the session cookie': ({ token }) => [{}, { Cookie: `session=${token}` }],
    'an expired Bearer token': ({ token }) => [
      {},
      { Authorization: `Bearer ${expireToken(token!)}` },
    ],
    'an expired session cookie': ({ token }) => [
      {},
      { Cookie: `session=${expireToken(token!)}` },
    ],
    'the refresh cookie with an expired session cookie': ({ token, refreshToken }) => [
      {},
      { Cookie: `session=${expireToken(token!)}; refresh=${refreshToken}` },
    ],
    'the cookies with an expired Bearer token': ({ token, refreshToken }) => [
      {},
      {
        Authorization: `Bearer ${expireToken(token!)}`,
        Cookie: `session=${token}; refresh=${refreshToken}`,
      },
    ],
    'the cookies with an empty refresh token in the body': ({ token, refreshToken }) => [
      { refreshToken: '' },
      { Cookie: `session=${token}; refresh=${refreshToken}` },
    ],
  }
  for (const [what, how] of Object.entries(ways)) {
    test(`ends only the session of ${what}`, async ({ user, post, sql }) => {
      const [tokens, other] = [await signIn(post, user), await signIn(post, user)]
      const { status, headers, body } = await post(signOutPath, ...how(tokens))
      expect([status, body, headers.getSetCookie()]).toEqual([200, { ok: true }, deleted])
      const live = await sql(
        'SELECT id FROM sessions WHERE user_id = $1 AND revoked_at IS NULL',
        [user.id],
      )
      expect(live).toEqual([{ id: claimsOf(other.token!).sid }])
      expect(
        (await post(refreshPath, { refreshToken: tokens.refreshToken })).body,
      ).toMatchObject(invalid)
    })
  }

  test('ends every session for which the request contains a credential', async ({
    user,
    post,
    sql,
  }) => {
    const signIns = [1, 2, 3, 4, 5].map(() => signIn(post, user))
    const [bearer, ofBody, session, refresh, other] = await Promise.all(signIns)
    const Cookie = `session=${session!.token}; refresh=${refresh!.refreshToken}`
    const headers = { Authorization: `Bearer ${bearer!.token}`, Cookie }
    const { status, body } = await post(
      signOutPath,
      { refreshToken: ofBody!.refreshToken },
      headers,
    )
    expect([status, body]).toEqual([200, { ok: true }])
    const live = await sql(
      'SELECT id FROM sessions WHERE user_id = $1 AND revoked_at IS NULL',
      [user.id],
    )
    expect(live).toEqual([{ id: claimsOf(other!.token!).sid }])
  })

  test('succeeds even without a session, and deletes the cookies', async ({ post }) => {
    for (const [body, headers] of [
      [{}, {}],
      [{ refreshToken: 'x' }, {}],
      [{}, { Authorization: 'Bearer x' }],
      [{}, { Cookie: 'session=x; refresh=x' }],
    ] as [object, Record<string, string>][]) {
      const response = await post(signOutPath, body, headers)
      expect([response.status, response.headers.getSetCookie()]).toEqual([200, deleted])
    }
  })

  test('a second sign-out does not change the time of the first one', async ({
    user,
    post,
    sql,
  }) => {
    const { refreshToken } = await signIn(post, user)
    await post(signOutPath, { refreshToken })
    const ended = await sql('SELECT revoked_at FROM sessions WHERE user_id = $1', [
      user.id,
    ])
    await post(signOutPath, { refreshToken })
    expect(
      await sql('SELECT revoked_at FROM sessions WHERE user_id = $1', [user.id]),
    ).toEqual(ended)
  })
})

test('password_changed_at is when a reset locks the user row, not when it begins', async ({
  user,
  post,
  sql,
}) => {
  const token = await newToken(user)
  const lock = await lockRow('users', 'id = $1', user.id)
  const resetting = post(resetPath, { token, password: newPassword() })
  await lock.waiting(1)
  const [{ now }] = (await lock.sql('SELECT clock_timestamp() AS now')) as [{ now: Date }]
  await lock.release()
  expect((await resetting).status).toBe(200)
  const [{ changed }] = (await sql(
    'SELECT password_changed_at AS changed FROM users WHERE id = $1',
    [user.id],
  )) as [{ changed: Date }]
  expect(changed.getTime()).toBeGreaterThanOrEqual(now.getTime())
})

test('a reset also deletes just expired codes, which a waiting exchange may still use', async ({
  user,
  post,
  sql,
}) => {
  await sql(
    `INSERT INTO exchange_codes (code_hash, user_id, expires_at)
     SELECT sha256(($1 || ago)::bytea), $1::uuid, now() - ago * interval '1 second' FROM unnest('{-60,5,70}'::int[]) ago`,
    [user.id],
  )
  expect(
    (await post(resetPath, { token: await newToken(user), password: newPassword() }))
      .status,
  ).toBe(200)
  const areOld = `SELECT expires_at < now() - interval '1 minute' AS "areOld" FROM exchange_codes WHERE user_id = $1`
  const left = await sql(areOld, [user.id])
  expect(left).toEqual([{ areOld: true }])
})

test('ends the oldest sessions of a user with more than 100 sessions', async ({
  user,
  post,
  sql,
}) => {
  const byAge = `SELECT id FROM sessions
    WHERE user_id = $1 AND revoked_at IS NULL AND parent_id IS NULL ORDER BY created_at DESC`
  const live = () => sql(byAge, [user.id])
  const insert = `INSERT INTO sessions (user_id, created_at, revoked_at, expires_at)
    SELECT $1, now() - number * interval '1 minute', CASE WHEN $3 THEN now() END, now() + interval '1 day'
    FROM generate_series(1, $2::int) number RETURNING id`
  const add = (count: number, revoked = false) => sql(insert, [user.id, count, revoked])
  await add(300, true) // revoked sessions do not count towards the limit
  const first = await signIn(post, user)
  const added = await add(98)
  expect(await live()).toHaveLength(99)
  const children = `INSERT INTO sessions (user_id, parent_id, client_id, created_at, expires_at)
    SELECT $1, $2, gen_random_uuid(), now() + interval '1 minute', now() + interval '1 day' FROM generate_series(1, 3) number`
  // dashboard sessions do not count towards the limit
  await sql(children, [user.id, claimsOf(first.token!).sid])
  await signIn(post, user)
  expect(await live()).toHaveLength(100)
  await post(exchangePath, { code: 'unknown' })
  const second = await signIn(post, user)
  const left = await live()
  expect(left).toHaveLength(100)
  expect(left.at(-1), 'the oldest ended').toEqual(added.at(-2))
  for (const { refreshToken } of [first, second])
    expect((await post(refreshPath, { refreshToken })).status).toBe(200)

  // A sign-in that replaces a live session ends only that session.
  const before = await live()
  const cookie = { Cookie: `refresh=${second.refreshToken}` }
  expect((await post(exchangePath, { code: await newCode(user) }, cookie)).status).toBe(
    200,
  )
  const ended = before
    .filter(({ id }) => id !== claimsOf(second.token!).sid)
    .map(({ id }) => id)
  const after = await live()
  expect(after.slice(1).map(({ id }) => id)).toEqual(ended)

  // One sign-in ends at most a thousand sessions.
  await add(2_500)
  for (const count of [1_601, 602, 100]) {
    await signIn(post, user)
    expect(await live()).toHaveLength(count)
  }
  // no sign-in sees all concurrent sign-ins
  await Promise.all(Array.from({ length: 16 }, () => signIn(post, user)))
  await signIn(post, user)
  expect(await live()).toHaveLength(100)
})
