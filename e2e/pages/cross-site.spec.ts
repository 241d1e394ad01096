import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import {
  exchangePath,
  expect,
  newAddress,
  newCode,
  newPassword,
  newToken,
  resetPath,
  type Sql,
  test,
} from '../support/fixtures'
import { send } from '../support/raw-http'

// Another site, as a browser sees it: 127.0.0.1 is not localhost.
const site = createServer((_, response) =>
  response.setHeader('Content-Type', 'text/html').end('<!doctype html><title>Elsewhere</title><body>'),
)
let elsewhere: string
test.beforeAll(async () => {
  await once(site.listen(0, '127.0.0.1'), 'listening')
  elsewhere = `http://127.0.0.1:${(site.address() as AddressInfo).port}/`
})
test.afterAll(() => {
  site.closeAllConnections()
  site.close()
})
test.beforeEach(async ({ page }) => {
  await page.goto(elsewhere)
})

test('a script of another site can neither exchange a code nor reset a password', async ({ page, user, url, sql }) => {
  const bodies = {
    [exchangePath]: { code: await newCode(user) },
    [resetPath]: { token: await newToken(user), password: newPassword() },
  }
  for (const [path, body] of Object.entries(bodies)) {
    const attempts = await page.evaluate(
      async ([address, json]) => {
        const send = (init: RequestInit) =>
          fetch(address!, { method: 'POST', body: json, credentials: 'include', ...init }).then(
            (response) => response.type,
            (error) => error.name,
          )
        return [
          await send({ headers: { 'Content-Type': 'application/json' } }), // the preflight request is rejected
          await send({ mode: 'no-cors', headers: { 'Content-Type': 'application/json' } }), // the browser changes the type to text/plain
          await send({ mode: 'no-cors', headers: { 'Content-Type': 'text/plain' } }),
          await send({ mode: 'no-cors', body: new Blob([json!], { type: 'application/x-www-form-urlencoded' }) }),
          navigator.sendBeacon(address!, new Blob([json!], { type: 'text/plain' })),
        ]
      },
      [url + path, JSON.stringify(body)],
    )
    expect(attempts).toEqual(['TypeError', 'opaque', 'opaque', 'opaque', true])
  }
  await page.waitForTimeout(300) // for the beacon
  await expectNothingHappened(sql, user)
})

test('a form of another site can do neither', async ({ page, user, url, sql }) => {
  const json = {
    [exchangePath]: { code: await newCode(user) },
    [resetPath]: { token: await newToken(user), password: newPassword() },
  }
  for (const [path, body] of Object.entries(json)) {
    // text/plain writes name=value: the body becomes {"code":"…","x":"="}, which is JSON
    const name = JSON.stringify({ ...body, x: '' }).replace('""}', '"')
    await page.goto(elsewhere)
    const response = page.waitForResponse(url + path)
    await page.evaluate(
      ([action, field]) => {
        const form = Object.assign(document.createElement('form'), { method: 'post', action, enctype: 'text/plain' })
        form.append(Object.assign(document.createElement('input'), { name: field, value: '"}' }))
        document.body.append(form)
        form.submit()
      },
      [url + path, name] as const,
    )
    expect((await response).status()).toBe(415)
    await page.waitForURL(url + path)
  }
  await expectNothingHappened(sql, user)
})

test('a form of another site can’t sign a user out', async ({ context, page, post, user, url, sql }) => {
  const { body } = await post(exchangePath, { code: await newCode(user) })
  await context.addCookies([{ name: 'session', value: body.token!, url, httpOnly: true, sameSite: 'Lax' }])
  await page.evaluate((action) => {
    const form = Object.assign(document.createElement('form'), { method: 'post', action })
    document.body.append(form)
    form.submit()
  }, `${url}/sign-out`)
  await page.waitForURL(`${url}/sign-out`)
  expect(await page.content()).toContain('ORIGIN_REJECTED')
  expect(await context.cookies(url)).toMatchObject([{ name: 'session', value: body.token }])
  expect(await sql('SELECT 1 FROM sessions WHERE user_id = $1 AND revoked_at IS NULL', [user.id])).toHaveLength(1)
})

test('our pages can’t be framed', async ({ page, url }) => {
  const rejected = page.waitForEvent('console', (message) => message.text().includes('frame-ancestors'))
  await page.evaluate(
    (source) => document.body.append(Object.assign(document.createElement('iframe'), { src: source })),
    `${url}/reset-password`,
  )
  await rejected
})

test('scripts of another site can read the JWKS and the OpenAPI document', async ({ url }) => {
  for (const path of ['/.well-known/jwks.json', '/openapi.json']) {
    const { status, headers } = await send(url + path, {
      headers: { 'Sec-Fetch-Site': 'cross-site', 'Sec-Fetch-Dest': 'empty', Origin: 'https://other.example' },
    })
    expect([status, headers['access-control-allow-origin']]).toEqual([200, '*'])
  }
})

test('another site can link to pages and load files, and uses up no rate limit of its visitors', async ({
  page,
  url,
}) => {
  const load = async (source: string, act: (source: string) => unknown) => {
    const [response] = await Promise.all([
      page.waitForResponse((response) => response.url() === source),
      page.evaluate(act, source),
    ])
    return response.status()
  }
  const image = (source: string) => void Object.assign(new Image(), { src: source })
  const script = (source: string) => void fetch(source, { mode: 'no-cors' })
  for (const path of ['/api/health', '/sso/callback']) expect(await load(url + path, script)).toBe(403)
  expect(await load(`${url}/icon.svg`, image)).toBe(200)
  await page.evaluate((source) => {
    location.href = source
  }, `${url}/sso/callback?error=access_denied`)
  await expect(page.locator('h1')).toBeVisible()

  const address = newAddress()
  const remaining = async () =>
    (await fetch(`${url}/api/health`, { headers: { 'X-Forwarded-For': address } })).headers.get('ratelimit')
  expect(await remaining()).toContain(';r=1999;')
  for (const path of ['/', '/api/health', '/nothing'])
    for (const destination of ['empty', 'iframe', 'image', 'document']) {
      const { status } = await send(url + path, {
        headers: {
          'X-Forwarded-For': address,
          'Sec-Fetch-Site': 'cross-site',
          'Sec-Fetch-Dest': destination,
          ...(destination === 'document' && { 'Sec-Purpose': 'prefetch' }),
        },
      })
      expect(status).toBe(403)
    }
  expect(await remaining()).toContain(';r=1998;')
})

async function expectNothingHappened(sql: Sql, user: { id: string }): Promise<void> {
  expect(await sql('SELECT 1 FROM exchange_codes WHERE user_id = $1 AND used_at IS NULL', [user.id])).toHaveLength(1)
  expect(await sql('SELECT 1 FROM reset_tokens WHERE user_id = $1 AND used_at IS NULL', [user.id])).toHaveLength(1)
  expect(await sql('SELECT 1 FROM users WHERE id = $1 AND password_hash IS NULL', [user.id])).toHaveLength(1)
  expect(await sql('SELECT 1 FROM sessions WHERE user_id = $1', [user.id])).toHaveLength(0)
}
