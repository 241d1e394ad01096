import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { existsSync, readdirSync } from 'node:fs'
import { Agent, request as httpRequest } from 'node:http'
import * as paths from '../../lib/contract/paths'
import { makeRefreshToken } from '../../lib/session/refresh-token'
import { documentedFetch } from '../support/documented'
import { exchangePath, expect, keepSecret, newAddress, newCode, postTo, test } from '../support/fixtures'
import { countOf, flood } from '../support/flood'
import { openOwnDatabase } from '../support/own-database'
import { sendBytes } from '../support/raw-bytes'
import { send } from '../support/raw-http'
import { startServer } from '../support/server'

const remaining = (headers: Headers) => Number(headers.get('ratelimit')!.match(/r=(\d+)/)![1])

for (const host of ['', '127.0.0.1', 'localhost', '0.0.0.0', '::1', '::']) {
  test(`HOST=${host}: pages are rendered for any forwarded host and protocol, without a request of the server to itself`, async () => {
    const server = await startServer({ HOST: host, PUBLIC_URL: 'https://login.example.com' })
    const origin = `http://${host.includes(':') ? '[::1]' : '127.0.0.1'}:${new URL(server.url).port}`
    const client = { 'X-Forwarded-For': newAddress() }
    const health = () => fetch(`${origin}/api/health`, { headers: client })
    const before = remaining((await health()).headers)
    let pages = 0
    for (const protocol of [undefined, 'http', 'https', 'https,http']) {
      for (const name of [
        undefined,
        'login.example.com',
        'localhost',
        '127.0.0.1:1',
        '[::1]:3000',
        'evil.example:99',
      ]) {
        // The encoded name passes the server, so that the proxy rewrites the URL.
        for (const path of ['/sso/callback?code=fabricated', '/reset-password?%74oken=fabricated']) {
          const headers = { ...client, ...(protocol && { 'X-Forwarded-Proto': protocol }), ...(name && { Host: name }) }
          const { status, text } = await send(origin + path, { headers })
          expect([status, text.includes('<title>')], `${path} ${protocol} ${name}`).toEqual([200, true])
          pages++
        }
      }
    }
    expect(before - remaining((await health()).headers)).toBe(pages + 1)
    await server.stop()
    expect(server.output()).not.toContain('Failed to proxy')
  })
}

test('with HOST, the server listens at no other address', async () => {
  const server = await startServer({ HOST: '127.0.0.1' })
  const { port } = new URL(server.url)
  expect((await fetch(`http://127.0.0.1:${port}/api/health`)).status).toBe(200)
  for (const host of ['127.0.0.2', '[::1]'])
    await expect(fetch(`http://${host}:${port}/api/health`), host).rejects.toThrow()
  await server.stop()
})

test('outside /api, any body is rejected with 413 without reading it', async ({ url }) => {
  const head = (line: string, ...headers: string[]) =>
    `${line} HTTP/1.1\r\nHost: localhost\r\nX-Forwarded-For: ${newAddress()}\r\n${headers.map((header) => `${header}\r\n`).join('')}\r\n`
  for (const path of [
    '/',
    '/sso/callback',
    '/reset-password',
    '/nothing',
    '/openapi.json',
    '/.well-known/jwks.json',
    '/_next/static/x.js',
    '/apis',
  ]) {
    for (const method of ['POST', 'PUT', 'GET', 'DELETE']) {
      const response = await sendBytes(url, head(`${method} ${path}`, 'Content-Length: 9900000')) // but no body
      expect(response, `${method} ${path}`).toMatch(/^HTTP\/1\.1 413 [\s\S]*\r\nconnection: close\r\n/i)
    }
  }
  expect(await sendBytes(url, head('POST /', 'Transfer-Encoding: chunked'))).toMatch(/^HTTP\/1\.1 413 /)
  expect(await sendBytes(url, head('POST /sign-out', 'Transfer-Encoding: chunked'))).toMatch(/^HTTP\/1\.1 413 /)
  expect(await sendBytes(url, head('POST /sign-out', 'Content-Length: 1025'))).toMatch(/^HTTP\/1\.1 413 /)
  expect((await send(`${url}/sign-out`, { method: 'POST', body: 'x'.repeat(1_024) })).status).toBe(303)
})

test('a page accepts GET and HEAD only', async ({ url }) => {
  for (const path of [
    '/',
    '/sso/callback',
    '/reset-password',
    '/nothing',
    '/icon.svg',
    '/favicon.ico',
    '/robots.txt',
    '/_next/x',
  ]) {
    for (const method of ['POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']) {
      const response = await fetch(url + path, { method, headers: { 'X-Forwarded-For': newAddress() } })
      expect([response.status, response.headers.get('allow')], `${method} ${path}`).toEqual([405, 'GET, HEAD'])
    }
  }
})

test('there is no image optimizer, which would bypass the rate limit', async () => {
  const server = await startServer()
  for (const query of ['?url=%2Fapi%2Fhealth%2Fready&w=640&q=75', '?url=%2Ficon.svg&w=640&q=75', ''])
    expect((await fetch(`${server.url}/_next/image${query}`)).status).toBe(404)
  await server.stop()
  expect(server.output()).not.toContain('health-ready')
})

test('the pages of Next.js itself are not served', async ({ url }) => {
  for (const path of ['/_global-error', '/_not-found', '/_error', '/_document']) {
    const response = await fetch(url + path)
    expect([path, response.status, await response.text()]).toEqual([path, 404, 'Not found.\n'])
  }
})

test('internal headers of Next.js from a client are ignored and not logged', async () => {
  const server = await startServer({ RATE_LIMIT: 'in-process' })
  const internal = {
    'x-middleware-prefetch': '1',
    'x-middleware-next': '1',
    'x-middleware-rewrite': '/api/nothing',
    'x-middleware-subrequest': 'proxy:proxy:proxy:proxy:proxy',
    'x-middleware-override-headers': 'cookie',
    'x-nextjs-data': '1',
    'x-now-route-matches': '1=x',
    'x-matched-path': '/api/nothing',
    'x-invoke-path': '/api/nothing',
    'x-invoke-status': '500',
    'x-prerender-revalidate': 'x',
    'next-router-prefetch': '1',
    'next-router-segment-prefetch': '/_tree',
    'next-router-state-tree': 'x',
    'next-resume': '1',
    'next-url': '/x',
    rsc: '1',
    purpose: 'prefetch',
    'next-action': 'text-of-a-client',
  }
  for (const [name, value] of Object.entries(internal)) {
    const headers = { 'X-Forwarded-For': newAddress(), [name]: value }
    const health = await documentedFetch(`${server.url}/api/health`, { headers, redirect: 'manual' })
    expect([health.status, await health.json()], name).toEqual([200, { ok: true }])
    const exchanged = await postTo(server.url + exchangePath, { code: 'fabricated' }, headers)
    expect([exchanged.status, exchanged.body.code], name).toEqual([400, 'SSO_EXCHANGE_INVALID'])
    const page = await fetch(`${server.url}/`, { headers, redirect: 'manual' })
    expect([page.status, page.headers.get('content-type'), page.headers.has('content-security-policy')], name).toEqual([
      200,
      'text/html; charset=utf-8',
      true,
    ])
    const form = await fetch(`${server.url}/`, { method: 'POST', headers, redirect: 'manual' })
    expect([form.status, form.headers.get('allow')], name).toEqual([405, 'GET, HEAD'])
  }
  await server.stop()
  expect(server.output()).not.toContain('text-of-a-client')
  expect(server.output()).not.toContain('Server Action')
})

test('no output contains a query, not even the output of Next.js', async () => {
  const printed = keepSecret('a-code-that-something-prints')
  const preload = `data:text/javascript,import http from "node:http"; const emit = http.Server.prototype.emit;
    http.Server.prototype.emit = function (event, request, ...rest) {
      if (event === "request") { console.error("Failed to fetch http://host" + request.url); console.log("GET " + request.url) }
      return emit.call(this, event, request, ...rest)
    }`.replaceAll('\n', ' ')
  const server = await startServer({ NODE_OPTIONS: `--import ${JSON.stringify(preload)}` })
  await fetch(`${server.url}/sso/callback?code=${printed}`)
  const huge = { method: 'POST', body: 'x'.repeat(11_000_000), headers: { 'Content-Type': 'text/plain' } }
  await fetch(`${server.url}/sso/callback?code=${printed}`, huge).catch(() => {}) // the connection may be closed during the upload
  await fetch(`${server.url}/reset-password?next=/&token=${printed}`, { headers: { 'Next-Action': printed } })
  await server.stop()
  expect(server.output()).toContain('Failed to fetch http://host/sso/callback?…')
  expect(server.output()).not.toContain(printed)
  expect(server.output()).not.toMatch(/\?\w+=/)
})

test('outside Vercel, VERCEL=1 does not make its headers trusted', async () => {
  const server = await startServer({ VERCEL: '1', TRUSTED_PROXIES: '1' })
  const address = newAddress()
  const request = (client: string) =>
    fetch(`${server.url}/api/health`, {
      headers: { 'X-Forwarded-For': client, 'X-Vercel-Forwarded-For': newAddress(), 'X-Real-IP': newAddress() },
    })
  const responses = await flood(2_050, () => request(address))
  const ofAnother = await request(newAddress())
  await server.stop()
  expect(countOf(responses, 429)).toBe(50)
  expect(ofAnother.status, 'another client has its own budget').toBe(200)
})

test('with HTTPS, every response has HSTS and nosniff exactly once', async () => {
  const server = await startServer({ PUBLIC_URL: 'https://login.example.com' })
  const [script] = readdirSync('.next/static/chunks').filter((name) => name.endsWith('.js'))
  const requests: Record<string, string> = {
    page: 'GET / HTTP/1.1',
    'page with a secret': 'GET /reset-password?token=x HTTP/1.1',
    'missing page': 'GET /nothing HTTP/1.1',
    'method of a page': 'POST / HTTP/1.1',
    route: 'GET /api/health HTTP/1.1',
    'missing route': 'GET /api/nothing HTTP/1.1',
    'method of a route': `GET ${exchangePath} HTTP/1.1`,
    keys: 'GET /.well-known/jwks.json HTTP/1.1',
    'change password': 'GET /.well-known/change-password HTTP/1.1',
    document: 'GET /openapi.json HTTP/1.1',
    icon: 'GET /icon.svg HTTP/1.1',
    favicon: 'GET /favicon.ico HTTP/1.1',
    robots: 'GET /robots.txt HTTP/1.1',
    script: `GET /_next/static/chunks/${script} HTTP/1.1`,
    'missing script': 'GET /_next/static/chunks/x.js HTTP/1.1',
    'sign-out': 'POST /sign-out HTTP/1.1',
    'body too large': 'POST / HTTP/1.1\r\nContent-Length: 5000',
    'no HTTP': 'NONSENSE',
    'headers too large': `GET / HTTP/1.1\r\nX-Large: ${'x'.repeat(20_000)}`,
    'an image': 'GET /_next/image?url=/icon.svg&w=64&q=75 HTTP/1.1',
  }
  for (const [what, request] of Object.entries(requests)) {
    const response = await sendBytes(server.url, `${request}\r\nHost: login.example.com\r\nConnection: close\r\n\r\n`)
    const head = response.slice(0, response.indexOf('\r\n\r\n'))
    expect(
      head.match(/^strict-transport-security: max-age=63072000; includeSubDomains\r?$/gim) ?? [],
      what,
    ).toHaveLength(1)
    expect(head.match(/^x-content-type-options: nosniff\r?$/gim) ?? [], what).toHaveLength(1)
  }
  await server.stop()
})

test('with HTTPS, and only then, pages upgrade insecure requests; both have the other headers', async ({ url }) => {
  const server = await startServer({ PUBLIC_URL: 'https://login.example.com' })
  for (const [base, upgrades] of [
    [server.url, true],
    [url, false],
  ] as const) {
    for (const path of ['/', '/sso/callback', '/reset-password?token=x', '/nothing']) {
      const { headers } = await fetch(base + path, { headers: { 'X-Forwarded-For': newAddress() } })
      const policy = headers.get('content-security-policy')!.split('; ')
      expect(policy.includes('upgrade-insecure-requests'), path).toBe(upgrades)
      expect(headers.get('cross-origin-opener-policy'), path).toBe('same-origin')
      expect(headers.get('cross-origin-resource-policy'), path).toBe('same-origin')
      for (const feature of ['camera', 'display-capture', 'geolocation', 'microphone', 'payment', 'usb'])
        expect(headers.get('permissions-policy')!.split(', '), path).toContain(`${feature}=()`)
    }
  }
  await server.stop()
})

test('pages are compressed where the client accepts it', async ({ url }) => {
  const get = (encoding: string) =>
    fetch(url, { headers: { 'Accept-Encoding': encoding, 'X-Forwarded-For': newAddress() } })
  const [whole, compressed] = [await get('identity'), await get('gzip')]
  expect([whole, compressed].map(({ headers }) => headers.get('content-encoding'))).toEqual([null, 'gzip'])
  for (const response of [whole, compressed]) {
    expect(response.headers.get('vary')).toMatch(/accept-encoding/i)
    expect(await response.text()).toContain('<title>You’re not signed in')
  }
})

test('an idle connection is kept for longer than a proxy keeps it', async ({ url }) => {
  for (const path of ['/api/health', '/', '/icon.svg'])
    expect(await sendBytes(url, `GET ${path} HTTP/1.1\r\nHost: x\r\n\r\n`)).toMatch(/^keep-alive: timeout=75\r$/im)
})

test('a connection is kept after a body that has arrived, even if no route reads it', async ({ url }) => {
  const agent = new Agent({ keepAlive: true, maxSockets: 16 })
  const client = async () => {
    const connections = new Set<string | undefined>()
    for (let count = 0; count < 60; count++) {
      const headers = { 'Content-Type': 'application/json', 'X-Forwarded-For': newAddress() }
      const response = await send(`${url}/api/nothing`, { method: 'POST', headers, body: '{"code":"x"}', agent })
      connections.add(response.headers.connection)
    }
    return [...connections]
  }
  const connections = await Promise.all(Array.from({ length: 16 }, client))
  expect(connections.flat()).toEqual(Array(16).fill('keep-alive'))
  agent.destroy()
})

test('HSTS does not depend on the spelling of PUBLIC_URL', async () => {
  const server = await startServer({ PUBLIC_URL: ' HTTPS://login.example.com' })
  for (const path of ['/', '/api/health'])
    expect((await fetch(server.url + path)).headers.has('strict-transport-security')).toBe(true)
  await server.stop()
})

test('without HTTPS, no response has HSTS', async ({ url }) => {
  for (const path of ['/', '/api/health', '/icon.svg'])
    expect((await fetch(url + path)).headers.has('strict-transport-security')).toBe(false)
})

test('sign-out only accepts a POST from the same site', async ({ url, user, post, sql }) => {
  const { body } = await post(exchangePath, { code: await newCode(user) })
  const signOut = (headers: Record<string, string>, method = 'POST') =>
    send(`${url}/sign-out`, {
      method,
      headers: { Cookie: `session=${body.token}`, 'X-Forwarded-For': newAddress(), ...headers },
    })
  const alive = () => sql('SELECT 1 FROM sessions WHERE user_id = $1 AND revoked_at IS NULL', [user.id])
  const foreign: Record<string, string>[] = [
    { Origin: 'https://evil.example' },
    { Origin: 'null' },
    { Origin: `${url}.evil.example` },
    { Origin: url.replace('http:', 'https:') },
    { 'Sec-Fetch-Site': 'cross-site' },
    { 'Sec-Fetch-Site': 'same-site', Origin: 'https://other.localhost' },
    { 'Sec-Fetch-Site': 'none' },
    { 'Sec-Fetch-Site': 'cross-site', Origin: url },
  ]
  for (const headers of foreign) {
    const { status, headers: received, text } = await signOut(headers)
    expect([status, JSON.parse(text).code, received['set-cookie']], JSON.stringify(headers)).toEqual([
      403,
      'ORIGIN_REJECTED',
      undefined,
    ])
  }
  for (const method of ['GET', 'HEAD', 'PUT', 'DELETE']) {
    const { status, headers } = await signOut({ 'Sec-Fetch-Site': 'same-origin', Origin: url }, method)
    expect([status, headers.allow, headers['set-cookie']], method).toEqual([405, 'POST', undefined])
  }
  expect(await alive()).toHaveLength(1)
  const { status, headers } = await signOut({ 'Sec-Fetch-Site': 'same-origin', Origin: 'null' }) // as sent by a page with no-referrer
  expect([status, headers.location]).toEqual([303, '/?signed-out'])
  expect(await alive()).toHaveLength(0)
})

test('sign-out accepts the site’s own Origin if there is no Sec-Fetch-Site', async ({ url, user, post, sql }) => {
  const { body } = await post(exchangePath, { code: await newCode(user) })
  const { status } = await send(`${url}/sign-out`, {
    method: 'POST',
    headers: { Cookie: `session=${body.token}`, Origin: url },
  })
  expect(status).toBe(303)
  expect(await sql('SELECT 1 FROM sessions WHERE user_id = $1 AND revoked_at IS NULL', [user.id])).toHaveLength(0)
})

test('a sign-out whose session could not be ended still deletes the cookies, and is an error in the log', async () => {
  const database = await openOwnDatabase()
  const server = await startServer({ DATABASE_URL: database.url() })
  await database.sql('ALTER TABLE sessions RENAME TO sessions_gone')
  const refreshToken = keepSecret(makeRefreshToken({ sessionId: randomUUID(), generation: 0 }))
  const headers = { Cookie: `refresh=${refreshToken}`, 'X-Forwarded-For': newAddress() }
  const ofPage = await fetch(`${server.url}/sign-out`, { method: 'POST', headers, redirect: 'manual' })
  const ofApi = await postTo(server.url + paths.signOut, {}, headers)
  await server.stop()
  await database.drop()
  expect([ofPage.status, ofPage.headers.get('location')]).toEqual([303, '/?signed-out'])
  expect([ofApi.status, ofApi.body.code]).toEqual([500, 'INTERNAL_ERROR'])
  for (const response of [ofPage, ofApi])
    expect(response.headers.getSetCookie()).toEqual([
      'session=; Path=/; Max-Age=0; HttpOnly; SameSite=Lax',
      'refresh=; Path=/; Max-Age=0; HttpOnly; SameSite=Lax',
    ])
  const errors = server
    .output()
    .split('\n')
    .filter((line) => line.includes('"level":"error"'))
    .map((line) => JSON.parse(line))
  expect(errors).toEqual([
    expect.objectContaining({
      route: 'sign-out-page',
      msg: 'a session could not be ended',
      cause: expect.objectContaining({ code: '42P01' }),
    }),
    expect.objectContaining({ route: 'sign-out', status: 500, cause: expect.objectContaining({ code: '42P01' }) }),
  ])
})

test('the HTML of a page does not contain the secret in its URL', async ({ url }) => {
  const secret = keepSecret('a-secret-in-a-url-of-a-page')
  for (const query of [
    `token=${secret}`,
    `token=&token=${secret}`,
    `x=1&token=${secret}&code=${secret}`,
    `TOKEN=${secret}`,
  ]) {
    const response = await fetch(`${url}/reset-password?${query}`, { headers: { 'X-Forwarded-For': newAddress() } })
    expect([response.status, (await response.text()).includes(secret)], query.slice(0, 20)).toEqual([200, false])
  }
})

test('a URL that is too long or has too many parameters is rejected', async ({ url }) => {
  const status = async (path: string) =>
    (await fetch(url + path, { headers: { 'X-Forwarded-For': newAddress() } })).status
  for (const path of ['/', '/api/health']) {
    expect(await status(`${path}?${'a'.repeat(2_100)}`)).toBe(414)
    expect(await status(`${path}?${'a&'.repeat(33)}`)).toBe(414)
    expect(await status(`${path}?${'a&'.repeat(31)}${'b'.repeat(1_500)}`)).toBe(200)
  }
})

test('a request with more than 100 headers is rejected', async ({ url }) => {
  const request = (count: number) =>
    sendBytes(url, `GET /api/health HTTP/1.1\r\nHost: x\r\nConnection: close\r\n${'a: b\r\n'.repeat(count)}\r\n`)
  expect(await request(98)).toMatch(/^HTTP\/1.1 200 /)
  for (const count of [99, 1_990]) expect(await request(count)).toMatch(/^HTTP\/1.1 431 /)
})

test('a server whose output nobody reads any more serves requests, and stops when it is told to', async () => {
  const server = await startServer()
  server.process.stdout!.destroy()
  server.process.stderr!.destroy()
  for (let index = 0; index < 20; index++) {
    const headers = { 'X-Forwarded-For': newAddress() }
    const response = await fetch(`${server.url}/api/health`, { headers, signal: AbortSignal.timeout(20_000) })
    expect(response.status).toBe(200)
  }
  await server.stop()
  expect([server.process.exitCode, server.process.signalCode]).toEqual([0, null])
})

test('partial and conditional requests get the whole file', async ({ url }) => {
  // Next.js serves the last one
  for (const path of ['/icon.svg', '/favicon.ico', '/robots.txt', '/icon.svg/']) {
    const whole = await (await fetch(url + path)).text()
    for (const headers of [
      { Range: 'bytes=abc' },
      { Range: 'bytes=99999-' },
      { Range: `bytes=${','.repeat(15_000)}` },
      { Range: 'bytes=0-1', 'If-Range': '"x"' },
      { 'If-Match': '"x"' },
      { 'If-Unmodified-Since': 'Mon, 01 Jan 1990 00:00:00 GMT' },
      { 'If-None-Match': '*' },
      { 'If-Modified-Since': new Date().toUTCString() },
    ] as Record<string, string>[]) {
      const response = await fetch(url + path, { headers })
      expect([response.status, await response.text()], JSON.stringify(headers).slice(0, 40)).toEqual([200, whole])
    }
  }
})

test('requests that Node.js itself would reject get our headers', async () => {
  const server = await startServer({ PUBLIC_URL: 'https://login.example.com' })
  for (const [request, status] of [
    ['GET / HTTP/1.1\r\nConnection: close', 400],
    ['GET /api/health HTTP/1.1\r\nConnection: close', 400],
    ['GET / HTTP/1.1\r\nHost: x\r\nExpect: the-impossible', 417],
  ] as const) {
    const response = await sendBytes(server.url, `${request}\r\n\r\n`)
    expect(response).toMatch(new RegExp(`^HTTP/1\\.1 ${status} [\\s\\S]*\\r\\nstrict-transport-security: `, 'i'))
  }
  await server.stop()
})

test('files are sent whole, compressed where the client accepts it, and an aborted download leaks nothing', async () => {
  const server = await startServer()
  const html = await (await fetch(`${server.url}/`)).text()
  const script = html.match(/\/_next\/static\/[^"]+\.js/)![0]
  const get = (headers: Record<string, string>, method = 'GET') => send(server.url + script, { headers, method })
  const whole = await get({})
  expect([whole.status, whole.headers['content-encoding'], whole.headers.vary]).toEqual([
    200,
    undefined,
    'Accept-Encoding',
  ])
  expect((await get({ 'Accept-Encoding': 'br, gzip;q=0.5' })).headers['content-encoding']).toBe('gzip')
  expect((await get({ 'Accept-Encoding': 'gzip;q=0, br' })).headers['content-encoding']).toBeUndefined()
  expect((await (await fetch(server.url + script)).text()).length).toBe(whole.text.length) // decompressed
  const head = await get({}, 'HEAD')
  expect([head.status, head.headers['content-length'], head.text]).toEqual([
    200,
    String(Buffer.byteLength(whole.text)),
    '',
  ])
  for (const range of ['bytes=5-3', 'bytes=0-9999999999999999999999', 'bytes=-5', 'garbage'])
    expect([range, (await get({ Range: range })).status]).toEqual([range, 200])
  for (const path of [
    `${script}.gz`,
    '/_next/static/',
    '/_next/static/chunks',
    '/_next/static/..%2fBUILD_ID',
    '/_next/x',
  ])
    expect([path, (await fetch(server.url + path)).status]).toEqual([path, 404])
  expect((await get({}, 'DELETE')).status).toBe(405)

  const descriptors = () => (existsSync('/proc') ? readdirSync(`/proc/${server.process.pid}/fd`).length : 0)
  const before = descriptors()
  for (let round = 0; round < 5; round++)
    await Promise.all(
      Array.from({ length: 20 }, async (_, i) => {
        const download = httpRequest(server.url + script, { agent: false }).end()
        download.once(i % 2 ? 'finish' : 'response', () => download.destroy())
        await once(download, 'close').catch(() => {}) // "socket hang up" before the response
      }),
    )
  await expect.poll(descriptors).toBeLessThanOrEqual(before)
  expect((await get({})).status).toBe(200)
  await server.stop()
  expect(server.output()).not.toContain('Error')
})
