import { randomBytes } from 'node:crypto'
import { operations } from '../../lib/contract/operations'
import * as paths from '../../lib/contract/paths'
import { documentedFetch } from '../support/documented'
import {
  exchangePath,
  expect,
  newAddress,
  newCode,
  newPassword,
  newToken,
  postTo,
  resetPath,
  test,
} from '../support/fixtures'
import { sendBytes } from '../support/raw-bytes'
import { freePort, startServer } from '../support/server'

const routes = [exchangePath, resetPath]

/** Checks the headers that every response of every /api route has. */
function expectCommonHeaders(headers: Headers): void {
  expect(headers.get('cache-control')).toBe('no-store')
  expect(headers.get('x-content-type-options')).toBe('nosniff')
  expect(headers.get('x-request-id')).toMatch(/^[\w.-]{8,40}$/)
  expect(headers.get('ratelimit-policy')).toBe('"platform";q=2000;w=900')
  expect(headers.get('ratelimit')).toMatch(/^"platform";r=\d+;t=\d+$/)
  expect(headers.get('access-control-allow-origin')).toBeNull()
}

const errorBody = (code: string, requestId: string | null, more = {}) => ({
  ok: false,
  code,
  message: expect.stringMatching(/^[A-Z`].+[.]$/),
  requestId,
  ...more,
})
const issue = (path: string[], code: string) => ({ issues: [{ path, code, message: expect.any(String) }] })

for (const route of routes) {
  test.describe(route, () => {
    for (const method of ['GET', 'HEAD', 'OPTIONS', 'PUT', 'PATCH', 'DELETE']) {
      test(`405 for ${method}`, async ({ url }) => {
        const response = await documentedFetch(url + route, { method, headers: { 'X-Forwarded-For': newAddress() } })
        expect([response.status, response.headers.get('allow')]).toEqual([405, 'POST'])
        expectCommonHeaders(response.headers)
        const text = await response.text()
        if (method === 'HEAD') expect(text).toBe('')
        else expect(JSON.parse(text)).toEqual(errorBody('METHOD_NOT_ALLOWED', response.headers.get('x-request-id')))
      })
    }

    for (const method of ['TRACE', 'PROPFIND', 'QUERY']) {
      test(`405 for ${method}, which fetch can't send`, async ({ url }) => {
        const response = await sendBytes(
          url,
          `${method} ${route} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n`,
        )
        expect(response).toMatch(/^HTTP\/1.1 405 /)
        expect(response).toContain('METHOD_NOT_ALLOWED')
      })
    }

    test('413 for a body over 16 KiB, with and without a length', async ({ post, url }) => {
      const large = JSON.stringify({ code: 'x', token: 'x', password: 'x', padding: 'x'.repeat(16 * 1024) })
      const { status, headers, body } = await post(route, large)
      expect([status, body]).toEqual([413, errorBody('PAYLOAD_TOO_LARGE', headers.get('x-request-id'))])
      expectCommonHeaders(headers)
      const streamed = await documentedFetch(url + route, {
        method: 'POST',
        body: new Blob([large]).stream(),
        duplex: 'half',
        headers: { 'Content-Type': 'application/json', 'X-Forwarded-For': newAddress() },
      } as RequestInit)
      expect(streamed.status).toBe(413)
    })

    test('413 is sent before the whole body is read, and closes the connection', async ({ url }) => {
      const head = `POST ${route} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 10000000000\r\n\r\n`
      const response = await sendBytes(url, head + 'x'.repeat(1000))
      expect(response).toMatch(/^HTTP\/1.1 413 /)
      expect(response).toMatch(/^connection: close\r$/im)
    })

    test('a body of exactly 16 KiB is read', async ({ post }) => {
      const start = '{"code":"x","token":"x","password":"x","padding":"'
      const body = `${start}${'x'.repeat(16 * 1024 - start.length - 2)}"}`
      expect((await post(route, body)).status).toBe(400)
    })

    test('415 for anything but JSON in UTF-8, uncompressed', async ({ url }) => {
      const types = [
        'application/x-www-form-urlencoded',
        'text/plain',
        'multipart/form-data; boundary=x',
        'application/json; charset=utf-16',
        'application/jsonp',
        'application/ld+json',
        '',
      ]
      const headers = [
        ...types.map((type) => ({ 'Content-Type': type })),
        { 'Content-Type': 'application/json', 'Content-Encoding': 'gzip' },
      ]
      for (const each of headers) {
        const response = await documentedFetch(url + route, {
          method: 'POST',
          body: new TextEncoder().encode('{}'),
          headers: { ...(each as Record<string, string>), 'X-Forwarded-For': newAddress() },
        })
        expect([response.status, response.headers.get('accept-post')], JSON.stringify(each)).toEqual([
          415,
          'application/json',
        ])
        expect(await response.json()).toEqual(errorBody('UNSUPPORTED_MEDIA_TYPE', response.headers.get('x-request-id')))
        expectCommonHeaders(response.headers)
      }
    })

    test('every spelling of JSON in UTF-8 is accepted', async ({ post }) => {
      for (const type of [
        'application/json',
        'application/json; charset=utf-8',
        'application/json;charset=UTF-8',
        'Application/JSON ; Charset="utf-8"',
        'application/json; charset=utf8',
        'application/json; profile=x; charset=utf-8',
      ]) {
        const { status, body } = await post(route, { code: 'x', token: 'x', password: 'x' }, { 'Content-Type': type })
        expect([status, body.issues?.[0]?.path], type).toEqual([400, route === exchangePath ? undefined : ['token']])
      }
    })

    test('400 VALIDATION_ERROR for a body that is not JSON', async ({ post }) => {
      const bodies = [
        '',
        '{',
        '{"code":"x"',
        "{'code':'x'}",
        'NaN',
        '{"code":"x"}{}',
        '\ufeff\ufeff{}',
        new Uint8Array([0x7b, 0x22, 0xff, 0x22, 0x3a, 0x31, 0x7d]),
      ]
      for (const body of bodies) {
        const response = await post(route, body)
        expect([response.status, response.body], String(body)).toEqual([
          400,
          errorBody('VALIDATION_ERROR', response.headers.get('x-request-id'), issue([], 'invalid_json')),
        ])
        expectCommonHeaders(response.headers)
      }
    })

    test('400 VALIDATION_ERROR for JSON that does not match the schema, with an issue for every field', async ({
      post,
    }) => {
      for (const body of ['null', '1', '"x"', '[]', 'true'])
        expect((await post(route, body)).body).toMatchObject(issue([], 'invalid_type'))
      const fields = route === exchangePath ? ['code'] : ['token', 'password']
      for (const wrong of [undefined, null, 1, {}, ['x'], true]) {
        const { status, body } = await post(route, Object.fromEntries(fields.map((field) => [field, wrong])))
        expect([status, body.code, body.issues!.map(({ path, code }) => [path, code])]).toEqual([
          400,
          'VALIDATION_ERROR',
          fields.map((field) => [[field], 'invalid_type']),
        ])
      }
    })

    test('503 with Retry-After if the database is unreachable; the cause is only logged', async () => {
      const server = await startServer({
        DATABASE_URL: `postgresql://user:secret-of-the-database@127.0.0.1:${await freePort()}/nowhere`,
      })
      const { status, headers, body } = await postTo(server.url + route, {
        code: 'x',
        token: 'x',
        password: newPassword(),
      })
      const alive = await documentedFetch(`${server.url}/api/health`)
      const ready = await documentedFetch(`${server.url}/api/health/ready`)
      await server.stop()
      expect([status, body]).toEqual([503, errorBody('SERVICE_UNAVAILABLE', headers.get('x-request-id'))])
      expect(headers.get('retry-after')).toMatch(/^\d+$/)
      expectCommonHeaders(headers)
      expect([alive.status, ready.status]).toEqual([200, 503])
      const line = logLines(server.output()).find(({ requestId }) => requestId === body.requestId)!
      expect(line).toMatchObject({ level: 'error', status: 503, cause: { name: expect.any(String) } })
      expect(server.output()).not.toContain('secret-of-the-database')
    })

    test('500 for an unexpected error; the cause is only logged', async ({ sql }) => {
      const empty = `test_${randomBytes(6).toString('hex')}`
      await sql(`CREATE DATABASE ${empty}`)
      const databaseUrl = new URL(process.env.DATABASE_URL!)
      databaseUrl.pathname = `/${empty}`
      const server = await startServer({ DATABASE_URL: databaseUrl.href })
      const { status, headers, body } = await postTo(server.url + route, {
        code: 'x',
        token: 'x',
        password: newPassword(),
      })
      await server.stop()
      await sql(`DROP DATABASE ${empty} WITH (FORCE)`)
      expect([status, body]).toEqual([500, errorBody('INTERNAL_ERROR', headers.get('x-request-id'))])
      expectCommonHeaders(headers)
      const line = logLines(server.output()).find(({ requestId }) => requestId === body.requestId)!
      expect(line).toMatchObject({
        level: 'error',
        status: 500,
        code: 'INTERNAL_ERROR',
        cause: { name: expect.any(String), code: expect.any(String) },
      })
    })
  })
}

/** Every server of the tests logs it: an empty DIRECT_DATABASE_URL overrides that of `.env`. */
const emptyWarning = 'settings are present but empty'

test('no GET and no HEAD of an operation that changes something changes anything', async ({ user, url, post, sql }) => {
  const [code, token] = [await newCode(user), await newToken(user)]
  const { body } = await post(exchangePath, { code: await newCode(user) })
  const query = new URLSearchParams({ code, token, refreshToken: body.refreshToken!, password: newPassword() })
  const changing = Object.values(operations).filter(({ method }) => method === 'POST')
  const state = `SELECT
    (SELECT jsonb_agg(sessions) FROM sessions WHERE user_id = $1) AS sessions,
    (SELECT jsonb_agg(exchange_codes) FROM exchange_codes WHERE user_id = $1 AND used_at IS NULL) AS codes,
    (SELECT jsonb_agg(reset_tokens) FROM reset_tokens WHERE user_id = $1) AS tokens`
  const before = await sql(state, [user.id])
  expect(before[0]!.codes).toHaveLength(1)
  for (const path of [...changing.map(({ path }) => path), '/sign-out', '/forgot-password/send']) {
    for (const method of ['GET', 'HEAD']) {
      const { status, headers } = await fetch(`${url}${path}?${query}`, {
        method,
        redirect: 'manual',
        headers: {
          Cookie: `session=${body.token}; refresh=${body.refreshToken}`,
          'Content-Type': 'application/json',
          'Sec-Fetch-Site': 'same-origin',
          'X-Forwarded-For': newAddress(),
        },
      })
      const isOff = path === paths.signIn || path.includes('forgot-password') // on this server
      expect([status, headers.get('set-cookie')], `${method} ${path}`).toEqual([isOff ? 404 : 405, null])
    }
  }
  expect(changing.length).toBeGreaterThan(5)
  expect(await sql(state, [user.id])).toEqual(before)
})

test('404 for an /api path that does not exist, whatever the method', async ({ url }) => {
  for (const path of [
    '/api',
    '/api/',
    '/api/nothing',
    '/api/auth',
    '/api/auth/sso',
    `${exchangePath}/more`,
    '/api/%ff',
    '/api/%00',
    '/api/auth%2Fsso%2Fexchange',
    '/api/health.json',
  ]) {
    for (const method of ['GET', 'POST', 'DELETE', 'OPTIONS']) {
      const response = await documentedFetch(url + path, { method, headers: { 'X-Forwarded-For': newAddress() } })
      expect([response.status, await response.json()], `${method} ${path}`).toEqual([
        404,
        errorBody('NOT_FOUND', response.headers.get('x-request-id')),
      ])
      expectCommonHeaders(response.headers)
    }
  }
})

test('a trailing slash does not redirect, which would repeat the query', async ({ post, url }) => {
  expect((await post(`${exchangePath}/`, { code: 'fabricated' })).body.code).toBe('SSO_EXCHANGE_INVALID')
  expect((await fetch(`${url}/reset-password/?token=fabricated`, { redirect: 'manual' })).status).toBe(200)
})

test('health: alive and ready', async ({ url }) => {
  for (const path of ['/api/health', '/api/health/ready']) {
    const response = await documentedFetch(url + path, { headers: { 'X-Forwarded-For': newAddress() } })
    expect([response.status, await response.json()]).toEqual([200, { ok: true }])
    expectCommonHeaders(response.headers)
    const wrong = await documentedFetch(url + path, { method: 'POST', headers: { 'X-Forwarded-For': newAddress() } })
    expect([wrong.status, wrong.headers.get('allow')]).toEqual([405, 'GET, HEAD'])
  }
})

test('a valid X-Request-Id is kept, any other is replaced', async ({ post }) => {
  const harmless = [
    '0123456789',
    'a1b2-c3d4_e5.f6',
    '7f3c9f0e-8a55-4d8e-9d0a-0f2c6b1f9e11',
    '01JD4Z8Q3V6M2N7P5R9T1W3X5Y',
  ]
  const harmful = [
    'short',
    'x'.repeat(41),
    'with space in it',
    '{"level":"fatal"}',
    '<script>alert(1)</script>',
    'AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA',
  ]
  for (const given of harmless)
    expect((await post(exchangePath, { code: 'x' }, { 'X-Request-Id': given })).body.requestId).toBe(given)
  for (const given of harmful)
    expect((await post(exchangePath, { code: 'x' }, { 'X-Request-Id': given })).body.requestId).toMatch(
      /^[0-9a-f-]{36}$/,
    )
})

test('one log line per request, with known fields only', async ({ user }) => {
  const server = await startServer()
  const { body } = await postTo(server.url + exchangePath, { code: `fabricated-${user.id}` })
  await documentedFetch(`${server.url}/api/nothing?secret=${user.id}`)
  await server.stop()
  const lines = logLines(server.output())
  expect(lines).toEqual([
    {
      level: 'info',
      time: expect.any(String),
      requestId: body.requestId,
      method: 'POST',
      route: 'sso-exchange',
      status: 400,
      code: 'SSO_EXCHANGE_INVALID',
      durationMs: expect.any(Number),
    },
    {
      level: 'info',
      time: expect.any(String),
      requestId: expect.any(String),
      method: 'GET',
      route: 'unknown',
      status: 404,
      code: 'NOT_FOUND',
      durationMs: expect.any(Number),
    },
  ])
  expect(server.output()).not.toContain(user.id)
})

test('the log line of a success contains the user and the new session', async ({ user, sql }) => {
  const server = await startServer()
  const [code, token, password] = [await newCode(user), await newToken(user), newPassword()]
  const exchanged = await postTo(server.url + exchangePath, { code })
  const changed = await postTo(server.url + resetPath, { token, password })
  const again = await postTo(server.url + resetPath, { token, password })
  await server.stop()
  const [session] = await sql('SELECT id FROM sessions WHERE user_id = $1', [user.id])
  const line = { level: 'info', time: expect.any(String), method: 'POST', durationMs: expect.any(Number) }
  const ofReset = { ...line, route: 'reset-password' }
  expect(logLines(server.output())).toEqual([
    {
      ...line,
      route: 'sso-exchange',
      status: 200,
      requestId: exchanged.headers.get('x-request-id'),
      userId: user.id,
      sessionId: session!.id,
    },
    { ...ofReset, status: 200, requestId: changed.headers.get('x-request-id'), userId: user.id },
    { ...ofReset, status: 400, requestId: again.body.requestId, code: 'VALIDATION_ERROR' },
  ])
})

test('logs once, at start, which settings are present but empty', async () => {
  const server = await startServer({ ACCENT_COLOR: '' })
  await fetch(`${server.url}/api/health`)
  await server.stop()
  const lines = server.output().split('\n')
  expect(lines.filter((line) => line.includes(emptyWarning)).map((line) => JSON.parse(line))).toEqual([
    expect.objectContaining({ level: 'warn', settings: ['DIRECT_DATABASE_URL', 'ACCENT_COLOR'] }),
  ])
})

test('LOG_LEVEL applies to the routes', async () => {
  const levels = async (LOG_LEVEL: string) => {
    const server = await startServer({ LOG_LEVEL })
    await fetch(`${server.url}/api/health`) // info
    await server.stop()
    return [...new Set(logLines(server.output()).map(({ level }) => level))].sort()
  }
  expect(await levels('')).toEqual(['info'])
  expect(await levels('warn')).toEqual([])
})

test('the JWKS can be cached and read from any origin', async ({ url }) => {
  const response = await documentedFetch(`${url}/.well-known/jwks.json`)
  expect(response.headers.get('content-type')).toBe('application/jwk-set+json')
  expect(response.headers.get('cache-control')).toBe('public, max-age=300')
  expect(response.headers.get('access-control-allow-origin')).toBe('*')
  expect((await response.json()).keys).toHaveLength(1)
})

test('/.well-known/change-password redirects to where a user gets a link, or else signs in', async ({ url }) => {
  const targetAt = async (server: string) => {
    const response = await fetch(`${server}/.well-known/change-password`, { redirect: 'manual' })
    return [response.status, response.headers.get('location')]
  }
  expect(await targetAt(url)).toEqual([303, '/sign-in'])
  for (const [settings, target] of [
    [{ SIGN_IN_URL: 'https://www.example.com/sign-in' }, 'https://www.example.com/sign-in'],
    [{ SIGN_IN_URL: '/x', FORGOT_PASSWORD_URL: 'https://www.example.com/forgot' }, 'https://www.example.com/forgot'],
  ] as const) {
    const server = await startServer(settings)
    expect(await targetAt(server.url)).toEqual([303, target])
    await server.stop()
  }
})

test('/.well-known/change-password redirects to FORGOT_PASSWORD_URL', async () => {
  const server = await startServer({ FORGOT_PASSWORD_URL: 'https://www.example.com/forgot' })
  const response = await fetch(`${server.url}/.well-known/change-password`, { redirect: 'manual' })
  await server.stop()
  expect([response.status, response.headers.get('location')]).toEqual([303, 'https://www.example.com/forgot'])
})

function logLines(output: string): Record<string, unknown>[] {
  return output
    .split('\n')
    .filter((line) => line.startsWith('{') && !line.includes(emptyWarning))
    .map((line) => JSON.parse(line))
}
