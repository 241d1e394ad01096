import { execFileSync } from 'node:child_process'
import { once } from 'node:events'
import { readdirSync, readFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { project } from '../../bin/dev/local'
import { expect, postTo, test } from '../support/fixtures'
import { keepSecret, newAddress } from '../support/secrets'
import { type Server, startServer } from '../support/servers/server'
import { startSmtp } from '../support/servers/smtp'
import { open, slowExchange } from '../support/wire/raw-bytes'
import { send } from '../support/wire/raw-http'

// Tests the process of the server (`npm start`): its start, limits, output and end.

const remaining = (headers: Headers) =>
  Number(headers.get('ratelimit')!.match(/r=(\d+)/)![1])
const healthRequest = (address: string) =>
  `GET /api/health HTTP/1.1\r\nHost: x\r\nX-Forwarded-For: ${address}\r\nConnection: close\r\n\r\n`

test('the start line has the version and its last migration', async () => {
  const server = await startServer()
  await server.stop()
  const { version } = JSON.parse(readFileSync(`${project}package.json`, 'utf8'))
  const last = readdirSync(`${project}prisma/migrations`)
    .filter((name) => /^\d/.test(name))
    .sort()
    .at(-1)
  expect(server.output()).toContain(
    `Listening on ${server.url} (version ${version}, last migration ${last})\n`,
  )
})

for (const host of ['', 'localhost', '0.0.0.0', '::1', '::']) {
  test(`HOST=${host}: renders pages for any forwarded host, and the server sends no request to itself`, async () => {
    const server = await startServer({
      HOST: host,
      PUBLIC_URL: 'https://login.example.com',
      VERCEL: '1',
    })
    const origin = `http://${host.includes(':') ? '[::1]' : '127.0.0.1'}:${new URL(server.url).port}`
    const client = { 'X-Forwarded-For': newAddress() }
    const budget = async () => {
      // Setting VERCEL is not enough to trust these headers.
      const ofVercel = {
        'X-Vercel-Forwarded-For': newAddress(),
        'X-Real-IP': newAddress(),
      }
      return remaining(
        (await fetch(`${origin}/api/health`, { headers: { ...client, ...ofVercel } }))
          .headers,
      )
    }
    const before = await budget()
    const forwarded: Record<string, string>[] = [
      ...['login.example.com', 'localhost', '[::1]:3000', 'evil.example:99'].map(
        (Host) => ({ Host }),
      ),
      ...['http', 'https', 'https,http'].map((protocol) => ({
        'X-Forwarded-Proto': protocol,
      })),
      {},
    ]
    for (const headers of forwarded)
      for (const path of [
        '/sso/callback?code=fabricated',
        '/reset-password?token=fabricated',
      ]) {
        const { status, text } = await send(origin + path, {
          headers: { ...client, ...headers },
        })
        expect(
          [status, text.includes('<title>')],
          `${path} ${JSON.stringify(headers)}`,
        ).toEqual([200, true])
      }
    expect(before - (await budget())).toBe(2 * forwarded.length + 1)
    for (const other of host ? [] : ['127.0.0.2', '[::1]'])
      await expect(
        fetch(origin.replace('127.0.0.1', other)),
        'loopback alone unless HOST is set',
      ).rejects.toThrow()
    await server.stop()
    expect(server.output()).not.toContain('Failed to proxy')
  })
}

test('allows a client 16 requests in progress and 256 queued requests, and rejects further ones with 503', async ({
  serverWith,
}) => {
  const server = await serverWith()
  const address = '2001:db8:1:2::'
  // `100 Continue` shows that the server has received the request.
  const expecting = (request: string) =>
    request.replace('\r\n\r\n', '\r\nExpect: 100-continue\r\n\r\n')
  const slow = Array.from({ length: 16 }, (_, index) =>
    open(server.url, expecting(slowExchange(address + (index + 1)))),
  )
  for (const { received } of slow) await expect.poll(received).toMatch(/^HTTP\/1\.1 100 /)
  const order: number[] = []
  const sent: ReturnType<typeof open>[] = []
  for (let index = 0; index < 257; index++) {
    const connection = open(server.url, expecting(healthRequest(address + (index % 9))))
    connection.socket.on(
      'data',
      (chunk) => String(chunk).includes(' 200 ') && order.push(index),
    )
    await once(connection.socket, 'data')
    sent.push(connection)
  }
  const responses = () =>
    sent.flatMap(({ received }) => received().match(/HTTP\/1\.1 [2-5][\s\S]*/)?.[0] ?? [])
  await expect
    .poll(responses)
    .toEqual([expect.stringMatching(/^HTTP\/1\.1 503 [\s\S]*\r\nRetry-After: 5\r\n/i)])
  expect(sent[256]!.received()).toContain(' 503 ')
  const inTime = open(server.url, healthRequest('2001:db8:1:3::1')) // another /64
  await expect.poll(inTime.received).toMatch(/^HTTP\/1\.1 200 /)
  expect(responses()).toHaveLength(1)

  // After one queued request and one request in progress are canceled, the next queued
  // request starts.
  sent[0]!.socket.destroy()
  slow[0]!.socket.destroy()
  await expect.poll(() => order.length).toBeGreaterThan(0)
  for (const { socket } of slow) socket.destroy()
  await expect.poll(() => order.length).toBe(255)
  // Up to 16 requests are in progress concurrently, so their responses can arrive in any
  // order.
  expect(
    Math.max(...order.map((index, place) => Math.abs(index - 1 - place))),
  ).toBeLessThan(32)
})

test('reads 30 bodies of 9.5 MB that are sent to a page, with less than 100 MB of memory', async () => {
  const server = await startServer()
  const megabytes = () =>
    Number(execFileSync('ps', ['-o', 'rss=', '-p', String(server.process.pid)])) / 1024
  const body = Buffer.alloc(9_500_000, 'x')
  const post = () =>
    fetch(`${server.url}/reset-password`, {
      method: 'POST',
      body,
      headers: { 'X-Forwarded-For': newAddress() },
    })
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

test('neither the log nor the output of Next.js contains the query of a request', async ({
  serverWith,
}) => {
  const printed = keepSecret('a-code-that-something-prints')
  const preload =
    `data:text/javascript,import http from "node:http"; const emit = http.Server.prototype.emit;
    http.Server.prototype.emit = function (event, request, ...rest) {
      if (event === "request") { console.error("Failed to fetch http://host" + request.url); console.log("GET " + request.url) }
      return emit.call(this, event, request, ...rest)
    }`.replaceAll('\n', ' ')
  const server = await serverWith({
    NODE_OPTIONS: `--import ${JSON.stringify(preload)}`,
  })
  await fetch(`${server.url}/sso/callback?code=${printed}`)
  const huge = {
    method: 'POST',
    body: 'x'.repeat(11_000_000),
    headers: { 'Content-Type': 'text/plain' },
  }
  // The connection may be closed during the upload.
  await fetch(`${server.url}/sso/callback?code=${printed}`, huge).catch(() => {})
  await fetch(`${server.url}/reset-password?next=/&token=${printed}`, {
    headers: { 'Next-Action': printed },
  })
  const output = await server.output()
  expect(output).toContain('Failed to fetch http://host/sso/callback?…')
  expect(output).not.toContain(printed)
  expect(output).not.toMatch(/\?\w+=/)
})

test('does not start with a malformed proxy, and does not print its password', async () => {
  const password = keepSecret('the-password-of-a-proxy')
  const HTTPS_PROXY = `http://user:${password}@proxy.example:99999`
  await expect(startServer({ HTTPS_PROXY })).rejects.toThrow(
    /^the server exited with 1:[\s\S]+\n {2}HTTPS_PROXY must be a URL like .+\n$/,
  )
})

test('says what to change if an env file has left quotes, comments or line ends in settings', async () => {
  const quotes = 'its value has quotes around it, which docker --env-file does not remove'
  for (const [settings, problem] of [
    [{ PORT: '"3000"' }, `PORT must be a whole number below 65536; ${quotes}`],
    [{ HOST: "'0.0.0.0'" }, `HOST must be an IP address or a host name; ${quotes}`],
    [{ PUBLIC_URL: '"https://login.example.com"' }, quotes],
    [{ PASSWORD_SIGN_IN: 'true # for the test' }, 'its value has a # after a space'],
    [
      { LOG_LEVEL: '"info"' },
      `LOG_LEVEL must be debug, info, warn, error or silent; ${quotes}`,
    ],
  ] as const) {
    const failed = startServer(settings as Record<string, string>)
    const { message } = await failed.then(
      () => new Error('It started.'),
      (error: Error) => error,
    )
    expect(message, JSON.stringify(settings)).toContain(problem)
    expect(message).not.toMatch(/^ +at /m)
  }

  const server = await startServer({
    HOST: '127.0.0.1\r',
    PASSWORD_SIGN_IN: 'true\r',
    LOG_LEVEL: 'info\r',
    APP_NAME: '"ACME"',
    SESSION_AUDIENCE: 'dashboard # the default',
    'export HELP_URL': '/help',
  })
  const signIn = await postTo(`${server.url}/api/auth/sign-in`, {
    email: 'nobody@example.com',
    password: 'any',
  })
  await server.stop()
  expect(signIn.status).toBe(400)
  expect(
    server
      .logged('"level":"warn"')
      .filter(({ msg }) => /^(the values of )?these settings/.test(msg))
      .map(({ settings, msg }) => [settings, msg.match(/quotes|comment|export/)?.[0]]),
  ).toEqual([
    [['APP_NAME'], 'quotes'],
    [['SESSION_AUDIENCE'], 'comment'],
    [['HELP_URL'], 'export'],
  ])
})

test('warns of each URL that reaches another host without TLS', async () => {
  const password = keepSecret('a-password-sent-without-tls')
  const server = await startServer({
    DATABASE_URL: `postgresql://user:${password}@db.example/app`,
    RATE_LIMIT: '',
    REDIS_URL: `redis://:${password}@redis.example`,
    PASSWORD_BREACH_CHECK: 'true',
    PASSWORD_BREACH_URL: 'http://breach.example',
  })
  const warned = server.logged('without TLS')
  await server.stop()
  expect(warned.map(({ level, setting }) => `${level} ${setting}`)).toEqual([
    'warn DATABASE_URL',
    'warn REDIS_URL',
    'warn PASSWORD_BREACH_URL',
  ])
})

test('still serves requests and stops normally if no process reads the output any more', async () => {
  const server = await startServer()
  server.process.stdout!.destroy()
  server.process.stderr!.destroy()
  for (let index = 0; index < 20; index++) {
    const headers = { 'X-Forwarded-For': newAddress() }
    const response = await fetch(`${server.url}/api/health`, {
      headers,
      signal: AbortSignal.timeout(20_000),
    })
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
    await expect
      .poll(kept.received)
      .toMatch(/^HTTP\/1\.1 200 [\s\S]*connection: keep-alive/i)
    const exited = once(server.process, 'exit')
    server.process.kill('SIGTERM')
    for (const path of ['/api/health', '/api/health/ready'])
      await expect
        .poll(async () => (await fetch(server.url + path)).status, path)
        .toBe(503)
    kept.socket.write(request)
    const other = open(server.url, request)
    for (const { received } of [kept, other])
      await expect
        .poll(received)
        .toMatch(/HTTP\/1\.1 200 [\s\S]*connection: close[\s\S]*\{"keys":/i)
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
    expect(
      (await postTo(`${server.url}/api/auth/forgot-password`, { email: user.email }))
        .status,
    ).toBe(200)
    await server.stop()
    expect(smtp.mailsTo(user.email)).toHaveLength(1)
    await smtp.stop()
  })
})
