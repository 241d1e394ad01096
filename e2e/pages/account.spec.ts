import type { BrowserContext, Page } from 'playwright/test'
import { issueOperatorCode } from '../../lib/code/issue'
import * as routes from '../../lib/contract/routes'
import { closeContext } from '../support/browsers/close-context'
import { takeCookies } from '../support/browsers/cookies'
import { complaintsOf, problemsOf } from '../support/browsers/page-checks'
import { eventsOf } from '../support/databases/events'
import { newPasswordUser, type PasswordUser } from '../support/databases/password-user'
import {
  exchangePath,
  expect,
  heading,
  newCode,
  newPassword,
  type Post,
  type TestServer,
  test,
  type User,
} from '../support/fixtures'
import { keepSecret, newAddress } from '../support/secrets'
import { passwordSignIn } from '../support/servers/settings'
import { send } from '../support/wire/raw-http'

let server: TestServer
test.beforeAll(async ({ serverWith }) => {
  server = await serverWith(passwordSignIn)
})

const iphone = {
  'User-Agent':
    'Mozilla/5.0 (iPhone; CPU iPhone OS 18_0) AppleWebKit/605.1 Version/18.0 Safari/604.1',
}
const call: Post = (path, body, headers) => server.post(path, body, headers)
const signIn = async ({ email, password }: PasswordUser, headers = {}) =>
  call(routes.signIn.path, { email, password }, headers)
const signInWithCode = async (user: User) =>
  call(exchangePath, { code: await newCode(user) })

/**
 * Opens the account page in a browser with the cookies of a response, except the cookie
 * `without`.
 */
async function open(
  page: Page,
  response: { headers: Headers },
  without?: string,
): Promise<void> {
  await takeCookies(page, response, server.url, without)
  await page.goto(`${server.url}/account`)
}
const button = (page: Page, name: string) =>
  page.getByRole('button', { name, exact: true })
const rows = (page: Page) => page.locator('.part:not(#events) li')

async function changePassword(
  page: Page,
  current: string,
  password: string,
): Promise<void> {
  await page.getByLabel('Current password').fill(current)
  await page.getByLabel('New password').fill(password)
  await page.getByLabel('New password').press('Enter')
}

for (const scripts of [true, false]) {
  test(`shows and ends sessions, and changes the password, with${scripts ? '' : 'out'} scripts`, async ({
    browserProcess,
    sql,
  }) => {
    const viewport = { width: 320, height: 640 }
    const headers = { 'X-Forwarded-For': newAddress() }
    const context = await browserProcess.newContext({
      viewport,
      javaScriptEnabled: scripts,
      extraHTTPHeaders: headers,
    })
    const complaints = complaintsOf(context as BrowserContext)
    const page = await context.newPage()
    const user = await newPasswordUser(sql, { cost: 4 })
    await signIn(user, iphone)
    const [other] = [await signInWithCode(user), await signIn(user)]
    await open(page, await signIn(user))
    await expect(heading(page)).toHaveText('Your account')
    await expect(page.getByText(user.email)).toBeVisible()
    await expect(rows(page)).toHaveCount(4)
    const ofThis = rows(page).first()
    await expect(ofThis).toContainText('Unknown device This device')
    await expect(ofThis).toContainText('Active now')
    const ofPhone = rows(page).filter({ hasText: 'Safari on iPhone' })
    const summary = ofPhone.getByText(/^Last used: (now|\d+ \w+ ago)$/)
    await expect(ofPhone).toContainText('Safari on iPhone')
    await expect(ofPhone.locator('time').first()).toBeHidden()
    await summary.focus()
    await page.keyboard.press('Enter')
    await expect(ofPhone.getByText(/^Signed in with your password:/)).toContainText(
      /: \w+ \d+, 20\d\d at .*Last used: \w+ \d+, 20\d\d at /,
    )
    for (const name of ['Sign out here', 'Sign out'])
      await expect(button(page, name).first()).toBeVisible()
    await expect(button(page, 'Sign out here')).toHaveAccessibleDescription(
      'Unknown device This device',
    )
    await expect(button(page, 'Show password')).toBeVisible({ visible: scripts })
    if (scripts) expect(await problemsOf(page)).toEqual([])

    await ofPhone.getByRole('button', { name: 'Sign out' }).focus()
    await page.keyboard.press('Enter')
    await expect(page.getByText('That device was signed out.')).toBeVisible()
    await expect(rows(page)).toHaveCount(3)
    const password = newPassword()
    await changePassword(page, 'not the password', password)
    await expect(page).toHaveTitle(/^Error: Your account/)
    await expect(page.getByLabel('Current password')).toHaveAccessibleDescription(
      /^Error: The current password is wrong/,
    )
    await expect(page.getByLabel('Current password')).toBeFocused()
    await changePassword(page, user.password, 'password1')
    await expect(page.getByLabel('New password')).toHaveAccessibleDescription(
      /harder to guess/,
    )
    if (scripts) expect(await problemsOf(page)).toEqual([])
    await button(page, 'Sign out everywhere else').click()
    await expect(page.getByText('All other devices were signed out.')).toBeVisible()
    await expect(rows(page)).toHaveCount(1)
    expect(
      (await call(routes.refreshSession.path, { refreshToken: other!.body.refreshToken }))
        .status,
    ).toBe(400)

    const another = await signIn(user)
    await changePassword(page, user.password, password)
    await expect(page).toHaveTitle(
      'Your password has been changed. All other devices were signed out. Your account – Dashboard',
    )
    expect(
      (
        await call(routes.refreshSession.path, {
          refreshToken: another.body.refreshToken,
        })
      ).status,
    ).toBe(400)
    expect((await signIn({ ...user, password })).status).toBe(200)
    await button(page, 'Sign out here').click()
    await expect(heading(page)).toHaveText('You’ve been signed out')
    expect(complaints).toEqual([])
    await closeContext(context)
  })
}

test('after a rejection, the strength meter matches the new password that is still there', async ({
  page,
  sql,
}) => {
  const user = await newPasswordUser(sql, { cost: 4 })
  await open(page, await signIn(user))
  const strength = page.locator('.strength')
  const bar = page.locator('.strength-bar span').first()
  const empty = await bar.evaluate((each) => getComputedStyle(each).backgroundColor)

  // as a password manager fills it in, which gets no advice before
  await page.getByLabel('New password').evaluate((input: HTMLInputElement) => {
    const { set } = Object.getOwnPropertyDescriptor(HTMLInputElement.prototype, 'value')!
    set!.call(input, 'lantern otter meadow')
    input.dispatchEvent(new Event('input', { bubbles: true }))
  })
  await page.getByLabel('Current password').fill('not the password')
  await page.getByLabel('Current password').press('Enter')
  await expect(page.getByLabel('Current password')).toHaveAccessibleDescription(/wrong/)
  await expect(page.getByLabel('New password')).toHaveValue('lantern otter meadow')
  await expect(strength).toHaveText('Very strong')

  await page.getByLabel('Current password').fill(user.password)
  await page.getByLabel('New password').fill('')
  await page.getByLabel('New password').pressSequentially('sunshine1')
  await expect(strength).toHaveText('Easy to guess so far: a common password')
  await page.getByLabel('New password').press('Enter')
  await expect(page.getByLabel('New password')).toHaveAccessibleDescription(
    /harder to guess/,
  )
  await expect(page.getByLabel('New password')).toHaveValue('sunshine1')
  await expect(strength).toHaveText('This password can’t be used')
  await expect(bar).not.toHaveCSS('background-color', empty)
  expect(await problemsOf(page)).toEqual([])
})

for (const scripts of [true, false])
  test(`shows users what has happened to their account, and what an operator did, with${scripts ? '' : 'out'} scripts`, async ({
    browserProcess,
    sql,
  }) => {
    const context = await browserProcess.newContext({
      viewport: { width: 320, height: 640 },
      javaScriptEnabled: scripts,
      extraHTTPHeaders: { 'X-Forwarded-For': newAddress() },
    })
    const page = await context.newPage()
    const user = await newPasswordUser(sql, { cost: 4 })
    const operator = await issueOperatorCode(user.id, { operator: 'Grace', hours: null })
    await call(exchangePath, { code: keepSecret(operator.secret) })
    await sql(
      `INSERT INTO events (kind, actor, user_id, "at") VALUES
         ('passkey_added', 'user', $1, now() - interval '31 days'), ('user_invited', 'operator', $1, now())`,
      [user.id],
    )
    const wrong = { ...user, password: newPassword() }
    await signIn(wrong, iphone)
    await expect
      .poll(async () => (await eventsOf(sql, user.id)).length, { intervals: [10] })
      .toBe(5)
    await open(page, await signIn(user, iphone))

    const events = page.locator('#events li')
    await expect(page.getByRole('heading', { name: 'Recent activity' })).toBeVisible()
    await expect(events.first()).toBeHidden()
    await page.getByText('Show activity').focus()
    await page.keyboard.press('Enter')
    await expect(events).toHaveCount(4)
    for (const [index, text] of [
      /^Sign-in ?Safari on iPhone, 10\.\d+\.\d+\.0\/24/,
      /^Failed sign-in ?Safari on iPhone/,
      /^An administrator signed in as you/,
      /^An administrator got a link to sign in as you ?By an administrator or your organization/,
    ].entries())
      await expect(events.nth(index)).toHaveText(text)
    await expect(page.locator('body')).not.toContainText('Grace') // a colleague of the operator
    await expect(
      rows(page).getByText('An administrator signed in as you:'), // without a click
    ).toBeVisible()
    if (scripts) expect(await problemsOf(page)).toEqual([])
    await closeContext(context)
  })

test('without EVENTS_DAYS, the page has no list of events', async ({
  page,
  user,
  serverWith,
}) => {
  const silent = await serverWith({ EVENTS_DAYS: '0' })
  const response = await silent.post(exchangePath, { code: await newCode(user) })
  await takeCookies(page, response, silent.url)
  await page.goto(`${silent.url}/account`)
  await expect(heading(page)).toHaveText('Your account')
  await expect(page.getByText('Recent activity')).toHaveCount(0)
})

test('redirects to the start page, which renews an expired JWT or links to the sign-in', async ({
  page,
  user,
}) => {
  await page.goto(`${server.url}/account`)
  await expect(heading(page)).toHaveText('You’re not signed in')
  await expect(page.getByRole('link', { name: 'Sign in' })).toHaveAttribute(
    'href',
    '/sign-in?next=%2Faccount',
  )
  await page.goto(`${server.url}/account?change=addPasskey&done=setUp`)
  await expect(page.getByRole('link', { name: 'Sign in' })).toHaveAttribute(
    'href',
    `/sign-in?next=${encodeURIComponent('/account?change=addPasskey&done=setUp')}`,
  )
  await open(page, await signInWithCode(user), 'session')
  await expect(heading(page)).toHaveText('Your account')
  await expect(
    page.getByText('Your organization’s sign-in protects your account.'),
  ).toBeVisible()
  await page.goto(server.url)
  await page.getByRole('link', { name: 'Your account' }).click()
  await expect(heading(page)).toHaveText('Your account')
})

test('rejects forms from another site and forms without a session', async ({
  user,
  sql,
}) => {
  const { body } = await signInWithCode(user)
  await signInWithCode(user)
  const form = {
    'Content-Type': 'application/x-www-form-urlencoded',
    'X-Forwarded-For': newAddress(),
  }
  const post = (headers: Record<string, string>) =>
    send(`${server.url}/account/update`, {
      method: 'POST',
      headers: { ...form, ...headers },
      body: 'others=',
    })
  const Cookie = `session=${body.token}`
  for (const foreign of [
    { 'Sec-Fetch-Site': 'same-site' },
    { Origin: 'https://evil.example' },
  ] as Record<string, string>[])
    expect((await post({ Cookie, ...foreign })).status).toBe(403)
  const { status, headers } = await post({ 'Sec-Fetch-Site': 'same-origin' })
  expect([status, headers.location]).toEqual([303, '/?next=/account'])
  const live = () =>
    sql('SELECT 1 FROM sessions WHERE user_id = $1 AND revoked_at IS NULL', [user.id])
  expect(await live()).toHaveLength(2)
  expect((await post({ Cookie, 'Sec-Fetch-Site': 'same-origin' })).status).toBe(303)
  expect(await live()).toHaveLength(1)
})
