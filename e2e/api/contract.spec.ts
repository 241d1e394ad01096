import { operations } from '../../lib/contract/operations'
import { openOwnDatabase } from '../support/databases/own-database'
import { documentedFetch } from '../support/documents/documented'
import {
  exchangePath,
  expect,
  newCode,
  newPassword,
  newToken,
  postTo,
  resetPath,
  type TestServer,
  test,
} from '../support/fixtures'
import { keepSecret, newAddress } from '../support/secrets'
import { otherValues, unreachableDatabase } from '../support/servers/settings'
import { sendBytes } from '../support/wire/raw-bytes'

const routes = [exchangePath, resetPath]

/** Checks the headers that every /api response must have. */
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
const issue = (path: string[], code: string) => ({
  issues: [{ path, code, message: expect.any(String) }],
})

for (const route of routes) {
  test.describe(route, () => {
    test('sends 405 for every method except POST', async ({ url }) => {
      for (const method of ['GET', 'HEAD', 'OPTIONS', 'PUT', 'PATCH', 'DELETE']) {
        const response = await documentedFetch(url + route, {
          method,
          headers: { 'X-Forwarded-For': newAddress() },
        })
        expect([response.status, response.headers.get('allow')], method).toEqual([
          405,
          'POST',
        ])
        expectCommonHeaders(response.headers)
        const text = await response.text()
        if (method === 'HEAD') expect(text).toBe('')
        else
          expect(JSON.parse(text)).toEqual(
            errorBody('METHOD_NOT_ALLOWED', response.headers.get('x-request-id')),
          )
      }
      for (const method of ['TRACE', 'PROPFIND', 'QUERY']) {
        const head = `${method} ${route} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n` // fetch rejects TRACE
        expect(await sendBytes(url, head)).toMatch(/^HTTP\/1.1 405 .*METHOD_NOT_ALLOWED/s)
      }
    })

    test('sends 413 for a body over 16 KiB, with and without Content-Length', async ({
      post,
      url,
    }) => {
      const large = JSON.stringify({
        code: 'x',
        token: 'x',
        password: 'x',
        padding: 'x'.repeat(16 * 1024),
      })
      const { status, headers, body } = await post(route, large)
      expect([status, body]).toEqual([
        413,
        errorBody('PAYLOAD_TOO_LARGE', headers.get('x-request-id')),
      ])
      expectCommonHeaders(headers)
      const streamed = await documentedFetch(url + route, {
        method: 'POST',
        body: new Blob([large]).stream(),
        duplex: 'half',
        headers: { 'Content-Type': 'application/json', 'X-Forwarded-For': newAddress() },
      } as RequestInit)
      expect(streamed.status).toBe(413)
      const start = '{"code":"x","token":"x","password":"x","padding":"'
      expect(
        (await post(route, `${start}${'x'.repeat(16 * 1024 - start.length - 2)}"}`))
          .status,
      ).toBe(400)
    })

    test('sends 413 before it has read the whole body, and closes the connection', async ({
      url,
    }) => {
      const head = `POST ${route} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 10000000000\r\n\r\n`
      const response = await sendBytes(url, head + 'x'.repeat(1000))
      expect(response).toMatch(/^HTTP\/1.1 413 /)
      expect(response).toMatch(/^connection: close\r$/im)
    })

    test('keeps the connection after a 413 for a body of up to 1 MiB', async ({
      url,
    }) => {
      const size = 1024 * 1024
      const head = `POST ${route} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: ${size}\r\n\r\n`
      const next =
        'GET /api/health HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n'
      const responses = await sendBytes(url, head + 'x'.repeat(size) + next)
      expect(responses.match(/^HTTP\/1.1 \d+/gm)).toEqual([
        'HTTP/1.1 413',
        'HTTP/1.1 200',
      ])
    })

    test('sends 415 for anything except uncompressed JSON in UTF-8', async ({ url }) => {
      const forms = [
        'text/plain',
        'application/x-www-form-urlencoded',
        'multipart/form-data; boundary=x',
        '',
      ]
      const types = [...forms, 'application/json; charset=utf-16', 'application/jsonp']
      const headers: Record<string, string>[] = [
        ...types.map((type) => ({ 'Content-Type': type })),
        { 'Content-Type': 'application/json', 'Content-Encoding': 'gzip' },
      ]
      for (const each of headers) {
        const response = await documentedFetch(url + route, {
          method: 'POST',
          body: new TextEncoder().encode('{}'),
          headers: { ...each, 'X-Forwarded-For': newAddress() },
        })
        expect(response.status, JSON.stringify(each)).toBe(415)
        expect(response.headers.get('accept-post')).toBe('application/json')
        expect(await response.json()).toEqual(
          errorBody('UNSUPPORTED_MEDIA_TYPE', response.headers.get('x-request-id')),
        )
        expectCommonHeaders(response.headers)
      }
    })

    test('accepts every spelling of the content type of JSON in UTF-8', async ({
      post,
    }) => {
      for (const parameter of [
        '; charset=utf-8',
        '; profile=x; charset=UTF8',
        ' ; Charset="utf-8"',
      ]) {
        const type = `Application/json${parameter}`
        const { status, body } = await post(
          route,
          { code: 'x', token: 'x', password: 'x' },
          { 'Content-Type': type },
        )
        expect([status, body.issues?.[0]?.path], type).toEqual([
          400,
          route === exchangePath ? undefined : ['token'],
        ])
      }
    })

    test('sends VALIDATION_ERROR for a body that is not JSON', async ({ post }) => {
      const texts = [
        '',
        '{',
        '{"code":"x"',
        "{'code':'x'}",
        'NaN',
        '{"code":"x"}{}',
        '\ufeff\ufeff{}',
      ]
      for (const body of [
        ...texts,
        new Uint8Array([0x7b, 0x22, 0xff, 0x22, 0x3a, 0x31, 0x7d]),
      ]) {
        const response = await post(route, body)
        const expected = errorBody(
          'VALIDATION_ERROR',
          response.headers.get('x-request-id'),
          issue([], 'invalid_json'),
        )
        expect([response.status, response.body], String(body)).toEqual([400, expected])
        expectCommonHeaders(response.headers)
      }
    })

    test('sends VALIDATION_ERROR with an issue for each wrong field', async ({
      post,
    }) => {
      for (const body of ['null', '1', '"x"', '[]', 'true'])
        expect((await post(route, body)).body).toMatchObject(issue([], 'invalid_type'))
      const fields = route === exchangePath ? ['code'] : ['token', 'password']
      for (const wrong of [undefined, null, 1, {}, ['x'], true]) {
        const { status, body } = await post(
          route,
          Object.fromEntries(fields.map((field) => [field, wrong])),
        )
        expect([status, body.code]).toEqual([400, 'VALIDATION_ERROR'])
        const issues = body.issues!.map(({ path, code }) => [path, code])
        expect(issues).toEqual(fields.map((field) => [[field], 'invalid_type']))
      }
    })
  })
}

/** Every test server logs this, because an empty DIRECT_DATABASE_URL overrides the one in `.env`. */
const emptyWarning = 'settings are present but empty'

/** Posts to both routes, and expects errors. Only the log may contain their cause. */
async function expectFailure(
  server: TestServer,
  status: number,
  code: string,
): Promise<void> {
  const given = { code: 'x', token: 'x', password: newPassword() }
  const responses = await Promise.all(routes.map((route) => server.post(route, given)))
  for (const { status: found, headers, body } of responses) {
    expect([found, body]).toEqual([status, errorBody(code, headers.get('x-request-id'))])
    expectCommonHeaders(headers)
    if (status === 503) expect(headers.get('retry-after')).toMatch(/^\d+$/)
    const line = (await server.logged(`${body.requestId}`))[0]
    expect(line).toMatchObject({
      level: 'error',
      status,
      code,
      cause: { name: expect.any(String) },
    })
  }
}

test('sends 503 with Retry-After if the database is unreachable, and logs the cause', async ({
  serverWith,
}) => {
  const server = await serverWith(unreachableDatabase)
  for (const [path, status] of Object.entries({
    '/api/health': 200,
    '/api/health/ready': 503,
  }))
    expect((await documentedFetch(server.url + path)).status).toBe(status)
  await expectFailure(server, 503, 'SERVICE_UNAVAILABLE')
  expect(await server.output()).not.toContain('secret-of-the-database')
})

test('sends 500 for an unexpected error, and logs the cause', async ({ serverWith }) => {
  const empty = await openOwnDatabase({ migrated: false })
  await expectFailure(
    await serverWith({ DATABASE_URL: empty.url() }),
    500,
    'INTERNAL_ERROR',
  )
  await empty.drop()
})

test('a GET or HEAD request to a POST endpoint changes nothing', async ({
  user,
  url,
  post,
  sql,
}) => {
  const [code, token] = [await newCode(user), await newToken(user)]
  const { body } = await post(exchangePath, { code: await newCode(user) })
  const query = new URLSearchParams({
    code,
    token,
    refreshToken: body.refreshToken!,
    password: newPassword(),
  })
  const changing = Object.values(operations).filter(({ method }) => method === 'POST')
  const state = `SELECT
    (SELECT jsonb_agg(sessions) FROM sessions WHERE user_id = $1) AS sessions,
    (SELECT jsonb_agg(exchange_codes) FROM exchange_codes WHERE user_id = $1 AND used_at IS NULL) AS codes,
    (SELECT jsonb_agg(reset_tokens) FROM reset_tokens WHERE user_id = $1) AS tokens`
  const before = await sql(state, [user.id])
  expect(before[0]!.codes).toHaveLength(1)
  for (const path of [
    ...changing.map(({ path }) => path),
    '/sign-out',
    '/forgot-password/send',
  ]) {
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
      const isOff = /sign-in|second-factor|passkey|change-password|forgot-password/.test(
        path,
      ) // disabled on this server
      expect([status, headers.get('set-cookie')], `${method} ${path}`).toEqual([
        isOff ? 404 : 405,
        null,
      ])
    }
  }
  expect(changing.length).toBeGreaterThan(5)
  expect(await sql(state, [user.id])).toEqual(before)
})

test('sends 404 for an unknown /api path with every method', async ({ url }) => {
  const paths = [
    '/api',
    '/api/',
    '/api/nothing',
    '/api/auth',
    '/api/auth/sso',
    '/api/auth%2Fsso%2Fexchange',
  ]
  for (const path of [...paths, `${exchangePath}/more`, '/api/%00', '/api/health.json']) {
    for (const method of ['GET', 'POST', 'DELETE', 'OPTIONS']) {
      const response = await documentedFetch(url + path, {
        method,
        headers: { 'X-Forwarded-For': newAddress() },
      })
      const expected = errorBody('NOT_FOUND', response.headers.get('x-request-id'))
      expect([response.status, await response.json()], `${method} ${path}`).toEqual([
        404,
        expected,
      ])
      expectCommonHeaders(response.headers)
    }
  }
})

test('sends no redirect for a trailing slash, because the redirect would repeat the query', async ({
  post,
  url,
}) => {
  expect((await post(`${exchangePath}/`, { code: 'fabricated' })).body.code).toBe(
    'SSO_EXCHANGE_INVALID',
  )
  expect(
    (await fetch(`${url}/reset-password/?token=fabricated`, { redirect: 'manual' }))
      .status,
  ).toBe(200)
})

test('sends 200 from both health endpoints', async ({ url }) => {
  for (const path of ['/api/health', '/api/health/ready']) {
    const response = await documentedFetch(url + path, {
      headers: { 'X-Forwarded-For': newAddress() },
    })
    expect([response.status, await response.json()]).toEqual([200, { ok: true }])
    expectCommonHeaders(response.headers)
    const wrong = await documentedFetch(url + path, {
      method: 'POST',
      headers: { 'X-Forwarded-For': newAddress() },
    })
    expect([wrong.status, wrong.headers.get('allow')]).toEqual([405, 'GET, HEAD'])
  }
})

test('uses a valid X-Request-Id of the client, and replaces an invalid one', async ({
  post,
}) => {
  const requestId = async (given: string) =>
    (await post(exchangePath, { code: 'x' }, { 'X-Request-Id': given })).body.requestId
  for (const given of [
    '0123456789',
    'a1b2-c3d4_e5.f6',
    '7f3c9f0e-8a55-4d8e-9d0a-0f2c6b1f9e11',
  ])
    expect(await requestId(given)).toBe(given)
  const harmful = [
    'short',
    'x'.repeat(41),
    'with space in it',
    '{"level":"fatal"}',
    '<script>alert(1)</script>',
  ]
  for (const given of harmful) expect(await requestId(given)).toMatch(/^[0-9a-f-]{36}$/)
})

test('logs empty settings at start, and per request one line with only the expected fields', async ({
  serverWith,
  user,
  sql,
}) => {
  const server = await serverWith({ ACCENT_COLOR: '' })
  const [code, token, password] = [
    await newCode(user),
    await newToken(user),
    newPassword(),
  ]
  const head =
    'PROPFIND /api/health HTTP/1.1\r\nHost: localhost\r\nX-Original-Method: text-of-a-client\r\n'
  await sendBytes(server.url, `${head}Connection: close\r\n\r\n`)
  await documentedFetch(
    `${server.url}/api/nothing?secret=${keepSecret(`secret-${user.id}`)}`,
  )
  const fabricated = await postTo(server.url + exchangePath, {
    code: keepSecret(`fabricated-${user.id}`),
  })
  const exchanged = await postTo(server.url + exchangePath, { code })
  const changed = await postTo(server.url + resetPath, { token, password })
  const again = await postTo(server.url + resetPath, { token, password })
  expect(await server.logged(emptyWarning)).toEqual([
    expect.objectContaining({
      level: 'warn',
      settings: ['DIRECT_DATABASE_URL', 'ACCENT_COLOR'],
    }),
  ])
  const [session] = await sql('SELECT id FROM sessions WHERE user_id = $1', [user.id])
  const idOf = ({ headers }: { headers: Headers }) => headers.get('x-request-id')
  const any = expect.any(String)
  const line = {
    level: 'info',
    time: any,
    requestId: any,
    durationMs: expect.any(Number),
  }
  const ofExchange = { ...line, method: 'POST', route: 'sso-exchange' }
  const ofReset = { ...line, method: 'POST', route: 'reset-password' }
  const lines = await server.logged('')
  expect(lines.filter(({ settings }) => !settings)).toEqual([
    {
      ...line,
      method: 'DELETE',
      route: 'health',
      status: 405,
      code: 'METHOD_NOT_ALLOWED',
      check: 'method',
    },
    {
      ...line,
      method: 'GET',
      route: 'unknown',
      status: 404,
      code: 'NOT_FOUND',
      check: 'path_unknown',
    },
    {
      ...ofExchange,
      status: 400,
      code: 'SSO_EXCHANGE_INVALID',
      check: 'code_unknown',
      requestId: fabricated.body.requestId,
    },
    {
      ...ofExchange,
      status: 200,
      userId: user.id,
      sessionId: session!.id,
      requestId: idOf(exchanged),
    },
    { ...ofReset, status: 200, userId: user.id, requestId: idOf(changed) },
    {
      ...ofReset,
      status: 400,
      code: 'VALIDATION_ERROR',
      check: 'token_used',
      requestId: again.body.requestId,
    },
  ])
})

test('redirects /.well-known/change-password to the forgot-password page, if any, or to sign-in', async ({
  serverWith,
  url,
}) => {
  const server = await serverWith(otherValues)
  for (const [base, target] of [
    [url, '/sign-in'],
    [server.url, otherValues.FORGOT_PASSWORD_URL],
  ]) {
    const response = await fetch(`${base}/.well-known/change-password`, {
      redirect: 'manual',
    })
    expect([response.status, response.headers.get('location')]).toEqual([303, target])
  }
})
