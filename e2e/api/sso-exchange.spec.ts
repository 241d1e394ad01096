import { createHash, createPublicKey } from 'node:crypto'
import jwt from 'jsonwebtoken'
import { signSessionToken } from '../../lib/session/token'
import { exchange, expect, newCode, type Person, test } from '../support/fixtures'
import { startServer } from '../support/server'

const sha256 = (secret: string) => createHash('sha256').update(secret).digest()
const refused = { ok: false, code: 'SSO_EXCHANGE_INVALID' }

test('a good code gives a session JWT of 12 hours, which another library verifies through the JWKS', async ({
  person,
  post,
  url,
  sql,
}) => {
  const answer = await post(exchange, { code: await newCode(person) })
  expect(answer.status).toBe(200)
  expect(Object.keys(answer.body)).toEqual(['ok', 'token', 'refreshToken'])
  expect(answer.body.ok).toBe(true)

  const { keys } = await (await fetch(`${url}/.well-known/jwks.json`)).json()
  const { header } = jwt.decode(answer.body.token!, { complete: true })!
  const key = keys.find(({ kid }: { kid: string }) => kid === header.kid)
  expect(header).toEqual({ alg: 'ES256', typ: 'JWT', kid: key.kid })
  expect(Object.keys(key).sort()).toEqual(['alg', 'crv', 'kid', 'kty', 'use', 'x', 'y']) // and no d
  const claims = jwt.verify(answer.body.token!, createPublicKey({ key, format: 'jwk' }), {
    algorithms: ['ES256'],
    issuer: url,
    audience: 'dashboard',
  }) as jwt.JwtPayload
  expect(Object.keys(claims).sort()).toEqual(['aud', 'exp', 'iat', 'iss', 'jti', 'sid', 'sub'])
  expect(claims.sub).toBe(person.id)
  expect(claims.exp! - claims.iat!).toBe(43_200)
  const [session] = await sql(
    'SELECT id, extract(epoch FROM expires_at) AS expires_at FROM sessions WHERE user_id = $1',
    [person.id],
  )
  expect(session!.id).toBe(claims.sid)
  expect(Math.floor(session!.expires_at)).toBe(claims.exp)
})

test('only hashes of the code and of the refresh token are stored, and the refresh token lives for exactly 7 days', async ({
  person,
  post,
  sql,
}) => {
  const code = await newCode(person)
  expect(code).toMatch(/^[\w-]{43}$/)
  const { body } = await post(exchange, { code })
  expect(body.refreshToken).toMatch(/^[\w-]{43}$/)
  const [stored] = await sql(
    `SELECT code_hash, token_hash, r.expires_at - r.created_at = interval '7 days' AS week, c.expires_at - c.created_at = interval '60 seconds' AS minute
     FROM refresh_tokens r JOIN sessions s ON s.id = r.session_id JOIN exchange_codes c ON c.session_id = s.id WHERE s.user_id = $1`,
    [person.id],
  )
  expect(stored).toEqual({ code_hash: sha256(code), token_hash: sha256(body.refreshToken!), week: true, minute: true })
})

test('an unknown, a used and an expired code get one and the same answer', async ({ person, post, sql }) => {
  const used = await newCode(person)
  const expired = await newCode(person)
  expect((await post(exchange, { code: used })).status).toBe(200)
  await sql('UPDATE exchange_codes SET expires_at = now() WHERE code_hash = $1', [sha256(expired)])
  for (const code of ['fabricated', used, expired]) {
    const { status, body } = await post(exchange, { code }, { 'X-Request-Id': 'the-same-for-all' })
    expect(status).toBe(400)
    expect(body).toEqual({ ...refused, message: expect.any(String), requestId: 'the-same-for-all' })
  }
  expect(await sql('SELECT 1 FROM sessions WHERE user_id = $1', [person.id])).toHaveLength(1)
})

test('of 50 simultaneous exchanges of one code, one succeeds', async ({ person, post, sql }) => {
  const code = await newCode(person)
  const answers = await Promise.all(Array.from({ length: 50 }, () => post(exchange, { code })))
  expect(answers.filter(({ status }) => status === 200)).toHaveLength(1)
  expect(answers.filter(({ status, body }) => status === 400 && body.code === refused.code)).toHaveLength(49)
  expect(await sql('SELECT 1 FROM sessions WHERE user_id = $1 AND revoked_at IS NULL', [person.id])).toHaveLength(1)
  expect(
    await sql('SELECT 1 FROM refresh_tokens JOIN sessions ON sessions.id = session_id WHERE user_id = $1', [person.id]),
  ).toHaveLength(1)
})

test('codes of any length and alphabet are looked up, not judged', async ({ post }) => {
  for (const code of [
    '',
    ' ',
    'x'.repeat(15_000),
    'née\u0000☂',
    '\ud800',
    "' OR 1=1 --",
    '00000000-0000-0000-0000-000000000000',
  ]) {
    const { status, body } = await post(exchange, { code })
    expect([status, body.code], JSON.stringify(code).slice(0, 40)).toEqual([400, refused.code])
  }
})

test('unknown fields are ignored', async ({ person, post }) => {
  const answer = await post(exchange, { code: await newCode(person), state: 'x', userId: 'somebody else' })
  expect(answer.status).toBe(200)
})

test('a disabled person does not get in, also when disabled after the code was issued', async ({
  person,
  post,
  sql,
}) => {
  const code = await newCode(person)
  await sql('UPDATE users SET disabled_at = now() WHERE id = $1', [person.id])
  const { status, body } = await post(exchange, { code })
  expect([status, body.code]).toEqual([400, refused.code])
  expect(await sql('SELECT 1 FROM sessions WHERE user_id = $1', [person.id])).toHaveLength(0)
})

test.describe('a code that comes back', () => {
  const sessionState = `SELECT sessions.revoked_at IS NOT NULL AS session, refresh_tokens.revoked_at IS NOT NULL AS refresh
    FROM sessions JOIN refresh_tokens ON session_id = sessions.id WHERE user_id = $1`
  const alive = [{ session: false, refresh: false }]
  const revoked = [{ session: true, refresh: true }]
  const usedSecondsAgo = (seconds: number) =>
    `UPDATE exchange_codes SET used_at = now() - interval '${seconds} seconds' WHERE user_id = $1`

  test('ends the session that it started', async ({ person, post, sql }) => {
    const code = await newCode(person)
    await post(exchange, { code })
    await sql(usedSecondsAgo(11), [person.id])
    expect((await post(exchange, { code })).body.code).toBe(refused.code)
    expect(await sql(sessionState, [person.id])).toEqual(revoked)
  })

  test('ends it also after the code has expired', async ({ person, post, sql }) => {
    const code = await newCode(person)
    await post(exchange, { code })
    await sql(
      `UPDATE exchange_codes SET used_at = now() - interval '6 days', expires_at = now() - interval '6 days' WHERE user_id = $1`,
      [person.id],
    )
    expect((await post(exchange, { code })).status).toBe(400)
    expect(await sql(sessionState, [person.id])).toEqual(revoked)
  })

  test('within 10 seconds is an honest double submit', async ({ person, post, sql }) => {
    const code = await newCode(person)
    await post(exchange, { code })
    await sql(usedSecondsAgo(8), [person.id])
    expect((await post(exchange, { code })).status).toBe(400)
    expect(await sql(sessionState, [person.id])).toEqual(alive)
  })

  test('from the browser that holds that session is one too; from the holder of another session it is not', async ({
    person,
    post,
    sql,
  }) => {
    const code = await newCode(person)
    const first = await post(exchange, { code })
    const other = await post(exchange, {
      code: await newCode({
        id: (await sql(`INSERT INTO users (email) VALUES (gen_random_uuid()::text) RETURNING id`))[0]!.id,
      } as Person),
    })
    await sql(usedSecondsAgo(3600), [person.id])
    expect((await post(exchange, { code }, { Cookie: `theme=dark; session=${first.body.token}` })).status).toBe(400)
    expect(await sql(sessionState, [person.id])).toEqual(alive)
    expect((await post(exchange, { code }, { Cookie: `session=${other.body.token}` })).status).toBe(400)
    expect(await sql(sessionState, [person.id])).toEqual(revoked)
  })

  test('is not spared for a forged cookie', async ({ person, post, sql }) => {
    const code = await newCode(person)
    const { body } = await post(exchange, { code })
    await sql(usedSecondsAgo(60), [person.id])
    const forged = `${body.token!.slice(0, -8)}AAAAAAAA`
    await post(exchange, { code }, { Cookie: `session=${forged}` })
    expect(await sql(sessionState, [person.id])).toEqual(revoked)
  })
})

test.describe('the session cookie', () => {
  test('holds the JWT where no script can read it', async ({ person, post }) => {
    const { headers, body } = await post(exchange, { code: await newCode(person) })
    expect(headers.getSetCookie()).toEqual([`session=${body.token}; Path=/; Max-Age=43200; HttpOnly; SameSite=Lax`])
  })

  test('is a __Host- cookie where the public address is https', async ({ person, post }) => {
    const server = await startServer({ PUBLIC_URL: 'https://login.example.com' })
    const { headers, body } = await post(`${server.url}${exchange}`, { code: await newCode(person) })
    await server.stop()
    expect(headers.getSetCookie()).toEqual([
      `__Host-session=${body.token}; Path=/; Max-Age=43200; HttpOnly; SameSite=Lax; Secure`,
    ])
  })

  test('shows on / who is signed in; a revoked session and a disabled person are not', async ({
    person,
    url,
    post,
    sql,
  }) => {
    const { body } = await post(exchange, { code: await newCode(person) })
    const home = async () => (await fetch(url, { headers: { Cookie: `session=${body.token}` } })).text()
    expect(await home()).toContain(person.email)
    await sql('UPDATE users SET disabled_at = now() WHERE id = $1', [person.id])
    expect(await home()).not.toContain(person.email)
    await sql('UPDATE users SET disabled_at = NULL WHERE id = $1', [person.id])
    await sql('UPDATE sessions SET revoked_at = now() WHERE user_id = $1', [person.id])
    expect(await home()).not.toContain(person.email)
  })

  test('of an expired session shows nobody', async ({ person, url, sql }) => {
    const [session] = await sql(
      `INSERT INTO sessions (user_id, expires_at) VALUES ($1, now() + interval '1 hour') RETURNING id`,
      [person.id],
    )
    const token = await signSessionToken({
      userId: person.id,
      sessionId: session!.id,
      issuedAt: Math.floor(Date.now() / 1000) - 43_300,
    })
    expect(await (await fetch(url, { headers: { Cookie: `session=${token}` } })).text()).not.toContain(person.email)
  })

  test('is removed, and its session ended, by signing out', async ({ person, url, post, sql }) => {
    const { body } = await post(exchange, { code: await newCode(person) })
    const answer = await fetch(`${url}/sign-out`, {
      method: 'POST',
      headers: { Cookie: `session=${body.token}` },
      redirect: 'manual',
    })
    expect([answer.status, answer.headers.get('location')]).toEqual([303, '/'])
    expect(answer.headers.getSetCookie()).toEqual(['session=; Path=/; Max-Age=0; HttpOnly; SameSite=Lax'])
    expect(
      await sql(
        'SELECT 1 FROM sessions JOIN refresh_tokens r ON session_id = id WHERE user_id = $1 AND sessions.revoked_at IS NOT NULL AND r.revoked_at IS NOT NULL',
        [person.id],
      ),
    ).toHaveLength(1)
  })
})
