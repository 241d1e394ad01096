import { randomUUID } from 'node:crypto'
import type { Page } from 'playwright/test'
import * as routes from '../../lib/contract/routes'
import { addConnection } from '../../lib/sso/manage/connections'
import { closeContext } from '../support/browsers/close-context'
import { keepCookies } from '../support/browsers/cookies'
import { complaintsOf, problemsOf, violationsOf } from '../support/browsers/page-checks'
import { respondWith } from '../support/browsers/page-states'
import { type OwnDatabase, openOwnDatabase } from '../support/databases/own-database'
import { newPasswordUser } from '../support/databases/password-user'
import {
  expect,
  heading,
  holdScripts,
  newPassword,
  newToken,
  type TestServer,
  test,
} from '../support/fixtures'
import { newAddress } from '../support/secrets'
import { preload } from '../support/servers/preload'
import { passwordSignIn } from '../support/servers/settings'
import { type Smtp, startSmtp } from '../support/servers/smtp'

// Tests sign-ins with a password, and forgotten passwords.

let database: OwnDatabase
let smtp: Smtp
/**
 * A server without connections. It has its own database because it sends all emails that
 * are queued there.
 */
let server: TestServer
/** A server with connections that uses the database of the worker. */
let mixed: TestServer

const domain = `sign-in-${randomUUID()}.example`
const slug = domain.slice(0, 20)

test.beforeAll(async ({ serverWith }) => {
  database = await openOwnDatabase()
  smtp = await startSmtp()
  server = await serverWith({
    ...smtp.settings,
    ...preload('cheap-hash.mjs', 'prompt-mails.mjs'),
    DATABASE_URL: database.url(),
    PASSWORD_SIGN_IN: 'true',
    DASHBOARD_URL: '/?dashboard',
  })
  mixed = await serverWith(passwordSignIn)
  await addConnection({
    slug,
    name: 'Northwind Traders',
    settings: { kind: 'oidc', issuer: 'https://idp.example.com', clientId: 'x' },
    secrets: { clientSecret: 'x' },
    domains: [domain],
    activate: true,
    provision: false,
    listed: false,
    allowPasswords: true,
  })
})
test.afterAll(async () => {
  await smtp?.stop()
  await database?.drop()
})

const password = (page: Page) => page.getByLabel('Password', { exact: true })
const email = (page: Page) => page.getByRole('textbox', { name: 'Email address' })
const button = (page: Page) => page.getByRole('button', { name: 'Sign in', exact: true })

async function fill(page: Page, address: string, secret: string): Promise<void> {
  await email(page).fill(address)
  await password(page).fill(secret)
  await button(page).click()
}

test('a user who forgot the password gets a link by email, sets a new one, and signs in with it', async ({
  page,
}) => {
  const complaints = complaintsOf(page.context())
  const user = await newPasswordUser(database.sql, { cost: 4 })
  const changed = newPassword()
  const requests: string[] = []
  page.on('request', (request) =>
    requests.push(`${request.url()} ${request.headers().cookie}`),
  )
  await page.goto(`${server.url}/sign-in`)
  await expect(email(page)).toBeFocused()
  await page.keyboard.type(user.email.toUpperCase())
  await page.getByRole('link', { name: 'Forgot your password?' }).click()
  await expect(email(page)).toHaveValue(user.email.toUpperCase())
  await page.getByRole('button', { name: 'Send reset link' }).click()
  await expect(heading(page)).toHaveText('Check your email')
  await expect(
    page.getByText(
      `We’ve sent a link to ${user.email.toUpperCase()}, if it has an account.`,
    ),
  ).toBeVisible()
  await expect.poll(() => smtp.mailsTo(user.email).length).toBe(1)
  const [mail] = smtp.mailsTo(user.email)
  await page.setViewportSize({ width: 320, height: 640 })
  await page.goto('about:blank') // a page without our Content-Security-Policy
  await page.setContent(mail!.html!)
  for (const colorScheme of ['light', 'dark'] as const) {
    await page.emulateMedia({ colorScheme })
    expect(
      await violationsOf(page, { runOnly: ['wcag2a', 'wcag2aa'] }),
      colorScheme,
    ).toEqual([])
  }
  expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBe(320)

  await page.getByRole('link', { name: 'Choose a new password' }).click()
  await page.getByLabel('New password').fill(changed)
  await page.getByRole('button', { name: 'Save password' }).click()
  await expect(heading(page)).toHaveText('Your password has been changed')
  await expect.poll(() => smtp.mailsTo(user.email).length).toBe(2)
  const notice = smtp.mailsTo(user.email)[1]!
  expect(notice.subject).toBe('Your password for Dashboard was changed')
  expect(notice.text).toMatch(/This was on .* UTC, from Chrome on \w+\./)
  await page.goto(`${server.url}/reset-password?token=${mail!.token}`)
  await expect(heading(page)).toHaveText('This link has already been used')
  await page.getByRole('link', { name: 'Get a new link' }).click()
  await expect(email(page)).toHaveValue(user.email)

  await page.goto(`${server.url}/reset-password/done`)
  await page.getByRole('link', { name: 'Sign in' }).click()
  await expect(email(page)).toHaveValue(user.email)
  await expect(password(page)).toBeFocused()
  await page.keyboard.type(user.password)
  await page.keyboard.press('Enter')
  await expect(password(page)).toHaveAccessibleDescription(
    /^Error: The email address or the password is wrong/,
  )
  await expect(page).toHaveTitle('Error: Sign in – Dashboard')
  await expect(email(page)).toHaveValue(user.email)
  await expect(password(page)).toHaveAttribute('aria-invalid', 'true')
  await expect(password(page)).toBeFocused()
  expect(await keepCookies(page)).toEqual(['browser'])

  await password(page).fill(changed)
  await expect(page.locator('.field-error')).toHaveCount(0)
  await expect(page).toHaveTitle('Sign in – Dashboard')
  await password(page).press('Enter')
  await page.waitForURL(`${server.url}/?dashboard`)
  await expect(heading(page)).toHaveText('You’re signed in')
  await expect(page.getByText(user.email)).toBeVisible()
  expect(await keepCookies(page)).toEqual(['browser', 'known', 'refresh', 'session'])
  await page.goBack()
  await expect(page, 'Back skips the form').not.toHaveURL(/\/sign-in/)
  await page.goto(`${server.url}/forgot-password`)
  await expect(email(page), 'forgotten after the sign-in').toHaveValue('')
  expect(requests.filter((request) => /@|%40/.test(request))).toEqual([])
  expect(complaints).toEqual([])
})

test('without JavaScript and in German, sends a link, and rejects two addresses', async ({
  browserProcess,
}) => {
  const user = await newPasswordUser(database.sql, { cost: 4 })
  const context = await browserProcess.newContext({
    javaScriptEnabled: false,
    locale: 'de-DE',
  })
  const page = await context.newPage()
  await page.goto(`${server.url}/forgot-password`)
  await page.getByLabel('E‑Mail-Adresse').fill('a@example.com, b@example.com')
  await page.getByRole('button', { name: 'Link senden' }).click()
  await expect(page.getByRole('alert')).toContainText('Geben Sie eine E‑Mail-Adresse ein')
  expect(page.url()).toBe(`${server.url}/forgot-password?invalid`)
  await page.getByLabel('E‑Mail-Adresse').fill(user.email)
  await page.getByRole('button', { name: 'Link senden' }).click()
  await expect(heading(page)).toHaveText('Sehen Sie in Ihr Postfach')
  await expect(
    page.getByText('einen Link an die eingegebene Adresse gesendet'),
  ).toBeVisible()
  await expect(page.locator('#wait')).toBeHidden()
  await expect(page.getByRole('link', { name: 'Erneut anfordern' })).toHaveAttribute(
    'aria-disabled',
    'false',
  )
  await closeContext(context)
  await expect
    .poll(() => smtp.mailsTo(user.email)[0]?.subject)
    .toBe('Neues Passwort für Dashboard wählen')
})

test('accepts email addresses that input methods and mail programs have written', async ({
  page,
}) => {
  const user = await newPasswordUser(database.sql, { cost: 4 })
  await page.goto(`${server.url}/forgot-password`)
  await email(page).fill(`Ada <${user.email.replace('@', '＠')}>`)
  await page.getByRole('button', { name: 'Send reset link' }).click()
  await expect(heading(page)).toHaveText('Check your email')
  await expect(page.getByText(`We’ve sent a link to ${user.email}, if`)).toBeVisible()
  await expect.poll(() => smtp.mailsTo(user.email).length).toBe(1)

  await page.goto(`${server.url}/sign-in`)
  await fill(page, `${user.email}, eve@example.com`, user.password)
  await expect(email(page)).toHaveAccessibleDescription(/Enter an email address/)
  await fill(page, `${user.email}/x`, user.password)
  await expect(email(page)).toHaveAccessibleDescription(/Enter an email address/)
  await fill(page, `mailto:${user.email},`, user.password)
  await page.waitForURL(`${server.url}/?dashboard`)
  await keepCookies(page)
})

test('allows another request after a minute, even without browser storage', async ({
  page,
}) => {
  const again = page.getByRole('link', { name: 'Ask again' })
  await page.clock.install()
  for (const isBlocked of [false, true]) {
    if (isBlocked) await page.addInitScript('delete window.sessionStorage')
    await page.goto(`${server.url}/forgot-password`)
    await email(page).fill('nobody@example.com') // the page is the same for every address
    await page.getByRole('button', { name: 'Send reset link' }).click()
    await expect(
      page.getByText(
        isBlocked ? 'to the address that you entered' : 'to nobody@example.com',
      ),
    ).toBeVisible()
    await expect(page.getByText(/You can ask again in (60|5\d) seconds/)).toBeVisible()
    const button = (await again.boundingBox())!
    const wait = (await page.locator('#wait').boundingBox())!
    expect(wait.y - (button.y + button.height), 'right below it').toBeLessThan(16)
    expect(wait.y).toBeGreaterThan(button.y)
    await again.click({ force: true }) // Playwright treats aria-disabled as disabled
    await page.clock.fastForward(40_000)
    if (!isBlocked) await page.reload()
    await expect(page.getByText(/You can ask again in (20|1\d) seconds/)).toBeVisible()
    await page.clock.fastForward(20_000)
    await expect(page.getByText('You can ask again now.')).toBeVisible()
    await again.click()
    await expect(email(page)).toHaveValue(isBlocked ? '' : 'nobody@example.com')
  }
})

test('a wait has the digits of the texts, in a browser that prefers others', async ({
  browserProcess,
}) => {
  const context = await browserProcess.newContext({
    locale: 'ar-EG',
    extraHTTPHeaders: { 'X-Forwarded-For': newAddress() },
  })
  const complaints = complaintsOf(context)
  // as WebKit, whose words for Arabic times differ from those of Node.js too
  await context.addInitScript(() => {
    const { format } = Intl.RelativeTimeFormat.prototype
    Intl.RelativeTimeFormat.prototype.format = function (
      value: number,
      unit: Intl.RelativeTimeFormatUnit,
    ) {
      return `${format.call(this, value, unit)} `
    }
  })
  const page = await context.newPage()
  const wait = page.locator('#wait span').first()
  await page.goto(`${server.url}/forgot-password?sent`)
  await expect(page.locator('html')).toHaveAttribute('lang', 'ar')
  await expect(wait).toHaveText(/5\d/)
  expect(complaints).toEqual([])

  await page.route(
    `**${routes.signIn.path}`,
    respondWith(429, { code: 'RATE_LIMITED' }, 15 * 60),
  )
  await page.goto(`${server.url}/sign-in`)
  await page.locator('#email').fill('ada@example.com')
  await page.locator('#password').fill('wrong')
  await page.locator('button[type=submit]').click()
  await expect(wait).toHaveText(/1[45]/)

  await page.unroute(`**${routes.signIn.path}`)
  const user = await newPasswordUser(database.sql, { cost: 4 })
  await page.goto(`${server.url}/sign-in`)
  await page.locator('#email').fill(user.email)
  await page.locator('#password').fill(user.password)
  await page.locator('#password').press('Enter')
  await expect(page.locator('time')).toHaveText(/20\d\d/)
  expect(complaints).toEqual([])
  await closeContext(context)
})

test('after a link was sent, the main button opens the mailbox of a known provider', async ({
  page,
}) => {
  const actions = page.locator('.actions a:visible')
  for (const [address, name, url] of [
    ['Ada@Gmail.com', 'Open Gmail', 'https://mail.google.com'],
    ['ada@hotmail.co.uk', 'Open Outlook', 'https://outlook.live.com/mail/'],
    ['ada@me.com', 'Open iCloud', 'https://www.icloud.com/mail'],
    ['ada@gmail.com.example.com', null, ''],
  ] as const) {
    await page.goto(`${server.url}/forgot-password`)
    await email(page).fill(address)
    await page.getByRole('button', { name: 'Send reset link' }).click()
    await expect(heading(page)).toHaveText('Check your email')
    await expect(actions).toHaveText([...(name ? [name] : []), 'Sign in', 'Ask again'])
    if (!name) continue

    await expect(actions.first()).toHaveAttribute('href', url)
    expect(await problemsOf(page)).toEqual([])
  }
})

test('a wait ends on time if the computer sleeps meanwhile', async ({ page }) => {
  let now = 0
  const sleep = async (seconds: number) => {
    now = (now || Date.now()) + seconds * 1_000
    await page.clock.setFixedTime(now)
  }
  const isOver = page.getByText('You can try again now.')
  await page.route(
    `**${routes.signIn.path}`,
    respondWith(429, { code: 'RATE_LIMITED' }, 15 * 60),
  )
  await page.goto(`${server.url}/sign-in`)
  await fill(page, 'ada@example.com', 'wrong')
  await expect(page.getByText(/You can try again in 1[45] minutes/)).toBeVisible()
  await sleep(10 * 60)
  await expect(page.getByText(/You can try again in [45] minutes/)).toBeVisible()
  await sleep(10 * 60)
  await expect(isOver).toBeVisible()

  await page.goto(`${server.url}/forgot-password`)
  await email(page).fill('nobody@example.com')
  await page.getByRole('button', { name: 'Send reset link' }).click()
  await expect(page.getByText(/You can ask again in (60|5\d) seconds/)).toBeVisible()
  await sleep(60)
  await expect(page.getByText('You can ask again now.')).toBeVisible()
})

test('a visit of the forgot-password page keeps the destination, with and without scripts', async ({
  page,
  browserProcess,
}) => {
  const next = '/?after#/7'
  const plain = await browserProcess.newContext({
    javaScriptEnabled: false,
    extraHTTPHeaders: { 'X-Forwarded-For': newAddress() },
  })
  const forgotUrl = `/forgot-password?next=${encodeURIComponent(next)}`
  for (const tab of [page, await plain.newPage()]) {
    await tab.goto(`${server.url}/?next=${encodeURIComponent(next)}`)
    await tab.getByRole('link', { name: 'Forgot your password?' }).click()
    await expect(tab).toHaveURL(server.url + forgotUrl)
    await email(tab).fill('a@example.com, b@example.com')
    await tab.getByRole('button', { name: 'Send reset link' }).click()
    await expect(email(tab)).toHaveAccessibleDescription(/Enter an email address/)
    await email(tab).fill('nobody@example.com')
    await tab.getByRole('button', { name: 'Send reset link' }).click()
    await expect(heading(tab)).toHaveText('Check your email')
    await expect(tab.getByRole('link', { name: 'Sign in' })).toHaveAttribute(
      'href',
      `/sign-in?next=${encodeURIComponent(next)}`,
    )
    const again = tab.getByRole('link', { name: 'Ask again' })
    await expect(again).toHaveAttribute('href', forgotUrl)
  }
  await plain.close()
  await page.getByRole('link', { name: 'Sign in' }).click()
  await expect(page.getByRole('link', { name: 'Forgot your password?' })).toHaveAttribute(
    'href',
    forgotUrl,
  )
})

test('a form of another site sends no email', async ({ page }) => {
  const user = await newPasswordUser(database.sql, { cost: 4 })
  const other = await newPasswordUser(database.sql, { cost: 4 })
  const action = `${server.url}/forgot-password/send`
  const form = `<form method="post" action="${action}"><input name="email" value="${user.email}"><button>Go</button></form>`
  await page.route('http://127.0.0.1:1/', (route) =>
    route.fulfill({ contentType: 'text/html', body: form }),
  )
  await page.goto('http://127.0.0.1:1/')
  await page.getByRole('button').click()
  await expect(page.locator('body')).toContainText('ORIGIN_REJECTED')
  const post = (email: string, headers = {}) =>
    fetch(action, { method: 'POST', body: new URLSearchParams({ email }), headers })
  expect((await post(user.email, { Origin: 'https://example.com' })).status).toBe(403)
  await post(other.email)
  await expect.poll(() => smtp.mailsTo(other.email).length).toBe(1)
  expect(smtp.mailsTo(user.email)).toEqual([])
})

test('asks for the email address first when there are connections', async ({
  page,
  sql,
}) => {
  const complaints = complaintsOf(page.context())
  const user = await newPasswordUser(sql, { cost: 4 })
  const requests: string[] = []
  page.on('request', (request) => requests.push(request.url()))
  await page.goto(`${mixed.url}/sign-in?next=/%3Fafter`)
  await expect(password(page)).toBeHidden()
  await email(page).fill(user.email)
  await email(page).press('Enter')
  await expect(heading(page)).toHaveText('Enter your password')
  await expect(password(page)).toBeFocused()
  await expect(email(page)).toHaveValue(user.email)
  await expect(email(page)).toHaveAttribute('readonly')
  await expect(email(page)).toHaveAttribute('autocomplete', 'username')
  await expect(password(page)).toHaveAttribute('autocomplete', 'current-password')

  await page.getByRole('button', { name: 'Change email address' }).click()
  await expect(email(page)).toBeFocused()
  await expect(email(page)).toBeEditable()
  await page.getByRole('button', { name: 'Continue' }).click()
  await password(page).fill(user.password)
  await page.getByRole('button', { name: 'Show password' }).click()
  await expect(password(page)).toHaveAttribute('type', 'text')
  await button(page).click()
  await page.waitForURL(`${mixed.url}/?after`)
  await expect(heading(page)).toHaveText('You’re signed in')
  await keepCookies(page)
  expect(requests.filter((url) => url.includes('@') || url.includes('%40'))).toEqual([])
  expect(complaints).toEqual([])

  await page.goto(`${mixed.url}/sign-in?next=/%3Fafter`)
  await expect(heading(page)).toHaveText('You’re signed in')
  await expect(page.getByText(user.email)).toBeVisible()
  await expect(page.getByRole('link', { name: 'Continue' })).toHaveAttribute(
    'href',
    '/?after',
  )
  await page.evaluate(() => window.keep('email', 'ada@example.com'))
  await page.getByRole('link', { name: 'Use another account' }).click()
  await expect(email(page)).toHaveValue('')
  expect(await keepCookies(page)).toContain('ask') // with this cookie, the identity provider asks for the account
  await page.route('**/start?next=*', (route) =>
    route.fulfill({ body: 'the identity provider' }),
  )
  await email(page).fill(`ada@${domain.toUpperCase()}`)
  await page.getByRole('button', { name: 'Continue' }).click()
  await page.waitForURL(
    `${mixed.url}/api/auth/sso/${slug}/start?next=${encodeURIComponent('/?after')}`,
  )
})

test('asks a user of a connection for the password after a reset or on request', async ({
  page,
  sql,
  url,
}) => {
  const user = await newPasswordUser(sql, {
    cost: 4,
    email: `user-${randomUUID()}@${domain}`,
  })
  const changed = newPassword()
  const signIn = page.getByRole('link', { name: 'Sign in' })
  await page.goto(`${mixed.url}/reset-password?token=${await newToken(user)}`)
  await page.getByLabel('New password').fill(changed)
  await page.getByRole('button', { name: 'Save password' }).click()
  await expect(heading(page)).toHaveText('Your password has been changed')
  await expect(signIn).toHaveAttribute('href', '/sign-in?step=password')
  await page.reload()
  await expect(page).toHaveURL(`${mixed.url}/reset-password/done`)
  await signIn.click()
  await expect(email(page), 'known from the link').toHaveValue(user.email)
  await password(page).fill(changed)
  await button(page).click()
  await page.waitForURL(`${mixed.url}/`)
  await expect(page.getByText(user.email)).toBeVisible()
  await keepCookies(page)
  await page.goto(`${mixed.url}/sign-in?another&next=/%3Fwanted`)
  await email(page).fill(user.email)
  await page.getByRole('link', { name: 'Sign in with a password' }).click()
  await expect(email(page)).toHaveValue(user.email)
  await password(page).fill(changed)
  await button(page).click()
  await page.waitForURL(`${mixed.url}/?wanted`)
  await keepCookies(page)

  await page.goto(`${url}/reset-password/done`) // a server without password sign-in
  await expect(signIn).toHaveAttribute('href', '/sign-in')
})

test('preserves the input if a form is submitted early or attempts are paused', async ({
  page,
}) => {
  const user = await newPasswordUser(database.sql, { cost: 4 })
  await page.context().setExtraHTTPHeaders({ 'X-Forwarded-For': newAddress() })
  await page.clock.install()
  const release = await holdScripts(page)
  await page.goto(`${server.url}/sign-in?next=/%3Fafter`, { waitUntil: 'commit' })
  await fill(page, user.email, 'wrong')
  await expect(
    page.getByText('Sign-in continues as soon as this page is ready.'),
  ).toBeVisible()
  release()
  await expect(page.getByText('The email address or the password is wrong')).toBeVisible()
  for (let count = 2; count <= 10; count++) {
    const response = page.waitForResponse('**/api/auth/sign-in')
    await button(page).click()
    expect((await response).status()).toBe(400)
    await expect(button(page)).toHaveAttribute('aria-disabled', 'false')
  }
  await password(page).fill(user.password)
  await button(page).click()
  await expect(
    page.getByRole('alert').getByRole('heading', { name: 'Sign-in is paused' }),
  ).toBeVisible()
  await expect(page.getByText(/You can try again in 1[45] minutes/)).toBeVisible()
  await expect(password(page)).toHaveValue(user.password)
  const retry = page.getByRole('button', { name: 'Try again' })
  await expect(retry).toHaveAttribute('aria-disabled', 'true')
  await email(page).press('End')
  await email(page).pressSequentially(' ') // the changed address may be another account
  await expect(button(page)).toHaveAttribute('aria-disabled', 'false')
  await button(page).click()
  await expect(retry).toHaveAttribute('aria-disabled', 'true')

  await page.context().setExtraHTTPHeaders({ 'X-Forwarded-For': newAddress() })
  await page.clock.fastForward(15 * 60_000)
  await expect(page.getByText('You can try again now.')).toBeVisible()
  await retry.click()
  await page.waitForURL(`${server.url}/?after`)
  await keepCookies(page)
})

test('uses an email address that is submitted before the scripts load or if they fail to load', async ({
  page,
}) => {
  await page.context().setExtraHTTPHeaders({ 'X-Forwarded-For': newAddress() })
  const user = await newPasswordUser(database.sql, { cost: 4 })
  const next = page.getByRole('button', { name: 'Continue' })
  const nextStep = () =>
    page.waitForRequest(`${mixed.url}/sign-in?connection=${slug}&next=%2F%3Fafter`)
  const release = await holdScripts(page)
  await page.goto(`${mixed.url}/sign-in?next=/%3Fafter`, { waitUntil: 'commit' })
  await email(page).fill(user.email)
  await next.click()
  await expect(
    page.getByText('Sign-in continues as soon as this page is ready.'),
  ).toBeVisible()
  release()
  await expect(heading(page)).toHaveText('Enter your password')
  await expect(email(page)).toHaveValue(user.email)

  await page.route('**/_next/static/**', (route) => route.abort())
  await page.clock.install()
  for (const passedMs of [0, 11_000]) {
    await page.goto(`${mixed.url}/sign-in?next=/%3Fafter`, {
      waitUntil: passedMs ? 'load' : 'commit',
    })
    // after 10 seconds, the page no longer waits for scripts
    await page.clock.fastForward(passedMs)
    await email(page).fill(`ada@${domain}`)
    await Promise.all([nextStep(), next.click()])
  }
})

test('without JavaScript, users of a connection go to their provider, and others are asked for JavaScript', async ({
  browserProcess,
}) => {
  const extraHTTPHeaders = { 'X-Forwarded-For': newAddress() }
  const context = await browserProcess.newContext({
    javaScriptEnabled: false,
    locale: 'de-DE',
    extraHTTPHeaders,
  })
  const page = await context.newPage()
  const address = page.getByLabel('E‑Mail-Adresse')
  const continueWith = async (typed: string) => {
    await page.goto(`${mixed.url}/sign-in?next=/%3Fafter`)
    await address.fill(typed)
    await page.getByRole('button', { name: 'Weiter', exact: true }).click()
  }
  await continueWith(`ada@${domain}`)
  await expect(heading(page)).toHaveText(
    'Sie werden zu Ihrer Organisation weitergeleitet',
  )

  await continueWith('ada@example.com')
  await expect(page).toHaveURL(`${mixed.url}/sign-in?step=password&next=%2F%3Fafter`)
  await expect(
    page.getByRole('heading', { name: 'Aktivieren Sie JavaScript, um fortzufahren' }),
  ).toBeVisible()
  await expect(page.getByLabel('Passwort', { exact: true })).toBeHidden()

  await continueWith('ada@localhost')
  await expect(page).toHaveURL(`${mixed.url}/sign-in?error=email&next=%2F%3Fafter`)
  await expect(page.getByRole('alert')).toContainText('Geben Sie eine E‑Mail-Adresse ein')
  await expect(address).toHaveAccessibleDescription(/Geben Sie eine E‑Mail-Adresse ein/)
  await expect(
    page.getByRole('heading', { name: 'Aktivieren Sie JavaScript, um fortzufahren' }),
  ).toBeVisible()
  await closeContext(context)
})

test('every form shows only one error message, and has the same wait before a retry', async ({
  page,
  user,
}) => {
  const [signIn, mixedSignIn] = [`${server.url}/sign-in`, `${mixed.url}/sign-in`]
  const submit = page.locator('button[type=submit]')
  await page.clock.install()
  for (const [form, api, field, good, empty] of [
    [
      signIn,
      routes.signIn.path,
      'password',
      'lantern otter meadow',
      'Enter your password.',
    ],
    [
      mixedSignIn,
      routes.findSsoConnection.path,
      'email',
      'ada@example.com',
      'Enter an email address',
    ],
    [
      `${server.url}/forgot-password`,
      routes.forgotPassword.path,
      'email',
      'ada@example.com',
      'Enter an email address',
    ],
    [
      `${mixed.url}/reset-password?token=${await newToken(user)}`,
      routes.resetPassword.path,
      'password',
      'lantern otter meadow',
      'Enter a new password.',
    ],
  ] as const) {
    const input = page.locator(`#${field}`)
    const hint = { email: /next|send/, password: /go|done/ }[field]
    await page.setViewportSize({ width: 1280, height: 800 })
    await page.goto(form)
    await page.locator('html[data-ready]').waitFor({ state: 'attached' })
    if (field === 'password' && (await email(page).count()))
      await email(page).fill('ada@example.com')
    await expect(input).toHaveAttribute('dir', 'ltr')
    await expect(input).toHaveAttribute('enterkeyhint', hint)
    await input.fill('')
    await submit.click()
    await expect(page.locator('.field-error'), form).toContainText(empty)
    await expect(input).toBeFocused()
    await expect(input).toHaveAccessibleDescription(new RegExp(empty))
    await expect(page).toHaveTitle(/^Error: /)
    await expect(page.locator('.banner')).toHaveCount(0)
    await expectAboveFold(page)
    await input.fill(good)
    await expect(page.locator('.field-error')).toHaveCount(0)
    await expect(page).not.toHaveTitle(/^Error: /)

    await page.context().setOffline(true)
    await submit.click()
    await expect(page.locator('.banner h2')).toHaveText('You’re offline')
    await expect(page.locator('.banner')).toBeFocused()
    await expect(submit).toHaveAttribute('aria-disabled', 'true')
    await expectAboveFold(page)
    await page.context().setOffline(false)
    await page.route(`**${api}`, respondWith(503, { code: 'SERVICE_UNAVAILABLE' }, 1), {
      times: 1,
    })
    await submit.click()
    await expect(page.getByText('You can try again in 1 second.')).toBeVisible()
    await expect(submit).toHaveAttribute('aria-disabled', 'true')
    await expectAboveFold(page)
    await page.clock.fastForward(1_000)
    await expect(page.getByText('You can try again now.')).toBeVisible()
    await expect(submit).toHaveAttribute('aria-disabled', 'false')
    await expect(input).toHaveValue(good)
  }
})

/**
 * Expects that the main button is visible without scrolling on a desktop and on a phone.
 */
async function expectAboveFold(page: Page): Promise<void> {
  for (const [width, height] of [
    [390, 844],
    [1280, 800],
  ] as const) {
    await page.setViewportSize({ width, height })
    await page.evaluate(() => scrollTo(0, 0))
    await expect(page.locator('button[type=submit]')).toBeInViewport({ ratio: 1 })
  }
}

test('without passwords, the page is the same for guests and strangers, and the guest gets the link of the connection', async ({
  page,
  serverWith,
}) => {
  const own = await openOwnDatabase()
  const guest = { email: 'guest@example.net' }
  await own.sql(
    `WITH added AS (
       INSERT INTO connections (slug, name, kind, settings)
       VALUES ('acme', 'Acme', 'oidc', '{"issuer":"https://idp.example.com","clientId":"x"}') RETURNING id
     ), owned AS (INSERT INTO connection_domains SELECT 'acme.example', id, now() FROM added),
     created AS (INSERT INTO users (email, email_domain) VALUES ($1, 'example.net') RETURNING id)
     INSERT INTO identities (connection_id, issuer, subject, user_id)
     SELECT added.id, 'https://idp.example.com', 'guest', created.id FROM added, created`,
    [guest.email],
  )
  const sso = await serverWith({ ...smtp.settings, DATABASE_URL: own.url() })
  try {
    const texts: string[] = []
    for (const address of [guest.email, 'other@example.net']) {
      await page.goto(`${sso.url}/sign-in?next=/reports`)
      await email(page).fill(address)
      await page.getByRole('button', { name: 'Continue' }).click()
      const link = page.getByRole('link', { name: 'Get a sign-in link by email' })
      await expect(link).toHaveAttribute('href', '/forgot-password?next=%2Freports')
      texts.push(await page.locator('main').innerText())
      await link.click()
      await expect(email(page)).toHaveValue(address)
      await page.getByRole('button', { name: 'Send reset link' }).click()
      await expect(heading(page)).toHaveText('Check your email')
    }
    expect(texts[0]).toBe(texts[1])
    await expect.poll(() => smtp.mailsTo(guest.email).length).toBe(1)
    expect(smtp.mailsTo(guest.email)[0]!.text).toContain('/api/auth/sso/acme/start\n')
    expect(smtp.mailsTo('other@example.net')).toEqual([])

    const plain = await (await sso.fetch('/sign-in?error=unknown')).text()
    expect(plain, 'without scripts').toContain('Get a sign-in link by email')
    const other = await (await sso.fetch('/sign-in?error=email')).text()
    expect(other).not.toContain('<a href="/forgot-password')
  } finally {
    await own.drop()
  }
})
