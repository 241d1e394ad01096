import { createServer } from 'node:http'
import type { BrowserContext, BrowserContextOptions, Page, Route } from 'playwright/test'
import { issueSsoCode } from '../../lib/code/issue'
import { lifetimes, refreshGraceSeconds } from '../../lib/contract/lifetimes'
import * as routes from '../../lib/contract/routes'
import { readRefreshToken, signSessionToken } from '../../lib/session/tokens'
import { closeContext } from '../support/browsers/close-context'
import { complaintsOf, problemsOf } from '../support/browsers/page-checks'
import { hold, respondWith } from '../support/browsers/page-states'
import {
  test as base,
  countPosts,
  exchangePath,
  expect,
  heading,
  newCode,
  newUsers,
  postTo,
  type Sql,
  type User,
} from '../support/fixtures'
import { keepSecret, newAddress } from '../support/secrets'
import { listen } from '../support/servers/listen'

const refreshPath = routes.refreshSession.path
const sessionPath = routes.getSession.path
const signOutPath = '/sign-out'
const signedIn = 'You’re signed in'
const signedOut = 'You’re not signed in'
const justSignedOut = 'You’ve been signed out'
const rejected = 'This sign-in isn’t valid'
const newSession = { generation: 0, revoked: false }

type NewBrowser = (options?: BrowserContextOptions) => Promise<BrowserContext>

const test = base.extend<{ newBrowser: NewBrowser }>({
  /**
   * Opens a browser with its own cookies. Fails the test if any of its pages reports an
   * error.
   */
  newBrowser: async ({ browserProcess, url }, use) => {
    const browsers: { context: BrowserContext; complaints: string[] }[] = []
    await use(async (options) => {
      const extraHTTPHeaders = { 'X-Forwarded-For': newAddress() }
      const context = await browserProcess.newContext({
        baseURL: url,
        extraHTTPHeaders,
        ...options,
      })
      browsers.push({ context, complaints: complaintsOf(context) })
      return context
    })
    for (const { context } of browsers) await closeContext(context)
    expect(browsers.flatMap(({ complaints }) => complaints)).toEqual([])
  },
  context: async ({ newBrowser }, use) => use(await newBrowser()),
})

// Stands for an identity provider, an email, or a dashboard. 127.0.0.1 is another site
// than localhost.
const site = createServer((request, response) => {
  const { pathname, searchParams } = new URL(request.url!, 'http://localhost')
  const to = searchParams.get('to') ?? ''
  if (pathname === '/redirect') return response.writeHead(303, { Location: to }).end()
  const link = `<a href="${to.replaceAll('&', '&amp;').replaceAll('"', '&quot;')}">Go on</a>`
  response
    .setHeader('Content-Type', 'text/html')
    .end(`<!doctype html><title>Elsewhere</title><h1>Elsewhere</h1>${link}`)
})
let elsewhere: string
let stopSite: () => Promise<void>
test.beforeAll(async () => {
  ;({ url: elsewhere, stop: stopSite } = await listen(site))
})
test.afterAll(() => stopSite())

/**
 * Follows a link on the other site, which redirects. Unlike page.goto, a click makes that
 * site the initiator.
 */
async function arrive(page: Page, to: string): Promise<void> {
  const redirect = `${elsewhere}/redirect?to=${encodeURIComponent(to)}`
  await page.goto(`${elsewhere}/link?to=${encodeURIComponent(redirect)}`)
  await page.getByRole('link', { name: 'Go on' }).click()
}

test('signs in only the browser to which a code is bound', async ({
  page,
  newBrowser,
  user,
  url,
  sql,
}) => {
  const callback = `${url}/sso/callback?code=${await boundCode(user, await begin(page))}&next=/`
  const [stranger, otherBrowser] = [
    await (await newBrowser()).newPage(),
    await (await newBrowser()).newPage(),
  ]
  await begin(otherBrowser)
  for (const other of [stranger, otherBrowser]) {
    await arrive(other, callback)
    await expect(heading(other)).toHaveText(rejected)
    await other.getByRole('link', { name: 'Continue' }).click()
    await expect(heading(other)).toHaveText(signedOut)
    expect(Object.keys(await cookiesOf(other))).toEqual(['browser'])
  }
  expect(await sessionsOf(sql, user)).toEqual([])

  await arrive(page, callback)
  await page.waitForURL(`${url}/`)
  await expect(heading(page)).toHaveText(signedIn)
  expect(await sessionsOf(sql, user)).toEqual([newSession])
})

test('a code of another browser does not end the session', async ({
  page,
  newBrowser,
  user,
  url,
  sql,
}) => {
  await signIn(page, user)
  const before = await cookiesOf(page)
  const [attacker] = (await newUsers(sql, 1)) as [User]
  const attackersBrowser = await begin(await (await newBrowser()).newPage())
  await arrive(
    page,
    `${url}/sso/callback?code=${await boundCode(attacker, attackersBrowser)}`,
  )
  // continues with the user's own session
  await expect(heading(page)).toHaveText(signedIn)
  await expect(page.getByText(user.email, { exact: true })).toBeVisible()
  expect(await cookiesOf(page)).toMatchObject(before)
  expect(await sessionsOf(sql, attacker)).toEqual([])
  expect(await sessionsOf(sql, user)).toEqual([newSession])
})

test.describe('a code that one browser opens twice', () => {
  test('in two tabs at the same time signs both in with one session', async ({
    page,
    context,
    user,
    url,
    sql,
  }) => {
    await begin(page)
    const callback = `${url}/sso/callback?code=${await newCode(user)}`
    const tabs = [page, await context.newPage()]
    // Both posts are sent before the first response sets a session cookie.
    let send = () => {}
    const bothSent = new Promise<void>((resolve) => (send = resolve))
    let posts = 0
    await context.route(exchangePath, async (route) => {
      if (++posts === 2) send()
      await bothSent
      await route.continue()
    })
    await Promise.all(tabs.map((tab) => tab.goto(callback)))
    for (const tab of tabs) await expect(heading(tab)).toHaveText(signedIn)
    expect(await sessionsOf(sql, user)).toEqual([newSession])
    expect(posts).toBe(2)
  })

  test('by a reload before the response arrives is posted once, and signs in', async ({
    page,
    user,
    url,
    sql,
  }) => {
    const posts = countPosts(page)
    await page.route(exchangePath, async (route) => {
      await route.fetch() // the browser never receives the response
    })
    await page.goto(`${url}/sso/callback?code=${await newCode(user)}`)
    await expect.poll(() => sessionsOf(sql, user)).toHaveLength(1)
    await page.reload()
    await expect(heading(page)).toHaveText(signedIn) // continues with the session
    expect(posts).toHaveLength(1)
    expect(await sessionsOf(sql, user)).toEqual([newSession])
  })
})

test.describe('renewal on the home page', () => {
  for (const jwt of ['missing', 'expired'] as const) {
    test(`shows the user in the HTML when the JWT is ${jwt}, and gets a new one`, async ({
      page,
      user,
      url,
      sql,
    }) => {
      const { refreshToken } = await signIn(page, user, { jwt })
      const seen = await headingsOf(page)
      const { response, html } = await openHome(page)
      expect([response.status(), titlesIn(html)]).toEqual([200, [signedIn]])
      expect(html).toContain(user.email.split('@')[0])
      await expectRenewed(page, sql, user, refreshToken)
      expect([...seen]).toEqual([signedIn])
      expect(await sessionStatus(page)).toBe(200)

      const posts = countPosts(page) // the next page uses the new JWT
      await page.goto(url, { waitUntil: 'networkidle' })
      await expect(heading(page)).toHaveText(signedIn)
      expect(posts).toEqual([])
    })
  }

  test('works when a link on another site opens the page', async ({
    page,
    user,
    url,
    sql,
  }) => {
    const { refreshToken } = await signIn(page, user, { jwt: 'expired' })
    const seen = await headingsOf(page)
    const renewed = page.waitForResponse(`**${refreshPath}`)
    await arrive(page, `${url}/`)
    expect((await renewed).status()).toBe(200)
    await expectRenewed(page, sql, user, refreshToken)
    expect([...seen]).toEqual(['Elsewhere', signedIn])
  })

  test('does not happen without a valid refresh cookie', async ({
    page,
    context,
    user,
    sql,
  }) => {
    const posts = countPosts(page)
    const expectSignedOut = async () => {
      const { html } = await openHome(page)
      expect(titlesIn(html)).toEqual([signedOut])
      expect(html).not.toContain(user.email.split('@')[0])
      await page.waitForLoadState('networkidle')
      await expect(heading(page)).toHaveText(signedOut)
    }
    const rotated = `generation = 1, rotated_at = now() - interval '${refreshGraceSeconds} seconds'`
    for (const change of ['revoked_at = now()', 'expires_at = now()', rotated]) {
      await signIn(page, user, { jwt: 'expired' })
      await sql(`UPDATE sessions SET ${change} WHERE user_id = $1`, [user.id])
      await expectSignedOut()
    }
    await signIn(page, user, { jwt: 'expired' })
    await context.clearCookies({ name: 'refresh' })
    await expectSignedOut()
    expect(posts).toEqual([])
  })

  test('is not needed without JavaScript', async ({ newBrowser, user, sql }) => {
    const page = await (await newBrowser({ javaScriptEnabled: false })).newPage()
    await signIn(page, user, { jwt: 'expired' })
    const { html } = await openHome(page)
    expect(titlesIn(html)).toEqual([signedIn])
    await expect(page.getByText(user.email, { exact: true })).toBeVisible()
    await page.getByRole('button', { name: 'Sign out' }).click()
    await expectSignedOut(page, sql, user)
  })

  test('reloads once when the session is revoked before the script runs', async ({
    page,
    user,
    sql,
  }) => {
    await signIn(page, user, { jwt: 'expired' })
    const [posts, loads] = [countPosts(page), countLoads(page)]
    await page.route(refreshPath, async (route) => {
      await sql('UPDATE sessions SET revoked_at = now() WHERE user_id = $1', [user.id])
      await route.continue()
    })
    const seen = await headingsOf(page)
    await page.goto('/')
    await expect(heading(page)).toHaveText(signedOut)
    await page.waitForTimeout(500) // time in which another reload would happen
    expect([...seen]).toEqual([signedIn, signedOut])
    expect([posts.length, loads]).toEqual([1, ['/', '/']])
  })

  test('that fails leaves the page and the cookies unchanged', async ({
    page,
    user,
    sql,
  }) => {
    await signIn(page, user, { jwt: 'missing' })
    const before = await cookiesOf(page)
    const [posts, loads] = [countPosts(page), countLoads(page)]
    const failures = {
      'a 503': respondWith(503, { code: 'SERVICE_UNAVAILABLE' }, 1),
      'no response': (route: Route) => route.abort(),
    }
    for (const [failure, fail] of Object.entries(failures)) {
      posts.length = loads.length = 0
      await page.route(refreshPath, fail, { times: 1 })
      await page.goto('/?next=/reports')
      await expect.poll(() => posts, failure).toHaveLength(1)
      await page.waitForTimeout(500)
      await expect(heading(page), failure).toHaveText(signedIn)
      await expect(page.getByRole('link', { name: 'Continue' })).toHaveAttribute(
        'href',
        '/reports',
      )
      expect([posts.length, loads], failure).toEqual([1, ['/?next=/reports']])
      expect(await cookiesOf(page), failure).toEqual(before)
    }
    expect(await sessionsOf(sql, user)).toEqual([newSession])
  })
})

test.describe('?next= on the home page', () => {
  for (const jwt of ['valid', 'expired'] as const) {
    test(`opens its page after a renewal when the JWT is ${jwt}`, async ({
      page,
      user,
      url,
      sql,
    }) => {
      const { refreshToken } = await signIn(page, user, { jwt })
      await routeReports(page)
      const sent: string[] = []
      page.on('request', (request) => {
        if (!request.url().includes('/_next/'))
          sent.push(`${request.method()} ${request.url().slice(url.length)}`)
      })
      await page.goto('/nothing')
      sent.length = 0
      await page.goto(`/?next=${encodeURIComponent('/reports?year=2026#top')}`)
      await page.waitForURL('/reports?year=2026#top')
      expect(sent.filter((each) => !each.endsWith('/icon.svg'))).toEqual([
        'GET /?next=%2Freports%3Fyear%3D2026%23top',
        `POST ${refreshPath}`,
        'GET /reports?year=2026',
      ])
      await expectRenewed(page, sql, user, refreshToken)
      await page.goBack()
      await expect(page).toHaveURL('/nothing') // Back skips the home page, which continued immediately
    })
  }

  test('keeps the fragment of the page that redirected here, signed in or not', async ({
    page,
    user,
  }) => {
    await routeReports(page)
    await page.route('/app', (route) =>
      route.fulfill({ status: 302, headers: { Location: '/?next=/reports?year=2026' } }),
    )
    const target = '/reports?year=2026#/7/a?b=%26'
    await page.goto('/app#/7/a?b=%26')
    await expect(heading(page)).toHaveText(signedOut)
    await expect(page.getByRole('link', { name: 'Sign in' })).toHaveAttribute(
      'href',
      `/sign-in?next=${encodeURIComponent(target)}`,
    )

    await signIn(page, user)
    await page.clock.setFixedTime(Date.now()) // less than 10 seconds pass
    await page.goto('/app#/7/a?b=%26')
    await page.waitForURL(target)
    await page.goto('/nothing')
    await page.goto('/?next=/reports%23old#new') // the newest fragment
    await expect(page.getByRole('link', { name: 'Continue' })).toHaveAttribute(
      'href',
      '/reports#new',
    )
  })

  test('is only a link if it was followed automatically less than 10 seconds ago', async ({
    page,
    user,
  }) => {
    await signIn(page, user)
    await routeReports(page)
    const loads = countLoads(page)
    const start = Date.now()
    const goOn = page.getByRole('link', { name: 'Continue' })
    await page.clock.setFixedTime(start)
    await page.goto('/?next=/reports')
    await page.waitForURL('/reports')
    await page.clock.setFixedTime(start + 9_999)
    const renewed = page.waitForResponse(`**${refreshPath}`)
    await page.goto('/?next=/reports')
    expect((await renewed).status()).toBe(200)
    await page.waitForTimeout(500) // time in which a navigation would happen
    await expect(heading(page)).toHaveText(signedIn)
    await goOn.click()
    await page.waitForURL('/reports')
    await page.clock.setFixedTime(start + 10_000)
    await page.goto('/?next=/reports')
    await page.waitForURL('/reports')
    const reports = ['/?next=/reports', '/reports']
    expect(loads).toEqual([...reports, ...reports, ...reports])
  })

  test('is only a link without a refresh cookie, after the page has reloaded once', async ({
    page,
    context,
    user,
  }) => {
    await signIn(page, user)
    await context.clearCookies({ name: 'refresh' })
    const [posts, loads] = [countPosts(page), countLoads(page)]
    await page.goto('/?next=/reports')
    await expect.poll(() => posts).toHaveLength(2)
    await page.waitForTimeout(500) // time in which another reload would happen
    await expect(heading(page)).toHaveText(signedIn)
    await expect(page.getByRole('link', { name: 'Continue' })).toHaveAttribute(
      'href',
      '/reports',
    )
    expect([posts.length, loads]).toEqual([2, ['/?next=/reports', '/?next=/reports']])
  })

  test('opens pages of a dashboard on another site, and ignores other destinations', async ({
    serverWith,
    page,
    user,
    sql,
  }) => {
    const dashboard = `${elsewhere}/`
    const server = await serverWith({ DASHBOARD_URL: dashboard })
    const { refreshToken } = await signIn(page, user, {
      jwt: 'missing',
      url: server.url,
    })
    const next = `${dashboard}reports?year=2026#top`
    await page.goto(`${server.url}/?next=${encodeURIComponent(next)}`)
    await page.waitForURL(next)
    await expect(heading(page)).toHaveText('Elsewhere')
    await expectRenewed(page, sql, user, refreshToken)
    expect(await page.evaluate(() => document.referrer)).toBe('')

    const [posts, loads] = [countPosts(page), countLoads(page)]
    // lib/http/next-path.spec.ts tests more destinations.
    const ignored = [
      'https://evil.example',
      '//evil.example',
      'javascript:alert(1)',
      '/sign-out',
      sessionPath,
    ]
    for (const query of [
      ...ignored.map((each) => encodeURIComponent(each)),
      '/a&next=/b',
    ]) {
      await page.goto(`${server.url}/?next=${query}`, { waitUntil: 'networkidle' })
      await expect(heading(page)).toHaveText(signedIn)
      await expect(page.getByRole('link')).toHaveText(['Open Dashboard', 'Your account'])
      await expect(page.getByRole('link').first()).toHaveAttribute('href', dashboard)
    }
    expect([posts, loads.length]).toEqual([[], ignored.length + 1])
  })
})

test.describe('two tabs', () => {
  for (const locks of [true, false]) {
    test(`rotate the token once ${locks ? 'with' : 'without'} Web Locks`, async ({
      page,
      context,
      user,
      sql,
    }) => {
      if (!locks)
        await context.addInitScript(() =>
          Object.defineProperty(navigator, 'locks', { value: undefined }),
        )
      const { refreshToken } = await signIn(page, user, { jwt: 'expired' })
      const tabs = [page, await context.newPage()]
      const statuses = await Promise.all(
        tabs.map(async (tab) => (await openHome(tab)).renewed.then((r) => r?.status())),
      )
      expect(statuses).toEqual([200, 200])
      for (const tab of tabs) {
        await expect(heading(tab)).toHaveText(signedIn)
        expect(await sessionStatus(tab)).toBe(200)
      }
      await expectRenewed(page, sql, user, refreshToken)
    })
  }

  test('are both signed out when one of them signs out by keyboard', async ({
    page,
    context,
    user,
    sql,
  }) => {
    await signIn(page, user)
    const other = await context.newPage()
    for (const tab of [page, other]) await tab.goto('/')
    expect(await sessionStatus(other)).toBe(200)
    await page.bringToFront()
    await page.keyboard.press('Tab') // the focus is on the link to the account
    await page.keyboard.press('Tab')
    await expect(page.getByRole('button', { name: 'Sign out' })).toBeFocused()
    await page.keyboard.press('Enter')
    await expectSignedOut(page, sql, user)
    expect(await sessionStatus(other)).toBe(401)
    await other.goto('/')
    await expect(heading(other)).toHaveText(signedOut)
    await page.goBack()
    await expect(heading(page)).not.toHaveText(signedIn)
  })
})

test.describe('sign-out', () => {
  for (const [what, path, isRenewalFirst] of [
    ['waits until a renewal in another tab is finished', refreshPath, true],
    ['makes a renewal in another tab wait and fail', signOutPath, false],
  ] as const) {
    test(what, async ({ page, context, user, sql }) => {
      await signIn(page, user)
      await page.goto('/')
      await context.clearCookies({ name: 'session' })
      const renewing = await context.newPage()
      const [first, second] = isRenewalFirst ? [renewing, page] : [page, renewing]
      const act = (tab: Page) => (tab === page ? signOut(tab) : tab.goto('/'))
      const release = await hold(first, path)
      const sent = first.waitForRequest(`**${path}`)
      await act(first)
      await sent
      const posts = countPosts(second)
      await act(second)
      await second.waitForTimeout(500)
      expect(posts).toEqual([])
      release()
      await expectSignedOut(page, sql, user, isRenewalFirst ? 1 : 0)
      await expect.poll(() => posts).toHaveLength(1)
      // A rejected renewal reloads its page.
      await expect(heading(renewing)).toHaveText(isRenewalFirst ? signedIn : signedOut)
      expect(await sessionStatus(renewing)).toBe(401)
    })
  }

  test('during a renewal with ?next= does not open that page', async ({
    page,
    context,
    user,
    sql,
  }) => {
    await signIn(page, user, { jwt: 'expired' })
    await routeReports(page)
    const loads = countLoads(page)
    const release = await hold(page, refreshPath)
    await page.goto('/?next=/reports')
    const other = await context.newPage()
    const releaseOther = await hold(other, refreshPath)
    await other.goto('/')
    // until this tab waits for the lock, which only one tab can hold
    await other.waitForTimeout(500)
    await signOut(page)
    const renewal = other.waitForRequest(`**${refreshPath}`)
    release()
    await renewal
    await page.waitForTimeout(500) // time in which a navigation would happen
    expect(loads).toEqual(['/?next=/reports'])
    releaseOther()
    await expectSignedOut(page, sql, user, 1)
    expect(loads).toEqual(['/?next=/reports', signOutPath, '/?signed-out'])
  })

  test('deletes the cookies when the renewal is rejected', async ({
    page,
    user,
    sql,
  }) => {
    await signIn(page, user, { jwt: 'expired' })
    await page.route(refreshPath, async (route) => {
      await signOut(page)
      await sql('UPDATE sessions SET revoked_at = now() WHERE user_id = $1', [user.id])
      await route.continue()
    })
    await page.goto('/')
    await expectSignedOut(page, sql, user)
  })

  test('works after a renewal if the scripts of the page fail to load', async ({
    page,
    user,
    sql,
  }) => {
    const { refreshToken } = await signIn(page, user, { jwt: 'expired' })
    await page.route('**/_next/static/**', (route) => route.abort())
    await page.goto('/')
    await expectRenewed(page, sql, user, refreshToken)
    await page.getByRole('button', { name: 'Sign out' }).click()
    await expectSignedOut(page, sql, user, 1)
  })

  test('sends only one request when clicked twice, and is accessible with ?next=', async ({
    page,
    user,
    sql,
  }) => {
    await signIn(page, user, { jwt: 'expired' })
    await page.setViewportSize({ width: 320, height: 640 })
    await page.route(refreshPath, respondWith(503, { code: 'SERVICE_UNAVAILABLE' }, 1))
    await page.goto('/?next=/reports')
    await expect(page.getByRole('link', { name: 'Continue' })).toBeVisible()
    expect(await problemsOf(page)).toEqual([])
    await page.getByRole('button', { name: 'Sign out' }).dblclick()
    await expectSignedOut(page, sql, user)
  })
})

async function expectSignedOut(
  page: Page,
  sql: Sql,
  user: User,
  generation = 0,
): Promise<void> {
  await expect(heading(page)).toHaveText(justSignedOut)
  await expect.poll(() => cookiesOf(page)).toEqual({})
  expect(await sessionsOf(sql, user)).toEqual([{ generation, revoked: true }])
}

/** Sets the browser cookie, as the start of a sign-in does, and returns its value. */
async function begin(page: Page): Promise<string> {
  await page.goto('/sso/callback')
  return (await cookiesOf(page)).browser!
}

async function boundCode(user: User, browser: string): Promise<string> {
  return keepSecret((await issueSsoCode(user.id, { browser })).secret)
}

type SignIn = { jwt?: 'valid' | 'expired' | 'missing'; url?: string }

/** Sets the cookies of a new session with a session JWT in this state. */
async function signIn(
  page: Page,
  user: User,
  { jwt = 'valid', url = process.env.PUBLIC_URL! }: SignIn = {},
) {
  const code = await newCode(user)
  const { body, headers } = await postTo(
    url + exchangePath,
    { code },
    { 'X-Forwarded-For': newAddress() },
  )
  const refreshToken = body.refreshToken!
  const now = Math.floor(Date.now() / 1000)
  const { sessionId } = readRefreshToken(refreshToken)!
  const times = {
    authenticatedAt: now,
    issuedAt: now - lifetimes.sessionToken - 60,
    expiresAt: now - 60,
  }
  const claims = {
    userId: user.id,
    email: user.email,
    sessionId,
    connection: null,
    amr: null,
    ...times,
  }
  const expired = keepSecret(signSessionToken(claims))
  const session = { valid: body.token!, expired, missing: '' }[jwt]
  const cookies = headers.getSetCookie().map((line) => {
    const [, name, value] = /^(\w+)=([^;]*)/.exec(line)!
    const sameSite = /SameSite=(\w+)/.exec(line)![1] as 'Lax'
    return {
      name: name!,
      value: name === 'session' ? session : value!,
      sameSite,
      httpOnly: true,
      url,
    }
  })
  await page.context().addCookies(cookies.filter(({ value }) => value))
  return { refreshToken }
}

/** Clicks without waiting for the navigation. */
async function signOut(page: Page): Promise<void> {
  await page.getByRole('button', { name: 'Sign out' }).click({ noWaitAfter: true })
}

/**
 * Opens the home page. Returns the HTML that the server sent and the response to the
 * renewal.
 */
async function openHome(page: Page) {
  const renewed = page
    .waitForResponse(`**${refreshPath}`, { timeout: 15_000 })
    .catch(() => null)
  const response = (await page.goto('/'))!
  return { response, html: await response.text(), renewed }
}

/** Returns the visible titles in the HTML, without those in scripts. */
function titlesIn(html: string): string[] {
  const titles = html
    .replace(/<script\b.*?<\/script>/gs, '')
    .matchAll(/<h1[^>]*>(.*?)<\/h1>/gs)
  return [...titles].map(([, title]) => title!)
}

/** Expects that a session was renewed and that the browser has the new cookies. */
async function expectRenewed(
  page: Page,
  sql: Sql,
  user: User,
  refreshToken: string,
): Promise<void> {
  await expect.poll(async () => (await cookiesOf(page)).refresh).not.toBe(refreshToken)
  const { session, refresh } = await cookiesOf(page)
  const { sessionId } = readRefreshToken(refreshToken)!
  expect(readRefreshToken(refresh!)).toEqual({ sessionId, generation: 1 })
  const { sid, sub, exp } = JSON.parse(
    Buffer.from(session!.split('.')[1]!, 'base64url').toString(),
  )
  expect([sid, sub]).toEqual([sessionId, user.id])
  expect(exp).toBeGreaterThan(Date.now() / 1000)
  expect(await sessionsOf(sql, user)).toEqual([{ generation: 1, revoked: false }])
}

/** Collects every title that a page shows, across navigations. */
async function headingsOf(page: Page): Promise<Set<string>> {
  const seen = new Set<string>()
  await page.exposeFunction('see', (title: string) => seen.add(title))
  await page.addInitScript(() => {
    const { see } = window as unknown as { see: (title: string) => void }
    const look = () => {
      // If a title has no text, the parser has not read its text yet.
      for (const { textContent } of document.querySelectorAll('h1'))
        if (textContent) see(textContent)
    }
    new MutationObserver(look).observe(document, {
      childList: true,
      subtree: true,
      characterData: true,
    })
  })
  return seen
}

/** Collects the paths to which a page navigates from now on, on any site. */
function countLoads(page: Page): string[] {
  const loads: string[] = []
  page.on('request', (request) => {
    const { pathname, search } = new URL(request.url())
    if (request.isNavigationRequest() && request.frame() === page.mainFrame())
      loads.push(pathname + search)
  })
  return loads
}

async function routeReports(page: Page): Promise<void> {
  const body = '<!doctype html><title>Reports</title><h1>Reports</h1>'
  const isReports = ({ pathname }: URL) => pathname === '/reports'
  await page.route(isReports, (route) =>
    route.fulfill({ contentType: 'text/html', body }),
  )
}

/** Returns the cookies of localhost, without the cookie that a sign-out leaves. */
async function cookiesOf(page: Page): Promise<Record<string, string>> {
  const cookies = await page.context().cookies(process.env.PUBLIC_URL!)
  const others = cookies.filter(({ name }) => name !== 'ask')
  return Object.fromEntries(others.map(({ name, value }) => [name, keepSecret(value)]))
}

async function sessionStatus(page: Page): Promise<number> {
  return (await page.request.get(new URL(sessionPath, page.url()).href)).status()
}

function sessionsOf(sql: Sql, user: User) {
  return sql(
    'SELECT generation, revoked_at IS NOT NULL AS revoked FROM sessions WHERE user_id = $1',
    [user.id],
  )
}
