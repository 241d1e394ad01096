import { randomUUID } from 'node:crypto'
import { decodeJwt } from 'jose'
import * as routes from '../../lib/contract/routes'
import { closeContext } from '../support/browsers/close-context'
import { expireToken } from '../support/browsers/expired-token'
import { violationsOf } from '../support/browsers/page-checks'
import {
  exchangePath,
  expect,
  newCode,
  postTo,
  resetPath,
  test,
} from '../support/fixtures'
import { keepSecret, newAddress } from '../support/secrets'
import { fewRequests } from '../support/servers/settings'
import { countOf, sendMany } from '../support/wire/send-many'

const limit = 2_000

const remainingOf = ({ headers }: { headers: Headers }) =>
  Number(headers.get('ratelimit')!.match(/r=(\d+)/)![1])
const remaining = async (url: string, headers: Record<string, string>) =>
  remainingOf(await fetch(`${url}/api/health`, { headers }))

const counted = [
  ...[
    '/',
    '/sso/callback?code=x',
    '/reset-password?token=x',
    '/nothing',
    '/%61pi/health',
    '/icon.svg/x',
  ],
  ...[
    '/brand/x.svg',
    '/openapi.json',
    '/openapi.json/',
    '/.well-known/jwks.json',
    '/.well-known/jwks.json/',
    '/.well-known/openid-jwks.json',
    '/.well-known/openid-jwks.json/',
    '/.well-known/openid-configuration',
    '/.well-known/oauth-authorization-server/',
  ],
  ...[
    '/.well-known/change-password',
    '/.well-known/change-password/',
    '/sign-out',
    '/api/nothing',
    exchangePath,
  ],
]
const files = ['/icon.svg', '/favicon.ico', '/robots.txt']

test('counts requests for pages, missing paths and public documents, but not for files', async ({
  url,
}) => {
  const headers = { 'X-Forwarded-For': newAddress() }
  const request = async (path: string) =>
    (await fetch(url + path, { headers, redirect: 'manual' })).text()
  let expected = await remaining(url, headers)
  for (const path of counted) {
    await request(path)
    expected -= 2 // this request and the following request to /api/health
    expect(await remaining(url, headers), path).toBe(expected)
  }
  const [chunk] = (await (await fetch(url)).text()).match(/\/_next\/static\/[^"]+\.js/)!
  const missing = ['/_next/static/chunks/missing.js']
  for (const path of [...files, chunk, ...missing]) {
    await request(path)
    expected -= 1
    expect(await remaining(url, headers), path).toBe(expected)
  }
})

test('applies one limit per IP address to all paths, and rejects further requests', async ({
  serverWith,
  browserProcess,
}) => {
  const allowed = 200
  const server = await serverWith({ RATE_LIMIT_REQUESTS: String(allowed) })
  const { url } = server
  const headers = { 'X-Forwarded-For': newAddress() }
  const mixed = ['/api/health', '/api/nothing', exchangePath, resetPath]
  const responses = await sendMany(allowed, (index) =>
    fetch(url + mixed[index % mixed.length], { headers }),
  )
  expect(countOf(responses, 429)).toBe(0)
  const sorted = responses.map(remainingOf).sort((a, b) => a - b)
  expect(sorted).toEqual(Array.from({ length: allowed }, (_, index) => index))

  const rejected = await postTo(url + exchangePath, { code: 'x' }, headers)
  expect([rejected.status, rejected.body]).toEqual([
    429,
    {
      ok: false,
      code: 'RATE_LIMITED',
      message: expect.any(String),
      requestId: expect.any(String),
    },
  ])
  const seconds = Number(rejected.headers.get('retry-after'))
  expect(Number.isInteger(seconds) && seconds > 0 && seconds <= 900).toBe(true)
  expect(rejected.headers.get('ratelimit')).toBe(`"platform";r=0;t=${seconds}`)
  expect(rejected.headers.get('cache-control')).toBe('no-store')
  for (const path of counted) {
    const response = await fetch(url + path, { headers, redirect: 'manual' })
    expect(
      [response.status, Number(response.headers.get('retry-after')) > 0],
      path,
    ).toEqual([429, true])
  }
  for (const path of files)
    expect((await fetch(url + path, { headers })).status).toBe(200)
  expect(await remaining(url, { 'X-Forwarded-For': newAddress() })).toBe(allowed - 1)

  const context = await browserProcess.newContext({
    locale: 'de',
    extraHTTPHeaders: headers,
  })
  const page = await context.newPage()
  const secretUrl = `${url}/sso/callback?code=fabricated`
  const response = await page.goto(secretUrl)
  expect(response!.headers()).toMatchObject({
    'cache-control': 'no-store, no-transform',
    'referrer-policy': 'no-referrer',
  })
  await expect(page.getByRole('heading')).toHaveText(
    'Zu viele Anfragen aus Ihrem Netzwerk',
  )
  await expect(page.getByText(/in \d+ (Minuten|Sekunden)/)).toBeVisible()
  expect(
    await page.getByRole('link').evaluate((link: HTMLAnchorElement) => link.href),
  ).toBe(secretUrl)
  await expect(page.getByRole('banner')).toHaveText('DDashboard')
  await expect(page.getByRole('link')).toHaveCSS('background-color', 'rgb(11, 110, 79)')
  expect(await violationsOf(page)).toEqual([])
  await closeContext(context)
})

test('counts requests by the entry of X-Forwarded-For that the trusted proxy appended', async ({
  url,
}) => {
  const client = newAddress()
  for (const count of [1, 2])
    expect(
      await remaining(url, { 'X-Forwarded-For': `${newAddress()}, ${client}` }),
    ).toBe(limit - count)
})

test('without a proxy, counts requests by the address of the socket, up to the limit in the settings', async ({
  serverWith,
}) => {
  const server = await serverWith({ TRUSTED_PROXIES: '0', RATE_LIMIT_REQUESTS: '2' })
  for (const count of [1, 2]) {
    const forged = {
      'X-Forwarded-For': newAddress(),
      'X-Real-IP': newAddress(),
      Forwarded: `for=${newAddress()}`,
    }
    expect(await remaining(server.url, forged)).toBe(2 - count)
  }
  const { status, headers } = await fetch(`${server.url}/api/health`)
  expect([status, headers.get('ratelimit-policy')]).toEqual([429, '"platform";q=2;w=900'])
})

test('counts requests with a valid token by session, and all others by IP address', async ({
  serverWith,
  user,
}) => {
  const server = await serverWith(fewRequests)
  const signIn = async () => {
    const headers = { 'X-Forwarded-For': newAddress() }
    const code = await newCode(user)
    return (await server.post(exchangePath, { code }, headers)).body
  }
  const [first, second, third] = [await signIn(), await signIn(), await signIn()]
  const get = (token: string, headers = {}) =>
    server.get(routes.getSession.path, { Authorization: `Bearer ${token}`, ...headers })
  const { post } = server
  const outcomeOf = (response: { status: number; headers: Headers }) => [
    response.status,
    remainingOf(response),
  ]

  // Requests without a valid token are counted together, whatever the token contains.
  const otherSession = JSON.stringify({ ...decodeJwt(first.token!), sid: randomUUID() })
  const forged = first.token!.replace(
    /(?<=\.).+(?=\.)/,
    Buffer.from(otherSession).toString('base64url'),
  )
  const altered = keepSecret(`${first.refreshToken!.slice(0, -4)}AAAA`)
  expect(outcomeOf(await get(keepSecret(forged)))).toEqual([401, 3])
  expect(outcomeOf(await get(expireToken(first.token!)))).toEqual([401, 2])
  const refused = await post(routes.refreshSession.path, { refreshToken: altered })
  expect(outcomeOf(refused)).toEqual([400, 1])
  expect(outcomeOf(await post(routes.signOut.path, {}))).toEqual([200, 0])
  const rejected = [
    await get(forged),
    await post(routes.refreshSession.path, { refreshToken: altered }),
    await post(routes.signOut.path, { refreshToken: 1 }),
    await post(routes.exchangeSsoCode.path, { code: 'x' }),
  ]
  expect(rejected.map(outcomeOf)).toEqual(rejected.map(() => [429, 0]))

  // At the limit of its IP address, each session still has its own requests.
  expect(outcomeOf(await get(first.token!))).toEqual([200, 3])
  const { refreshToken } = first
  const renewed = await post(routes.refreshSession.path, { refreshToken })
  expect(outcomeOf(renewed)).toEqual([200, 2])
  const Cookie = `session=${first.token}; refresh=${renewed.body.refreshToken}`
  const ofCookie = await post(routes.refreshSession.path, {}, { Cookie })
  expect(outcomeOf(ofCookie)).toEqual([200, 1])
  const elsewhere = { 'X-Forwarded-For': newAddress() }
  expect(outcomeOf(await get(first.token!, elsewhere))).toEqual([200, 0])
  expect(outcomeOf(await get(first.token!, elsewhere))).toEqual([429, 0])
  expect(outcomeOf(await post(routes.signOut.path, { refreshToken }))).toEqual([429, 0])
  const expired = { Authorization: `Bearer ${expireToken(second.token!)}` }
  expect(outcomeOf(await post(routes.signOut.path, {}, expired))).toEqual([200, 3])
  const body = { refreshToken: third.refreshToken }
  expect(outcomeOf(await post(routes.signOut.path, body))).toEqual([200, 3])
})
