import { createHash, randomBytes } from 'node:crypto'
import type { Page } from 'playwright/test'
import { type LocalProvider, startLocalProvider } from '../../bin/dev/provider'
import * as routes from '../../lib/contract/routes'
import { complaintsOf, problemsOf } from '../support/browsers/page-checks'
import { addTestConnection } from '../support/databases/connection'
import { newPasswordUser, type PasswordUser } from '../support/databases/password-user'
import { lockRow } from '../support/databases/row-lock'
import {
  exchangePath,
  expect,
  heading,
  newCode,
  postTo,
  type Sql,
  test,
  type User,
} from '../support/fixtures'
import { keepSecret, newAddress } from '../support/secrets'
import { type Example, startDashboard } from '../support/servers/examples'
import { preload } from '../support/servers/preload'
import { freePort, type Server, startServer } from '../support/servers/server'

// The example dashboard on 127.0.0.1. For browsers, this is another site than the login
// on localhost.

let login: Server
let settings: Record<string, string>
/** Sign-ins that begin at the login lead to this dashboard. */
let dashboard: Example
let other: Example
/**
 * By the clock of this dashboard, each JWT expires in 30 seconds, so it renews the
 * session at each page.
 */
let late: Example
let oidc: LocalProvider
let withPassword: PasswordUser

const oidcSlug = `dash-${randomBytes(6).toString('hex')}`

test.beforeAll(async ({ sql }) => {
  const ports = await Promise.all([1, 2, 3, 4].map(freePort))
  const [first, second, third] = ports.map((port) => `http://127.0.0.1:${port}`) as [
    string,
    string,
    string,
  ]
  settings = {
    PORT: String(ports[3]),
    PASSWORD_SIGN_IN: 'true',
    DASHBOARD_URL: first,
  }
  login = await startServer(settings)
  dashboard = await startDashboard(sql, login.url, first)
  other = await startDashboard(sql, login.url, second)
  late = await startDashboard(sql, login.url, third, {
    ...preload('shifted-clock.mjs'),
    CLOCK_SHIFT_SECONDS: String(12 * 3600 - 30),
  })

  oidc = await startLocalProvider({
    redirectUris: [`${login.url}/api/auth/sso/${oidcSlug}/callback`],
    people: [{ id: 'ada', name: 'Ada', email: `ada@${oidcSlug}.example.org` }],
  })
  await addTestConnection(`${oidcSlug}.example.org`, {
    slug: oidcSlug,
    settings: { kind: 'oidc', issuer: oidc.issuer, clientId: oidc.clientId },
    secrets: { clientSecret: keepSecret(oidc.clientSecret) },
    provision: true,
  })
  withPassword = await newPasswordUser(sql, { cost: 4 })
})
test.afterAll(async () => {
  for (const each of [dashboard, other, late]) {
    await each?.stop()
    expect(each?.output(), 'no secret').not.toMatch(/[\w-]{43}/)
  }
  await login?.stop()
  await oidc?.stop()
})
test.beforeEach(({ page }) => {
  page.on('request', (request) => {
    const { searchParams } = new URL(request.url())
    for (const name of ['code', 'state', 'code_challenge'])
      for (const value of searchParams.getAll(name)) keepSecret(value)
  })
})

async function enterEmail(page: Page, email: string): Promise<void> {
  await page.getByRole('textbox', { name: 'Email address' }).fill(email)
  await page.getByRole('button', { name: 'Continue' }).click()
}

async function signInByPassword(page: Page): Promise<void> {
  await enterEmail(page, withPassword.email)
  await page.getByLabel('Password', { exact: true }).fill(withPassword.password)
  await page.getByRole('button', { name: 'Sign in', exact: true }).click()
}

const ways: Record<
  string,
  (page: Page) => Promise<{ email: string; connection?: string }>
> = {
  'OpenID Connect': async (page) => {
    const email = `ada@${oidcSlug}.example.org`
    await enterEmail(page, email)
    await page.getByRole('link', { name: /^Ada / }).click()
    return { email, connection: oidcSlug }
  },
  'a password': async (page) => {
    await signInByPassword(page)
    return { email: withPassword.email }
  },
}

const claim = (page: Page, name: string) => page.locator(`#${name}`)
const isAtSignIn = async (page: Page) => {
  await expect(page).toHaveURL(
    (url) => url.origin === login.url && url.pathname === '/sign-in',
  )
  await expect(page.getByRole('textbox', { name: 'Email address' })).toBeVisible()
}

for (const [way, signIn] of Object.entries(ways))
  test(`signs in with ${way}, and opens the page where the user started`, async ({
    page,
  }) => {
    const address = `${dashboard.url}/reports?year=2026&q=%26#/7?tab=a%26b`
    await page.goto(address)
    await isAtSignIn(page)
    const { email, connection } = await signIn(page)
    await page.waitForURL(address)
    await expect(claim(page, 'email')).toHaveText(email)
    await expect(claim(page, 'connection')).toHaveText(connection ? [connection] : [])
    await expect(claim(page, 'iss')).toHaveText(login.url)
    await page.goto(`${other.url}/reports#second`) // without a page of the login
    await page.waitForURL(`${other.url}/reports#second`)
  })

test('signs in, starting at the sign-in page of this service', async ({ page }) => {
  await page.goto(`${login.url}/sign-in`)
  const { email } = await ways['OpenID Connect']!(page)
  await page.waitForURL(`${dashboard.url}/`)
  await expect(claim(page, 'email')).toHaveText(email)
})

test('the pages of the example have the look of the login, on a phone and in both schemes', async ({
  page,
}) => {
  const complaints = complaintsOf(page.context())
  await page.setViewportSize({ width: 390, height: 844 })
  await page.goto(`${dashboard.url}/reports`)
  await signInByPassword(page)
  await expect(claim(page, 'email')).toHaveText(withPassword.email)
  for (const colorScheme of ['light', 'dark'] as const) {
    await page.emulateMedia({ colorScheme })
    for (const path of ['/', '/nothing']) {
      await page.goto(dashboard.url + path)
      expect(await problemsOf(page)).toEqual([])
    }
    const ground = { light: 'rgb(255, 255, 255)', dark: 'rgb(34, 35, 39)' }[colorScheme]
    await expect(page.locator('body')).toHaveCSS('background-color', ground)
  }

  await page.goto(dashboard.url)
  await expect(claim(page, 'iss')).toBeHidden()
  await page.getByText('What the login sent').click()
  await expect(claim(page, 'iss')).toBeVisible()
  expect(complaints).toEqual([])
})

test('a bookmarked sign-in page and Back lead to the dashboard', async ({
  page,
  context,
}) => {
  await page.goto(`${dashboard.url}/reports`)
  await isAtSignIn(page)
  const bookmark = page.url()
  await context.clearCookies() // as on another day
  await page.goto(bookmark)
  const callback = page.waitForRequest((request) =>
    request.url().startsWith(`${dashboard.url}/callback`),
  )
  await signInByPassword(page)
  await page.waitForURL(`${dashboard.url}/`)
  await expect(claim(page, 'email')).toHaveText(withPassword.email)

  await context.clearCookies({ domain: 'localhost' }) // the session of the dashboard is enough
  await page.goto((await callback).url()) // as if Back led there
  await page.waitForURL(`${dashboard.url}/`)
  await expect(claim(page, 'email')).toHaveText(withPassword.email)
})

test('a JWT with an outdated refresh token leads to the sign-in form, and then to the dashboard', async ({
  page,
  sql,
}) => {
  const opened: string[] = []
  page.on(
    'request',
    (request) =>
      request.isNavigationRequest() && opened.push(new URL(request.url()).pathname),
  )
  await page.goto(other.url)
  await signInByPassword(page)
  await page.waitForURL(`${other.url}/`)
  await sql(
    `UPDATE sessions SET generation = 2, rotated_at = now() - interval '1 hour' WHERE user_id = $1`,
    [withPassword.id],
  )
  await page.goto(login.url)
  await expect(heading(page)).toHaveText('You’re signed in')
  opened.length = 0
  await page.goto(`${dashboard.url}/reports`)
  await isAtSignIn(page)
  expect(opened).toEqual(['/reports', '/api/auth/authorize', '/sign-in'])
  await signInByPassword(page)
  await page.waitForURL(`${dashboard.url}/reports`)
  await expect(claim(page, 'email')).toHaveText(withPassword.email)
})

test('opens a second dashboard without another sign-in, with a separate session', async ({
  page,
}) => {
  await page.goto(other.url)
  await signInByPassword(page)
  await page.waitForURL(`${other.url}/`)
  const opened: string[] = []
  page.on(
    'request',
    (request) =>
      request.isNavigationRequest() && opened.push(new URL(request.url()).pathname),
  )
  const [sid, sub] = [
    await claim(page, 'sid').textContent(),
    await claim(page, 'sub').textContent(),
  ]
  await page.goto(`${dashboard.url}/reports`)
  await expect(claim(page, 'sub')).toHaveText(sub!)
  await expect(claim(page, 'sid')).not.toHaveText(sid!)
  expect(opened).toEqual(['/reports', '/api/auth/authorize', '/callback', '/reports'])
  await page.goto(other.url)
  await expect(claim(page, 'sid')).toHaveText(sid!)
})

const signOuts: Record<string, (page: Page) => Promise<unknown>> = {
  'a dashboard': (page) => page.goto(dashboard.url),
  'the login': (page) => page.goto(login.url),
}
for (const [place, open] of Object.entries(signOuts))
  test(`a sign-out at ${place} ends the sessions at the login and at both dashboards`, async ({
    page,
  }) => {
    for (const { url } of [dashboard, other]) {
      await page.goto(url)
      if (url === dashboard.url) await signInByPassword(page)
      await expect(claim(page, 'email')).toHaveText(withPassword.email)
    }
    await open(page)
    await page.getByRole('button', { name: 'Sign out' }).click()
    await expect(page).toHaveURL(`${login.url}/?signed-out`)
    await expect(heading(page)).toHaveText('You’ve been signed out')
    for (const { url } of [dashboard, other]) {
      await page.goto(url)
      await isAtSignIn(page)
    }
  })

test('a page of another origin of the same site cannot sign a user out', async ({
  page,
}) => {
  await page.goto(dashboard.url)
  await signInByPassword(page)
  await expect(claim(page, 'email')).toHaveText(withPassword.email)
  const form = `<form method="post" action="${dashboard.url}/sign-out"><button>Go</button></form>`
  await page.route('http://127.0.0.1:1/', (route) =>
    route.fulfill({ contentType: 'text/html', body: form }),
  )
  await page.goto('http://127.0.0.1:1/')
  const sent = page.waitForRequest(`${dashboard.url}/sign-out`)
  await page.getByRole('button').click()
  expect((await (await sent).allHeaders()).cookie).toContain('dashboard-')
  await expect(heading(page)).toHaveText('Not from this site')
  await page.goto(dashboard.url)
  await expect(claim(page, 'email')).toHaveText(withPassword.email)
})

test('renews the session before the JWT expires, and only once for concurrent requests', async ({
  page,
  sql,
}) => {
  await page.goto(late.url)
  await signInByPassword(page)
  await page.waitForURL(`${late.url}/`)
  const sid = await claim(page, 'sid').textContent()
  const session = () => sql('SELECT generation FROM sessions WHERE id = $1', [sid])
  const renewals = () => login.output().split('"grant":"refresh_token"').length
  const first = renewals()
  await page.reload()
  await expect(claim(page, 'sid')).toHaveText(sid!)
  expect(renewals()).toBe(first + 1)

  await sql(
    `UPDATE sessions SET rotated_at = now() - interval '1 minute' WHERE id = $1`,
    [sid],
  )
  const [before] = await session()
  const earlier = renewals()
  const lock = await lockRow('sessions', 'id = $1', sid)
  const requests = Array.from({ length: 20 }, () => page.request.get(late.url))
  await lock.waiting(1)
  await page.request.get(`${late.url}/nothing`) // arrives after the others
  await lock.release()
  const texts = await Promise.all(requests.map(async (request) => (await request).text()))
  expect(new Set(texts.map((text) => /id="iat">([^<]*)/.exec(text)?.[1])).size).toBe(1)
  await expect.poll(renewals).toBe(earlier + 1)
  expect(await session()).toEqual([{ generation: before!.generation + 1 }])
})

test('does not end the session while the login does not respond', async ({ page }) => {
  for (const { url } of [dashboard, late]) {
    await page.goto(url)
    if (url === dashboard.url) await signInByPassword(page)
    await expect(claim(page, 'email')).toHaveText(withPassword.email)
  }
  await login.stop()
  for (const { url } of [dashboard, late])
    expect((await page.goto(url))!.status()).toBe(503)
  await page.goto(dashboard.url)
  login = await startServer(settings)
  for (const { url } of [dashboard, late]) {
    await page.goto(url)
    await expect(claim(page, 'email')).toHaveText(withPassword.email)
  }
})

test.describe('the callback', () => {
  type Attempt = { cookie: string; callback: URL; code: string }
  type Change = (attempt: Attempt, user: User) => Promise<unknown> | unknown

  const get = (url: string | URL, cookie: string) =>
    fetch(url, { redirect: 'manual', headers: { cookie } })
  const cookieOf = (response: Response) =>
    response.headers.getSetCookie()[0]!.split(';')[0]!
  const locationOf = (response: Response) => new URL(response.headers.get('location')!)

  /** Begins a sign-in at the dashboard, in a browser that has a session at the login. */
  async function begin(user: User): Promise<Attempt> {
    const headers = { 'X-Forwarded-For': newAddress() }
    const { body } = await postTo(
      login.url + exchangePath,
      { code: await newCode(user) },
      headers,
    )
    const started = await get(`${dashboard.url}/reports`, '')
    const callback = locationOf(
      await get(locationOf(started), `refresh=${body.refreshToken}`),
    )
    for (const name of ['code', 'state']) keepSecret(callback.searchParams.get(name)!)
    return {
      cookie: keepSecret(cookieOf(started)),
      callback,
      code: callback.searchParams.get('code')!,
    }
  }

  const repeated: Record<string, Change> = {
    'the cookie of another browser': async (attempt, user) => {
      attempt.cookie = (await begin(user)).cookie
    },
    'no cookie': (attempt) => {
      attempt.cookie = ''
    },
    'no state': ({ callback }) => callback.searchParams.delete('state'),
    'a used state': async ({ cookie, callback }) => {
      const failed = new URL(callback)
      failed.searchParams.delete('code')
      expect((await get(failed, cookie)).status).toBe(400)
    },
  }
  const rejected: Record<string, Change> = {
    'no issuer': ({ callback }) => callback.searchParams.delete('iss'),
    'another issuer': ({ callback }) => callback.searchParams.set('iss', `${login.url}/`),
  }
  for (const [title, change] of Object.entries(rejected))
    test(`does not exchange a code with ${title}`, async ({ user, sql }) => {
      const attempt = await begin(user)
      await change(attempt, user)
      expect((await get(attempt.callback, attempt.cookie)).status).toBe(400)
      await expectUnused(sql, attempt.code)
    })

  for (const [title, change] of Object.entries(repeated))
    test(`begins the sign-in again once instead of exchanging a code with ${title}`, async ({
      user,
      sql,
    }) => {
      const attempt = await begin(user)
      await change(attempt, user)
      const response = await get(attempt.callback, attempt.cookie)
      const location = locationOf(response)
      expect(response.status).toBe(303)
      expect(location.origin + location.pathname).toBe(login.url + routes.authorize.path)
      await expectUnused(sql, attempt.code)

      const { searchParams } = attempt.callback
      searchParams.set('state', keepSecret(location.searchParams.get('state')!))
      expect((await get(attempt.callback, '')).status, 'a browser without cookies').toBe(
        400,
      )
      await expectUnused(sql, attempt.code)
    })

  async function expectUnused(sql: Sql, code: string): Promise<void> {
    const hash = createHash('sha256').update(code).digest()
    expect(
      await sql('SELECT used_at FROM authorization_codes WHERE code_hash = $1', [hash]),
    ).toEqual([{ used_at: null }])
  }

  test('starts a session with a new cookie', async ({ user }) => {
    const { cookie, callback } = await begin(user)
    const response = await get(callback, cookie)
    expect([response.status, response.headers.get('location')]).toEqual([303, '/reports'])
    expect(response.headers.getSetCookie()[0]).toMatch(/; HttpOnly; SameSite=Lax$/)
    const signedIn = keepSecret(cookieOf(response))
    expect(signedIn).not.toBe(cookie)
    expect((await get(dashboard.url, signedIn)).status).toBe(200)
    const earlier = await get(dashboard.url, cookie)
    expect(
      [earlier.status, earlier.headers.getSetCookie().length],
      'an unknown cookie',
    ).toEqual([303, 1])
  })
})
