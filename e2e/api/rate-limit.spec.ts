import { AxeBuilder } from '@axe-core/playwright'
import { exchangePath, expect, newAddress, resetPath, test } from '../support/fixtures'
import { countOf, flood } from '../support/flood'
import { startServer } from '../support/server'

const limit = 2_000

test('an IP address has 2,000 requests for all /api routes together, and the next is rejected', async ({
  url,
  post,
}) => {
  const address = newAddress()
  const headers = { 'X-Forwarded-For': address }
  const paths = ['/api/health', '/api/nothing', exchangePath, resetPath]
  const responses = await flood(limit, (index) => fetch(url + paths[index % paths.length], { headers }))
  expect(countOf(responses, 429)).toBe(0)
  const remaining = responses
    .map((response) => Number(response.headers.get('ratelimit')!.match(/r=(\d+)/)![1]))
    .sort((a, b) => a - b)
  expect(remaining).toEqual(Array.from({ length: limit }, (_, index) => index))

  const rejected = await post(exchangePath, { code: 'x' }, headers)
  expect([rejected.status, rejected.body]).toEqual([
    429,
    { ok: false, code: 'RATE_LIMITED', message: expect.any(String), requestId: expect.any(String) },
  ])
  const seconds = Number(rejected.headers.get('retry-after'))
  expect(Number.isInteger(seconds) && seconds > 0 && seconds <= 900).toBe(true)
  expect(rejected.headers.get('ratelimit')).toBe(`"platform";r=0;t=${seconds}`)
  expect(rejected.headers.get('cache-control')).toBe('no-store')

  expect((await fetch(`${url}/api/health`, { headers: { 'X-Forwarded-For': newAddress() } })).status).toBe(200)
})

test('without a proxy, forged X-Forwarded-For headers are ignored: the socket counts', async () => {
  const server = await startServer({ TRUSTED_PROXIES: '0' })
  const responses = await flood(limit + 50, () =>
    fetch(`${server.url}/api/health`, {
      headers: { 'X-Forwarded-For': newAddress(), 'X-Real-IP': newAddress(), Forwarded: `for=${newAddress()}` },
    }),
  )
  await server.stop()
  expect(countOf(responses, 429)).toBe(50)
})

test('behind one proxy, only the entry that the proxy appended counts', async ({ url }) => {
  const address = newAddress()
  const responses = await flood(limit + 50, () =>
    fetch(`${url}/api/health`, { headers: { 'X-Forwarded-For': `${newAddress()}, ${newAddress()}, ${address}` } }),
  )
  expect(countOf(responses, 429)).toBe(50)
})

test('behind two proxies, the entry that the outer one appended counts', async () => {
  const server = await startServer({ TRUSTED_PROXIES: '2' })
  const [client, other, proxy] = [newAddress(), newAddress(), newAddress()]
  const left = async (...entries: string[]) => {
    const { headers } = await fetch(`${server.url}/api/health`, { headers: { 'X-Forwarded-For': entries.join(', ') } })
    return Number(headers.get('ratelimit')!.match(/r=(\d+)/)![1])
  }
  expect(await left(newAddress(), client, proxy)).toBe(limit - 1)
  expect(await left(newAddress(), client, newAddress())).toBe(limit - 2)
  expect(await left(client, other, proxy)).toBe(limit - 1)
  await server.stop()
})

test('pages, missing paths and public documents count like routes; files do not', async ({ url, browserProcess }) => {
  test.setTimeout(180_000) // 2,000 requests
  const address = newAddress()
  const headers = { 'X-Forwarded-For': address }
  const left = async () =>
    Number((await fetch(`${url}/api/health`, { headers })).headers.get('ratelimit')!.match(/r=(\d+)/)![1])
  const counted = [
    ...[
      '/',
      '/sso/callback?code=x',
      '/reset-password?token=x',
      '/nothing',
      '/%61pi/health',
      '/icon.svg/x',
      '/brand/x.svg',
    ],
    ...[
      '/openapi.json',
      '/openapi.json/',
      '/.well-known/jwks.json',
      '/.well-known/jwks.json/',
      '/.well-known/change-password',
      '/.well-known/change-password/',
      '/sign-out',
      '/api/nothing',
      exchangePath,
    ],
  ]
  let expected = await left()
  for (const path of counted) {
    await (await fetch(url + path, { headers, redirect: 'manual' })).text()
    expected -= 2 // this request, and the next one to /api/health
    expect(await left(), path).toBe(expected)
  }
  const chunk = (await (await fetch(`${url}/`, { headers: { 'X-Forwarded-For': newAddress() } })).text()).match(
    /\/_next\/static\/[^"]+\.js/,
  )![0]
  for (const path of [
    '/icon.svg',
    '/favicon.ico',
    '/robots.txt',
    chunk,
    '/_next/static/chunks/missing.js',
    '/_next/image',
    '/_next/data/x.json',
  ]) {
    await (await fetch(url + path, { headers })).text()
    expected -= 1
    expect(await left(), path).toBe(expected)
  }

  await flood(limit, (index) => fetch(url + counted[index % counted.length], { headers, redirect: 'manual' }), 16)
  for (const path of counted) {
    const response = await fetch(url + path, { headers, redirect: 'manual' })
    expect([response.status, Number(response.headers.get('retry-after')) > 0], path).toEqual([429, true])
  }
  for (const path of ['/icon.svg', '/favicon.ico', chunk])
    expect((await fetch(url + path, { headers })).status).toBe(200)

  const context = await browserProcess.newContext({ locale: 'de', extraHTTPHeaders: headers })
  const page = await context.newPage()
  const response = await page.goto(`${url}/sso/callback?code=fabricated`)
  expect(response!.headers()).toMatchObject({ 'cache-control': 'no-store', 'referrer-policy': 'no-referrer' })
  await expect(page.getByRole('heading')).toHaveText('Zu viele Anfragen aus Ihrem Netzwerk')
  await expect(page.getByText(/in \d+ (Minuten|Sekunden)/)).toBeVisible()
  expect(await page.getByRole('link').evaluate((link: HTMLAnchorElement) => link.href)).toBe(
    `${url}/sso/callback?code=fabricated`,
  )
  expect((await new AxeBuilder({ page }).analyze()).violations).toEqual([])
  await context.close()
})
