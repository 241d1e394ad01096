import { createServer, request as httpRequest, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Page } from 'playwright/test'
import * as paths from '../../lib/contract/paths'
import { onlyDevelopmentServer } from '../support/development-server'
import {
  countPosts,
  exchangePath,
  expect,
  heading,
  holdScripts,
  newCode,
  type Sql,
  shortenTimeLimit,
  test,
  type User,
} from '../support/fixtures'
import { holders } from '../support/page-checks'
import { respondWith, retryThrice } from '../support/page-states'
import { startServer } from '../support/server'

const sessions = (sql: Sql, user: User) => sql('SELECT * FROM sessions WHERE user_id = $1', [user.id])

test('a code signs in, and redirects to the dashboard', async ({ page, context, user, sql }) => {
  const posts = countPosts(page)
  const code = await newCode(user)
  await page.goto(`/sso/callback?code=${code}`)
  await page.waitForURL('/')
  await expect(heading(page)).toHaveText('You’re signed in')
  await expect(page.getByText(user.email)).toBeVisible()
  expect(posts).toHaveLength(1)

  const [session, ...others] = await sessions(sql, user)
  expect(others).toEqual([])
  expect(session).toMatchObject({ revoked_at: null })
  expect(await sql('SELECT used_at FROM exchange_codes WHERE user_id = $1', [user.id])).toEqual([
    { used_at: expect.any(Date) },
  ])
  const [cookie] = await context.cookies()
  expect(cookie).toMatchObject({ httpOnly: true, sameSite: 'Lax', path: '/' })
  expect(await page.evaluate(() => [document.cookie, localStorage.length, sessionStorage.length])).toEqual(['', 0, 0])

  await page.getByRole('button', { name: 'Sign out' }).click()
  await expect(heading(page)).toHaveText('You’ve been signed out')
  await page.goto('/')
  await expect(heading(page)).toHaveText('You’re not signed in')
  expect((await sessions(sql, user))[0]).toMatchObject({ revoked_at: expect.any(Date) })
})

test('the code is also accepted in the fragment', async ({ page, user }) => {
  await page.goto(`/sso/callback#code=${await newCode(user)}`)
  await page.waitForURL('/')
  await expect(heading(page)).toHaveText('You’re signed in')
})

test('with a code in the fragment, the page for a missing code is never visible', async ({ page }) => {
  const release = await holdScripts(page)
  await page.route(exchangePath, () => {})
  await page.goto('/sso/callback#code=x', { waitUntil: 'commit' })
  const title = page.locator('h1', { hasText: 'We couldn’t find your sign-in' })
  await expect(title).toBeAttached()
  await expect(title).toBeHidden()
  release()
  await expect(heading(page)).toHaveText('Signing you in')
  await expect(heading(page)).toBeVisible()
})

test('scripts fail to load: still signs in, with one POST', async ({ page, user, sql }) => {
  const posts = countPosts(page)
  await page.route('**/_next/static/**', (route) => route.abort())
  await page.goto(`/sso/callback?code=${await newCode(user)}`, { waitUntil: 'commit' })
  await page.waitForURL('/')
  await expect(heading(page)).toHaveText('You’re signed in')
  expect(posts).toHaveLength(1)
  expect(await sessions(sql, user)).toHaveLength(1)
})

test('scripts fail to load and the code is invalid: shows an error with a link', async ({ page }) => {
  const posts = countPosts(page)
  await page.route('**/_next/static/**', (route) => route.abort())
  await page.goto('/sso/callback?code=x', { waitUntil: 'commit' })
  await expect(heading(page)).toHaveText('This page didn’t load completely')
  await expect(page.getByText('Signing you in')).toBeHidden()
  expect(posts).toHaveLength(1)
  await page.getByRole('link', { name: 'Sign in again' }).click()
  await expect(page).toHaveURL('/sign-in')
})

test('scripts load late: the code is exchanged once, before them, and the right result is shown', async ({ page }) => {
  const posts = countPosts(page)
  const release = await holdScripts(page)
  const exchanged = page.waitForResponse(`**${exchangePath}`)
  await page.goto('/sso/callback?code=x', { waitUntil: 'commit' })
  await exchanged
  release()
  await expect(heading(page)).toHaveText('This sign-in has expired')
  await page.waitForTimeout(500)
  expect(posts).toHaveLength(1)
})

test('a rejected code: who is signed in is looked up once, before the scripts have loaded', async ({ page }) => {
  const lookUps: string[] = []
  page.on('request', (request) => void (request.url().endsWith(paths.getSession) && lookUps.push(request.url())))
  const release = await holdScripts(page)
  const lookedUp = page.waitForResponse(`**${paths.getSession}`)
  await page.goto('/sso/callback?code=x', { waitUntil: 'commit' })
  await lookedUp
  release()
  await expect(heading(page)).toHaveText('This sign-in has expired')
  expect(lookUps).toHaveLength(1)
})

/** Opens the page with a rejected code. Nobody is signed in until `signIn` has ended. */
async function openRejected(page: Page, signIn: Promise<unknown>): Promise<void> {
  let lookUps = 0
  await page.route(paths.getSession, async (route) => {
    lookUps += 1
    if (lookUps === 2) await signIn
    await route.continue()
  })
  await page.goto('/sso/callback?code=x&next=/reports')
  await expect(heading(page)).toHaveText('This sign-in has expired')
}

test('a rejected code: goes on with the session that another tab gets a moment later', async ({ page, user, url }) => {
  let end = () => {}
  await openRejected(page, new Promise<void>((resolve) => (end = resolve)))
  await page.context().request.post(exchangePath, { data: { code: await newCode(user) }, headers: { origin: url } })
  end()
  await expect(heading(page)).toHaveText('You’re already signed in')
  await expect(page.getByText(user.email)).toBeVisible()
  await page.waitForURL('/reports')
})

test('a rejected code: a session of another tab takes nobody away who signs in again', async ({ page, user, url }) => {
  let end = () => {}
  await openRejected(page, new Promise<void>((resolve) => (end = resolve)))
  // A navigation that has not ended: one to a response without content never does.
  await page.route(/\/sign-in/, (route) => route.fulfill({ status: 204 }))
  await page.getByRole('link', { name: 'Sign in again' }).click()
  await page.context().request.post(exchangePath, { data: { code: await newCode(user) }, headers: { origin: url } })
  const lookedUp = page.waitForResponse(`**${paths.getSession}`)
  end()
  await lookedUp
  await page.waitForTimeout(500) // for the page, to show what it found
  await expect(heading(page)).toHaveText('This sign-in has expired')
})

test('scripts that take ten seconds to load: shows an error until they load', async ({ page }) => {
  await page.clock.install()
  const release = await holdScripts(page)
  await page.route(exchangePath, () => {})
  await page.goto('/sso/callback?code=x', { waitUntil: 'commit' })
  await expect(heading(page)).toHaveText('Signing you in')
  await page.clock.fastForward(10_000)
  await expect(heading(page)).toHaveText('This page didn’t load completely')
  release()
  await expect(heading(page)).toHaveText('Signing you in')
})

test('redirects once, even if the response arrives after the scripts', async ({ page, user }) => {
  const gets: string[] = []
  page.on('request', (request) => request.isNavigationRequest() && gets.push(new URL(request.url()).pathname))
  await page.route(exchangePath, async (route) => {
    await page.locator('html[data-ready]').waitFor()
    await route.continue()
  })
  await page.goto(`/sso/callback?code=${await newCode(user)}`)
  await page.waitForURL('/')
  await page.waitForTimeout(500)
  expect(gets).toEqual(['/sso/callback', '/'])
})

test('the code is removed from the URL, history and referrer', async ({ page, user, url }) => {
  const code = await newCode(user)
  const addresses: string[] = []
  page.on('request', (request) => addresses.push(`${request.url()} ${request.headers().referer ?? ''}`))
  await page.route(exchangePath, () => {}) // stays on the page
  await page.goto(`/sso/callback?code=${code}&next=/reports&state=s`)
  await expect(heading(page)).toHaveText('Signing you in')
  await page.waitForTimeout(500) // for the router, which writes its own state into the history
  expect(page.url()).toBe(`${url}/sso/callback?next=%2Freports&state=s`)
  const known = await page.evaluate(() =>
    JSON.stringify([
      location.href,
      history.state,
      document.referrer,
      Object.keys(window).filter((key) => ['urlSecrets', 'earlyExchange'].includes(key)),
    ]),
  )
  expect(known).not.toContain(code)
  expect(known).not.toContain('urlSecrets')
  expect(addresses.filter((address) => address.includes(code))).toHaveLength(1) // the page itself
})

test('Back after signing in does not return to the callback, and reloading it does not sign in', async ({
  page,
  user,
  url,
  sql,
}) => {
  await page.goto('/nothing')
  await page.goto(`/sso/callback?code=${await newCode(user)}`)
  await page.waitForURL('/')
  await page.goBack()
  await expect(page).toHaveURL(`${url}/nothing`)
  await page.goto('/sso/callback?next=/')
  await expect(heading(page)).toHaveText('You’re already signed in')
  await expect(page.getByText(user.email)).toBeVisible()
  await expect(heading(page)).toHaveText('You’re signed in') // redirected automatically
  expect(await sessions(sql, user)).toHaveLength(1)
})

test('without a code and without a session, the page asks the server for neither', async ({ page }) => {
  const asked: string[] = []
  page.on('request', (request) => asked.push(new URL(request.url()).pathname))
  await page.goto('/sso/callback')
  await expect(heading(page)).toHaveText('We couldn’t find your sign-in')
  await page.waitForLoadState('networkidle')
  expect(asked).toContain('/sso/callback')
  expect(asked.filter((path) => path.startsWith('/api/'))).toEqual([])
})

test('the same link twice, as after a double click: the second one also leads to the dashboard', async ({
  page,
  user,
  sql,
}) => {
  const code = await newCode(user)
  await page.goto(`/sso/callback?code=${code}`)
  await page.waitForURL('/')
  await page.goto(`/sso/callback?code=${code}`)
  await expect(heading(page)).toHaveText('You’re already signed in')
  await expect(heading(page)).toHaveText('You’re signed in') // redirected automatically
  expect(await sessions(sql, user)).toEqual([expect.objectContaining({ revoked_at: null })])
})

test('a used code shows an error with a reference and a link', async ({ page, user }) => {
  const code = await newCode(user)
  await page.goto(`/sso/callback?code=${code}`)
  await page.waitForURL('/')
  await page.context().clearCookies()
  const rejected = page.waitForResponse(`**${exchangePath}`)
  await page.goto(`/sso/callback?code=${code}`)
  await expect(heading(page)).toHaveText('This sign-in has expired')
  await expect(heading(page)).toBeFocused()
  await expect(page).toHaveTitle(/^This sign-in has expired – /)
  await expect(page.getByText((await (await rejected).json()).requestId)).toBeVisible()
  await page.getByRole('link', { name: 'Sign in again' }).click()
  await expect(page).toHaveURL('/sign-in')
})

test('?next= only redirects within this site', async ({ page, user }) => {
  await page.goto(`/sso/callback?code=${await newCode(user)}&next=${encodeURIComponent('/nothing?x=1#top')}`)
  await page.waitForURL('/nothing?x=1#top')
  for (const stolen of [
    '//evil.example',
    'https://evil.example/',
    '/\\evil.example',
    '/.//evil.example',
    'javascript:alert(1)',
  ]) {
    await page.goto(`/sso/callback?code=${await newCode(user)}&next=${encodeURIComponent(stolen)}`)
    await page.waitForURL('/')
  }
})

test('an error of the identity provider is shown in our own words, without a POST', async ({ page, user }) => {
  const posts = countPosts(page)
  const titles = {
    access_denied: 'You weren’t signed in',
    login_required: 'Sign in to your organisation again',
    temporarily_unavailable: 'Sign-in at your organisation isn’t available',
    server_error: 'Sign-in at your organisation had a problem',
    constructor: 'Your organisation’s sign-in service didn’t sign you in',
    '': 'Your organisation’s sign-in service didn’t sign you in',
  }
  for (const [error, title] of Object.entries(titles)) {
    await page.goto(`/sso/callback?error=${error}&error_description=Call+555+now&code=${await newCode(user)}`)
    await expect(heading(page)).toHaveText(title)
    await expect(page.locator('body')).not.toContainText('555')
  }
  expect(posts).toEqual([])
})

test('shows progress after four seconds', async ({ page }) => {
  await page.route(exchangePath, () => {})
  await page.goto('/sso/callback?code=x')
  const status = page.getByRole('status')
  await expect(status).toHaveText('This takes a moment.')
  await expect(status).toHaveText('Still signing you in. Keep this page open.', { timeout: 6_000 })
})

test('a manual retry by keyboard works after the wait, and does nothing before', async ({ page, user, sql }) => {
  await page.route(exchangePath, respondWith(503, { code: 'SERVICE_UNAVAILABLE' }, 2), { times: 1 })
  const posts = countPosts(page)
  await page.goto(`/sso/callback?code=${await newCode(user)}`)
  await expect(heading(page)).toHaveText('Sign-in isn’t available right now')
  await page.keyboard.press('Tab')
  const button = page.getByRole('button', { name: 'Try again' })
  await expect(button).toBeFocused()
  await expect(button).toHaveAttribute('aria-disabled', 'true')
  await page.keyboard.press('Enter')
  expect(posts).toHaveLength(1)
  await expect(page.getByRole('status').filter({ hasText: 'You can try again now.' })).toBeVisible()
  await page.keyboard.press('Enter')
  await page.waitForURL('/')
  expect(posts).toHaveLength(2)
  expect(await sessions(sql, user)).toHaveLength(1)
})

test('a retry keeps the focus', async ({ page }) => {
  await page.route(exchangePath, respondWith(503, { code: 'SERVICE_UNAVAILABLE' }, 1), { times: 1 })
  await page.goto('/sso/callback?code=x')
  await expect(page.getByRole('status').filter({ hasText: 'You can try again now.' })).toBeVisible()
  await page.route(exchangePath, () => {}, { times: 1 })
  await page.getByRole('button', { name: 'Try again' }).click()
  await expect(heading(page)).toHaveText('Signing you in')
  await expect(heading(page)).toBeFocused()
})

test('Back after a retry does not return to the callback', async ({ page, user, url }) => {
  await page.route(exchangePath, respondWith(503, { code: 'SERVICE_UNAVAILABLE' }, 1), { times: 1 })
  await page.goto('/nothing')
  await page.goto(`/sso/callback?code=${await newCode(user)}`)
  await expect(page.getByRole('status').filter({ hasText: 'You can try again now.' })).toBeVisible()
  await page.getByRole('button', { name: 'Try again' }).click()
  await page.waitForURL('/')
  await page.goBack()
  await expect(page).toHaveURL(`${url}/nothing`)
})

test('three retries, and no more', async ({ page }) => {
  const posts = countPosts(page)
  await page.route(exchangePath, respondWith(429, { code: 'RATE_LIMITED' }, 1))
  await page.goto('/sso/callback?code=x')
  await retryThrice(page)
  await expect(page.getByRole('link', { name: 'Sign in again' })).toBeVisible()
  expect(posts).toHaveLength(4)
})

test('a wait longer than the lifetime of the code leads to a new sign-in', async ({ page }) => {
  for (const [seconds, words] of [
    [46, 'in 46 seconds'],
    [700, 'in 12 minutes'],
  ] as const) {
    await page.route(exchangePath, respondWith(429, { code: 'RATE_LIMITED' }, seconds))
    await page.goto('/sso/callback?code=x')
    await expect(page.getByText(words)).toBeVisible()
    await expect(page.getByRole('main').getByRole('button')).toHaveText(['Copy'])
    await expect(page.getByRole('main').getByRole('link')).toHaveText(['Sign in again'])
  }
})

test('a retry is only offered while the code of the page can still be valid', async ({ page }) => {
  await page.addInitScript(() => {
    const now = performance.now.bind(performance)
    performance.now = () => now() + 40_000 // the page was opened 40 s ago
  })
  await page.route(exchangePath, respondWith(503, { code: 'SERVICE_UNAVAILABLE' }, 10))
  await page.goto('/sso/callback?code=x')
  await expect(heading(page)).toHaveText('Sign-in still isn’t working')
  await expect(page.getByRole('button', { name: 'Try again' })).toHaveCount(0)
  await expect(page.getByRole('link', { name: 'Sign in again' })).toBeVisible()
})

test('the language switch, which reloads the page, is absent while a code waits for a retry', async ({ page }) => {
  const german = page.getByRole('button', { name: 'Deutsch' })
  await page.route(exchangePath, respondWith(503, { code: 'SERVICE_UNAVAILABLE' }, 1))
  await page.goto('/sso/callback?code=x')
  await expect(heading(page)).toHaveText('Sign-in isn’t available right now')
  await expect(german).toBeHidden()
  await page.unroute(exchangePath)
  await page.getByText('You can try again now').waitFor()
  await page.getByRole('button', { name: 'Try again' }).click()
  await expect(heading(page)).toHaveText('This sign-in has expired')
  await german.click()
  await expect(page.locator('html')).toHaveAttribute('lang', 'de')
})

test('after the last retry, the code is forgotten, and the language can be switched', async ({ page }) => {
  await page.route(exchangePath, respondWith(503, { code: 'SERVICE_UNAVAILABLE' }, 1))
  const code = 'x'.repeat(43)
  await page.goto(`/sso/callback?code=${code}`)
  await retryThrice(page)
  await expect(heading(page)).toHaveText('Sign-in still isn’t working')
  await expect(page.getByRole('button', { name: 'Deutsch' })).toBeVisible()
  await expect.poll(() => holders(page, code)).toBe(0)
})

test('a parameter `code` of another page does not hide its language switch', async ({ page }) => {
  await page.goto('/?code=x')
  await expect(page.getByRole('button', { name: 'Deutsch' })).toBeVisible()
})

test('offline before the post: nothing is sent, and the code is still valid', async ({ page, context, user }) => {
  const code = await newCode(user)
  const posts = countPosts(page)
  await page.addInitScript(() => Object.defineProperty(navigator, 'onLine', { value: false, configurable: true }))
  await page.goto(`/sso/callback?code=${code}`)
  await expect(heading(page)).toHaveText('You’re offline')
  expect(posts).toEqual([])
  const button = page.getByRole('button', { name: 'Try again' })
  await expect(button).toHaveAttribute('aria-disabled', 'true')
  await expect(page.getByText('You can try again once you’re online.')).toBeVisible()
  await context.setOffline(true)
  await page.evaluate(() => Object.defineProperty(navigator, 'onLine', { value: true }))
  await context.setOffline(false)
  await expect(page.getByRole('status')).toHaveText('You can try again now.')
  await button.click()
  await page.waitForURL('/')
  expect(posts).toHaveLength(1)
})

test('offline during the post: the outcome is unknown, and nothing is sent again', async ({ page, context }) => {
  const posts = countPosts(page)
  await page.route(exchangePath, async (route) => {
    await page.locator('html[data-ready]').waitFor() // it needs its scripts
    await context.setOffline(true)
    await route.abort('internetdisconnected')
  })
  await page.goto('/sso/callback?code=x')
  await expect(heading(page)).toHaveText('We lost the connection')
  await context.setOffline(false)
  await page.waitForTimeout(1_000)
  expect(posts).toHaveLength(1)
  await expect(page.getByRole('main').getByRole('button')).toHaveText(['Copy'])
})

test('no response for thirty seconds: the outcome is unknown', async ({ page }) => {
  const limits = await shortenTimeLimit(page)
  await page.route(exchangePath, () => {})
  await page.goto('/sso/callback?code=x')
  await expect(heading(page)).toHaveText('We lost the connection')
  expect(await limits()).toEqual([30_000])
})

test('a connection cut after the request was sent: the outcome is unknown, one POST reached the server', async ({
  page,
  user,
  url,
  sql,
}) => {
  const { front, address, reached } = await startFront(url, (response) => response.destroy())
  await page.goto(`${address}/sso/callback?code=${await newCode(user)}`)
  await expect(heading(page)).toHaveText('We lost the connection')
  await page.waitForTimeout(1_000)
  expect(reached).toHaveLength(1)
  await expect(page.getByText(reached[0]!)).toBeVisible() // the reference that the server logged
  await expect(page.getByRole('link', { name: 'Continue' })).toBeVisible()
  expect(await sessions(sql, user)).toHaveLength(1) // the sign-in succeeded
  front.close()
  front.closeAllConnections()
})

test('a redirect of the post is not followed: the outcome is unknown', async ({ page, url }) => {
  const { front, address, reached } = await startFront(url, (response) =>
    response.writeHead(307, { Location: '/api/auth/sso/elsewhere', Connection: 'close' }).end(),
  )
  await page.goto(`${address}/sso/callback?code=x`)
  await expect(heading(page)).toHaveText('We lost the connection')
  await page.waitForTimeout(500)
  expect(reached).toHaveLength(1) // a browser that follows a 307 would post again
  front.close()
  front.closeAllConnections()
})

test('once the outcome is known, no object of the page holds the code', async ({ page, user }) => {
  const code = await newCode(user)
  let respond = () => {}
  const responded = new Promise<void>((resolve) => (respond = resolve))
  await page.route(exchangePath, async (route) => {
    await responded
    await respondWith(400, { code: 'SSO_EXCHANGE_INVALID' })(route)
  })
  await page.goto(`/sso/callback?code=${code}`)
  await page.locator('html[data-ready]').waitFor()
  await expect.poll(() => holders(page, code)).toBeGreaterThan(0) // until then, it is needed for a retry
  respond()
  await expect(heading(page)).toHaveText('This sign-in has expired')
  await expect.poll(() => holders(page, code)).toBe(0)
})

test('development runs effects twice, but posts once', async ({ page, user, sql }) => {
  test.setTimeout(180_000)
  await onlyDevelopmentServer(async () => {
    const server = await startServer({}, { development: true })
    try {
      const complaints: string[] = []
      page.on('console', (message) => message.type() === 'error' && complaints.push(message.text()))
      const posts = countPosts(page)
      await page.goto(`${server.url}/nothing`) // compiles
      await page.goto(`${server.url}/sso/callback`)
      complaints.length = 0
      await page.goto(`${server.url}/sso/callback?code=${await newCode(user)}`)
      await page.waitForURL(`${server.url}/`, { timeout: 60_000 })
      expect(posts.filter((address) => address.endsWith(exchangePath))).toHaveLength(1)
      expect(complaints).toEqual([])
      expect(await sessions(sql, user)).toHaveLength(1)
    } finally {
      await server.stop()
    }
  })
})

/**
 * A proxy that forwards everything, but responds to a POST as `act` does. Every response closes its
 * connection, because Chromium retries requests on reused ones.
 */
async function startFront(url: string, act: (response: ServerResponse) => unknown) {
  const reached: string[] = []
  const front = createServer((request, response) => {
    const { port } = new URL(url)
    const onward = httpRequest(
      { host: 'localhost', port, path: request.url, method: request.method, headers: request.headers },
      (answered) => {
        if (request.method === 'POST') {
          reached.push(String(answered.headers['x-request-id']))
          answered.resume().on('end', () => act(response))
          return
        }
        response.writeHead(answered.statusCode!, { ...answered.headers, connection: 'close' })
        answered.pipe(response)
      },
    )
    request.pipe(onward)
  })
  await new Promise<void>((resolve) => front.listen(0, resolve))
  return { front, reached, address: `http://localhost:${(front.address() as AddressInfo).port}` }
}
