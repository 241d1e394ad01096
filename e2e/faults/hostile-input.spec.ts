import { gzipSync } from 'node:zlib'
import fc from 'fast-check'
import { documentedFetch } from '../support/documented'
import { exchangePath, expect, newAddress, newCode, resetPath, test } from '../support/fixtures'
import { flood } from '../support/flood'
import { sendBytes } from '../support/raw-bytes'
import { startServer } from '../support/server'

const bodiesEach = 5_000
const statuses = new Set([400, 413, 415])

/** Valid JSON, JSON that nearly or does not match the schema, and other data. */
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
    { code: field, token: field, password: field, ['__proto__']: fc.jsonValue(), constructor: fc.jsonValue() },
    { requiredKeys: [] },
  )
  .map((value) => JSON.stringify(value))
const escaped = fc.string({
  unit: fc.constantFrom(
    '\\',
    'u',
    'd',
    '8',
    '0',
    '"',
    ':',
    '{',
    '}',
    ',',
    'code',
    'token',
    'password',
    'e',
    '1',
    '-',
    ' ',
    '\n',
    '\t',
    'null',
  ),
})
const body = fc.oneof(
  { weight: 4, arbitrary: shaped },
  { weight: 2, arbitrary: fc.json() },
  { weight: 2, arbitrary: escaped },
  { weight: 1, arbitrary: fc.string({ unit: 'binary' }) },
  { weight: 1, arbitrary: fc.uint8Array({ maxLength: 400 }) },
  { weight: 1, arbitrary: fc.tuple(shaped, fc.nat(60)).map(([json, cut]) => json.slice(0, cut)) },
)

for (const route of [exchangePath, resetPath]) {
  test(`${bodiesEach} generated bodies to ${route}: every response matches the contract`, async ({ url, sql }) => {
    const seed = Number(process.env.SEED ?? Date.now() % 2 ** 31)
    console.log(`SEED=${seed}`)
    const bodies = fc.sample(body, { numRuns: bodiesEach, seed })
    const sessions =
      'SELECT count(*) AS count, (SELECT count(*) FROM users WHERE password_hash IS NOT NULL) AS passwords FROM sessions'
    const before = await sql(sessions)
    let address = newAddress()
    await flood(bodiesEach, async (index) => {
      if (index % 1_000 === 0) address = newAddress()
      const response = await documentedFetch(url + route, {
        method: 'POST',
        headers: { 'Content-Type': 'application/json', 'X-Forwarded-For': address },
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

  test(`malicious bodies to ${route}`, async ({ url }) => {
    const deep = (open: string, close: string) => `${open.repeat(4_000)}${close.repeat(4_000)}`
    const bodies: Record<string, string | Uint8Array> = {
      'deep arrays': deep('[', ']'),
      'deep objects': `${'{"a":'.repeat(2_500)}1${'}'.repeat(2_500)}`,
      'a million digits': `{"code":${'9'.repeat(1_000_000)}}`,
      'many digits': `{"code":${'9'.repeat(16_000)}}`,
      'a huge exponent': '{"code":1e999999,"token":-1e999999,"password":1e-999999}',
      'a key twice, wrong the second time': '{"code":"x","token":"x","password":"x","code":1,"token":1}',
      __proto__: '{"__proto__":{"code":"x","token":"x","password":"x"}}',
      'inherited keys': '{"constructor":{"prototype":{"code":"x"}}}',
      'UTF-16': new Uint8Array(Buffer.from('\ufeff{"code":"x"}', 'utf16le')),
      'overlong UTF-8': new Uint8Array([...Buffer.from('{"code":"'), 0xc0, 0xaf, ...Buffer.from('"}')]),
      'a surrogate in UTF-8': new Uint8Array([...Buffer.from('{"code":"'), 0xed, 0xa0, 0x80, ...Buffer.from('"}')]),
      'gzip without saying so': gzipSync('{"code":"x"}'),
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

test('the last of two equal keys counts', async ({ user, url, sql }) => {
  const code = await newCode(user)
  const response = await documentedFetch(url + exchangePath, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json', 'X-Forwarded-For': newAddress() },
    body: `{"code":"${code}","code":"other"}`,
  })
  expect(response.status).toBe(400)
  expect(await sql('SELECT 1 FROM exchange_codes WHERE user_id = $1 AND used_at IS NULL', [user.id])).toHaveLength(1)
})

test.describe('raw HTTP', () => {
  const json = 'Content-Type: application/json\r\n'
  const requests: Record<string, { send: string[]; expect: RegExp }> = {
    'a compressed body': {
      send: [
        `POST ${exchangePath} HTTP/1.1\r\nHost: x\r\n${json}Content-Encoding: gzip\r\nContent-Length: 2\r\n\r\n{}`,
      ],
      expect: /^HTTP\/1\.1 415 /,
    },
    'a body that stops half way': {
      // By our route after 10 s. The 408 of Node.js comes after 30 s.
      send: [
        `POST ${exchangePath} HTTP/1.1\r\nHost: x\r\nX-Forwarded-For: ${newAddress()}\r\n${json}Content-Length: 50\r\n\r\n{"code"`,
      ],
      expect: /^HTTP\/1\.1 400 [\s\S]*did not arrive within 10 seconds/,
    },
    'headers that stop half way': {
      send: ['POST /api/health HTTP/1.1\r\nHost: x\r\nX-Slow: '],
      expect: /^HTTP\/1\.1 408 /,
    },
    'Content-Type twice': {
      send: [
        `POST ${exchangePath} HTTP/1.1\r\nHost: x\r\n${json}Content-Type: text/plain\r\nContent-Length: 2\r\n\r\n{}`,
      ],
      expect: /^HTTP\/1\.1 (400|415) /,
    },
    'two lengths': {
      send: [`POST ${exchangePath} HTTP/1.1\r\nHost: x\r\n${json}Content-Length: 2\r\nContent-Length: 3\r\n\r\n{}`],
      expect: /^HTTP\/1\.1 400 /,
    },
    'a length and chunks': {
      send: [
        `POST ${exchangePath} HTTP/1.1\r\nHost: x\r\n${json}Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n`,
      ],
      expect: /^HTTP\/1\.1 400 /,
    },
    'a length that is no number': {
      send: [`POST ${exchangePath} HTTP/1.1\r\nHost: x\r\n${json}Content-Length: -1\r\n\r\n`],
      expect: /^HTTP\/1\.1 400 /,
    },
    'no host': { send: ['GET /api/health HTTP/1.1\r\n\r\n'], expect: /^HTTP\/1\.1 400 / },
    'an absolute URL': {
      send: [
        'GET http://elsewhere.example/api/health HTTP/1.1\r\nHost: elsewhere.example\r\nConnection: close\r\n\r\n',
      ],
      expect: /^HTTP\/1\.1 (200|400|404) /,
    },
    'headers of 70 KB': {
      send: [`GET /api/health HTTP/1.1\r\nHost: x\r\nX-Large: ${'x'.repeat(70_000)}\r\n\r\n`],
      expect: /^HTTP\/1\.1 431 /,
    },
    'chunks of one byte, without end': {
      send: [
        `POST ${exchangePath} HTTP/1.1\r\nHost: x\r\n${json}Transfer-Encoding: chunked\r\n\r\n`,
        ...Array<string>(17_000).fill('1\r\n[\r\n'),
      ],
      expect: /^HTTP\/1\.1 413 /,
    },
  }
  for (const [what, { send, expect: expected }] of Object.entries(requests)) {
    test(what, async ({ url }) => {
      expect(await sendBytes(url, ...send)).toMatch(expected)
    })
  }
})

test('a malicious path is a known one, or 404', async ({ url }) => {
  const paths = [
    '/api/../api/health',
    '/api/./health',
    '/api//health',
    '/api/%2e%2e/health',
    '/api/health%00',
    '/api/health%2f',
    '/api/%c0%ae%c0%ae/health',
    '/api/\\health',
    '/api/health;x=1',
    '/api/health?%',
    '/api/health#x',
    `/api/${'x'.repeat(8_000)}`,
    '/api/%25%32%65',
    '/api/constructor',
    '/api/__proto__',
    '/%',
    '/sso/%ff',
    '//evil.example',
    '/api/_next/static/x',
    '/_next/image?url=http://evil.example',
    '/_next/data/x.json',
  ]
  for (const path of paths) {
    const response = await sendBytes(
      url,
      `GET ${path} HTTP/1.1\r\nHost: localhost\r\nX-Forwarded-For: ${newAddress()}\r\nConnection: close\r\n\r\n`,
    )
    expect(response, path.slice(0, 60)).toMatch(/^HTTP\/1\.1 (200|400|404|414) /)
    expect(response, path.slice(0, 60)).not.toMatch(/^location: (https?:)?\/\/(?!localhost)/im)
  }
})

test('slow bodies do not delay other requests, and are closed automatically', async () => {
  const server = await startServer()
  let ended = 0
  const stuck = Array.from({ length: 200 }, async () => {
    const response = await sendBytes(
      server.url,
      `POST ${exchangePath} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{`,
    )
    ended++
    return response
  })
  const responses = await flood(200, () => fetch(`${server.url}/api/health`), 20)
  expect(responses.every(({ status }) => status === 200)).toBe(true)
  expect(ended, 'slow bodies that were closed before all other requests were served').toBe(0)
  for (const response of await Promise.all(stuck)) expect(response).toMatch(/^HTTP\/1\.1 (400|408) /)
  await server.stop()
})
