import { readFileSync } from 'node:fs'
import jsQR from 'jsqr'
import type { BrowserContext, Locator, Page } from 'playwright/test'
import { maxSecondFactorFailures } from '../../lib/contract/lifetimes'
import * as routes from '../../lib/contract/routes'
import { ar } from '../../lib/texts/ar'
import { en } from '../../lib/texts/en'
import { closeContext } from '../support/browsers/close-context'
import { keepCookies, takeCookies } from '../support/browsers/cookies'
import { dashboards, newRequest } from '../support/browsers/dashboard'
import { complaintsOf, problemsOf } from '../support/browsers/page-checks'
import { respondWith } from '../support/browsers/page-states'
import { newPasswordUser, type PasswordUser } from '../support/databases/password-user'
import { newFactorUser, totp, wrongCode } from '../support/databases/second-factor'
import { expect, heading, holdScripts, type TestServer, test } from '../support/fixtures'
import { keepSecret, newAddress } from '../support/secrets'
import { allFeatures, passwordSignIn } from '../support/servers/settings'

let server: TestServer
/** This server does not allow setting up second factors. */
let without: TestServer
test.beforeAll(async ({ serverWith }) => {
  server = await serverWith(allFeatures)
  without = await serverWith(passwordSignIn)
})

const code = (page: Page) => page.locator('#code')
const password = (page: Page) => page.locator('#password')
const button = (page: Page, name: string) =>
  page.getByRole('button', { name, exact: true })
const recoveryCodes = async (page: Page) =>
  (await page.locator('.codes').innerText()).trim().split('\n').map(keepSecret)
const send = async (field: Locator, text: string) => {
  await field.fill(text)
  await field.press('Enter')
}

async function signIn(page: Page, user: PasswordUser, query: string): Promise<void> {
  await page.goto(`${server.url}/sign-in?step=password&${query}`)
  await page.locator('#email').fill(user.email)
  await send(password(page), user.password)
}

/** Signs in, with a recovery code if one is given, and opens the account page. */
async function openAccount(
  page: Page,
  { email, password }: PasswordUser,
  { at = server, recoveryCode = '' } = {},
) {
  const first = await at.post(routes.signIn.path, { email, password })
  const given = { challenge: first.body.challenge, recoveryCode }
  const second = recoveryCode
    ? await at.post(routes.signInSecondFactor.path, given)
    : first
  await takeCookies(page, second, at.url)
  await page.goto(`${at.url}/account`)
}

/** Moves the focus to an element with only the Tab key. */
async function reach(page: Page, target: Locator): Promise<void> {
  await target.waitFor()
  for (let presses = 0; presses < 60; presses++) {
    if (await target.evaluate((element) => element === document.activeElement)) return
    await page.keyboard.press('Tab')
  }
  throw new Error(`the Tab key does not lead to ${target}`)
}

/** Reads a QR code from the pixels of the screen, as a camera does. */
async function readQrCode(page: Page): Promise<string | undefined> {
  const png = (await page.locator('svg.qr').screenshot()).toString('base64')
  // a page without our Content-Security-Policy
  const blank = await page.context().newPage()
  const { data, width, height } = await blank.evaluate(async (encoded) => {
    const image = Object.assign(new Image(), { src: `data:image/png;base64,${encoded}` })
    await image.decode()
    const { width, height } = image
    const context = Object.assign(document.createElement('canvas'), {
      width,
      height,
    }).getContext('2d')!
    context.drawImage(image, 0, 0)
    return { data: [...context.getImageData(0, 0, width, height).data], width, height }
  }, png)
  await blank.close()
  return jsQR(Uint8ClampedArray.from(data), width, height, {
    inversionAttempts: 'dontInvert',
  })?.data
}

test('on a computer, the set-up shows the QR code first, and the key apart from its button', async ({
  page,
  sql,
}) => {
  const { factor } = en('Dashboard', 8).account
  const user = await newPasswordUser(sql, { cost: 4 })
  await openAccount(page, user)
  await page.goto(`${server.url}/account?change=setUp`)
  await send(password(page), user.password)
  await expect(page.getByRole('img', { name: factor.qr })).toBeVisible()
  await expect(page.getByText(factor.otherDevice)).toBeHidden()
  const open = page.getByRole('link', { name: factor.open })
  await expect(open).toHaveCount(1)
  keepSecret(new URL((await open.getAttribute('href'))!).searchParams.get('secret')!)

  const key = (await page.locator('.key code').boundingBox())!
  const copy = button(page, 'Copy')
  const padding = await copy.evaluate((each) =>
    Number.parseFloat(getComputedStyle(each).paddingInlineStart),
  )
  const { x, y } = (await copy.boundingBox())!
  const isBelow = y >= key.y + key.height
  expect(isBelow || x + padding >= key.x + key.width + 8).toBe(true)
})

test('set up, sign in and switch off by keyboard on a phone, in Arabic', async ({
  browserProcess,
  sql,
}) => {
  test.setTimeout(90_000)
  const { language, account, secondFactor, shared } = ar('Dashboard', 8)
  const { factor } = account
  const context = await browserProcess.newContext({
    ...{
      viewport: { width: 390, height: 844 },
      hasTouch: true,
      isMobile: true,
      locale: language,
    },
    colorScheme: 'dark',
    extraHTTPHeaders: { 'X-Forwarded-For': newAddress() },
  })
  await context.grantPermissions(['clipboard-read', 'clipboard-write'])
  const complaints = complaintsOf(context as BrowserContext)
  const page = await context.newPage()
  const requested: string[] = []
  page.on('request', (request) => requested.push(request.url()))
  const scripts = () => requested.filter((url) => url.endsWith('.js')).length
  const press = async (target: Locator) => {
    await reach(page, target)
    await page.keyboard.press('Enter')
  }
  const type = async (field: Locator, text: string) => {
    await reach(page, field)
    await page.keyboard.press('Control+A')
    await page.keyboard.type(text)
  }
  const link = (name: string) => page.getByRole('link', { name, exact: true })
  const user = await newPasswordUser(sql, { cost: 4 })
  await openAccount(page, user)
  await press(link(factor.actions.setUp))
  await expect(heading(page)).toHaveText(factor.titles.setUp)
  await type(password(page), 'wrong')
  await press(button(page, shared.goOn))
  await expect(password(page)).toHaveAccessibleDescription(
    shared.errorPrefix + account.wrong,
  )
  await type(password(page), user.password)
  const before = scripts()
  await page.keyboard.press('Enter')
  await expect(
    page.getByRole('heading', { name: `1. ${factor.add}`, exact: true }),
  ).toBeFocused()
  await expect(code(page)).toHaveAccessibleName(`2. ${secondFactor.names.code}`)
  await expect(page.getByText(user.email)).toBeVisible()
  // A phone opens its own app, and shows the QR code only for another device.
  const uri = (await link(factor.open).getAttribute('href'))!
  const secret = keepSecret(new URL(uri).searchParams.get('secret')!)
  const qr = page.getByRole('img', { name: factor.qr })
  await expect(qr).toBeHidden()
  await expect(page.locator('.button:not(.quiet):visible')).toHaveText([shared.goOn])
  await expect(code(page)).toBeInViewport()
  expect(await problemsOf(page)).toEqual([])
  await press(page.getByText(factor.otherDevice))
  await expect(qr.locator('path')).toHaveAttribute('d', /^M/)
  expect(await readQrCode(page)).toBe(uri)
  expect(scripts(), 'the library for it alone').toBe(before + 1)
  expect((await page.locator('.key code').textContent())!.match(/\w{4}/g)!.join('')).toBe(
    secret,
  )
  expect(await problemsOf(page)).toEqual([])
  const toArabic = (digit: string) => String.fromCharCode(0x660 + Number(digit))
  await type(code(page), totp(secret).replace(/\d/g, toArabic))
  await page.keyboard.press('Enter')
  await expect(heading(page)).toHaveText(factor.save)
  await expect(heading(page)).toBeFocused()
  await expect(page.locator('p:has(> .icon.good)')).toHaveText(factor.done.setUp)
  await expect(page.locator('.panel:has(.codes)')).toHaveCSS('border-top-width', '1px')
  const codes = await recoveryCodes(page)
  expect(codes).toHaveLength(10)
  await press(button(page, shared.copy))
  await expect(page.getByText(shared.copied)).toBeVisible()
  expect(await page.evaluate(() => navigator.clipboard.readText())).toBe(codes.join('\n'))
  const [download] = await Promise.all([
    page.waitForEvent('download'),
    press(link(factor.download)),
  ])
  const file = readFileSync((await download.path())!, 'utf8')
  expect(file).toBe(`Dashboard, ${user.email}: ${factor.codes}\n\n${codes.join('\n')}\n`)
  await press(link(factor.saved))
  await expect(page.getByText(account.done.setUp)).toBeVisible()
  await expect(page.getByText(`${factor.left} 10`)).toBeVisible()
  expect(
    await page.evaluate(() => JSON.stringify([localStorage, sessionStorage])),
  ).not.toContain(secret)

  await sql('UPDATE second_factors SET last_step = 0 WHERE user_id = $1', [user.id]) // as if 30 seconds had passed
  await keepCookies(page)
  await context.clearCookies()
  await page.goto(`${server.url}/sign-in?step=password&next=/account`)
  await type(page.locator('#email'), user.email)
  await type(password(page), user.password)
  await page.keyboard.press('Enter')
  await expect(heading(page)).toHaveText(secondFactor.title)
  expect(await keepCookies(page)).toEqual(['browser', 'challenge'])
  await page.reload()
  await expect(page.getByText(user.email)).toBeVisible()
  expect(await problemsOf(page)).toEqual([])
  await type(code(page), wrongCode(secret))
  await press(button(page, shared.signIn))
  await expect(code(page)).toHaveAccessibleDescription(
    new RegExp(secondFactor.issues.code.wrong),
  )
  await expect(page).toHaveTitle(new RegExp(`^${shared.errorPrefix}`))
  const used = totp(secret)
  await type(code(page), used)
  await page.keyboard.press('Enter')
  await page.waitForURL(`${server.url}/account`)
  expect(await keepCookies(page)).toEqual(['browser', 'known', 'refresh', 'session'])

  await press(link(factor.actions.switchOff))
  await type(password(page), user.password)
  await type(code(page), used)
  await press(button(page, factor.actions.switchOff))
  await expect(code(page)).toHaveAccessibleDescription(
    new RegExp(secondFactor.issues.code.used),
  )
  await press(button(page, secondFactor.instead.code))
  await expect(code(page)).toBeFocused()
  await type(code(page), codes[0]!.toLowerCase())
  await page.keyboard.press('Enter')
  await expect(page.getByText(account.done.switchOff)).toBeVisible()
  await expect(page.getByText(factor.off)).toBeVisible()
  const secrets = [secret, user.password, ...codes]
  expect(
    requested.filter((url) =>
      secrets.some((each) => decodeURIComponent(url).includes(each)),
    ),
  ).toEqual([])
  expect(complaints).toEqual([])
  await closeContext(context)
})

test('a locked second factor accepts a recovery code, and the dashboard sign-in continues', async ({
  page,
  sql,
}) => {
  const user = await newFactorUser(sql)
  await sql('UPDATE second_factors SET failures = $2 WHERE user_id = $1', [
    user.id,
    maxSecondFactorFailures,
  ])
  await page.goto(`${server.url}${routes.authorize.path}?${newRequest('local').query}`)
  await signIn(page, user, new URL(page.url()).search.slice(1))
  const api = `**${routes.signInSecondFactor.path}`
  await page.route(api, (route) => route.abort(), { times: 1 })
  await send(code(page), totp(user.secret))
  await expect(page.locator('.banner')).toContainText(
    'Wait for the next code and enter it',
  )
  await page.route(api, respondWith(429, { code: 'RATE_LIMITED' }, 1), { times: 1 })
  await code(page).press('Enter')
  await expect(page.getByText('You can try again now')).toBeVisible()
  await code(page).press('Enter')
  await expect(code(page)).toHaveAccessibleDescription(
    /Use a recovery code, or ask your administrator/,
  )
  await button(page, 'Use a recovery code').click()
  await expect(page.locator('.field-error')).toHaveCount(0)
  await keepCookies(page)
  const arriving = page.waitForRequest((request) =>
    request.url().startsWith(`${dashboards.local}?`),
  )
  // as a word processor and a mail program write it
  await send(code(page), `\u200B“${user.recoveryCodes[0]!.replaceAll('-', ' – ')}”`)
  keepSecret(new URL((await arriving).url()).searchParams.get('code')!)
  await keepCookies(page)
})

test('a button that needs scripts is shown when the page is ready', async ({
  page,
  sql,
}) => {
  const user = await newFactorUser(sql)
  await takeCookies(page, await server.post(routes.signIn.path, user), server.url)
  const release = await holdScripts(page)
  await page.goto(`${server.url}/sign-in`, { waitUntil: 'commit' })
  await expect(code(page)).toBeVisible()
  await expect(button(page, 'Use a recovery code')).toBeHidden()
  release()
  await button(page, 'Use a recovery code').click()
  await expect(code(page)).toHaveAttribute('name', 'recoveryCode')
})

test('after the second step has expired, the user can start again with the same or another email address', async ({
  page,
  sql,
}) => {
  const user = await newFactorUser(sql)
  await signIn(page, user, 'another&next=/%3Fafter')
  await expect(heading(page)).toHaveText('Confirm it’s you')
  await keepCookies(page)
  await sql('UPDATE users SET password_changed_at = now() WHERE id = $1', [user.id])
  await page.evaluate(() => window.keep('email', null)) // as if another tab had removed the address
  await send(code(page), totp(user.secret))
  await expect(password(page)).toHaveAccessibleDescription(
    /Start again with your password/,
  )
  await expect(password(page)).toBeFocused()
  await expect(page.locator('#email')).toHaveValue(user.email)
  await send(password(page), user.password)
  await expect(page).toHaveURL(`${server.url}/sign-in?next=%2F%3Fafter`)
  await keepCookies(page)
  await page.getByRole('link', { name: 'Use another account' }).click()
  await expect(page.locator('#email')).toHaveValue('')
  expect(await keepCookies(page)).toEqual(['ask', 'browser'])
})

test('without scripts, asks the user to turn on JavaScript', async ({
  browserProcess,
  sql,
}) => {
  const context = await browserProcess.newContext({ javaScriptEnabled: false })
  const page = await context.newPage()
  const user = await newFactorUser(sql)
  await takeCookies(page, await server.post(routes.signIn.path, user), server.url)
  await page.goto(`${server.url}/sign-in`)
  await expect(heading(page).filter({ visible: true })).toHaveText(
    'Turn on JavaScript to continue',
  )
  await expect(code(page)).toBeHidden()
  await openAccount(page, await newPasswordUser(sql, { cost: 4 }))
  await page.getByRole('link', { name: 'Set up' }).click()
  await expect(heading(page).filter({ visible: true })).toHaveText(
    'Turn on JavaScript to continue',
  )
  await closeContext(context)
})

test('an existing second factor can be changed even if SECOND_FACTOR is off', async ({
  page,
  sql,
}) => {
  await openAccount(page, await newPasswordUser(sql, { cost: 4 }), { at: without })
  await expect(heading(page)).toHaveText('Your account')
  await expect(page.getByText('Authenticator app')).toHaveCount(0)
  const user = await newFactorUser(sql)
  await openAccount(page, user, { at: without, recoveryCode: user.recoveryCodes[0] })
  await expect(page.getByText('Recovery codes left: 9')).toBeVisible()
  await page.getByRole('link', { name: 'New recovery codes' }).click()
  await send(password(page), user.password)
  await expect(code(page)).toHaveAccessibleDescription(/Enter a code/)
  await send(code(page), totp(user.secret))
  expect(user.recoveryCodes).not.toContain((await recoveryCodes(page))[0])
  await expect(page.getByText('Your new recovery codes have replaced')).toBeVisible()
  await page.getByRole('link', { name: 'I have saved them' }).click()
  await expect(page.getByText('Recovery codes left: 10')).toBeVisible()
})

test('forms with a password name the account for password managers, and do not send the name', async ({
  page,
  sql,
}) => {
  const complaints = complaintsOf(page.context())
  const forms = page.locator('form:has(#password)')
  const userName = forms.locator('[autocomplete=username]')
  const factorUser = await newFactorUser(sql)
  for (const [user, recoveryCode, changes] of [
    [await newPasswordUser(sql, { cost: 4 }), '', ['', 'setUp']],
    [factorUser, factorUser.recoveryCodes[0], ['', 'newCodes', 'switchOff']],
  ] as const) {
    await openAccount(page, user, { recoveryCode })
    for (const change of changes) {
      await page.goto(`${server.url}/account?change=${change}`)
      await expect(forms).toHaveCount(1)
      await expect(userName).toHaveValue(user.email)
      await expect(userName).toBeHidden()
    }
  }

  const sent = page.waitForRequest(`**${routes.removeSecondFactor.path}`)
  await password(page).fill(factorUser.password)
  await send(code(page), totp(factorUser.secret))
  expect(Object.keys((await sent).postDataJSON())).toEqual(['password', 'code'])
  expect(complaints).toEqual([])
})

test('renews an expired JWT, and shows what has changed since the page was opened', async ({
  page,
  sql,
}) => {
  const user = await newPasswordUser(sql, { cost: 4 })
  await openAccount(page, user)
  await page.getByRole('link', { name: 'Set up' }).click()
  await page.context().clearCookies({ name: 'session' }) // as if the JWT had expired
  const submitted = send(password(page), user.password)
  await page.waitForURL(`${server.url}/?next=%2Faccount%3Fchange%3DsetUp`)
  await submitted
  await page.waitForURL(`${server.url}/account?change=setUp`)
  await keepCookies(page)
  await send(password(page), user.password)
  keepSecret((await page.locator('.key code').textContent())!.replaceAll(' ', ''))
  await page.route(
    `**${routes.confirmSecondFactor.path}`,
    respondWith(400, { code: 'CHALLENGE_INVALID' }),
  )
  await send(code(page), '123456')
  await expect(password(page)).toHaveAccessibleDescription(
    /Start again with your password/,
  )
  await expect(password(page)).toBeFocused()
  await sql(`INSERT INTO second_factors VALUES ($1, 'x', 0)`, [user.id]) // by another tab
  await sql('UPDATE users SET second_factor_at = now() WHERE id = $1', [user.id])
  await send(password(page), user.password)
  await expect(page.getByText('We ask for a code when you sign in')).toBeVisible()
})

test('a reload or another tab shows the same secret during the set-up, but another session does not', async ({
  page,
  browserProcess,
  sql,
}) => {
  const user = await newPasswordUser(sql, { cost: 4 })
  const setUpUrl = `${server.url}/account?change=setUp`
  const readKey = async (tab: Page) =>
    keepSecret((await tab.locator('.key code').textContent())!.replaceAll(' ', ''))
  await openAccount(page, user)
  await page.goto(setUpUrl)
  await send(password(page), user.password)
  const secret = await readKey(page)

  await send(code(page), wrongCode(secret))
  await expect(code(page)).toHaveAccessibleDescription(/wrong/)
  await page.reload()
  expect(await readKey(page)).toBe(secret)
  const tab = await page.context().newPage()
  await tab.goto(setUpUrl)
  expect(await readKey(tab)).toBe(secret)
  const stored = await tab.evaluate(() => JSON.stringify([localStorage, sessionStorage]))
  expect(stored).not.toContain(secret)

  const elsewhere = await browserProcess.newContext()
  const stranger = await elsewhere.newPage()
  await openAccount(stranger, user)
  const cookies = await page.context().cookies(server.url)
  const enrolment = cookies.find(({ name }) => name === 'enrolment')!
  expect(enrolment.httpOnly).toBe(true)
  await elsewhere.addCookies([enrolment])
  await stranger.goto(setUpUrl)
  await expect(password(stranger)).toBeVisible()
  await expect(stranger.locator('.key')).toHaveCount(0)
  await elsewhere.close()

  expect(await keepCookies(page)).toContain('enrolment')
  await send(code(page), totp(secret))
  await recoveryCodes(page)
  expect(await keepCookies(page)).not.toContain('enrolment')
})

test('says that the page was updated if a script that is loaded later is gone', async ({
  page,
  sql,
}) => {
  const user = await newPasswordUser(sql, { cost: 4 })
  const setUpUrl = `${server.url}/account?change=setUp`
  await openAccount(page, user)
  const loaded = await page.evaluate(() =>
    performance.getEntriesByType('resource').map(({ name }) => name),
  )
  const isOther = (url: URL) => url.pathname.endsWith('.js') && !loaded.includes(url.href)
  await page.route(isOther, (route) => route.fulfill({ status: 404 }))
  await page.goto(setUpUrl)
  await expect(
    page.getByRole('heading', { name: 'This page has been updated' }),
  ).toBeVisible()
  await page.unrouteAll()
  await page.getByRole('button', { name: 'Reload the page' }).click()
  await expect(password(page)).toBeEditable()
  await send(password(page), user.password)
  await expect(page.locator('.key')).toBeVisible()
  keepSecret((await page.locator('.key code').textContent())!.replaceAll(' ', ''))
})
