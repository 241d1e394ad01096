import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { text } from 'node:stream/consumers'
import { setTimeout as sleep } from 'node:timers/promises'
import { connect } from 'node:tls'
import { type APIRequestContext, type Page, request } from 'playwright/test'
import { problemsOf } from '../support/browsers/page-checks'
import {
  exchangePath,
  expect,
  heading,
  newCode,
  newPassword,
  newToken,
  test,
} from '../support/fixtures'
import {
  type ReverseProxy,
  startApache,
  startCaddy,
  startHaproxy,
  startNginx,
  startVarnish,
} from '../support/servers/proxies'
import { freePort, type Server, startServer } from '../support/servers/server'

// Tests the proxy configurations in deploy/ in front of two processes of the app.

test.use({ ignoreHTTPSErrors: true })

const names = ['Caddy', 'nginx', 'HAProxy', 'Apache', 'Varnish'] as const
let ports: number[]
let servers: Server[]
let proxies: Record<(typeof names)[number], ReverseProxy>

/** More than all tests of this file send from one address. */
const limit = 100_000

const start = (port: number) =>
  startServer({
    RATE_LIMIT_REQUESTS: String(limit),
    PORT: String(port),
    PUBLIC_URL: 'https://localhost',
    TRUSTED_PROXIES: '1',
    DRAIN_MS: '',
  })

test.beforeAll(async () => {
  const [first, second, ...others] = await Promise.all(
    Array.from({ length: 14 }, freePort),
  )
  ports = [first!, second!]
  servers = await Promise.all(ports.map(start))
  const next = () => others.pop()!
  proxies = {
    Caddy: await startCaddy(next(), next(), next(), ports),
    nginx: await startNginx(next(), next(), ports),
    HAProxy: await startHaproxy(next(), next(), ports),
    Apache: await startApache(next(), next(), ports),
    Varnish: await startVarnish(next(), next(), next(), ports),
  }
})
test.afterAll(async () => {
  for (const { stop } of [...Object.values(proxies ?? {}), ...(servers ?? [])])
    await stop()
})

const connectTo = (proxy: ReverseProxy) =>
  request.newContext({ baseURL: proxy.url, ignoreHTTPSErrors: true })

for (const name of names) {
  test(`${name}: a sign-in and a password reset work`, async ({ page, user }) => {
    const { url } = proxies[name]
    await page.goto(`${url}/sso/callback?code=${await newCode(user)}`)
    await expect(heading(page)).toHaveText('You’re signed in')
    expect(
      (await page.context().cookies()).find((cookie) => cookie.name === '__Host-session')
        ?.secure,
    ).toBe(true)

    await page.goto(`${url}/reset-password?token=${await newToken(user)}`)
    await page.getByLabel('New password').fill(newPassword())
    await page.getByRole('button', { name: 'Save password' }).click()
    await expect(heading(page)).toHaveText('Your password has been changed')
  })

  test(`${name}: a forged X-Forwarded-For does not get a new rate limit`, async () => {
    const client = await connectTo(proxies[name])
    const left: number[] = []
    for (let index = 0; index < 8; index++) {
      const forged = `203.0.113.${index}`
      const headers = {
        'X-Forwarded-For': forged,
        'X-Real-IP': forged,
        Forwarded: `for=${forged}`,
      }
      const response = await client.get('/api/health', { headers })
      expect(response.status()).toBe(200)
      left.push(Number(response.headers().ratelimit!.match(/r=(\d+)/)![1]))
    }
    // Each of the two processes counts its own requests.
    expect(Math.min(...left)).toBeLessThanOrEqual(limit - left.length / 2)
    await client.dispose()
  })

  test(`${name}: 64 KiB of headers and a URL of 8 KiB are accepted`, async () => {
    const client = await connectTo(proxies[name])
    const get = async (url: string, cookie = '') => {
      const response = await client.get(url, { headers: { Cookie: cookie } })
      return [response.status(), await response.text()]
    }
    const cookie = Array.from(
      { length: 8 },
      (_, index) => `other${index}=${'x'.repeat(7_500)}`,
    ).join('; ')
    expect(await get('/api/health', cookie)).toEqual([200, '{"ok":true}'])
    expect(await get(`/api/health?state=${'x'.repeat(8_100)}`)).toEqual([
      200,
      '{"ok":true}',
    ])
    expect(await get(`/api/health?state=${'x'.repeat(8_200)}`)).toEqual([
      414,
      'The URL is too long.\n',
    ])
    await client.dispose()
  })
}

for (const name of names)
  test(`${name}: a body that is too large is a 413`, async () => {
    const client = await connectTo(proxies[name])
    // Above the limit of an operation, of a proxy, and of what fits into buffers. HAProxy
    // closes the connection before the client has sent the last one.
    for (const kilobytes of [20, 500, 2_000, ...(name === 'HAProxy' ? [] : [20_000])]) {
      const data = { code: 'x'.repeat(kilobytes * 1_000) }
      const response = await client.post(exchangePath, { data })
      expect(response.status(), `${kilobytes} kB`).toBe(413)
    }
    await client.dispose()
  })

test('no request fails when one process is restarted after the other', async ({
  user,
}) => {
  let isOver = false
  const failures: string[] = []
  const counts: Record<string, number> = {}
  const repeat = async (
    proxy: ReverseProxy,
    method: string,
    send: (client: APIRequestContext) => Promise<number>,
  ) => {
    const client = await connectTo(proxy)
    while (!isOver) {
      const status = await send(client).catch((error: Error) => error.message)
      if (status !== 200) failures.push(`${proxy.name}, ${method}: ${status}`)
      counts[`${proxy.name} ${method}`] = (counts[`${proxy.name} ${method}`] ?? 0) + 1
      await sleep(25)
    }
    await client.dispose()
  }
  const load = Object.values(proxies).flatMap((proxy) => [
    repeat(proxy, 'GET', async (client) =>
      (await client.get('/.well-known/jwks.json')).status(),
    ),
    repeat(proxy, 'POST', async (client) =>
      (await client.post(exchangePath, { data: { code: await newCode(user) } })).status(),
    ),
  ])
  for (const [index, port] of ports.entries()) {
    await servers[index]!.stop()
    const server = await start(port)
    servers[index] = server
    // Until each proxy has checked the process, as all have the same interval. nginx has no
    // checks.
    const checked = () =>
      server.logged('"route":"health"').filter(({ status }) => status === 200)
    await expect.poll(() => checked().length).toBeGreaterThan(2 * (names.length - 1))
    await sleep(200)
  }
  isOver = true
  await Promise.all(load)
  expect(failures).toEqual([])
  for (const count of Object.values(counts)) expect(count).toBeGreaterThan(50)
})

test('no output of a proxy contains the query of a URL, even if a process is stopped', async ({
  page,
}) => {
  const [port, httpPort, adminPort] = await Promise.all(
    Array.from({ length: 3 }, freePort),
  )
  const caddy = await startCaddy(port!, httpPort!, adminPort!, ports, '1s')
  const token = randomUUID()
  const path = `/reset-password?token=${token}`
  const get = async (proxy: ReverseProxy, url = proxy.url) => {
    const client = await connectTo(proxy)
    const response = await client.get(url + path, { maxRedirects: 0 })
    await client.dispose()
    return response.status()
  }
  const kill = async ({ process }: Server) => {
    process.kill('SIGKILL')
    await once(process, 'exit')
  }
  const all = Object.values({ ...proxies, Caddy: caddy })
  try {
    expect(await Promise.all(all.map((proxy) => get(proxy, proxy.httpUrl)))).toEqual([
      308, 301, 301, 301, 301,
    ])
    await kill(servers[0]!)
    expect(await get(proxies.nginx)).toBe(200) // from the other process
    await kill(servers[1]!)
    for (const proxy of all) expect([502, 503]).toContain(await get(proxy))
    for (const proxy of [proxies.nginx, caddy]) await expectUnavailable(page, proxy, path)

    expect(await pipeline(proxies.nginx, path, 900)).toContain('HTTP/1.1 429')

    // Operators still see there that a process is down.
    await expect.poll(caddy.output).toContain('health_checker.active')
    for (const proxy of all) {
      const lines = proxy.output().split('\n')
      expect(
        lines.find((line) => line.includes(token)),
        proxy.name,
      ).toBeUndefined()
    }
  } finally {
    await caddy.stop()
  }
})

/** Expects a page of ours in place of the proxy's, and still the status of a failure. */
async function expectUnavailable(
  page: Page,
  proxy: ReverseProxy,
  path: string,
): Promise<void> {
  const response = (await page.goto(proxy.url + path))!
  expect([502, 503], proxy.name).toContain(response.status())
  expect(response.headers()['cache-control']).toBe('no-store')
  await expect(heading(page)).toHaveText('This page isn’t available right now')
  expect(await problemsOf(page)).toEqual([])
  await page.getByRole('link', { name: 'Open this page again' }).click()
  await expect(page).toHaveURL(proxy.url + path)

  const posted = await page.request.post(proxy.url + exchangePath, { data: {} })
  expect([502, 503], proxy.name).toContain(posted.status())
}

/** Sends requests without waiting for a response, and returns all responses. */
function pipeline({ url }: ReverseProxy, path: string, count: number): Promise<string> {
  const { hostname, port } = new URL(url)
  const socket = connect({
    host: hostname,
    port: Number(port),
    rejectUnauthorized: false,
  })
  const head = `GET ${path} HTTP/1.1\r\nHost: ${hostname}\r\n`
  socket.write(`${head}\r\n`.repeat(count - 1))
  socket.write(`${head}Connection: close\r\n\r\n`)
  return text(socket)
}
