import { createHash } from 'node:crypto'
import bcrypt from 'bcrypt'
import type { Page } from 'playwright/test'
import {
  countPosts,
  expect,
  heading,
  holdScripts,
  newPassword,
  newToken,
  resetPath,
  type Sql,
  shortenTimeLimit,
  test,
  type User,
} from '../support/fixtures'
import { holders } from '../support/page-checks'
import { respondWith, retryThrice } from '../support/page-states'
import { startServer } from '../support/server'

const field = (page: Page) => page.getByLabel('New password')
const banner = (page: Page) => page.locator('.banner h2')
const save = (page: Page) => page.getByRole('button', { name: 'Save password' })

async function passwordIs(sql: Sql, user: User, password: string): Promise<boolean> {
  const [row] = await sql('SELECT password_hash FROM users WHERE id = $1', [user.id])
  return row!.password_hash !== null && bcrypt.compare(password, row!.password_hash)
}

test('a link sets a new password and ends every session', async ({ page, user, sql }) => {
  await sql(`INSERT INTO sessions (user_id, expires_at) VALUES ($1, now() + interval '1 hour')`, [user.id])
  const password = newPassword()
  const posts = countPosts(page)
  await page.goto(`/reset-password?token=${await newToken(user)}`)
  await field(page).fill(password)
  await save(page).click()
  await expect(heading(page)).toHaveText('Your password has been changed')
  await expect(heading(page)).toBeFocused()
  await expect(page.getByRole('link', { name: 'Sign in' })).toBeVisible()
  expect(posts).toHaveLength(1)
  expect(await passwordIs(sql, user, password)).toBe(true)
  expect(await sql('SELECT revoked_at FROM sessions WHERE user_id = $1', [user.id])).toEqual([
    { revoked_at: expect.any(Date) },
  ])

  // an address of its own: nothing is left to send
  await expect(page).toHaveURL('/reset-password/done')
  await page.reload()
  await expect(heading(page)).toHaveText('Your password has been changed')
  await page.goto('about:blank')
  await page.goBack()
  await expect(heading(page)).toHaveText('Your password has been changed')
  expect(posts).toHaveLength(1)
})

test('the link is looked up before the form is shown: used, expired, invalid, replaced', async ({
  page,
  user,
  sql,
}) => {
  const posts = countPosts(page)
  const cases: [title: string, spoil: (token: string) => Promise<unknown>][] = [
    [
      'This link has already been used',
      () => sql('UPDATE reset_tokens SET used_at = now() WHERE user_id = $1', [user.id]),
    ],
    ['This link has expired', () => sql('UPDATE reset_tokens SET expires_at = now() WHERE user_id = $1', [user.id])],
    ['This link isn’t valid', () => newToken(user)], // only the newest works
    ['This link isn’t valid', () => sql('UPDATE reset_tokens SET attempts = 30 WHERE user_id = $1', [user.id])],
    ['This link isn’t valid', () => sql('UPDATE users SET disabled_at = now() WHERE id = $1', [user.id])],
  ]
  for (const [title, spoil] of cases) {
    const token = await newToken(user)
    await spoil(token)
    await page.goto(`/reset-password?token=${token}`)
    await expect(heading(page)).toHaveText(title)
    await expect(field(page)).toHaveCount(0)
    await expect(page.getByText(user.email)).toHaveCount(0)
  }
  await page.goto('/reset-password?token=x')
  await expect(heading(page)).toHaveText('This link isn’t valid')
  expect(posts).toEqual([])
  expect(await sql('SELECT used_at FROM reset_tokens WHERE user_id = $1', [user.id])).toEqual([{ used_at: null }])
})

test('opening a link shows its account, also to password managers, and changes nothing', async ({
  page,
  user,
  sql,
  url,
}) => {
  const token = await newToken(user)
  const row = () => sql('SELECT * FROM reset_tokens WHERE user_id = $1', [user.id])
  const before = await row()
  await page.goto(`/reset-password?token=${token}`)
  await expect(page.getByText(user.email)).toBeVisible()
  await expect(page.locator('input[name=username]')).toHaveValue(user.email)
  await expect(page.locator('input[name=username]')).toHaveAttribute('autocomplete', 'username')
  expect(await row()).toEqual(before)
  const html = await (await fetch(`${url}/reset-password?token=${token}`)).text()
  expect(html).toContain(user.email)
  expect(html).not.toContain(token)
  const hash = createHash('sha256').update(token).digest('hex')
  expect(html).not.toContain(hash)
  // not by a header of the client
  const forged = await fetch(`${url}/reset-password?token=`, { headers: { 'X-Token-Hash': hash } })
  expect(await forged.text()).not.toContain(user.email)
})

test('a reload, Back, and a second tab keep the link; after success nothing holds it', async ({ page, user, sql }) => {
  const token = await newToken(user)
  const state = () => page.evaluate(() => JSON.stringify([history.state, location.href]))
  await page.goto(`/reset-password?token=${token}`)
  await expect(page.getByText(user.email)).toBeVisible()
  await page.reload()
  await expect(page.getByText(user.email)).toBeVisible()
  await page.goto('/nothing')
  await page.goBack()
  await expect(page.getByText(user.email)).toBeVisible()
  expect(page.url()).not.toContain(token)
  expect(await state()).toContain(token)
  const password = newPassword()
  await field(page).fill(password)
  await save(page).click()
  await expect(heading(page)).toHaveText('Your password has been changed')
  expect(await state()).not.toContain(token)
  expect(await passwordIs(sql, user, password)).toBe(true)
})

test('a reload of a link that has expired meanwhile says so', async ({ page, user, sql }) => {
  await page.goto(`/reset-password?token=${await newToken(user)}`)
  await expect(field(page)).toBeVisible()
  await sql('UPDATE reset_tokens SET expires_at = now() WHERE user_id = $1', [user.id])
  await page.reload()
  await expect(heading(page)).toHaveText('This link has expired')
})

test('an empty or a short password costs no request', async ({ page, user }) => {
  const posts = countPosts(page)
  await page.goto(`/reset-password?token=${await newToken(user)}`)
  for (const [typed, message] of [
    ['', 'Enter a new password.'],
    ['short', 'Password must be at least 8 characters.'],
    ['lantern otter meadow '.repeat(4), /^Password must be 72 characters or fewer\./],
  ] as const) {
    await field(page).fill(typed)
    await save(page).click()
    await expect(page.getByRole('alert').getByRole('link')).toHaveText(message)
  }
  expect(posts).toEqual([])
})

test('the strength meter and the server agree on lengths', async ({ page, user, post }) => {
  const token = await newToken(user)
  await page.goto(`/reset-password?token=${token}`)
  for (const [typed, reading] of [
    ['lantern otter meadow '.repeat(4), 'Too long: 72 characters or fewer'],
    ['👨‍👩‍👧‍👦'.repeat(3), 'Too long: 72 characters or fewer'],
    ['short', 'Too short so far'],
    [`${user.email}`, 'Easy to guess so far'],
    ['password1', 'Easy to guess so far'],
  ] as const) {
    await field(page).fill('')
    await field(page).pressSequentially(typed)
    await expect(page.locator('.strength')).toHaveText(reading)
    expect((await post(resetPath, { token, password: typed })).status).toBe(400)
  }
})

test('Caps Lock is pointed out while the field has the focus', async ({ page, user }) => {
  await page.goto(`/reset-password?token=${await newToken(user)}`)
  await field(page).focus()
  await field(page).evaluate((input) =>
    input.dispatchEvent(new KeyboardEvent('keyup', { key: 'A', modifierCapsLock: true, bubbles: true })),
  )
  await expect(page.getByText('Caps Lock is on.')).toBeVisible()
  await field(page).blur()
  await expect(page.getByText('Caps Lock is on.')).toBeHidden()
})

test('a weak password is explained, and the same link then accepts a strong one', async ({ page, user, sql }) => {
  await page.goto(`/reset-password?token=${await newToken(user)}`)
  for (const [weak, words] of Object.entries({
    '': /^Enter a new password\.$/,
    password1: /^Choose a password that’s harder to guess\.$/,
    welcome1: /^Choose a password that’s harder to guess\.$/, // includes `com`, by chance
    [`${user.email.toUpperCase()}1`]: /doesn’t include the name .+ or any part of your email address/,
    ['ä'.repeat(40)]: /72 characters or fewer/,
  })) {
    await field(page).fill(weak)
    await save(page).click()
    const summary = page.getByRole('alert').filter({ hasText: 'There is a problem' })
    await expect(summary.getByRole('link')).toHaveText(words)
    await expect(summary).toBeFocused()
    await expect(page).toHaveTitle(/^Error: Choose a new password – /)
    await expect(field(page)).toHaveAccessibleDescription(new RegExp(words.source.replace(/[$^]/g, '')))
    await expect(field(page)).toHaveAttribute('aria-invalid', 'true')
    await expect(field(page)).toHaveValue(weak) // the input is kept
    await summary.getByRole('link').click()
    await expect(field(page)).toBeFocused()
  }
  const strong = newPassword()
  await field(page).fill(strong)
  await save(page).click()
  await expect(heading(page)).toHaveText('Your password has been changed')
  expect(await passwordIs(sql, user, strong)).toBe(true)
})

test('a link that was used meanwhile is rejected, with a reference', async ({ page, user, sql }) => {
  await page.goto(`/reset-password?token=${await newToken(user)}`)
  await field(page).fill(newPassword())
  await sql('UPDATE reset_tokens SET used_at = now() WHERE user_id = $1', [user.id])
  await save(page).click()
  await expect(heading(page)).toHaveText('This link no longer works')
  await expect(page.locator('.reference code')).toHaveText(/^[\w-]{36}$/)
  expect(await sql('SELECT password_hash FROM users WHERE id = $1', [user.id])).toEqual([{ password_hash: null }])
})

test('the token is removed from the URL and the referrer; the fragment works too', async ({ page, user, url }) => {
  for (const separator of ['?', '#']) {
    const token = await newToken(user)
    const addresses: string[] = []
    page.on('request', (request) => addresses.push(`${request.url()} ${request.headers().referer ?? ''}`))
    await page.goto(`/reset-password${separator}token=${token}`)
    await field(page).fill('x')
    await page.waitForTimeout(500)
    expect(page.url()).toBe(`${url}/reset-password`)
    expect(
      await page.evaluate(() => JSON.stringify([location.href, document.referrer, window.urlSecrets])),
    ).not.toContain(token)
    expect(addresses.filter((address) => address.includes(token)).length).toBeLessThanOrEqual(1) // the page itself
    await page.goto('about:blank')
  }
})

test('by keyboard alone', async ({ page, user, sql }) => {
  const password = newPassword()
  await page.goto(`/reset-password?token=${await newToken(user)}`)
  await page.keyboard.press('Tab')
  await expect(field(page)).toBeFocused()
  await page.keyboard.type('password1')
  await page.keyboard.press('Enter')
  await expect(page.getByRole('alert').filter({ hasText: 'There is a problem' })).toBeFocused()
  await page.keyboard.press('Tab')
  await page.keyboard.press('Enter')
  await expect(field(page)).toBeFocused()
  await page.keyboard.press('ControlOrMeta+A')
  await page.keyboard.type(password)
  await page.keyboard.press('Tab')
  await page.keyboard.press('Enter')
  await expect(page.getByRole('status').filter({ hasText: 'Your password is visible.' })).toBeAttached()
  await expect(field(page)).toHaveAttribute('type', 'text')
  await page.keyboard.press('Tab')
  await page.keyboard.press('Space')
  await expect(heading(page)).toHaveText('Your password has been changed')
  expect(await passwordIs(sql, user, password)).toBe(true)
  await page.keyboard.press('Tab')
  await expect(page.getByRole('link', { name: 'Sign in' })).toBeFocused()
})

test('a second click while it is sent does nothing; the button keeps the focus', async ({ page, user }) => {
  const posts = countPosts(page)
  await page.route(resetPath, () => {})
  await page.goto(`/reset-password?token=${await newToken(user)}`)
  await page.getByRole('button', { name: 'Show password' }).click()
  await field(page).fill('lantern otter meadow')
  await save(page).click()
  const button = page.locator('[type=submit]')
  await expect(button).toHaveAttribute('aria-disabled', 'true')
  await expect(button).toBeFocused()
  await button.click({ force: true }) // Playwright takes aria-disabled for disabled
  await field(page).press('Enter')
  await expect(page.getByText('Still saving. Keep this page open.')).toBeVisible({ timeout: 6_000 })
  await expect(field(page)).toHaveAttribute('type', 'password') // hidden again
  expect(posts).toHaveLength(1)
})

test('JavaScript loads late: an early submit is kept, and nothing is added to the URL', async ({ page, user, sql }) => {
  const release = await holdScripts(page)
  const requests: string[] = []
  page.on('request', (request) => requests.push(`${request.method()} ${new URL(request.url()).pathname}`))
  const password = newPassword()
  await page.goto(`/reset-password?token=${await newToken(user)}`, { waitUntil: 'commit' })
  await field(page).pressSequentially(password)
  await field(page).press('Enter')
  await save(page).click()
  await expect(page.getByText('Loading… Your password will be saved as soon as this page is ready.')).toBeVisible()
  await page.waitForTimeout(500)
  expect(requests.filter((request) => !request.includes('/_next/') && !request.includes('icon'))).toEqual([
    'GET /reset-password',
  ])
  expect(page.url()).not.toContain('lantern')
  release()
  await expect(heading(page)).toHaveText('Your password has been changed')
  await expect(page.getByText('Loading…')).toBeHidden()
  expect(requests.filter((request) => request.startsWith('POST'))).toEqual([`POST ${resetPath}`])
  expect(await passwordIs(sql, user, password)).toBe(true)
})

test('JavaScript fails to load: an error is shown, the input is kept, and the page works once it loads', async ({
  page,
  user,
}) => {
  const requests: string[] = []
  page.on('request', (request) => requests.push(`${request.method()} ${new URL(request.url()).pathname}`))
  await page.route('**/_next/static/**', (route) => route.abort())
  await page.goto(`/reset-password?token=${await newToken(user)}`)
  await field(page).fill('lantern otter meadow')
  await save(page).click()
  const notice = page.getByRole('alert').filter({ hasText: 'This page didn’t load completely' })
  await expect(notice).toContainText('open the link from your email again')
  await expect(page.getByText('Loading…')).toBeHidden()
  await expect(field(page)).toHaveValue('lantern otter meadow')
  expect(requests.filter((request) => !request.includes('/_next/') && !request.includes('icon'))).toEqual([
    'GET /reset-password',
  ])

  await page.unroute('**/_next/static/**')
  await page.clock.install()
  const release = await holdScripts(page)
  await page.goto(`/reset-password?token=${await newToken(user)}`, { waitUntil: 'commit' })
  await expect(heading(page)).toHaveText('Choose a new password')
  await expect(notice).toBeHidden()
  await page.clock.fastForward(10_000)
  await expect(notice).toBeVisible()
  release()
  await expect(notice).toBeHidden()
})

test('with a token in the fragment, the page for a missing token is never visible', async ({ page }) => {
  const release = await holdScripts(page)
  await page.goto('/reset-password#token=x', { waitUntil: 'commit' })
  const title = page.locator('h1', { hasText: 'Open the link from your email' })
  await expect(title).toBeAttached()
  await expect(title).toBeHidden()
  release()
  await expect(heading(page)).toHaveText('Choose a new password')
  await expect(field(page)).toBeVisible()
})

test('too many requests: the input is kept for a retry after the wait', async ({ page, user, sql }) => {
  const password = newPassword()
  await page.route(resetPath, respondWith(429, { code: 'RATE_LIMITED' }, 1), { times: 1 })
  await page.goto(`/reset-password?token=${await newToken(user)}`)
  await field(page).fill(password)
  await save(page).click()
  await expect(banner(page)).toHaveText('Your network has made too many requests')
  await expect(page.getByRole('status').filter({ hasText: 'You can try again now.' })).toBeVisible()
  await page.getByRole('button', { name: 'Try again' }).click()
  await expect(heading(page)).toHaveText('Your password has been changed')
  expect(await passwordIs(sql, user, password)).toBe(true)
})

test('offline before the post: nothing is sent', async ({ page, context, user }) => {
  const posts = countPosts(page)
  await page.goto(`/reset-password?token=${await newToken(user)}`)
  await field(page).fill(newPassword())
  await context.setOffline(true)
  await save(page).click()
  await expect(banner(page)).toHaveText('You’re offline')
  await expect(page.getByText('You can try again once you’re online.')).toBeVisible()
  await page.getByRole('button', { name: 'Try again' }).click({ force: true })
  expect(posts).toEqual([])
  await context.setOffline(false)
  await expect(page.getByRole('status').filter({ hasText: 'You can try again now.' })).toBeVisible()
  await page.getByRole('button', { name: 'Try again' }).click()
  await expect(heading(page)).toHaveText('Your password has been changed')
})

test('after three failed retries, the input is kept, and a later retry can succeed', async ({ page, user, sql }) => {
  const password = newPassword()
  await page.clock.install()
  await page.route(resetPath, respondWith(503, { code: 'SERVICE_UNAVAILABLE' }, 1), { times: 4 })
  await page.goto(`/reset-password?token=${await newToken(user)}`)
  await field(page).fill(password)
  await save(page).click()
  await expect(banner(page)).toHaveText('We can’t save your password right now')
  await retryThrice(page)
  await expect(banner(page)).toHaveText('We still can’t save your password')
  await expect(page.getByText(/You can try again in \d\d seconds/)).toBeVisible()
  await expect(page.getByRole('link', { name: 'Get a new link' })).toHaveCount(0) // it would make this one useless
  await page.clock.fastForward(60_000)
  await page.getByText('You can try again now').waitFor()
  await page.getByRole('button', { name: 'Try again' }).click()
  await expect(heading(page)).toHaveText('Your password has been changed')
  expect(await passwordIs(sql, user, password)).toBe(true)
})

test('retries while offline do not count, and a new password resets the count', async ({ page, user }) => {
  const rejected = { code: 'VALIDATION_ERROR', issues: [{ path: ['password'], code: 'too_guessable', message: '' }] }
  const unavailable = respondWith(503, { code: 'SERVICE_UNAVAILABLE' }, 1)
  const responses = [unavailable, unavailable, unavailable, respondWith(400, rejected), unavailable, unavailable]
  await page.route(resetPath, (route) => responses.shift()!(route))
  await page.addInitScript(() => {
    Object.assign(window, { online: false })
    Object.defineProperty(navigator, 'onLine', { get: () => (window as unknown as { online: boolean }).online })
  })
  const setOnline = (online: boolean) =>
    page.evaluate(
      (value) => void dispatchEvent(new Event(Object.assign(window, { online: value }).online ? 'online' : 'offline')),
      online,
    )
  const retry = async () => {
    await page.getByText('You can try again now').waitFor()
    await page.getByRole('button', { name: 'Try again' }).click()
  }
  await page.goto(`/reset-password?token=${await newToken(user)}`)
  await field(page).fill('lantern otter meadow')
  await save(page).click()
  await expect(banner(page)).toHaveText('You’re offline')
  await setOnline(true)
  await retry() // from offline: not counted
  for (let counted = 1; counted <= 3; counted++) {
    await expect(banner(page)).toHaveText('We can’t save your password right now')
    await retry()
  }
  await expect(page.getByRole('alert').filter({ hasText: 'There is a problem' })).toBeVisible()
  await save(page).click()
  await expect(banner(page)).toHaveText('We can’t save your password right now')
  await retry()
  await expect(banner(page)).toHaveText('We can’t save your password right now')
  await expect(page.getByText('You can try again now')).toBeVisible()
})

test('a retry keeps the focus, and is announced in the same status element', async ({ page, user }) => {
  await page.route(resetPath, respondWith(503, { code: 'SERVICE_UNAVAILABLE' }, 1), { times: 1 })
  await page.goto(`/reset-password?token=${await newToken(user)}`)
  await field(page).fill('lantern otter meadow')
  await save(page).click()
  await page.getByText('You can try again now').waitFor()
  const status = await page.locator('.note[role=status]').elementHandle()
  await page.route(resetPath, () => {}, { times: 1 })
  await page.getByRole('button', { name: 'Try again' }).click()
  const button = page.getByRole('button', { name: 'Saving your password…' })
  await expect(button).toBeVisible()
  await expect(button).toBeFocused()
  expect(await status!.evaluate((element) => [element.isConnected, element.textContent])).toEqual([
    true,
    'Saving your password…',
  ])
})

test('no response for thirty seconds: the outcome is unknown', async ({ page, user }) => {
  const limits = await shortenTimeLimit(page)
  await page.route(resetPath, () => {})
  await page.goto(`/reset-password?token=${await newToken(user)}`)
  await field(page).fill('lantern otter meadow')
  await save(page).click()
  await expect(heading(page)).toHaveText('We lost the connection')
  expect(await limits()).toEqual([30_000])
})

test('an interruption after the post: the outcome is unknown, and nothing is sent again', async ({
  page,
  user,
  sql,
}) => {
  const posts = countPosts(page)
  const password = newPassword()
  await page.route(resetPath, async (route) => {
    await route.fetch() // the server resets the password
    await route.abort('connectionreset')
  })
  await page.goto(`/reset-password?token=${await newToken(user)}`)
  await field(page).fill(password)
  await save(page).click()
  await expect(heading(page)).toHaveText('We lost the connection')
  await expect(page.locator('form')).toHaveCount(0)
  await page.waitForTimeout(1_000)
  expect(posts).toHaveLength(1)
  expect(await passwordIs(sql, user, password)).toBe(true)
})

test('a response that is not ours: the outcome is unknown', async ({ page, user }) => {
  for (const fulfilled of [
    { status: 504, contentType: 'text/html', body: '<h1>Gateway timeout</h1>' },
    { status: 200, body: '{"ok":' },
    { status: 200, body: 'null' },
  ]) {
    await page.route(resetPath, (route) => route.fulfill(fulfilled), { times: 1 })
    await page.goto(`/reset-password?token=${await newToken(user)}`)
    await field(page).fill('lantern otter meadow')
    await save(page).click()
    await expect(heading(page)).toHaveText('We lost the connection')
  }
})

test('the field supports password managers, and the strength meter loads on first use', async ({ page, user }) => {
  const scripts: string[] = []
  const complaints: string[] = []
  page.on('request', (request) => request.resourceType() === 'script' && scripts.push(request.url()))
  page.on('console', (message) => complaints.push(message.text()))
  await page.goto(`/reset-password?token=${await newToken(user)}`, { waitUntil: 'networkidle' })
  for (const [name, value] of Object.entries({
    autocomplete: 'new-password',
    spellcheck: 'false',
    autocapitalize: 'none',
    passwordrules: 'minlength: 8; maxlength: 72; allowed: ascii-printable;',
  })) {
    await expect(field(page)).toHaveAttribute(name, value)
  }
  expect(await field(page).getAttribute('maxlength')).toBeNull()
  expect(complaints).toEqual([])
  const before = scripts.length
  await field(page).pressSequentially('sunshine')
  const status = (text: string) => page.getByRole('status').filter({ hasText: text }) // announced
  await expect(status('Easy to guess so far')).toBeVisible()
  expect(scripts.length).toBeGreaterThan(before)
  await field(page).fill('sun')
  await expect(status('Too short so far')).toBeVisible()
  await field(page).fill('lantern otter meadow')
  await expect(status('Very strong')).toBeVisible()
})

test('the strength meter knows the name of the product and the minimum length of the settings', async ({
  page,
  user,
}) => {
  const server = await startServer({ APP_NAME: 'Zorblaxian', PASSWORD_MIN_LENGTH: '15' })
  try {
    await page.goto(`${server.url}/reset-password?token=${await newToken(user)}`)
    await expect(field(page)).toHaveAttribute('passwordrules', /^minlength: 15; /)
    for (const [password, rating] of [
      ['vlantrex otter', 'Too short so far'],
      ['zorblaxianzorbl', 'Easy to guess so far'],
      ['qorblexianqorbl', 'Very strong'],
    ] as const) {
      await field(page).fill('')
      await field(page).pressSequentially(password)
      await expect(page.locator('.strength-words'), password).toHaveText(rating)
    }
  } finally {
    await server.stop()
  }
})

test('a password that is shown is hidden when the page is restored', async ({ page, user }) => {
  await page.goto(`/reset-password?token=${await newToken(user)}`)
  await page.locator('html[data-ready]').waitFor()
  await field(page).fill('lantern otter meadow')
  await page.getByRole('button', { name: 'Show password' }).click()
  await expect(field(page)).toHaveAttribute('type', 'text')
  // as from the back-forward cache, which Playwright disables
  await page.evaluate(() => dispatchEvent(new PageTransitionEvent('pageshow', { persisted: true })))
  await expect(field(page)).toHaveAttribute('type', 'password')
  await expect(field(page)).toHaveValue('lantern otter meadow')
})

test('the strength meter rates during the wait for a retry', async ({ page, user }) => {
  await page.route(resetPath, respondWith(503, { code: 'SERVICE_UNAVAILABLE' }, 60))
  await page.goto(`/reset-password?token=${await newToken(user)}`)
  await field(page).pressSequentially('lantern otter meadow')
  await expect(page.locator('.strength-words')).toHaveText('Very strong')
  await save(page).click()
  await expect(page.getByText(/^You can try again in/)).toBeVisible()
  await field(page).fill('sunshine1')
  await expect(page.locator('.strength-words')).toHaveText('Easy to guess so far')
  await expect(page.getByText(/^You can try again in/)).toBeVisible() // still counting
})

test('a reason that the page does not know still says what to do', async ({ page, user }) => {
  const unknown = { path: ['password'], code: 'a_rule_of_tomorrow', message: 'A message for programmers.' }
  await page.route(resetPath, respondWith(400, { code: 'VALIDATION_ERROR', issues: [unknown] }))
  await page.goto(`/reset-password?token=${await newToken(user)}`)
  await field(page).fill('lantern otter meadow')
  await save(page).click()
  await expect(page.getByRole('alert').getByRole('link')).toHaveText(
    'Choose a different password. This one can’t be used.',
  )
  await expect(page.locator('body')).not.toContainText('A message for programmers.')
})

test('once the password is changed, no object of the page holds the token', async ({ page, user }) => {
  const token = await newToken(user)
  let respond = () => {}
  const responded = new Promise<void>((resolve) => (respond = resolve))
  await page.route(resetPath, async (route) => {
    await responded
    await respondWith(200, { ok: true })(route)
  })
  await page.goto(`/reset-password?token=${token}`)
  await field(page).fill('lantern otter meadow')
  await save(page).click()
  await page.getByRole('button', { name: 'Saving your password' }).waitFor()
  expect(await holders(page, token)).toBeGreaterThan(0)
  respond()
  await expect(heading(page)).toHaveText('Your password has been changed')
  await expect.poll(() => holders(page, token)).toBe(0)
})

test('the strength meter is silent about a rejected password until it changes', async ({ page, user }) => {
  const breached = { code: 'VALIDATION_ERROR', issues: [{ path: ['password'], code: 'breached', message: '' }] }
  await page.route(resetPath, respondWith(400, breached))
  await page.goto(`/reset-password?token=${await newToken(user)}`)
  await field(page).pressSequentially('lantern otter meadow')
  await expect(page.getByText('Very strong')).toBeVisible()
  await save(page).click()
  const error = page.getByRole('alert').getByRole('link')
  await expect(error).toHaveText('Choose a different password. This one has appeared in a data breach.')
  await expect(page.getByText('Very strong')).toBeHidden()
  await error.click()
  await page.waitForTimeout(600) // the meter updates when typing pauses
  await expect(page.locator('.strength')).not.toHaveAttribute('data-strength')
  await field(page).pressSequentially('2')
  await expect(page.getByText('Very strong')).toBeVisible()
  await expect(field(page)).not.toHaveAttribute('aria-invalid', 'true') // the old verdict would contradict it
  await field(page).press('Backspace')
  await expect(page.getByText('Very strong')).toBeHidden()
})

test('a password from a manager or the clipboard loads nothing; the judge of typed ones is small and off the main thread', async ({
  page,
  user,
}) => {
  const bytes: number[] = []
  page.on('response', (response) => {
    if (response.url().includes('/_next/')) bytes.push(Number(response.headers()['content-length']))
  })
  await page.goto(`/reset-password?token=${await newToken(user)}`, { waitUntil: 'networkidle' })
  bytes.length = 0
  await field(page).focus()
  for (const inputType of [undefined, 'insertFromPaste', 'insertReplacementText']) {
    await field(page).evaluate((input: HTMLInputElement, type) => {
      const { set } = Object.getOwnPropertyDescriptor(HTMLInputElement.prototype, 'value')!
      set!.call(input, `lantern otter meadow ${type}`)
      // A manager sends an event without a type.
      const event = type
        ? new InputEvent('input', { inputType: type, bubbles: true })
        : new Event('input', { bubbles: true })
      input.dispatchEvent(event)
    }, inputType)
    await page.waitForTimeout(600) // the meter rates when typing pauses
  }
  expect(bytes).toEqual([])
  expect(page.workers()).toHaveLength(0)

  await field(page).press('End')
  await field(page).pressSequentially('2')
  await expect(page.getByText('Very strong')).toBeVisible()
  expect(page.workers()).toHaveLength(1)
  const judge = bytes.reduce((sum, each) => sum + each, 0)
  expect(judge).toBeGreaterThan(10_000)
  expect(judge).toBeLessThanOrEqual(250 * 1_024)
  const loaded = bytes.length
  await field(page).pressSequentially('3')
  await page.waitForTimeout(600)
  expect(bytes).toHaveLength(loaded) // once
})
