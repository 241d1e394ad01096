import * as routes from '../../lib/contract/routes'
import { holders } from '../support/browsers/page-checks'
import { hold, respondWith, retryThrice } from '../support/browsers/page-states'
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

const rejected = 'This sign-in isn’t valid'
const unavailable = (seconds: number) =>
  respondWith(503, { code: 'SERVICE_UNAVAILABLE' }, seconds)
const sessions = (sql: Sql, user: User) =>
  sql('SELECT * FROM sessions WHERE user_id = $1', [user.id])

test('a code signs in, and redirects to the dashboard', async ({
  page,
  context,
  user,
  sql,
}) => {
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
  expect(
    await sql('SELECT used_at FROM exchange_codes WHERE user_id = $1', [user.id]),
  ).toEqual([{ used_at: expect.any(Date) }])
  const [cookie] = await context.cookies()
  expect(cookie).toMatchObject({ httpOnly: true, sameSite: 'Lax', path: '/' })
  expect(
    await page.evaluate(() => [
      document.cookie,
      localStorage.length,
      sessionStorage.length,
    ]),
  ).toEqual(['', 0, 0])

  await page.getByRole('button', { name: 'Sign out' }).click()
  await expect(heading(page)).toHaveText('You’ve been signed out')
  await page.goto('/')
  await expect(heading(page)).toHaveText('You’re not signed in')
  expect((await sessions(sql, user))[0]).toMatchObject({ revoked_at: expect.any(Date) })
})

test('if scripts fail to load, posts once and signs in or shows an error with a link', async ({
  page,
  user,
  sql,
}) => {
  const posts = countPosts(page)
  await page.route('**/_next/static/**', (route) => route.abort())
  await page.goto('/sso/callback?code=x', { waitUntil: 'commit' })
  await expect(heading(page)).toHaveText('This page didn’t load completely')
  await expect(page.getByText('Signing you in')).toBeHidden()
  expect(posts).toHaveLength(1)
  await page.getByRole('link', { name: 'Sign in again' }).click()
  await expect(page).toHaveURL('/sign-in')

  await page.goto(`/sso/callback?code=${await newCode(user)}`, { waitUntil: 'commit' })
  await page.waitForURL('/')
  await expect(heading(page)).toHaveText('You’re signed in')
  expect(posts).toHaveLength(2)
  expect(await sessions(sql, user)).toHaveLength(1)
})

test('posts the code and looks up the session only once, before the scripts load', async ({
  page,
}) => {
  const requests: string[] = []
  page.on('request', (request) => requests.push(new URL(request.url()).pathname))
  const release = await holdScripts(page)
  const lookedUp = page.waitForResponse(`**${routes.getSession.path}`)
  await page.goto('/sso/callback?code=x', { waitUntil: 'commit' })
  await lookedUp
  release()
  await expect(heading(page)).toHaveText(rejected)
  await page.waitForTimeout(500)
  expect(requests.filter((path) => path.startsWith('/api/'))).toEqual([
    exchangePath,
    routes.getSession.path,
  ])
})

test('after a rejected code, continues with a session that another tab starts later', async ({
  page,
  user,
  url,
}) => {
  let end = () => {}
  const signedIn = new Promise<void>((resolve) => (end = resolve))
  let lookUps = 0
  await page.route(routes.getSession.path, async (route) => {
    lookUps += 1
    if (lookUps === 2) await signedIn
    await route.continue()
  })
  await page.goto('/sso/callback?code=x&next=/reports')
  await expect(heading(page)).toHaveText(rejected)
  await page.context().request.post(exchangePath, {
    data: { code: await newCode(user) },
    headers: { origin: url },
  })
  end()
  await expect(heading(page)).toHaveText('You’re already signed in')
  await expect(page.getByText(user.email)).toBeVisible()
  await page.waitForURL('/reports')
})

test('Back skips the callback page, and reloading it does not sign in again', async ({
  page,
  user,
  url,
  sql,
}) => {
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

test('sends no request if there is neither a code nor a session', async ({ page }) => {
  const asked: string[] = []
  page.on('request', (request) => asked.push(new URL(request.url()).pathname))
  await page.goto('/sso/callback')
  await expect(heading(page)).toHaveText('We couldn’t find your sign-in')
  await page.waitForLoadState('networkidle')
  expect(asked.filter((path) => path.startsWith('/api/'))).toEqual([])
})

test('a used code continues with the session, or leads to an error without one', async ({
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
  expect(await sessions(sql, user)).toEqual([
    expect.objectContaining({ revoked_at: null }),
  ])

  await page.context().clearCookies()
  const response = page.waitForResponse(`**${exchangePath}`)
  await page.goto(`/sso/callback?code=${code}`)
  await expect(heading(page)).toHaveText(rejected)
  await expect(heading(page)).toBeFocused()
  await expect(page).toHaveTitle(/^This sign-in isn’t valid – /)
  await expect(page.getByText((await (await response).json()).requestId)).toBeVisible()
  await page.getByRole('link', { name: 'Sign in again' }).click()
  await expect(page).toHaveURL('/sign-in')
})

test('shows an error of the identity provider without a foreign reference, and sends no POST request', async ({
  page,
  user,
}) => {
  const posts = countPosts(page)
  const query = `error=access_denied&code=${await newCode(user)}`
  await page.goto(`/sso/callback?${query}#call-555-555-555-555-555-555-555`)
  await expect(heading(page)).toHaveText('You weren’t signed in')
  await expect(page.locator('.reference')).toHaveCount(0)
  await expect(page.locator('body')).not.toContainText('555')
  expect(posts).toEqual([])
})

test('allows a retry by keyboard only after the wait', async ({ page, user, sql }) => {
  // This route is never removed. Without any route, interception would stop, and could
  // miss a request after its restart.
  await page.route(exchangePath, (route) => route.continue())
  // long enough for the keys below on a busy machine
  await page.route(exchangePath, unavailable(30), { times: 1 })
  await page.clock.install()
  const posts = countPosts(page)
  await page.goto(`/sso/callback?code=${await newCode(user)}`)
  await expect(heading(page)).toHaveText('Sign-in isn’t available right now')
  await page.keyboard.press('Tab')
  const button = page.getByRole('button', { name: 'Try again' })
  await expect(button).toBeFocused()
  await expect(button).toHaveAttribute('aria-disabled', 'true')
  await page.keyboard.press('Enter')
  expect(posts).toHaveLength(1)
  await page.clock.fastForward(30_000)
  await expect(
    page.getByRole('status').filter({ hasText: 'You can try again now.' }),
  ).toBeVisible()
  const release = await hold(page, exchangePath)
  await page.keyboard.press('Enter')
  await expect(heading(page)).toHaveText('Signing you in')
  await expect(heading(page)).toBeFocused()
  release()
  await page.waitForURL('/')
  expect(posts).toHaveLength(2)
  expect(await sessions(sql, user)).toHaveLength(1)
})

test('after three retries, removes the code from the page, and shows the language list again', async ({
  page,
}) => {
  const posts = countPosts(page)
  const languages = page.locator('#language')
  await page.clock.install()
  await page.route(exchangePath, respondWith(429, { code: 'RATE_LIMITED' }, 1))
  const code = 'x'.repeat(43)
  await page.goto(`/sso/callback?code=${code}`)
  await expect(heading(page)).toHaveText('Your network has made too many requests')
  await expect(languages).toBeHidden() // because selecting a language reloads the page
  await retryThrice(page)
  await expect(page.getByRole('link', { name: 'Sign in again' })).toBeVisible()
  expect(posts).toHaveLength(4)
  await expect.poll(() => holders(page, code)).toBe(0)
  await languages.selectOption('Deutsch')
  await expect(page.locator('html')).toHaveAttribute('lang', 'de')
  await page.goto('/?code=x') // other pages ignore this parameter
  await expect(languages).toBeVisible()
})

test('offers a new sign-in if the code would expire before a retry', async ({ page }) => {
  for (const [title, wait, passedMs] of [
    ['Your network has made too many requests', 46, 0],
    ['Sign-in still isn’t working', 10, 40_000],
  ] as const) {
    await page.addInitScript((passed) => {
      const now = performance.now.bind(performance)
      performance.now = () => now() + passed
    }, passedMs)
    await page.route(
      exchangePath,
      passedMs ? unavailable(wait) : respondWith(429, { code: 'RATE_LIMITED' }, wait),
    )
    await page.goto('/sso/callback?code=x')
    await expect(heading(page)).toHaveText(title)
    await expect(page.getByRole('main').getByRole('button')).toHaveText(['Copy'])
    await expect(page.getByRole('main').getByRole('link')).toHaveText(['Sign in again'])
  }
})

test('sends nothing while offline, and signs in after the browser is online again', async ({
  page,
  context,
  user,
}) => {
  const code = await newCode(user)
  const posts = countPosts(page)
  await page.addInitScript(() =>
    Object.defineProperty(navigator, 'onLine', { value: false, configurable: true }),
  )
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

test('offers a link to continue if the response to a sign-in is lost', async ({
  page,
  user,
  sql,
}) => {
  let reference = ''
  await page.route(exchangePath, async (route) => {
    reference = (await route.fetch()).headers()['x-request-id']!
    await route.abort('connectionreset')
  })
  await page.goto(`/sso/callback?code=${await newCode(user)}`)
  await expect(heading(page)).toHaveText('We lost the connection')
  // the reference that the server logged
  await expect(page.getByText(reference)).toBeVisible()
  await expect(page.getByRole('link', { name: 'Continue' })).toBeVisible()
  expect(await sessions(sql, user)).toHaveLength(1)
})
