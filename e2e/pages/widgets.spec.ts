import { randomUUID } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { Page } from 'playwright/test'
import { project } from '../../bin/dev/local'
import * as routes from '../../lib/contract/routes'
import { addWidget, type ListedWidget, listWidgets } from '../../lib/widget/manage'
import { closeContext } from '../support/browsers/close-context'
import { test as base, expect, type TestServer } from '../support/fixtures'
import { keepSecret } from '../support/secrets'
import { type Example, startWidget } from '../support/servers/examples'
import { listen } from '../support/servers/listen'
import { freePort } from '../support/servers/server'

/**
 * Sends no header with the IP address of a test, because the response to a preflight
 * would not allow that header.
 */
const test = base.extend({
  context: async ({ browserProcess }, use) => {
    const context = await browserProcess.newContext()
    await use(context)
    await closeContext(context)
  },
})

// The example widget on customers' pages on 127.0.0.1. For browsers, this is another site
// than the login on localhost.

let login: TestServer
let widgetServer: Example
let widget: ListedWidget & { token: string }
let customer: { url: string; html: string; stop: () => Promise<void> }
let stranger: { url: string; html: string; stop: () => Promise<void> }

test.beforeAll(async ({ serverWith }) => {
  login = await serverWith()
  widgetServer = await startWidget(login.url, `http://127.0.0.1:${await freePort()}`)
  customer = await startSite()
  stranger = await startSite()
  const slug = `w-${randomUUID()}`
  const token = keepSecret(await addWidget(slug, slug, [customer.url]))
  widget = { ...(await listWidgets(slug))[0]!, token }
})
test.afterAll(async () => {
  for (const each of [customer, stranger, widgetServer]) await each?.stop()
})

/**
 * Starts a site whose pages have the HTML in `html`. `/redirect` redirects to the
 * endpoint with the same method.
 */
async function startSite() {
  const site = { html: '', url: '', stop: async () => {} }
  const server = createServer((request, response) => {
    if (request.url !== '/redirect')
      return response.setHeader('Content-Type', 'text/html').end(site.html)
    const cors = {
      'Access-Control-Allow-Origin': '*',
      'Access-Control-Allow-Headers': 'Content-Type',
    }
    const status = request.method === 'OPTIONS' ? 204 : 307
    response
      .writeHead(status, {
        ...cors,
        Location: login.url + routes.startWidgetSession.path,
      })
      .end()
  })
  const listening = await listen(server)
  return Object.assign(site, { url: listening.url, stop: listening.stop })
}

const script = () =>
  `<!doctype html><body><script src="${widgetServer.url}/widget.js" data-login="${login.url}" data-token="${widget.token}" async></script>`

/** Requests a JWT from a script in a page. Returns what the script can read. */
function ask(
  page: Page | import('playwright/test').Frame,
  url = login.url + routes.startWidgetSession.path,
) {
  return page.evaluate(
    async ([url, widgetToken]) => {
      const headers = { 'Content-Type': 'application/json' }
      const body = JSON.stringify({ widgetToken })
      const response = await fetch(url!, {
        method: 'POST',
        credentials: 'omit',
        headers,
        body,
      })
      const { code, requestId, token } = await response.json()
      const readable = ['x-request-id', 'retry-after', 'ratelimit'].map((name) =>
        response.headers.has(name),
      )
      return {
        status: response.status,
        code,
        hasRequestId: typeof requestId === 'string',
        hasToken: !!token,
        readable,
      }
    },
    [url, widget.token],
  )
}
const rejected = {
  status: 403,
  code: 'ORIGIN_REJECTED',
  hasRequestId: true,
  hasToken: false,
}

test('the widget shows its session on an approved page, and asks for one JWT', async ({
  page,
  context,
}) => {
  await context.addCookies([{ name: 'session', value: 'of-a-user', url: login.url }])
  const requests: Promise<Record<string, string>>[] = []
  page.on('request', (request) => {
    if (request.url().startsWith(login.url)) requests.push(request.allHeaders())
  })
  customer.html = script()
  await page.goto(customer.url)
  await expect(page.locator('p')).toContainText(
    `Hello, page of ${customer.url}. This is the widget ${widget.slug}.`,
  )
  await page.getByRole('button', { name: 'Again' }).click()
  await expect(page.getByRole('button', { name: 'Again' })).toBeVisible()
  expect(await ask(page)).toMatchObject({ status: 200, hasToken: true })
  const posts = (await Promise.all(requests)).filter((headers) => headers['content-type'])
  // the request of the widget and the last request of this test
  expect(posts).toHaveLength(2)
  for (const headers of posts)
    expect([headers.cookie, headers.origin]).toEqual([undefined, customer.url])
})

test('a rejected page can read the reason, and the widget does not retry', async ({
  page,
}) => {
  let count = 0
  const errors: string[] = []
  page.on('request', (request) => void (request.method() === 'POST' && count++))
  page.on(
    'console',
    (message) => void (message.type() === 'error' && errors.push(message.text())),
  )
  stranger.html = script()
  await page.goto(stranger.url)
  await expect
    .poll(() => errors.join())
    .toMatch(/The widget got no session: ORIGIN_REJECTED, request [\w-]{36}/)
  await expect(page.locator('p')).toHaveCount(0)
  expect(count).toBe(1)
  expect(await ask(page)).toEqual({ ...rejected, readable: [true, false, true] })
})

test('rejects a sandboxed iframe, a file, and a redirect from an approved page', async ({
  page,
  context,
}) => {
  customer.html = '<iframe sandbox="allow-scripts" src="/frame"></iframe>'
  await page.goto(customer.url)
  await expect.poll(() => page.frames()[1]?.url()).toBe(`${customer.url}/frame`)
  expect(await ask(page.frames()[1]!)).toMatchObject(rejected)
  expect(await ask(page, `${stranger.url}/redirect`)).toMatchObject(rejected)
  const file = `${project}e2e/results/widget.html`
  writeFileSync(file, '<!doctype html>')
  const local = await context.newPage()
  await local.goto(`file://${file}`)
  expect(await ask(local)).toMatchObject(rejected)
})

test('the widget waits for Retry-After, and tries at most three times', async ({
  serverWith,
  page,
}) => {
  const waits: number[] = []
  await page.addInitScript(() => {
    const { setTimeout } = window
    Object.assign(window, {
      waits: [],
      setTimeout: (handler: () => void, ms: number) => {
        ;(window as unknown as { waits: number[] }).waits.push(ms)
        return setTimeout(handler, 0)
      },
    })
  })
  const limited = await serverWith({ RATE_LIMIT_REQUESTS: '1' })
  await page.goto(customer.url)
  expect(await ask(page, limited.url + routes.startWidgetSession.path)).toMatchObject({
    status: 200,
  })
  customer.html = script().replace(login.url, limited.url)
  await page.goto(customer.url)
  await expect(page.locator('p')).toContainText('Not available.')
  waits.push(
    ...(await page.evaluate(() => (window as unknown as { waits: number[] }).waits)),
  )
  expect(waits).toHaveLength(2)
  for (const ms of waits) expect(ms).toBeGreaterThan(800_000)
  const rejection = { status: 429, readable: [true, true, true] }
  expect(await ask(page, limited.url + routes.startWidgetSession.path)).toMatchObject(
    rejection,
  )
})

const secondChances: Record<string, (page: Page) => Promise<unknown>> = {
  'the computer has slept for longer than the JWT lives': (page) =>
    page.clock.setFixedTime(Date.now() + 16 * 60_000),
  'the clock of the computer is wrong, or the keys have changed': (page) =>
    page.route('**/greeting', (route) => route.fulfill({ status: 401 }), { times: 1 }),
}
for (const [what, change] of Object.entries(secondChances))
  test(`the widget requests one more JWT if ${what}`, async ({ page }) => {
    // A route counts before the response. Playwright can report a request to a listener
    // later than that while it removes another route.
    let count = 0
    await page.route(`**${routes.startWidgetSession.path}`, (route) => {
      if (route.request().method() === 'POST') count++
      return route.continue()
    })
    customer.html = script()
    await page.goto(customer.url)
    await expect(page.locator('p')).toContainText('Hello')
    expect(count).toBe(1)
    await change(page)
    await page.evaluate(() => document.querySelector('p')!.firstChild!.remove())
    await page.getByRole('button', { name: 'Again' }).click()
    await expect(page.locator('p')).toContainText('Hello')
    expect(count).toBe(2)
  })

test('the widget can be used later if it was opened offline, and asks twice at most after 401', async ({
  page,
}) => {
  await page.route(`**${routes.startWidgetSession.path}`, (route) => route.abort())
  customer.html = script()
  await page.goto(customer.url)
  await expect(page.locator('p')).toContainText('Not available.')
  await page.unrouteAll()
  let count = 0
  await page.route('**/greeting', (route) => {
    count++
    return route.fulfill({ status: 401 })
  })
  const again = page.getByRole('button', { name: 'Again' })
  await again.click()
  await expect.poll(() => count).toBe(2)
  await page.unrouteAll()
  await again.click()
  await expect(page.locator('p')).toContainText('Hello')
  expect(count).toBe(2)
})

test("the widget's API accepts a JWT only from its own page, and rejects a changed JWT", async ({
  page,
}) => {
  customer.html = ''
  await page.goto(customer.url)
  const token = await page.evaluate(
    async ([url, widgetToken]) => {
      const headers = { 'Content-Type': 'application/json' }
      const response = await fetch(url!, {
        method: 'POST',
        headers,
        body: JSON.stringify({ widgetToken }),
      })
      return (await response.json()).token as string
    },
    [login.url + routes.startWidgetSession.path, widget.token],
  )
  keepSecret(token)
  const greet = async (origin: string, jwt: string) => {
    const headers = { Origin: origin, Authorization: `Bearer ${jwt}` }
    return (await fetch(`${widgetServer.url}/greeting`, { headers })).status
  }
  expect(await greet(customer.url, token)).toBe(200)
  expect(await greet(stranger.url, token)).toBe(401)
  const changed = token.replace(/.(?=.{9}$)/, (letter) => (letter === 'A' ? 'B' : 'A'))
  expect(await greet(customer.url, changed)).toBe(401)
})
