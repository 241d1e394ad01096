import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { exchange, expect, newCode, newPassword, newToken, reset, type Sql, test } from '../support/fixtures'

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

test('a script of another site can neither exchange a code nor reset a password', async ({
  page,
  person,
  url,
  sql,
}) => {
  const bodies = {
    [exchange]: { code: await newCode(person) },
    [reset]: { token: await newToken(person), password: newPassword() },
  }
  for (const [path, body] of Object.entries(bodies)) {
    const attempts = await page.evaluate(
      async ([address, json]) => {
        const send = (init: RequestInit) =>
          fetch(address!, { method: 'POST', body: json, credentials: 'include', ...init }).then(
            (answer) => answer.type,
            (error) => error.name,
          )
        return [
          await send({ headers: { 'Content-Type': 'application/json' } }), // asks first, and is told no
          await send({ mode: 'no-cors', headers: { 'Content-Type': 'application/json' } }), // the browser makes text/plain of it
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
  await expectNothingHappened(sql, person)
})

test('a form of another site can neither', async ({ page, person, url, sql }) => {
  const json = {
    [exchange]: { code: await newCode(person) },
    [reset]: { token: await newToken(person), password: newPassword() },
  }
  for (const [path, body] of Object.entries(json)) {
    // text/plain writes name=value: the body becomes {"code":"…","x":"="}, which is JSON
    const name = JSON.stringify({ ...body, x: '' }).replace('""}', '"')
    await page.goto(elsewhere)
    const answer = page.waitForResponse(url + path)
    await page.evaluate(
      ([action, field]) => {
        const form = Object.assign(document.createElement('form'), { method: 'post', action, enctype: 'text/plain' })
        form.append(Object.assign(document.createElement('input'), { name: field, value: '"}' }))
        document.body.append(form)
        form.submit()
      },
      [url + path, name] as const,
    )
    expect((await answer).status()).toBe(415)
    await page.waitForURL(url + path)
  }
  await expectNothingHappened(sql, person)
})

test('a form of another site signs nobody out', async ({ context, page, post, person, url, sql }) => {
  const { body } = await post(exchange, { code: await newCode(person) })
  await context.addCookies([{ name: 'session', value: body.token!, url, httpOnly: true, sameSite: 'Lax' }])
  await page.evaluate((action) => {
    const form = Object.assign(document.createElement('form'), { method: 'post', action })
    document.body.append(form)
    form.submit()
  }, `${url}/sign-out`)
  await page.waitForURL(`${url}/sign-out`)
  expect(await page.content()).toContain('ORIGIN_REJECTED')
  expect(await context.cookies(url)).toMatchObject([{ name: 'session', value: body.token }])
  expect(await sql('SELECT 1 FROM sessions WHERE user_id = $1 AND revoked_at IS NULL', [person.id])).toHaveLength(1)
})

test('a page of ours can’t be framed', async ({ page, url }) => {
  const refused = page.waitForEvent('console', (message) => message.text().includes('frame-ancestors'))
  await page.evaluate(
    (source) => document.body.append(Object.assign(document.createElement('iframe'), { src: source })),
    `${url}/reset-password`,
  )
  await refused
})

async function expectNothingHappened(sql: Sql, person: { id: string }): Promise<void> {
  expect(await sql('SELECT 1 FROM exchange_codes WHERE user_id = $1 AND used_at IS NULL', [person.id])).toHaveLength(1)
  expect(await sql('SELECT 1 FROM reset_tokens WHERE user_id = $1 AND used_at IS NULL', [person.id])).toHaveLength(1)
  expect(await sql('SELECT 1 FROM users WHERE id = $1 AND password_hash IS NULL', [person.id])).toHaveLength(1)
  expect(await sql('SELECT 1 FROM sessions WHERE user_id = $1', [person.id])).toHaveLength(0)
}
