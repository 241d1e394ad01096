import { createServer } from 'node:http'
import {
  exchangePath,
  expect,
  newCode,
  newPassword,
  newToken,
  resetPath,
  type Sql,
  test,
  type User,
} from '../support/fixtures'
import { listen } from '../support/servers/listen'

// For a browser, this is another site, because 127.0.0.1 is not localhost.
const site = createServer((_, response) =>
  response
    .setHeader('Content-Type', 'text/html')
    .end('<!doctype html><title>Elsewhere</title><body>'),
)
let elsewhere: Awaited<ReturnType<typeof listen>>
test.beforeAll(async () => {
  elsewhere = await listen(site)
})
test.afterAll(() => elsewhere.stop())
test.beforeEach(async ({ page }) => {
  await page.goto(elsewhere.url)
})

test('a script of another site can neither exchange a code nor reset a password', async ({
  page,
  user,
  url,
  sql,
}) => {
  for (const [path, body] of await requestsOf(user)) {
    const attempts = await page.evaluate(
      async ([address, json]) => {
        const send = (init: RequestInit) =>
          fetch(address!, {
            method: 'POST',
            body: json!,
            credentials: 'include',
            ...init,
          }).then(
            (response) => response.type,
            (error) => error.name,
          )
        return [
          await send({ headers: { 'Content-Type': 'application/json' } }), // the preflight request is rejected
          await send({
            mode: 'no-cors',
            headers: { 'Content-Type': 'application/json' },
          }), // the browser changes the type to text/plain
          await send({ mode: 'no-cors', headers: { 'Content-Type': 'text/plain' } }),
          await send({
            mode: 'no-cors',
            body: new Blob([json!], { type: 'application/x-www-form-urlencoded' }),
          }),
          navigator.sendBeacon(address!, new Blob([json!], { type: 'text/plain' })),
        ]
      },
      [url + path, JSON.stringify(body)],
    )
    expect(attempts).toEqual(['TypeError', 'opaque', 'opaque', 'opaque', true])
  }
  await page.waitForTimeout(300) // until the beacon has been sent
  await expectNothingHappened(sql, user)
})

test('a form of another site can neither exchange a code nor reset a password', async ({
  page,
  user,
  url,
  sql,
}) => {
  for (const [path, body] of await requestsOf(user)) {
    // A text/plain form sends name=value, so the body is {"code":"…","x":"="}, which is
    // valid JSON.
    const name = JSON.stringify({ ...body, x: '' }).replace('""}', '"')
    await page.goto(elsewhere.url)
    const response = page.waitForResponse(url + path)
    await page.evaluate(
      ([action, field]) => {
        const form = Object.assign(document.createElement('form'), {
          method: 'post',
          action,
          enctype: 'text/plain',
        })
        form.append(
          Object.assign(document.createElement('input'), { name: field, value: '"}' }),
        )
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

test('a form of another site cannot sign a user out', async ({
  context,
  page,
  post,
  user,
  url,
  sql,
}) => {
  const { body } = await post(exchangePath, { code: await newCode(user) })
  await context.addCookies([
    { name: 'session', value: body.token!, url, httpOnly: true, sameSite: 'Lax' },
  ])
  await page.evaluate((action) => {
    const form = Object.assign(document.createElement('form'), { method: 'post', action })
    document.body.append(form)
    form.submit()
  }, `${url}/sign-out`)
  await page.waitForURL(`${url}/sign-out`)
  expect(await page.content()).toContain('ORIGIN_REJECTED')
  expect(await context.cookies(url)).toMatchObject([
    { name: 'session', value: body.token },
  ])
  expect(
    await sql('SELECT 1 FROM sessions WHERE user_id = $1 AND revoked_at IS NULL', [
      user.id,
    ]),
  ).toHaveLength(1)
})

test('another site cannot frame a page', async ({ page, url }) => {
  const rejected = page.waitForEvent('console', (message) =>
    message.text().includes('frame-ancestors'),
  )
  await page.evaluate(
    (source) =>
      document.body.append(
        Object.assign(document.createElement('iframe'), { src: source }),
      ),
    `${url}/reset-password`,
  )
  await rejected
})

test('another site can link to pages and load files, but can’t read any response', async ({
  page,
  url,
}) => {
  const loaded = await page.evaluate(async (base) => {
    const read = (path: string) =>
      fetch(base + path, { mode: 'no-cors' }).then(({ type }) => type)
    const image = Object.assign(new Image(), { src: `${base}/icon.svg` })
    await image.decode()
    return [
      await read('/api/health'),
      await read('/sso/callback').catch(({ name }) => name),
      image.naturalWidth > 0,
    ]
  }, url)
  expect(loaded).toEqual(['opaque', 'TypeError', true])
  await page.evaluate((source) => {
    location.href = source
  }, `${url}/sso/callback?error=access_denied`)
  await expect(page.locator('h1')).toBeVisible()
})

async function requestsOf(user: User) {
  return [
    [exchangePath, { code: await newCode(user) }],
    [resetPath, { token: await newToken(user), password: newPassword() }],
  ] as const
}

async function expectNothingHappened(sql: Sql, user: User): Promise<void> {
  const [row] = await sql(
    `SELECT password_hash,
       (SELECT count(*)::int FROM exchange_codes WHERE user_id = users.id AND used_at IS NULL) AS codes,
       (SELECT count(*)::int FROM reset_tokens WHERE user_id = users.id AND used_at IS NULL) AS links,
       (SELECT count(*)::int FROM sessions WHERE user_id = users.id) AS sessions
     FROM users WHERE id = $1`,
    [user.id],
  )
  expect(row).toEqual({ password_hash: null, codes: 1, links: 1, sessions: 0 })
}
