import { gzipSync } from 'node:zlib'
import fc from 'fast-check'
import * as routes from '../../lib/contract/routes'
import { authorize, dashboards, secretOf } from '../support/browsers/dashboard'
import { newAccount } from '../support/databases/account'
import { rounds } from '../support/databases/race'
import { documentedFetch } from '../support/documents/documented'
import { exchangePath, expect, newCode, resetPath, test } from '../support/fixtures'
import { newAddress } from '../support/secrets'
import { preload } from '../support/servers/preload'
import { sendBytes } from '../support/wire/raw-bytes'
import { countOf, sendMany } from '../support/wire/send-many'

const bodiesEach = rounds * 20
const statuses = new Set([400, 413, 415])

const field = fc.oneof(
  fc.string({ unit: 'binary', maxLength: 300 }),
  fc.string({ unit: 'grapheme', maxLength: 100 }),
  fc.constant('\ud800'),
  fc.constant('\u0000'),
  fc.constant("'; DROP TABLE users; --"),
  fc.jsonValue(),
)
const shaped = fc
  .record(
    {
      code: field,
      token: field,
      password: field,
      ['__proto__']: fc.jsonValue(),
      constructor: fc.jsonValue(),
    },
    { requiredKeys: [] },
  )
  .map((value) => JSON.stringify(value))
const syntax = [...'\\ud80":{},e1- \n\t', 'code', 'token', 'password', 'null']
const escaped = fc.string({ unit: fc.constantFrom(...syntax) })
/** JSON that nearly matches the schema, other JSON, truncated JSON, and other data. */
const body = fc.oneof(
  { weight: 4, arbitrary: shaped },
  { weight: 2, arbitrary: fc.json() },
  { weight: 2, arbitrary: escaped },
  { weight: 1, arbitrary: fc.string({ unit: 'binary' }) },
  { weight: 1, arbitrary: fc.uint8Array({ maxLength: 400 }) },
  {
    weight: 1,
    arbitrary: fc.tuple(shaped, fc.nat(60)).map(([json, cut]) => json.slice(0, cut)),
  },
)

for (const route of [exchangePath, resetPath]) {
  test(`${route} rejects generated bodies with an error of the contract`, async ({
    url,
    sql,
  }) => {
    const seed = Number(process.env.SEED ?? Date.now() % 2 ** 31)
    console.log(`SEED=${seed}`)
    const bodies = fc.sample(body, { numRuns: bodiesEach, seed })
    const sessions =
      'SELECT count(*) AS count, (SELECT count(*) FROM users WHERE password_hash IS NOT NULL) AS passwords FROM sessions'
    const before = await sql(sessions)
    await sendMany(bodiesEach, async (index) => {
      const response = await documentedFetch(url + route, {
        method: 'POST',
        headers: { 'Content-Type': 'application/json', 'X-Forwarded-For': newAddress() },
        body: bodies[index] as BodyInit,
        signal: AbortSignal.timeout(60_000),
      })
      const text = await response.clone().text()
      const { ok, code, message, requestId } = JSON.parse(text)
      expect(
        statuses.has(response.status) &&
          ok === false &&
          typeof code === 'string' &&
          typeof message === 'string' &&
          requestId === response.headers.get('x-request-id'),
        `${response.status} ${text} for ${JSON.stringify(String(bodies[index]))}`,
      ).toBe(true)
      return response
    })
    expect(await sql(sessions)).toEqual(before)
  })

  test(`${route} rejects malicious bodies`, async ({ url }) => {
    const deep = (open: string, close: string) =>
      `${open.repeat(4_000)}${close.repeat(4_000)}`
    const bodies: Record<string, string | Uint8Array> = {
      'deep arrays': deep('[', ']'),
      'deep objects': `${'{"a":'.repeat(2_500)}1${'}'.repeat(2_500)}`,
      'a million digits': `{"code":${'9'.repeat(1_000_000)}}`,
      'many digits': `{"code":${'9'.repeat(16_000)}}`,
      'a huge exponent': '{"code":1e999999,"token":-1e999999,"password":1e-999999}',
      'a key twice, wrong the second time':
        '{"code":"x","token":"x","password":"x","code":1,"token":1}',
      __proto__: '{"__proto__":{"code":"x","token":"x","password":"x"}}',
      'inherited keys': '{"constructor":{"prototype":{"code":"x"}}}',
      'UTF-16': new Uint8Array(Buffer.from('\ufeff{"code":"x"}', 'utf16le')),
      'overlong UTF-8': new Uint8Array([
        ...Buffer.from('{"code":"'),
        0xc0,
        0xaf,
        ...Buffer.from('"}'),
      ]),
      'a surrogate in UTF-8': new Uint8Array([
        ...Buffer.from('{"code":"'),
        0xed,
        0xa0,
        0x80,
        ...Buffer.from('"}'),
      ]),
      'gzip without Content-Encoding': gzipSync('{"code":"x"}'),
      'raw control characters': '{"code":"\u0001\u0000"}',
    }
    for (const [what, hostile] of Object.entries(bodies)) {
      const response = await documentedFetch(url + route, {
        method: 'POST',
        headers: { 'Content-Type': 'application/json', 'X-Forwarded-For': newAddress() },
        body: hostile as BodyInit,
        signal: AbortSignal.timeout(60_000),
      })
      expect([400, 413], what).toContain(response.status)
      expect((await response.json()).code, what).toMatch(
        what === 'a million digits' ? /^PAYLOAD_TOO_LARGE$/ : /^VALIDATION_ERROR$/,
      )
    }
  })
}

/** A value as it is sent in a form or in a query, mostly percent-encoded. */
const encodedValue = fc.oneof(
  fc.string({ unit: 'binary', maxLength: 300 }).map(encode),
  fc.string({ unit: 'grapheme', maxLength: 100 }).map(encode),
  fc.uint8Array({ maxLength: 100 }).map((bytes) => percent(Buffer.from(bytes))),
  fc.string({ unit: fc.constantFrom('%00', ...'%0Aau+&=;\\\'"') }),
  fc.constantFrom(
    ...['', '%', '%0', '%zz', '%00', '%ED%A0%80', '%C0%AF', '%F4%90%80%80', '%u0000'],
    ...[encode("'; DROP TABLE users; --"), '1'.repeat(2_000), '__proto__', '[]', '{}'],
  ),
)

function encode(text: string): string {
  return percent(Buffer.from(text))
}

function percent(bytes: Buffer): string {
  return bytes.toString('hex').replaceAll(/../g, '%$&')
}

/** Fields of a form or a query: some with a value that gets past a check, or repeated. */
function generateFields(known: Record<string, string[]>): fc.Arbitrary<string> {
  const fields = Object.entries(known).map(([name, values]) => {
    const right = values.map((value) => ({
      weight: 3,
      arbitrary: fc.constant(encode(value)),
    }))
    const value = fc.oneof(...right, { weight: 1, arbitrary: encodedValue })
    return fc.option(
      value.map((sent) => `${name}=${sent}`),
      { freq: 6, nil: null },
    )
  })
  const other = fc
    .tuple(fc.constantFrom(...Object.keys(known), '', '__proto__', 'scope'), encodedValue)
    .map(([name, value]) => `${name}=${value}`)
  const others = fc.oneof(
    { weight: 4, arbitrary: fc.constant([]) },
    fc.array(other, { maxLength: 5 }),
  )

  return fc
    .tuple(fc.tuple(...fields), others)
    .map(([sent, more]) => [...sent, ...more].filter((field) => field !== null).join('&'))
}

const form = fc.oneof(
  {
    weight: 6,
    arbitrary: generateFields({
      grant_type: ['authorization_code', 'refresh_token'],
      code: [],
      redirect_uri: [dashboards.app],
      code_verifier: [],
      client_id: ['app', 'page'],
      client_secret: [secretOf('app')],
      refresh_token: [],
    }),
  },
  // a public client has no secret, so that hostile values reach the statements
  {
    weight: 2,
    arbitrary: generateFields({
      grant_type: ['authorization_code'],
      code: ['made-up'],
      redirect_uri: [],
      code_verifier: [],
      client_id: ['page'],
    }),
  },
  { weight: 1, arbitrary: encodedValue },
  { weight: 1, arbitrary: fc.uint8Array({ maxLength: 400 }) },
)
const credentials = fc.oneof(
  fc.constant(`app:${secretOf('app')}`),
  fc.tuple(encodedValue, encodedValue).map(([slug, secret]) => `${slug}:${secret}`),
  fc.string({ unit: 'binary', maxLength: 60 }),
)
const authorization = fc.oneof(
  { weight: 3, arbitrary: fc.constant(null) },
  credentials.map((text) => `Basic ${Buffer.from(text).toString('base64')}`),
  fc.string({ unit: fc.constantFrom(...'Basic =:%A+/-_,"') }),
)

test('the token endpoint rejects generated forms with an error of OAuth', async ({
  url,
  sql,
}) => {
  const seed = Number(process.env.SEED ?? Date.now() % 2 ** 31)
  console.log(`SEED=${seed}`)
  const requests = fc.sample(fc.tuple(form, authorization), {
    numRuns: bodiesEach,
    seed,
  })
  const sessions =
    'SELECT count(*) AS count, (SELECT count(*) FROM authorization_codes WHERE used_at IS NOT NULL) AS used FROM sessions'
  const before = await sql(sessions)
  const checks = new Set<string>()
  await sendMany(bodiesEach, async (index) => {
    const [sent, header] = requests[index]!
    const response = await documentedFetch(url + routes.issueTokens.path, {
      method: 'POST',
      headers: {
        'Content-Type': 'application/x-www-form-urlencoded',
        'X-Forwarded-For': newAddress(),
        ...(header && { Authorization: header }),
      },
      body: sent as BodyInit,
      signal: AbortSignal.timeout(60_000),
    })
    const text = await response.clone().text()
    const { error, error_description: description, requestId } = JSON.parse(text)
    checks.add(error)
    expect(
      [400, 401].includes(response.status) &&
        typeof error === 'string' &&
        typeof description === 'string' &&
        requestId === response.headers.get('x-request-id'),
      `${response.status} ${text} for ${JSON.stringify([String(sent), header])}`,
    ).toBe(true)
    return response
  })
  expect(await sql(sessions)).toEqual(before)
  // each step of the endpoint has rejected a form
  expect([...checks].sort()).toEqual([
    'invalid_client',
    'invalid_grant',
    'invalid_request',
    'unsupported_grant_type',
  ])
})

test('the authorization endpoint answers generated queries with a page or a redirect', async ({
  url,
  sql,
  serverWith,
}) => {
  const server = await serverWith()
  const seed = Number(process.env.SEED ?? Date.now() % 2 ** 31)
  console.log(`SEED=${seed}`)
  const query = generateFields({
    client_id: ['app', 'page', 'reports'],
    redirect_uri: [dashboards.app, dashboards.page],
    response_type: ['code'],
    response_mode: ['query'],
    scope: ['openid'],
    state: [],
    nonce: [],
    prompt: ['none', 'login'],
    max_age: ['0'],
    code_challenge: ['x'.repeat(43)],
    code_challenge_method: ['S256'],
    login_hint: [],
    ui_locales: [],
    claims: [],
    id_token_hint: [],
  })
  // so that queries with hostile values get past the checks in front of the statement
  const nearlyRight = fc.tuple(encodedValue, encodedValue).map(([state, nonce]) => {
    const right = { client_id: 'app', redirect_uri: dashboards.app }
    const rest = 'response_type=code&scope=openid'
    return `${new URLSearchParams(right)}&${rest}&state=${state}&nonce=${nonce}`
  })
  const queries = fc.sample(fc.oneof(query, nearlyRight), {
    numRuns: bodiesEach,
    seed,
  })
  const [browser] = (await newAccount(sql, 1, 0)).sessions
  const targets = new Set<string>()
  await sendMany(bodiesEach, async (index) => {
    const response = await authorize(url, queries[index]!, index % 4 ? browser : {})
    const what = `${response.status} for ${queries[index]}`
    expect([303, 400], what).toContain(response.status)
    const location = response.headers.get('location')
    expect(location === null, what).toBe(response.status === 400)
    if (location) {
      expect(location, what).toMatch(
        /^(\/sign-in\?|https:\/\/(app|page)\.example\.com\/)/,
      )
      expect(location, what).not.toMatch(/error=(server_error|temporarily_unavailable)/)
      targets.add(/^\/sign-in|[?&](code|error)=/.exec(location)![0])
    }
    return response
  })
  expect([...targets].sort()).toEqual(['/sign-in', '?code=', '?error='])
  expect(await server.logged('"level":"error"')).toEqual([])
})

test('uses the last value if a JSON key occurs twice', async ({ user, url, sql }) => {
  const code = await newCode(user)
  const response = await documentedFetch(url + exchangePath, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json', 'X-Forwarded-For': newAddress() },
    body: `{"code":"${code}","code":"other"}`,
  })
  expect(response.status).toBe(400)
  expect(
    await sql('SELECT 1 FROM exchange_codes WHERE user_id = $1 AND used_at IS NULL', [
      user.id,
    ]),
  ).toHaveLength(1)
})

const post = `POST ${exchangePath} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n`
const rawRequests: Record<string, [request: string | string[], response: RegExp]> = {
  'a compressed body': [
    `${post}Content-Encoding: gzip\r\nContent-Length: 2\r\n\r\n{}`,
    /^HTTP\/1\.1 415 /,
  ],
  'Content-Type twice': [
    `${post}Content-Type: text/plain\r\nContent-Length: 2\r\n\r\n{}`,
    /^HTTP\/1\.1 (400|415) /,
  ],
  'two lengths': [
    `${post}Content-Length: 2\r\nContent-Length: 3\r\n\r\n{}`,
    /^HTTP\/1\.1 400 /,
  ],
  'length and chunks': [
    `${post}Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n`,
    /^HTTP\/1\.1 400 /,
  ],
  'a negative length': [`${post}Content-Length: -1\r\n\r\n`, /^HTTP\/1\.1 400 /],
  'no host': ['GET /api/health HTTP/1.1\r\n\r\n', /^HTTP\/1\.1 400 /],
  'an absolute URL': [
    'GET http://elsewhere.example/api/health HTTP/1.1\r\nHost: elsewhere.example\r\nConnection: close\r\n\r\n',
    /^HTTP\/1\.1 (200|308|400|404) /,
  ],
  'headers of 70 KB': [
    `GET / HTTP/1.1\r\nHost: x\r\nX-Large: ${'x'.repeat(70_000)}\r\n\r\n`,
    /^HTTP\/1\.1 431 /,
  ],
  'chunks of one byte, without end': [
    [
      `${post}Transfer-Encoding: chunked\r\n\r\n`,
      ...Array<string>(17_000).fill('1\r\n[\r\n'),
    ],
    /^HTTP\/1\.1 413 /,
  ],
}

test('responds to malformed HTTP with an error', async ({ url }) => {
  for (const [what, [request, response]] of Object.entries(rawRequests))
    expect(await sendBytes(url, ...[request].flat()), what).toMatch(response)
})

test('a malicious path leads to an existing path or to an error', async ({ url }) => {
  const ofApi =
    '/../api/health /./health //health /%2e%2e/health /health%00 /health%2f /%c0%ae%c0%ae/health /\\health'
  const others =
    '/health;x=1 /health?% /health#x /%25%32%65 /constructor /__proto__ /_next/static/x'.split(
      ' ',
    )
  const ofPages = [
    '/%',
    '/sso/%ff',
    '//evil.example',
    '/_next/image?url=http://evil.example',
    '/_next/data/x.json',
  ]
  const api = [...ofApi.split(' '), ...others, `/${'x'.repeat(8_000)}`].map(
    (path) => `/api${path}`,
  )
  for (const path of [...api, ...ofPages]) {
    const response = await sendBytes(
      url,
      `GET ${path} HTTP/1.1\r\nHost: localhost\r\nX-Forwarded-For: ${newAddress()}\r\nConnection: close\r\n\r\n`,
    )
    expect(response, path.slice(0, 60)).toMatch(/^HTTP\/1\.1 (200|308|400|404|414) /)
    expect(response, path.slice(0, 60)).not.toMatch(
      /^location: (https?:)?\/\/(?!localhost)/im,
    )
  }
})

test('closes slow requests, and they do not delay other requests', async ({
  serverWith,
}) => {
  const server = await serverWith(preload('short-timeouts.mjs'))
  let closed = 0
  const slow = (request: string) => sendBytes(server.url, request).finally(() => closed++)
  const headers = slow('POST /api/health HTTP/1.1\r\nHost: x\r\nX-Slow: ')
  const from = () => `X-Forwarded-For: ${newAddress()}\r\n` // because one client may have only 16 requests in progress
  const bodies = Array.from({ length: 200 }, () =>
    slow(`${post}${from()}Content-Length: 50\r\n\r\n{"code"`),
  )
  let servedBefore = 0
  const fetchOther = async () => {
    const response = await fetch(`${server.url}/api/health`)
    if (closed === 0) servedBefore++
    return response
  }
  const responses = await sendMany(100, fetchOther, 20)
  expect(countOf(responses, 200)).toBe(100)
  // The first 20 requests may arrive before the slow ones. A busy machine serves the last
  // requests after it has closed the slow ones.
  expect(
    servedBefore,
    'other requests that were served while all slow requests were open',
  ).toBeGreaterThan(20)
  expect(await headers).toMatch(/^HTTP\/1\.1 408 /)
  const closedBodies = await Promise.all(bodies)
  for (const body of closedBodies) expect(body).toMatch(/^HTTP\/1\.1 (400|408) /)
  expect(closedBodies.join('')).toMatch(
    /The request body did not arrive within \d+ seconds/,
  )
})
