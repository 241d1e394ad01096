import { createServer, request as httpRequest, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Page } from 'playwright/test'
import * as paths from '../../lib/contract/paths'
import {
  countPosts,
  exchangePath,
  expect,
  heading,
  holdScripts,
  newCode,
  type Sql,
  test,
  type User,
} from '../support/fixtures'
import { holders } from '../support/page-checks'
import { respondWith, retryThrice } from '../support/page-states'

const rejected = 'This sign-in has expired'
const lost = 'We lost the connection'
const unavailable = (seconds: number) => respondWith(503, { code: 'SERVICE_UNAVAILABLE' }, seconds)
const failScripts = (page: Page) => page.route('**/_next/static/**', (route) => route.abort())
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

test('signs in with one POST when scripts fail to load', async ({ page, user, sql }) => {
  const posts = countPosts(page)
  await failScripts(page)
  await page.goto(`/sso/callback?code=${await newCode(user)}`, { waitUntil: 'commit' })
  await page.waitForURL('/')
  await expect(heading(page)).toHaveText('You’re signed in')
  expect(posts).toHaveLength(1)
  expect(await sessions(sql, user)).toHaveLength(1)
})

test('shows an error with a link when scripts fail to load and the code is invalid', async ({ page }) => {
  const posts = countPosts(page)
  await failScripts(page)
  await page.goto('/sso/callback?code=x', { waitUntil: 'commit' })
  await expect(heading(page)).toHaveText('This page didn’t load completely')
  await expect(page.getByText('Signing you in')).toBeHidden()
  expect(posts).toHaveLength(1)
  await page.getByRole('link', { name: 'Sign in again' }).click()
  await expect(page).toHaveURL('/sign-in')
})

test('posts the code, and looks up who is signed in, once and before the scripts load', async ({ page }) => {
  const requests: string[] = []
  page.on('request', (request) => requests.push(new URL(request.url()).pathname))
  const release = await holdScripts(page)
  const lookedUp = page.waitForResponse(`**${paths.getSession}`)
  await page.goto('/sso/callback?code=x', { waitUntil: 'commit' })
  await lookedUp
  release()
  await expect(heading(page)).toHaveText(rejected)
  await page.waitForTimeout(500)
  expect(requests.filter((path) => path.startsWith('/api/'))).toEqual([exchangePath, paths.getSession])
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
  await expect(heading(page)).toHaveText(rejected)
}

test('a rejected code continues with a session that another tab gets later', async ({ page, user, url }) => {
  let end = () => {}
  await openRejected(page, new Promise<void>((resolve) => (end = resolve)))
  await page.context().request.post(exchangePath, { data: { code: await newCode(user) }, headers: { origin: url } })
  end()
  await expect(heading(page)).toHaveText('You’re already signed in')
  await expect(page.getByText(user.email)).toBeVisible()
  await page.waitForURL('/reports')
})

test('a session of another tab does not stop a user who signs in again', async ({ page, user, url }) => {
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
  await expect(heading(page)).toHaveText(rejected)
})

test('redirects once when the response arrives after the scripts', async ({ page, user }) => {
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

test('Back skips the callback, and reloading it does not sign in again', async ({ page, user, url, sql }) => {
  await page.route(exchangePath, unavailable(1), { times: 1 })
  await page.goto('/nothing')
  await page.goto(`/sso/callback?code=${await newCode(user)}`)
  await page.getByText('You can try again now').waitFor()
  await page.getByRole('button', { name: 'Try again' }).click()
  await page.waitForURL('/')
  await page.goBack()
  await expect(page).toHaveURL(`${url}/nothing`)
  await page.goto('/sso/callback?next=/')
  await expect(heading(page)).toHaveText('You’re already signed in')
  await expect(page.getByText(user.email)).toBeVisible()
  await expect(heading(page)).toHaveText('You’re signed in') // redirected automatically
  expect(await sessions(sql, user)).toHaveLength(1)
})

test('sends no request without a code and without a session', async ({ page }) => {
  const asked: string[] = []
  page.on('request', (request) => asked.push(new URL(request.url()).pathname))
  await page.goto('/sso/callback')
  await expect(heading(page)).toHaveText('We couldn’t find your sign-in')
  await page.waitForLoadState('networkidle')
  expect(asked).toContain('/sso/callback')
  expect(asked.filter((path) => path.startsWith('/api/'))).toEqual([])
})

test('a used code continues with the session, or is an error without one', async ({ page, user, sql }) => {
  const code = await newCode(user)
  await page.goto(`/sso/callback?code=${code}`)
  await page.waitForURL('/')
  await page.goto(`/sso/callback?code=${code}`)
  await expect(heading(page)).toHaveText('You’re already signed in')
  await expect(heading(page)).toHaveText('You’re signed in') // redirected automatically
  expect(await sessions(sql, user)).toEqual([expect.objectContaining({ revoked_at: null })])

  await page.context().clearCookies()
  const response = page.waitForResponse(`**${exchangePath}`)
  await page.goto(`/sso/callback?code=${code}`)
  await expect(heading(page)).toHaveText(rejected)
  await expect(heading(page)).toBeFocused()
  await expect(page).toHaveTitle(/^This sign-in has expired – /)
  await expect(page.getByText((await (await response).json()).requestId)).toBeVisible()
  await page.getByRole('link', { name: 'Sign in again' }).click()
  await expect(page).toHaveURL('/sign-in')
})

test('?next= only redirects within this site', async ({ page, user }) => {
  await page.goto(`/sso/callback?code=${await newCode(user)}&next=${encodeURIComponent('/nothing?x=1#top')}`)
  await page.waitForURL('/nothing?x=1#top')
  // More of them: lib/page/next-path.spec.ts
  for (const stolen of ['//evil.example', 'javascript:alert(1)']) {
    await page.goto(`/sso/callback?code=${await newCode(user)}&next=${encodeURIComponent(stolen)}`)
    await page.waitForURL('/')
  }
})

test('shows an error of the identity provider without its text, and without a POST', async ({ page, user }) => {
  const posts = countPosts(page)
  const unknown = 'Your organisation’s sign-in service didn’t sign you in'
  const titles = { access_denied: 'You weren’t signed in', constructor: unknown, '': unknown }
  for (const [error, title] of Object.entries(titles)) {
    await page.goto(`/sso/callback?error=${error}&error_description=Call+555+now&code=${await newCode(user)}`)
    await expect(heading(page)).toHaveText(title)
    await expect(page.locator('body')).not.toContainText('555')
  }
  expect(posts).toEqual([])
})

test('shows progress after four seconds', async ({ page }) => {
  await page.clock.install()
  await page.route(exchangePath, () => {})
  await page.goto('/sso/callback?code=x')
  const status = page.getByRole('status')
  await expect(status).toHaveText('This takes a moment.')
  await page.clock.fastForward(4_000)
  await expect(status).toHaveText('Still signing you in. Keep this page open.')
})

test('retries by keyboard after the wait, and not before', async ({ page, user, sql }) => {
  await page.route(exchangePath, unavailable(2), { times: 1 })
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
  let release = () => {}
  const released = new Promise<void>((resolve) => (release = resolve))
  await page.route(exchangePath, (route) => released.then(() => route.continue()), { times: 1 })
  await page.keyboard.press('Enter')
  await expect(heading(page)).toHaveText('Signing you in')
  await expect(heading(page)).toBeFocused()
  release()
  await page.waitForURL('/')
  expect(posts).toHaveLength(2)
  expect(await sessions(sql, user)).toHaveLength(1)
})

test('after three retries, forgets the code, and offers the languages again', async ({ page }) => {
  const posts = countPosts(page)
  const german = page.getByRole('button', { name: 'Deutsch' })
  await page.route(exchangePath, respondWith(429, { code: 'RATE_LIMITED' }, 1))
  const code = 'x'.repeat(43)
  await page.goto(`/sso/callback?code=${code}`)
  await expect(heading(page)).toHaveText('Your network has made too many requests')
  await expect(german).toBeHidden() // a switch reloads the page
  await retryThrice(page)
  await expect(page.getByRole('link', { name: 'Sign in again' })).toBeVisible()
  expect(posts).toHaveLength(4)
  await expect.poll(() => holders(page, code)).toBe(0)
  await german.click()
  await expect(page.locator('html')).toHaveAttribute('lang', 'de')
})

test('offers a new sign-in when the wait exceeds the lifetime of the code', async ({ page }) => {
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

test('offers no retry when the code has probably expired', async ({ page }) => {
  await page.addInitScript(() => {
    const now = performance.now.bind(performance)
    performance.now = () => now() + 40_000 // the page was opened 40 s ago
  })
  await page.route(exchangePath, unavailable(10))
  await page.goto('/sso/callback?code=x')
  await expect(heading(page)).toHaveText('Sign-in still isn’t working')
  await expect(page.getByRole('button', { name: 'Try again' })).toHaveCount(0)
  await expect(page.getByRole('link', { name: 'Sign in again' })).toBeVisible()
})

test('another page with a parameter `code` offers the languages', async ({ page }) => {
  await page.goto('/?code=x')
  await expect(page.getByRole('button', { name: 'Deutsch' })).toBeVisible()
})

test('sends nothing while offline, and signs in later', async ({ page, context, user }) => {
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

test('a connection lost during the POST: the outcome is unknown, and nothing is sent again', async ({
  page,
  context,
}) => {
  const posts = countPosts(page)
  await page.route(exchangePath, async (route) => {
    await page.locator('html[data-ready]').waitFor() // it needs its scripts
    await context.setOffline(true)
    await route.abort('internetdisconnected')
  })
  await page.goto('/sso/callback?code=x')
  await expect(heading(page)).toHaveText(lost)
  await context.setOffline(false)
  await page.waitForTimeout(1_000)
  expect(posts).toHaveLength(1)
  await expect(page.getByRole('main').getByRole('button')).toHaveText(['Copy'])
})

const interruptions: Record<string, (response: ServerResponse) => unknown> = {
  'a connection that is cut': (response) => response.destroy(),
  // A browser that follows it would post again.
  'a redirect': (response) =>
    response.writeHead(307, { Location: '/api/auth/sso/elsewhere', Connection: 'close' }).end(),
}
for (const [interruption, act] of Object.entries(interruptions)) {
  test(`${interruption}: the outcome is unknown after one POST`, async ({ page, user, url, sql }) => {
    const { front, address, reached } = await startFront(url, act)
    await page.goto(`${address}/sso/callback?code=${await newCode(user)}`)
    await expect(heading(page)).toHaveText(lost)
    await page.waitForTimeout(1_000)
    expect(reached).toHaveLength(1)
    await expect(page.getByRole('link', { name: 'Continue' })).toBeVisible()
    expect(await sessions(sql, user)).toHaveLength(1) // the sign-in succeeded
    // the reference that the server logged, unless a response hides it
    if (interruption !== 'a redirect') await expect(page.getByText(reached[0]!)).toBeVisible()
    front.close()
    front.closeAllConnections()
  })
}

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
