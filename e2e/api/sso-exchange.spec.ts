import { createHash, createPublicKey } from 'node:crypto'
import jwt from 'jsonwebtoken'
import { signSessionToken } from '../../lib/session/token'
import { exchangePath, expect, newCode, test, type User } from '../support/fixtures'
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
    'SELECT id, extract(epoch FROM expires_at) AS expires_at FROM sessions WHERE user_id = $1',
    [user.id],
  )
  expect(session!.id).toBe(claims.sid)
  expect(Math.floor(session!.expires_at)).toBe(claims.exp)
})

test('only hashes of codes and refresh tokens are stored, and a refresh token is valid for exactly 7 days', async ({
  user,
  post,
  sql,
}) => {
  const code = await newCode(user)
  expect(code).toMatch(/^[\w-]{43}$/)
  const { body } = await post(exchangePath, { code })
  expect(body.refreshToken).toMatch(/^[\w-]{43}$/)
  const [stored] = await sql(
    `SELECT code_hash, token_hash, r.expires_at - r.created_at = interval '7 days' AS week, c.expires_at - c.created_at = interval '60 seconds' AS minute
     FROM refresh_tokens r JOIN sessions s ON s.id = r.session_id JOIN exchange_codes c ON c.session_id = s.id WHERE s.user_id = $1`,
    [user.id],
  )
  expect(stored).toEqual({ code_hash: sha256(code), token_hash: sha256(body.refreshToken!), week: true, minute: true })
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
  expect(await sql('SELECT 1 FROM sessions WHERE user_id = $1 AND revoked_at IS NULL', [user.id])).toHaveLength(1)
  expect(
    await sql('SELECT 1 FROM refresh_tokens JOIN sessions ON sessions.id = session_id WHERE user_id = $1', [user.id]),
  ).toHaveLength(1)
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
  const sessionState = `SELECT sessions.revoked_at IS NOT NULL AS session, refresh_tokens.revoked_at IS NOT NULL AS refresh
    FROM sessions JOIN refresh_tokens ON session_id = sessions.id WHERE user_id = $1`
  const alive = [{ session: false, refresh: false }]
  const revoked = [{ session: true, refresh: true }]
  const usedSecondsAgo = (seconds: number) =>
    `UPDATE exchange_codes SET used_at = now() - interval '${seconds} seconds' WHERE user_id = $1`

  test('revokes the session that it started', async ({ user, post, sql }) => {
    const code = await newCode(user)
    await post(exchangePath, { code })
    await sql(usedSecondsAgo(11), [user.id])
    expect((await post(exchangePath, { code })).body.code).toBe(rejected.code)
    expect(await sql(sessionState, [user.id])).toEqual(revoked)
  })

  test('revokes it even after the code has expired', async ({ user, post, sql }) => {
    const code = await newCode(user)
    await post(exchangePath, { code })
    await sql(
      `UPDATE exchange_codes SET used_at = now() - interval '6 days', expires_at = now() - interval '6 days' WHERE user_id = $1`,
      [user.id],
    )
    expect((await post(exchangePath, { code })).status).toBe(400)
    expect(await sql(sessionState, [user.id])).toEqual(revoked)
  })

  test('within 10 seconds is treated as a double submit', async ({ user, post, sql }) => {
    const code = await newCode(user)
    await post(exchangePath, { code })
    await sql(usedSecondsAgo(8), [user.id])
    expect((await post(exchangePath, { code })).status).toBe(400)
    expect(await sql(sessionState, [user.id])).toEqual(alive)
  })

  test('is also allowed with that session’s cookie, but not with another session’s', async ({ user, post, sql }) => {
    const code = await newCode(user)
    const first = await post(exchangePath, { code })
    const other = await post(exchangePath, {
      code: await newCode({
        id: (await sql(`INSERT INTO users (email) VALUES (gen_random_uuid()::text) RETURNING id`))[0]!.id,
      } as User),
    })
    await sql(usedSecondsAgo(3600), [user.id])
    expect((await post(exchangePath, { code }, { Cookie: `theme=dark; session=${first.body.token}` })).status).toBe(400)
    expect(await sql(sessionState, [user.id])).toEqual(alive)
    expect((await post(exchangePath, { code }, { Cookie: `session=${other.body.token}` })).status).toBe(400)
    expect(await sql(sessionState, [user.id])).toEqual(revoked)
  })

  test('is not allowed with a forged cookie', async ({ user, post, sql }) => {
    const code = await newCode(user)
    const { body } = await post(exchangePath, { code })
    await sql(usedSecondsAgo(60), [user.id])
    const forged = `${body.token!.slice(0, -8)}AAAAAAAA`
    await post(exchangePath, { code }, { Cookie: `session=${forged}` })
    expect(await sql(sessionState, [user.id])).toEqual(revoked)
  })
})

test.describe('the session cookie', () => {
  test('contains the JWT and is HttpOnly', async ({ user, post }) => {
    const { headers, body } = await post(exchangePath, { code: await newCode(user) })
    expect(headers.getSetCookie()).toEqual([`session=${body.token}; Path=/; Max-Age=43200; HttpOnly; SameSite=Lax`])
  })

  test('is a __Host- cookie if the public URL is HTTPS', async ({ user, post }) => {
    const server = await startServer({ PUBLIC_URL: 'https://login.example.com' })
    const { headers, body } = await post(`${server.url}${exchangePath}`, { code: await newCode(user) })
    await server.stop()
    expect(headers.getSetCookie()).toEqual([
      `__Host-session=${body.token}; Path=/; Max-Age=43200; HttpOnly; SameSite=Lax; Secure`,
    ])
  })

  test('signs in on /, unless the session is revoked or the user disabled', async ({ user, url, post, sql }) => {
    const { body } = await post(exchangePath, { code: await newCode(user) })
    const home = async () => (await fetch(url, { headers: { Cookie: `session=${body.token}` } })).text()
    expect(await home()).toContain(user.email)
    await sql('UPDATE users SET disabled_at = now() WHERE id = $1', [user.id])
    expect(await home()).not.toContain(user.email)
    await sql('UPDATE users SET disabled_at = NULL WHERE id = $1', [user.id])
    await sql('UPDATE sessions SET revoked_at = now() WHERE user_id = $1', [user.id])
    expect(await home()).not.toContain(user.email)
  })

  test('does not sign in with an expired session', async ({ user, url, sql }) => {
    const [session] = await sql(
      `INSERT INTO sessions (user_id, expires_at) VALUES ($1, now() + interval '1 hour') RETURNING id`,
      [user.id],
    )
    const token = await signSessionToken({
      userId: user.id,
      sessionId: session!.id,
      issuedAt: Math.floor(Date.now() / 1000) - 43_300,
    })
    expect(await (await fetch(url, { headers: { Cookie: `session=${token}` } })).text()).not.toContain(user.email)
  })

  test('is deleted, and its session revoked, by signing out', async ({ user, url, post, sql }) => {
    const { body } = await post(exchangePath, { code: await newCode(user) })
    const response = await fetch(`${url}/sign-out`, {
      method: 'POST',
      headers: { Cookie: `session=${body.token}` },
      redirect: 'manual',
    })
    expect([response.status, response.headers.get('location')]).toEqual([303, '/'])
    expect(response.headers.getSetCookie()).toEqual(['session=; Path=/; Max-Age=0; HttpOnly; SameSite=Lax'])
    expect(
      await sql(
        'SELECT 1 FROM sessions JOIN refresh_tokens r ON session_id = id WHERE user_id = $1 AND sessions.revoked_at IS NOT NULL AND r.revoked_at IS NOT NULL',
        [user.id],
      ),
    ).toHaveLength(1)
  })
})
