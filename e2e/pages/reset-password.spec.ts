import { createHash } from 'node:crypto'
import bcrypt from 'bcrypt'
import type { Page, Request } from 'playwright/test'
import { complaintsOf } from '../support/browsers/page-checks'
import { hold, respondWith, retryThrice } from '../support/browsers/page-states'
import {
  countPosts,
  expect,
  heading,
  holdScripts,
  newPassword,
  newToken,
  resetPath,
  type Sql,
  test,
  type User,
} from '../support/fixtures'

const changed = 'Your password has been changed'
const strong = 'lantern otter meadow'
const unavailable = (seconds: number) =>
  respondWith(503, { code: 'SERVICE_UNAVAILABLE' }, seconds)
const invalidPassword = (code: string) =>
  respondWith(400, {
    code: 'VALIDATION_ERROR',
    issues: [{ path: ['password'], code, message: 'For programmers.' }],
  })
const field = (page: Page) => page.getByLabel('New password')
const fieldError = (page: Page) => page.locator('#password-error > span:last-child')
const banner = (page: Page) => page.locator('.banner h2')
const save = (page: Page) => page.getByRole('button', { name: 'Save password' })
const retryButton = (page: Page) => page.getByRole('button', { name: 'Try again' })
const canRetry = (page: Page) =>
  page.getByRole('status').filter({ hasText: 'You can try again now.' })

/** Opens a new reset link for a user, and returns its token. */
async function open(
  page: Page,
  user: User,
  options?: Parameters<Page['goto']>[1],
): Promise<string> {
  const token = await newToken(user)
  await page.goto(`/reset-password?token=${token}`, options)
  return token
}

async function submit(page: Page, password: string): Promise<void> {
  await field(page).fill(password)
  await save(page).click()
}

async function passwordIs(sql: Sql, user: User, password: string): Promise<boolean> {
  const [row] = await sql('SELECT password_hash FROM users WHERE id = $1', [user.id])
  return row!.password_hash !== null && bcrypt.compare(password, row!.password_hash)
}

test('a reset link sets a new password and ends all sessions of the user', async ({
  page,
  user,
  sql,
}) => {
  await sql(
    `INSERT INTO sessions (user_id, expires_at) VALUES ($1, now() + interval '1 hour')`,
    [user.id],
  )
  const password = newPassword()
  const posts = countPosts(page)
  await open(page, user)
  await submit(page, password)
  await expect(heading(page)).toHaveText(changed)
  await expect(heading(page)).toBeFocused()
  await expect(page.getByRole('link', { name: 'Sign in' })).toBeVisible()
  expect(posts).toHaveLength(1)
  expect(await passwordIs(sql, user, password)).toBe(true)
  expect(
    await sql('SELECT revoked_at FROM sessions WHERE user_id = $1', [user.id]),
  ).toEqual([{ revoked_at: expect.any(Date) }])

  // This page has its own URL and sends nothing.
  await expect(page).toHaveURL('/reset-password/done')
  await expect(
    page.getByText('If you use an authenticator app, you’ll still need it.'),
  ).toBeVisible()
  await page.reload()
  await expect(heading(page)).toHaveText(changed)
  await page.goto('about:blank')
  await page.goBack()
  await expect(heading(page)).toHaveText(changed)
  expect(posts).toHaveLength(1)
})

// Links to which an email app or a user has added or removed characters.
const links = {
  'a full stop': (token: string) => `?token=${token}.`,
  'angle brackets': (token: string) => `?token=%3C${token}%3E`,
  'a quotation mark and the next word': (token: string) => `?token=${token}%22%20Choose`,
  'a line break inside': (token: string) =>
    `?token=${token.slice(0, 20)}%0D%0A%20${token.slice(20)}`,
  'another letter': (token: string) => `?token=${token}x`,
  'a bracket in the fragment': (token: string) => `#token=${token})`,
}
test('accepts a link with additional characters around or in the token', async ({
  page,
  user,
}) => {
  const posted: unknown[] = []
  await page.route(resetPath, async (route) => {
    posted.push(route.request().postDataJSON())
    await respondWith(200, { ok: true })(route)
  })
  const token = await newToken(user)
  for (const [what, around] of Object.entries(links)) {
    const link = around(token)
    await page.goto(`/reset-password${link}`)
    if (link.startsWith('?')) await expect(page.getByText(user.email), what).toBeVisible() // the server found the link
    // what is stored for a reload does not depend on the characters
    if (what === 'a full stop' || link.startsWith('#')) await page.reload()
    await submit(page, strong)
    await expect(heading(page), what).toHaveText(changed)
    expect(posted.splice(0), what).toEqual([{ token, password: strong }])
  }
})

test('an incomplete link shows what to do', async ({ page, user }) => {
  await page.goto(`/reset-password?token=${(await newToken(user)).slice(0, 30)}`)
  await expect(heading(page)).toHaveText('This link isn’t valid')
  await expect(page.getByText('copy the whole link into your browser')).toBeVisible()
  // If an email app passes the address of an open page to a browser, the page has already
  // removed the token.
  await open(page, user)
  const { pathname, search, hash } = new URL(page.url())
  await page.goto('about:blank')
  await page.goto(pathname + search + hash)
  await expect(heading(page)).toHaveText('Open the link from your email')
  await expect(page.getByText('go back to the email, copy the link')).toBeVisible()
})

test('opening a link shows its user, and changes nothing', async ({
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
  const username = page.locator('input[name=username]') // for password managers
  await expect(username).toHaveValue(user.email)
  await expect(username).toHaveAttribute('autocomplete', 'username')
  expect(await row()).toEqual(before)
  const html = await (await fetch(`${url}/reset-password?token=${token}`)).text()
  expect(html).toContain(user.email)
  expect(html).toContain('@<wbr/>example.<wbr/>com<wbr/></bdi>') // a long address can wrap at these places
  const hash = createHash('sha256').update(token).digest('hex')
  expect(html).not.toContain(hash)
  // A client can't open a link by sending the internal header.
  const forged = await fetch(`${url}/reset-password?token=`, {
    headers: { 'X-Token-Hash': hash },
  })
  expect(await forged.text()).not.toContain(user.email)
})

test('a link still works after a reload and Back, until it is used or expires', async ({
  page,
  user,
  sql,
}) => {
  const state = () => page.evaluate(() => JSON.stringify([history.state, location.href]))
  const token = await open(page, user)
  await expect(page.getByText(user.email)).toBeVisible()
  await page.reload()
  await expect(page.getByText(user.email)).toBeVisible()
  await page.goto('/nothing')
  await page.goBack()
  await expect(page.getByText(user.email)).toBeVisible()
  expect(page.url()).not.toContain(token)
  expect(await state()).toContain(token)
  const password = newPassword()
  await submit(page, password)
  await expect(heading(page)).toHaveText(changed)
  expect(await state()).not.toContain(token)
  expect(await passwordIs(sql, user, password)).toBe(true)

  await open(page, user)
  await expect(field(page)).toBeVisible()
  await sql('UPDATE reset_tokens SET expires_at = now() WHERE user_id = $1', [user.id])
  await page.reload()
  await expect(heading(page)).toHaveText('This link has expired')
})

test('checks lengths without a request, and the strength meter agrees with the API', async ({
  page,
  user,
  post,
}) => {
  const posts = countPosts(page)
  const token = await open(page, user)
  const tooLong = /^Password must be 72 characters or fewer\./
  const tooShort = 'Password must be at least 8 characters.'
  for (const [typed, message, reading] of [
    ['', 'Enter a new password.', null],
    ['short', tooShort, 'Too short so far'],
    ['👨‍👩‍👧‍👦'.repeat(3), tooLong, 'Too long: 72 characters or fewer'],
    [user.email, null, 'Easy to guess so far: your address or our name'],
    ['password1', null, 'Easy to guess so far: a common password'],
  ] as const) {
    await field(page).fill('')
    await field(page).pressSequentially(typed)
    if (reading) await expect(page.locator('.strength')).toHaveText(reading)
    expect((await post(resetPath, { token, password: typed })).status).toBe(400)
    if (!message) continue
    await save(page).click()
    await expect(fieldError(page)).toHaveText(message)
  }
  expect(posts).toEqual([])
})

test('warns of Caps Lock while the field has the focus', async ({ page, user }) => {
  await open(page, user)
  await field(page).focus()
  await field(page).evaluate((input) =>
    input.dispatchEvent(
      new KeyboardEvent('keyup', { key: 'A', modifierCapsLock: true, bubbles: true }),
    ),
  )
  await expect(page.getByText('Caps Lock is on.')).toBeVisible()
  await field(page).blur()
  await expect(page.getByText('Caps Lock is on.')).toBeHidden()
})

test('explains why a password is rejected, and accepts another with the same link', async ({
  page,
  user,
  sql,
}) => {
  await open(page, user)
  for (const [weak, words] of Object.entries({
    welcome1: 'Choose a password that’s harder to guess.', // this password happens to contain `com`
    [`${user.email.toUpperCase()}1`]:
      /doesn’t include the name .+ or any part of your email address/,
    ['ä'.repeat(40)]: /72 characters or fewer/,
  })) {
    await submit(page, weak)
    await expect(fieldError(page)).toHaveText(words)
    await expect(field(page)).toBeFocused()
    await expect(page).toHaveTitle(/^Error: Choose a new password – /)
    await expect(field(page)).toHaveAccessibleDescription(
      new RegExp(await fieldError(page).innerText()),
    )
    await expect(field(page)).toHaveAttribute('aria-invalid', 'true')
    await expect(field(page)).toHaveValue(weak) // the input is not cleared
  }
  const password = newPassword()
  await submit(page, password)
  await expect(heading(page)).toHaveText(changed)
  expect(await passwordIs(sql, user, password)).toBe(true)
})

test('works with only the keyboard', async ({ page, user, sql }) => {
  const password = newPassword()
  await open(page, user)
  await expect(field(page)).toBeFocused()
  await page.keyboard.type('password1')
  await page.keyboard.press('Enter')
  await expect(fieldError(page)).toBeVisible()
  await expect(field(page)).toBeFocused()
  await page.keyboard.press('ControlOrMeta+A')
  await page.keyboard.type(password)
  for (const key of ['Tab', 'Enter']) await page.keyboard.press(key)
  await expect(
    page.getByRole('status').filter({ hasText: 'Your password is visible.' }),
  ).toBeAttached()
  await expect(field(page)).toHaveAttribute('type', 'text')
  for (const key of ['Tab', 'Space']) await page.keyboard.press(key)
  await expect(heading(page)).toHaveText(changed)
  expect(await passwordIs(sql, user, password)).toBe(true)
  await page.keyboard.press('Tab')
  await expect(page.getByRole('link', { name: 'Sign in' })).toBeFocused()
})

test('submitting the form again does nothing while a request is in progress', async ({
  page,
  user,
}) => {
  const posts = countPosts(page)
  await page.clock.install()
  await page.route(resetPath, () => {})
  await open(page, user)
  await page.getByRole('button', { name: 'Show password' }).click()
  await submit(page, strong)
  const button = page.locator('[type=submit]')
  await expect(button).toHaveAttribute('aria-disabled', 'true')
  await expect(button).toBeFocused()
  await button.click({ force: true }) // Playwright treats aria-disabled as disabled
  await field(page).press('Enter')
  await page.clock.fastForward(4_000)
  await expect(page.getByText('Still saving. Keep this page open.')).toBeVisible()
  await expect(field(page)).toHaveAttribute('type', 'password') // the password is hidden again
  expect(posts).toHaveLength(1)
})

test('a form submitted before the scripts load is sent later, without fields in the URL', async ({
  page,
  user,
  sql,
}) => {
  const release = await holdScripts(page)
  const requests: string[] = []
  page.on('request', (request) =>
    requests.push(`${request.method()} ${new URL(request.url()).pathname}`),
  )
  const password = newPassword()
  await open(page, user, { waitUntil: 'commit' })
  await field(page).pressSequentially(password)
  await field(page).press('Enter')
  await save(page).click()
  await expect(
    page.getByText('Loading… Your password will be saved as soon as this page is ready.'),
  ).toBeVisible()
  await page.waitForTimeout(500)
  expect(
    requests.filter(
      (request) => !request.includes('/_next/') && !request.includes('icon'),
    ),
  ).toEqual(['GET /reset-password'])
  expect(page.url()).not.toContain('lantern')
  release()
  await expect(heading(page)).toHaveText(changed)
  await expect(page.getByText('Loading…')).toBeHidden()
  expect(requests.filter((request) => request.startsWith('POST'))).toEqual([
    `POST ${resetPath}`,
  ])
  expect(await passwordIs(sql, user, password)).toBe(true)
})

test('preserves the input and the focus for a retry after the wait', async ({
  page,
  user,
  sql,
}) => {
  const password = newPassword()
  await page.route(resetPath, respondWith(429, { code: 'RATE_LIMITED' }, 1), { times: 1 })
  await open(page, user)
  await submit(page, password)
  await expect(banner(page)).toHaveText('Your network has made too many requests')
  await expect(canRetry(page)).toBeVisible()
  const status = await page.locator('.note[role=status]').elementHandle()
  const release = await hold(page, resetPath)
  await retryButton(page).click()
  await expect(page.getByRole('button', { name: 'Saving your password…' })).toBeFocused()
  // Screen readers announce a new text only if the element stays the same.
  expect(
    await status!.evaluate((element) => element.isConnected && element.textContent),
  ).toBe('Saving your password…')
  release()
  await expect(heading(page)).toHaveText(changed)
  expect(await passwordIs(sql, user, password)).toBe(true)
})

test('preserves input after three failed retries, and sends nothing offline', async ({
  page,
  context,
  user,
  sql,
}) => {
  const password = newPassword()
  const posts = countPosts(page)
  await page.clock.install()
  await page.route(resetPath, unavailable(1), { times: 4 })
  await open(page, user)
  await context.setOffline(true)
  await submit(page, password)
  await expect(banner(page)).toHaveText('You’re offline')
  await expect(page.getByText('You can try again once you’re online.')).toBeVisible()
  // Playwright treats aria-disabled as disabled
  await retryButton(page).click({ force: true })
  expect(posts).toEqual([])
  await context.setOffline(false)
  await canRetry(page).waitFor()
  await retryButton(page).click()
  await expect(banner(page)).toHaveText('We can’t save your password right now')
  await retryThrice(page)
  await expect(banner(page)).toHaveText('We still can’t save your password')
  await expect(page.getByText(/You can try again in \d\d seconds/)).toBeVisible()
  await expect(page.getByRole('link', { name: 'Get a new link' })).toHaveCount(0) // requesting a new link would revoke this one
  await page.clock.fastForward(60_000)
  await canRetry(page).waitFor()
  await retryButton(page).click()
  await expect(heading(page)).toHaveText(changed)
  expect(await passwordIs(sql, user, password)).toBe(true)
})

test('hides a shown password when the page is restored', async ({ page, user }) => {
  await open(page, user)
  await page.locator('html[data-ready]').waitFor()
  await field(page).fill(strong)
  await page.getByRole('button', { name: 'Show password' }).click()
  await expect(field(page)).toHaveAttribute('type', 'text')
  // As if restored from the back-forward cache, which Playwright disables.
  await page.evaluate(() =>
    dispatchEvent(new PageTransitionEvent('pageshow', { persisted: true })),
  )
  await expect(field(page)).toHaveAttribute('type', 'password')
  await expect(field(page)).toHaveValue(strong)
})

test('marks a rejected password, whatever its rating, until the user changes it', async ({
  page,
  user,
}) => {
  await open(page, user)
  for (const [code, password, words] of [
    [
      'a_rule_of_tomorrow',
      'lantern otter canyon',
      'Choose a different password. This one can’t be used.',
    ],
    [
      'breached',
      strong,
      'Choose a different password. This one has appeared in a data breach.',
    ],
  ] as const) {
    await page.route(resetPath, invalidPassword(code), { times: 1 })
    await field(page).fill('')
    await field(page).pressSequentially(password)
    await expect(page.getByText('Very strong')).toBeVisible()
    await save(page).click()
    await expect(fieldError(page)).toHaveText(words)
  }
  await expect(page.getByText('Very strong')).toBeHidden()
  await page.waitForTimeout(600) // the meter updates when typing pauses
  await expect(page.locator('.strength')).toHaveText('This password can’t be used')
  await expect(page.locator('.strength-bar span').first()).toHaveCSS(
    'background-color',
    'rgb(180, 35, 24)',
  )
  await field(page).pressSequentially('2')
  await expect(page.getByText('Very strong')).toBeVisible()
  await expect(field(page)).not.toHaveAttribute('aria-invalid', 'true') // the old error would contradict the meter
  await field(page).press('Backspace')
  await expect(page.getByText('Very strong')).toBeHidden()
  await expect(page.locator('.strength')).toHaveText('This password can’t be used')
  await field(page).fill('')
  await expect(page.locator('.strength')).toHaveText('')
})

test('shows no rating if the browser allows no workers', async ({ page, user }) => {
  await page.addInitScript(() => {
    Object.assign(window, {
      Worker: class {
        constructor() {
          throw new DOMException('denied', 'SecurityError')
        }
      },
    })
  })
  const complaints = complaintsOf(page.context())
  await open(page, user)
  await field(page).pressSequentially('short')
  await expect(page.getByText('Too short so far')).toBeVisible()
  await field(page).pressSequentially(' lantern meadow')
  await expect(page.getByText('Too short so far')).toBeHidden()
  await expect(page.locator('.strength')).not.toHaveAttribute('data-strength')
  await save(page).click()
  await expect(heading(page)).toHaveText(changed)
  expect(complaints).toEqual([])
})

test('supports password managers, and loads the strength check only for typed passwords', async ({
  page,
  user,
}) => {
  const complaints = complaintsOf(page.context())
  const loaded: Request[] = []
  page.on(
    'requestfinished',
    (request) => request.url().includes('/_next/') && loaded.push(request),
  )
  await open(page, user, { waitUntil: 'networkidle' })
  await expect(field(page)).toHaveAttribute('autocomplete', 'new-password')
  await expect(field(page)).toHaveAttribute(
    'passwordrules',
    'minlength: 8; maxlength: 72; allowed: ascii-printable;',
  )
  expect(await field(page).getAttribute('maxlength')).toBeNull()
  loaded.length = 0
  await field(page).focus()
  for (const inputType of ['', 'insertFromPaste', 'insertReplacementText']) {
    await field(page).evaluate((input: HTMLInputElement, type) => {
      const { set } = Object.getOwnPropertyDescriptor(
        HTMLInputElement.prototype,
        'value',
      )!
      set!.call(input, `lantern otter meadow ${type}`)
      input.dispatchEvent(
        type
          ? new InputEvent('input', { inputType: type, bubbles: true })
          : new Event('input', { bubbles: true }),
      )
    }, inputType)
    await page.waitForTimeout(600) // the meter updates when typing pauses
  }
  expect(loaded).toHaveLength(0)
  expect(page.workers()).toHaveLength(0)

  await field(page).press('End')
  await field(page).pressSequentially('2')
  await expect(page.getByText('Very strong')).toBeVisible()
  expect(page.workers()).toHaveLength(1)
  const sizes = await Promise.all(loaded.map((request) => request.sizes()))
  const bytes = sizes.reduce((sum, { responseBodySize }) => sum + responseBodySize, 0)
  expect(bytes).toBeGreaterThan(10_000)
  expect(bytes).toBeLessThanOrEqual(250 * 1_024)
  await field(page).fill('sunshine')
  await expect(
    page.getByRole('status').filter({ hasText: 'Easy to guess so far' }),
  ).toBeVisible() // screen readers announce it
  expect(loaded).toHaveLength(sizes.length) // each script is loaded only once
  expect(complaints).toEqual([])
})
