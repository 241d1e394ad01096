import { execFileSync } from 'node:child_process'
import { once } from 'node:events'
import { readdirSync } from 'node:fs'
import { connect, type Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { documentedFetch } from '../support/documented'
import { exchangePath, expect, postTo, test } from '../support/fixtures'
import { sendBytes } from '../support/raw-bytes'
import { send } from '../support/raw-http'
import { keepSecret, newAddress } from '../support/secrets'
import { type Server, startServer } from '../support/server'
import { startSmtp } from '../support/smtp'

const remaining = (headers: Headers) => Number(headers.get('ratelimit')!.match(/r=(\d+)/)![1])
const portOf = (url: string) => Number(new URL(url).port)

/** Opens a connection and sends bytes. `received` returns what the server has sent so far. */
function open(url: string, sent = ''): { socket: Socket; received: () => string } {
  let text = ''
  const socket = connect(portOf(url), 'localhost')
  socket.on('error', () => {}) // the server may close it at any time
  socket.on('data', (chunk) => {
    text += chunk
  })
  socket.write(sent)
  return { socket, received: () => text }
}

/** The head of an exchange request whose body never arrives. The request stays in progress for up to ten seconds. */
const slowExchange = (address: string, length = 20) =>
  `POST ${exchangePath} HTTP/1.1\r\nHost: x\r\nX-Forwarded-For: ${address}\r\nContent-Type: application/json\r\nContent-Length: ${length}\r\n\r\n{`
const healthRequest = (address: string) =>
  `GET /api/health HTTP/1.1\r\nHost: x\r\nX-Forwarded-For: ${address}\r\nConnection: close\r\n\r\n`

for (const host of ['', 'localhost', '0.0.0.0', '::1', '::']) {
  test(`HOST=${host}: renders pages for any forwarded host, and the server sends no request to itself`, async () => {
    const server = await startServer({ HOST: host, PUBLIC_URL: 'https://login.example.com', VERCEL: '1' })
    const origin = `http://${host.includes(':') ? '[::1]' : '127.0.0.1'}:${new URL(server.url).port}`
    const client = { 'X-Forwarded-For': newAddress() }
    const budget = async () => {
      // Setting VERCEL is not enough to trust these headers.
      const ofVercel = { 'X-Vercel-Forwarded-For': newAddress(), 'X-Real-IP': newAddress() }
      return remaining((await fetch(`${origin}/api/health`, { headers: { ...client, ...ofVercel } })).headers)
    }
    const before = await budget()
    const forwarded: Record<string, string>[] = [
      ...['login.example.com', 'localhost', '[::1]:3000', 'evil.example:99'].map((Host) => ({ Host })),
      ...['http', 'https', 'https,http'].map((protocol) => ({ 'X-Forwarded-Proto': protocol })),
      {},
    ]
    for (const headers of forwarded)
      for (const path of ['/sso/callback?code=fabricated', '/reset-password?token=fabricated']) {
        const { status, text } = await send(origin + path, { headers: { ...client, ...headers } })
        expect([status, text.includes('<title>')], `${path} ${JSON.stringify(headers)}`).toEqual([200, true])
      }
    expect(before - (await budget())).toBe(2 * forwarded.length + 1)
    for (const other of host ? [] : ['127.0.0.2', '[::1]'])
      await expect(fetch(origin.replace('127.0.0.1', other)), 'loopback alone unless HOST is set').rejects.toThrow()
    await server.stop()
    expect(server.output()).not.toContain('Failed to proxy')
  })
}

test('allows a client 16 requests in progress and 256 queued requests, and rejects further ones with 503', async () => {
  const server = await startServer()
  const address = '2001:db8:1:2::'
  // `100 Continue` shows that the server has received the request.
  const expecting = (request: string) => request.replace('\r\n\r\n', '\r\nExpect: 100-continue\r\n\r\n')
  const slow = Array.from({ length: 16 }, (_, index) =>
    open(server.url, expecting(slowExchange(address + (index + 1)))),
  )
  for (const { received } of slow) await expect.poll(received).toMatch(/^HTTP\/1\.1 100 /)
  const order: number[] = []
  const sent: ReturnType<typeof open>[] = []
  for (let index = 0; index < 257; index++) {
    const connection = open(server.url, expecting(healthRequest(address + (index % 9))))
    connection.socket.on('data', (chunk) => String(chunk).includes(' 200 ') && order.push(index))
    await once(connection.socket, 'data')
    sent.push(connection)
  }
  const responses = () => sent.flatMap(({ received }) => received().match(/HTTP\/1\.1 [2-5][\s\S]*/)?.[0] ?? [])
  await expect.poll(responses).toEqual([expect.stringMatching(/^HTTP\/1\.1 503 [\s\S]*\r\nRetry-After: 5\r\n/i)])
  expect(sent[256]!.received()).toContain(' 503 ')
  const inTime = open(server.url, healthRequest('2001:db8:1:3::1')) // another /64
  await expect.poll(inTime.received).toMatch(/^HTTP\/1\.1 200 /)
  expect(responses()).toHaveLength(1)

  // After one queued request and one request in progress are canceled, the next queued request starts.
  sent[0]!.socket.destroy()
  slow[0]!.socket.destroy()
  await expect.poll(() => order.length).toBeGreaterThan(0)
  for (const { socket } of slow) socket.destroy()
  await expect.poll(() => order.length).toBe(255)
  // Up to 16 requests are in progress concurrently, so their responses can arrive in any order.
  expect(Math.max(...order.map((index, place) => Math.abs(index - 1 - place)))).toBeLessThan(32)
  await server.stop()
})

test('handles pipelined requests in order, and drops the remaining ones if the client disconnects', async ({ url }) => {
  const address = newAddress()
  const pipelined = ['/api/health', '/', '/api/nothing', '/api/health']
  const head = `Host: x\r\nX-Forwarded-For: ${address}\r\n`
  const lines = pipelined.map((path) => `GET ${path} HTTP/1.1\r\n${head}`)
  const requests = `${lines.join('\r\n')}Connection: close\r\n\r\n`
  const { received } = open(url, requests)
  const statuses = () => received().match(/(?<=HTTP\/1\.1 )\d+/g)
  await expect.poll(statuses).toEqual(['200', '200', '404', '200'])
  for (let count = 0; count < 40; count++) {
    const { socket } = open(url, slowExchange(address) + requests)
    await once(socket, 'connect')
    socket.resetAndDestroy()
  }
  expect((await fetch(`${url}/api/health`, { headers: { 'X-Forwarded-For': address } })).status).toBe(200)
})

test('accepts at most 64 KiB of headers, 8 KiB of URL and 100 parameters', async ({ url }) => {
  const get = (path: string, headers: Record<string, string> = {}) =>
    send(url + path, { headers: { 'X-Forwarded-For': newAddress(), ...headers } })
  const others = `${Array.from({ length: 400 }, (_, index) => `other${index}=${'x'.repeat(140)}`).join('; ')}; language=de`
  for (const path of ['/', '/api/health']) {
    const padded = `${path}?${'a&'.repeat(99)}`
    const longest = padded + 'b'.repeat(8 * 1024 - padded.length)
    expect((await get(longest)).status, path).toBe(200)
    for (const url of [`${longest}b`, `${path}?${'a&'.repeat(100)}`]) {
      const { status, text } = await get(url)
      expect([status, text], path).toEqual([414, 'The URL is too long.\n'])
    }
    expect((await get(`${path}/%ff`)).status, path).toBe(400)
    const { status, text } = await get(path, { Cookie: others, 'X-Large': 'x'.repeat(64 * 1024 - others.length - 400) })
    expect(status, path).toBe(200)
    if (path === '/') expect(text).toContain('<html lang="de"') // the page reads our language cookie in spite of the large headers
    expect((await get(path, { 'X-Large': 'x'.repeat(64 * 1024) })).status, path).toBe(431)
  }
})

test('closes the sockets of 200 upgrade requests', async ({ url }) => {
  const upgrade = 'Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n'
  const head = `HTTP/1.1\r\nHost: x\r\n${upgrade}Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n`
  const paths = ['/', '/_next/webpack-hmr', '/api/health', '/nothing']
  const sockets = Array.from({ length: 200 }, (_, index) => open(url, `GET ${paths[index % 4]} ${head}`).socket)
  await expect.poll(() => sockets.filter(({ closed }) => !closed).length).toBe(0)
})

test('reads 30 bodies of 9.5 MB that are sent to a page, with less than 100 MB of memory', async () => {
  const server = await startServer()
  const megabytes = () => Number(execFileSync('ps', ['-o', 'rss=', '-p', String(server.process.pid)])) / 1024
  const body = Buffer.alloc(9_500_000, 'x')
  const post = () =>
    fetch(`${server.url}/reset-password`, { method: 'POST', body, headers: { 'X-Forwarded-For': newAddress() } })
      .then((response) => response.status)
      .catch(() => 'closed')
  for (let count = 0; count < 5; count++) await fetch(`${server.url}/reset-password`) // so that the server has loaded the page
  const before = megabytes()
  let peak = before
  const watch = setInterval(() => {
    peak = Math.max(peak, megabytes())
  }, 100)
  const statuses = await Promise.all(Array.from({ length: 30 }, post))
  clearInterval(watch)
  expect(statuses.every((status) => status === 405 || status === 'closed')).toBe(true)
  expect(peak - before).toBeLessThan(100)
  await server.stop()
})

test('accepts only GET and HEAD requests for a page', async ({ url }) => {
  for (const path of ['/', '/sso/callback', '/reset-password', '/nothing', '/_next/x']) {
    for (const method of ['POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']) {
      const response = await fetch(url + path, { method, headers: { 'X-Forwarded-For': newAddress() } })
      expect([response.status, response.headers.get('allow')], `${method} ${path}`).toEqual([405, 'GET, HEAD'])
    }
  }
})

test('serves neither the built-in pages nor the image optimizer of Next.js', async ({ url }) => {
  const internal = ['/_global-error', '/_not-found', '/_error', '/_document', '/_app']
  for (const path of [...internal, '/_next/image?url=%2Ficon.svg']) {
    const { status, headers } = await fetch(url + path, { headers: { 'X-Forwarded-For': newAddress() } })
    expect([path, status, headers.has('content-security-policy')]).toEqual([path, 404, true])
  }
})

test('ignores internal headers of Next.js that a client sends, and does not log them', async () => {
  const server = await startServer({ RATE_LIMIT: 'in-process' })
  const internal = {
    'x-middleware-prefetch': '1',
    'x-middleware-rewrite': '/api/nothing',
    'x-middleware-subrequest': 'proxy:proxy:proxy:proxy:proxy',
    'x-middleware-override-headers': 'cookie',
    'x-nextjs-data': '1',
    'x-matched-path': '/api/nothing',
    'x-invoke-path': '/api/nothing',
    'x-prerender-revalidate': 'x',
    'next-router-prefetch': '1',
    'next-router-segment-prefetch': '/_tree',
    'next-resume': '1',
    rsc: '1',
    'next-action': 'text-of-a-client',
  }
  for (const [name, value] of Object.entries(internal)) {
    const headers = { 'X-Forwarded-For': newAddress(), [name]: value }
    const health = await documentedFetch(`${server.url}/api/health`, { headers, redirect: 'manual' })
    expect([health.status, await health.json()], name).toEqual([200, { ok: true }])
    const exchanged = await postTo(server.url + exchangePath, { code: 'fabricated' }, headers)
    expect([exchanged.status, exchanged.body.code], name).toEqual([400, 'SSO_EXCHANGE_INVALID'])
    const page = await fetch(`${server.url}/`, { headers, redirect: 'manual' })
    expect([page.status, page.headers.has('content-security-policy')], name).toEqual([200, true])
    expect(page.headers.get('content-type'), name).toBe('text/html; charset=utf-8')
    const form = await fetch(`${server.url}/`, { method: 'POST', headers, redirect: 'manual' })
    expect([form.status, form.headers.get('allow')], name).toEqual([405, 'GET, HEAD'])
  }
  await server.stop()
  expect(server.output()).not.toContain('text-of-a-client')
  expect(server.output()).not.toContain('Server Action')
})

test('neither the log nor the output of Next.js contains the query of a request', async () => {
  const printed = keepSecret('a-code-that-something-prints')
  const preload = `data:text/javascript,import http from "node:http"; const emit = http.Server.prototype.emit;
    http.Server.prototype.emit = function (event, request, ...rest) {
      if (event === "request") { console.error("Failed to fetch http://host" + request.url); console.log("GET " + request.url) }
      return emit.call(this, event, request, ...rest)
    }`.replaceAll('\n', ' ')
  const server = await startServer({ NODE_OPTIONS: `--import ${JSON.stringify(preload)}` })
  await fetch(`${server.url}/sso/callback?code=${printed}`)
  const huge = { method: 'POST', body: 'x'.repeat(11_000_000), headers: { 'Content-Type': 'text/plain' } }
  // The connection may be closed during the upload.
  await fetch(`${server.url}/sso/callback?code=${printed}`, huge).catch(() => {})
  await fetch(`${server.url}/reset-password?next=/&token=${printed}`, { headers: { 'Next-Action': printed } })
  await server.stop()
  expect(server.output()).toContain('Failed to fetch http://host/sso/callback?…')
  expect(server.output()).not.toContain(printed)
  expect(server.output()).not.toMatch(/\?\w+=/)
})

test('sends nosniff, and HSTS without subdomains, exactly once in each response', async ({ url }) => {
  const [script] = readdirSync('.next/static/chunks').filter((name) => name.endsWith('.js'))
  const api = ['GET /api/health', 'GET /api/nothing', `GET ${exchangePath}`, 'POST /sign-out']
  const files = ['GET /openapi.json', 'GET /.well-known/jwks.json', `GET /_next/static/chunks/${script}`]
  for (const request of ['GET /', 'GET /nothing', 'POST /', 'GET /_next/static/chunks/x.js', ...api, ...files]) {
    const headers = `Host: localhost\r\nX-Forwarded-For: ${newAddress()}\r\nConnection: close\r\n`
    const response = await sendBytes(url, `${request} HTTP/1.1\r\n${headers}\r\n`)
    const head = response.slice(0, response.indexOf('\r\n\r\n'))
    expect(head.match(/^strict-transport-security: max-age=63072000\r?$/gim) ?? [], request).toHaveLength(1)
    expect(head.match(/^x-content-type-options: nosniff\r?$/gim) ?? [], request).toHaveLength(1)
  }
})

test('upgrades insecure requests of pages only if PUBLIC_URL has https', async ({ url }) => {
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
  // A cookie without the __Host- prefix could come from a subdomain.
  const callback = await fetch(`${server.url}/sso/callback`, { headers: { Cookie: `browser=${'x'.repeat(43)}` } })
  expect(callback.headers.getSetCookie()).toEqual([
    expect.stringMatching(/^__Host-browser=[\w-]{43}; Path=\/; Max-Age=\d+; HttpOnly; SameSite=Lax; Secure$/),
  ])
  await server.stop()
})

test('compresses pages if the client accepts compression', async ({ url }) => {
  const get = (encoding: string) =>
    fetch(url, { headers: { 'Accept-Encoding': encoding, 'X-Forwarded-For': newAddress() } })
  const [whole, compressed] = [await get('identity'), await get('gzip')]
  expect([whole, compressed].map(({ headers }) => headers.get('content-encoding'))).toEqual([null, 'gzip'])
  for (const response of [whole, compressed]) {
    expect(response.headers.get('vary')).toMatch(/accept-encoding/i)
    expect(await response.text()).toContain('<title>You’re not signed in')
  }
})

test('still serves requests and stops normally if no process reads the output any more', async () => {
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

test.describe('on SIGTERM', () => {
  const isRunning = ({ process }: Server) => process.exitCode === null

  test('accepts new connections for a while, asks clients to close their connections, and fails health checks', async () => {
    const server = await startServer({ DRAIN_MS: '1500' })
    const request = 'GET /.well-known/jwks.json HTTP/1.1\r\nHost: x\r\n\r\n'
    const kept = open(server.url, request)
    await expect.poll(kept.received).toMatch(/^HTTP\/1\.1 200 [\s\S]*connection: keep-alive/i)
    const exited = once(server.process, 'exit')
    server.process.kill('SIGTERM')
    for (const path of ['/api/health', '/api/health/ready'])
      await expect.poll(async () => (await fetch(server.url + path)).status, path).toBe(503)
    kept.socket.write(request)
    const other = open(server.url, request)
    for (const { received } of [kept, other])
      await expect.poll(received).toMatch(/HTTP\/1\.1 200 [\s\S]*connection: close[\s\S]*\{"keys":/i)
    expect(isRunning(server)).toBe(true)
    await exited
    expect(server.process.exitCode).toBe(0)
    await expect(fetch(`${server.url}/api/health`)).rejects.toThrow()
  })

  test('finishes a request in progress, and does not wait for idle connections', async () => {
    const server = await startServer()
    const unused = open(server.url)
    const body = JSON.stringify({ code: 'fabricated' })
    const slow = open(server.url, slowExchange(newAddress(), body.length))
    await sleep(300)
    const exited = once(server.process, 'exit')
    server.process.kill('SIGTERM')
    await sleep(300)
    expect(isRunning(server)).toBe(true)
    slow.socket.write(body.slice(1))
    await expect.poll(slow.received).toMatch(/^HTTP\/1\.1 400 /)
    const respondedAt = performance.now()
    await exited
    // Less than the 30 s limit for requests and the 75 s limit for idle connections.
    expect(performance.now() - respondedAt).toBeLessThan(2_000)
    expect(server.process.exitCode).toBe(0)
    unused.socket.destroy()
  })

  test('finishes the work that after() has scheduled', async ({ user }) => {
    const smtp = await startSmtp({ greetingMs: 500 })
    const server = await startServer(smtp.settings)
    expect((await postTo(`${server.url}/api/auth/forgot-password`, { email: user.email })).status).toBe(200)
    await server.stop()
    expect(smtp.mailsTo(user.email)).toHaveLength(1)
    await smtp.stop()
  })
})
