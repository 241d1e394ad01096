import { once } from 'node:events'
import { readdirSync } from 'node:fs'
import { documentedFetch } from '../support/documents/documented'
import { exchangePath, expect, postTo, test } from '../support/fixtures'
import { newAddress } from '../support/secrets'
import { otherValues } from '../support/servers/settings'
import { open, sendBytes, slowExchange } from '../support/wire/raw-bytes'
import { send } from '../support/wire/raw-http'

// commands/server.spec.ts tests the process of the server: its start, limits, output and
// end.

test('handles pipelined requests in order, and drops the remaining ones if the client disconnects', async ({
  url,
}) => {
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
  expect(
    (await fetch(`${url}/api/health`, { headers: { 'X-Forwarded-For': address } }))
      .status,
  ).toBe(200)
})

test('accepts at most 64 KiB of headers, 8 KiB of URL and 100 parameters', async ({
  url,
}) => {
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
    const { status, text } = await get(path, {
      Cookie: others,
      'X-Large': 'x'.repeat(64 * 1024 - others.length - 400),
    })
    expect(status, path).toBe(200)
    if (path === '/') expect(text).toContain('<html lang="de"') // the page reads our language cookie in spite of the large headers
    expect((await get(path, { 'X-Large': 'x'.repeat(64 * 1024) })).status, path).toBe(431)
  }
})

test('closes the sockets of 200 upgrade requests', async ({ url }) => {
  const upgrade =
    'Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n'
  const head = `HTTP/1.1\r\nHost: x\r\n${upgrade}Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n`
  const paths = ['/', '/_next/webpack-hmr', '/api/health', '/nothing']
  const sockets = Array.from(
    { length: 200 },
    (_, index) => open(url, `GET ${paths[index % 4]} ${head}`).socket,
  )
  await expect.poll(() => sockets.filter(({ closed }) => !closed).length).toBe(0)
})

test('accepts only GET and HEAD requests for a page', async ({ url }) => {
  for (const path of ['/', '/sso/callback', '/reset-password', '/nothing', '/_next/x']) {
    for (const method of ['POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']) {
      const response = await fetch(url + path, {
        method,
        headers: { 'X-Forwarded-For': newAddress() },
      })
      expect(
        [response.status, response.headers.get('allow')],
        `${method} ${path}`,
      ).toEqual([405, 'GET, HEAD'])
    }
  }
})

test('serves neither the built-in pages nor the image optimizer of Next.js', async ({
  url,
}) => {
  const internal = ['/_global-error', '/_not-found', '/_error', '/_document', '/_app']
  for (const path of [...internal, '/_next/image?url=%2Ficon.svg']) {
    const { status, headers } = await fetch(url + path, {
      headers: { 'X-Forwarded-For': newAddress() },
    })
    expect([path, status, headers.has('content-security-policy')]).toEqual([
      path,
      404,
      true,
    ])
  }
})

test('ignores internal headers of Next.js that a client sends, and does not log them', async ({
  serverWith,
}) => {
  const server = await serverWith()
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
    const health = await documentedFetch(`${server.url}/api/health`, {
      headers,
      redirect: 'manual',
    })
    expect([health.status, await health.json()], name).toEqual([200, { ok: true }])
    const exchanged = await postTo(
      server.url + exchangePath,
      { code: 'fabricated' },
      headers,
    )
    expect([exchanged.status, exchanged.body.code], name).toEqual([
      400,
      'SSO_EXCHANGE_INVALID',
    ])
    const page = await fetch(`${server.url}/`, { headers, redirect: 'manual' })
    expect([page.status, page.headers.has('content-security-policy')], name).toEqual([
      200,
      true,
    ])
    expect(page.headers.get('content-type'), name).toBe('text/html; charset=utf-8')
    const form = await fetch(`${server.url}/`, {
      method: 'POST',
      headers,
      redirect: 'manual',
    })
    expect([form.status, form.headers.get('allow')], name).toEqual([405, 'GET, HEAD'])
  }
  expect(await server.output()).not.toContain('text-of-a-client')
  expect(await server.output()).not.toContain('Server Action')
})

test('sends nosniff, and HSTS without subdomains, exactly once in each response', async ({
  url,
}) => {
  const [script] = readdirSync('.next/static/chunks').filter((name) =>
    name.endsWith('.js'),
  )
  const api = [
    'GET /api/health',
    'GET /api/nothing',
    `GET ${exchangePath}`,
    'POST /sign-out',
  ]
  const files = [
    'GET /openapi.json',
    'GET /.well-known/jwks.json',
    `GET /_next/static/chunks/${script}`,
  ]
  for (const request of [
    'GET /',
    'GET /nothing',
    'POST /',
    'GET /_next/static/chunks/x.js',
    ...api,
    ...files,
  ]) {
    const headers = `Host: localhost\r\nX-Forwarded-For: ${newAddress()}\r\nConnection: close\r\n`
    const response = await sendBytes(url, `${request} HTTP/1.1\r\n${headers}\r\n`)
    const head = response.slice(0, response.indexOf('\r\n\r\n'))
    expect(
      head.match(/^strict-transport-security: max-age=63072000\r?$/gim) ?? [],
      request,
    ).toHaveLength(1)
    expect(
      head.match(/^x-content-type-options: nosniff\r?$/gim) ?? [],
      request,
    ).toHaveLength(1)
  }
})

test('upgrades insecure requests of pages only if PUBLIC_URL has https', async ({
  serverWith,
  url,
}) => {
  const server = await serverWith(otherValues)
  for (const [base, upgrades] of [
    [server.url, true],
    [url, false],
  ] as const) {
    for (const path of ['/', '/sso/callback', '/reset-password?token=x', '/nothing']) {
      const { headers } = await fetch(base + path, {
        headers: { 'X-Forwarded-For': newAddress() },
      })
      const policy = headers.get('content-security-policy')!.split('; ')
      expect(policy.includes('upgrade-insecure-requests'), path).toBe(upgrades)
      expect(headers.get('cross-origin-opener-policy'), path).toBe('same-origin')
      expect(headers.get('cross-origin-resource-policy'), path).toBe('same-origin')
      for (const feature of [
        'camera',
        'display-capture',
        'geolocation',
        'microphone',
        'payment',
        'usb',
      ])
        expect(headers.get('permissions-policy')!.split(', '), path).toContain(
          `${feature}=()`,
        )
      for (const action of ['get', 'create'])
        expect(headers.get('permissions-policy')!.split(', '), path).toContain(
          `publickey-credentials-${action}=(self)`,
        )
    }
  }
  // A cookie without the __Host- prefix could come from a subdomain.
  const callback = await fetch(`${server.url}/sso/callback`, {
    headers: { Cookie: `browser=${'x'.repeat(43)}` },
  })
  expect(callback.headers.getSetCookie()).toEqual([
    expect.stringMatching(
      /^__Host-browser=[\w-]{43}; Path=\/; Max-Age=\d+; HttpOnly; SameSite=Lax; Secure$/,
    ),
  ])
})

test('compresses pages if the client accepts compression', async ({ url }) => {
  const get = (encoding: string) =>
    fetch(url, {
      headers: { 'Accept-Encoding': encoding, 'X-Forwarded-For': newAddress() },
    })
  const [whole, compressed] = [await get('identity'), await get('gzip')]
  expect(
    [whole, compressed].map(({ headers }) => headers.get('content-encoding')),
  ).toEqual([null, 'gzip'])
  for (const response of [whole, compressed]) {
    expect(response.headers.get('vary')).toMatch(/accept-encoding/i)
    expect(await response.text()).toContain('<title>You’re not signed in')
  }
})
