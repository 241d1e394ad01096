import type { BrowserContext, Page } from 'playwright/test'
import * as routes from '../../lib/contract/routes'
import { ar } from '../../lib/texts/ar'
import { en } from '../../lib/texts/en'
import { closeContext } from '../support/browsers/close-context'
import { keepCookies, takeCookies } from '../support/browsers/cookies'
import { complaintsOf, problemsOf } from '../support/browsers/page-checks'
import { respondWith } from '../support/browsers/page-states'
import { addAuthenticator } from '../support/browsers/virtual-authenticator'
import { newPasskeyUser } from '../support/databases/passkey'
import { newPasswordUser, type PasswordUser } from '../support/databases/password-user'
import { newFactorUser, totp, wrongCode } from '../support/databases/second-factor'
import {
  expect,
  heading,
  newPassword,
  newToken,
  newUsers,
  resetPath,
  type Sql,
  type TestServer,
  test,
} from '../support/fixtures'
import { keepSecret, newAddress } from '../support/secrets'
import { requiredFactor } from '../support/servers/settings'

let server: TestServer
test.beforeAll(async ({ serverWith }) => {
  server = await serverWith(requiredFactor)
})

const texts = en('Dashboard', 8)
const { account, home, passkey: words, secondFactor, shared } = texts
const { factor } = account

const button = (page: Page, name: string) =>
  page.getByRole('button', { name, exact: true })
const link = (page: Page, name: string) => page.getByRole('link', { name, exact: true })
const code = (page: Page) => page.locator('#code')
const alert = (page: Page) => page.locator('main [role=alert]:not(.not-loaded)')
const newUser = (sql: Sql) => newPasswordUser(sql, { cost: 4 })

const expectSignedIn = (page: Page) => expect(heading(page)).toHaveText(home.signedIn)

/** Signs in with the password. */
async function enterPassword(
  page: Page,
  { email, password }: PasswordUser,
  query = '',
): Promise<void> {
  await page.emulateMedia({ reducedMotion: 'reduce' }) // axe sees no color of a transition
  await page.goto(`${server.url}/sign-in?step=password${query}`)
  await page.locator('#email').fill(email)
  await page.locator('#password').fill(password)
  await page.locator('#password').press('Enter')
}

/** Chooses the authenticator app, once the scripts of the step have started. */
async function chooseApp(page: Page, { app } = secondFactor.setUp): Promise<void> {
  await button(page, app).waitFor()
  await page.locator('html[data-ready]').waitFor({ state: 'attached' })
  await button(page, app).click()
}

async function readSecret(page: Page): Promise<string> {
  const typed = await page.locator('.key code').textContent() // hidden on a phone
  return keepSecret(typed!.replaceAll(' ', ''))
}

async function saveCodes(page: Page, { save, saved } = factor): Promise<string[]> {
  await expect(heading(page)).toHaveText(save)
  const codes = (await page.locator('.codes').innerText()).trim().split('\n')
  expect(codes.map(keepSecret)).toHaveLength(10)
  await link(page, saved).click()

  return codes
}

async function newPhone(
  open: (options: object) => Promise<unknown>,
  locale: string,
): Promise<{ page: Page; close: () => Promise<void> }> {
  const context = (await open({
    ...{ viewport: { width: 390, height: 844 }, hasTouch: true, isMobile: true, locale },
    extraHTTPHeaders: { 'X-Forwarded-For': newAddress() },
  })) as BrowserContext
  const complaints = complaintsOf(context)

  return {
    page: await context.newPage(),
    close: async () => {
      await closeContext(context)
      expect(complaints).toEqual([])
    },
  }
}

const spoken = ar('Dashboard', 8)

test('set up a passkey inside the sign-in on a phone, in Arabic', async ({
  browserProcess,
  sql,
}) => {
  test.setTimeout(90_000)
  const open = (options: object) => browserProcess.newContext(options)
  const { page, close } = await newPhone(open, spoken.language)
  const authenticator = await addAuthenticator(page)
  const user = await newUser(sql)
  await enterPassword(page, user)
  await expect(heading(page)).toHaveText(spoken.secondFactor.setUp.title)
  expect(await problemsOf(page)).toEqual([])
  expect(await keepCookies(page)).not.toContain('session')

  await button(page, spoken.passkey.create).click()
  await expect(page.getByText(spoken.passkey.prompt)).toBeVisible()
  await button(page, spoken.passkey.cancel).click()
  await authenticator.respond(true)
  await button(page, spoken.passkey.create).click()
  await expect(heading(page)).toHaveText(spoken.account.factor.save)
  expect(await problemsOf(page)).toEqual([])
  await saveCodes(page, spoken.account.factor)
  await expect(heading(page)).toHaveText(spoken.home.signedIn)
  await authenticator.respond(false)

  await page.context().clearCookies()
  await enterPassword(page, user)
  await expect(heading(page)).toHaveText(spoken.secondFactor.title)
  expect(await problemsOf(page)).toEqual([])
  await authenticator.respond(true)
  await button(page, spoken.secondFactor.passkey).click()
  await expect(heading(page)).toHaveText(spoken.home.signedIn)
  await close()
})

test('set up an authenticator app inside the sign-in on a phone, with a reload, in Arabic', async ({
  browserProcess,
  sql,
}) => {
  test.setTimeout(90_000)
  const open = (options: object) => browserProcess.newContext(options)
  const { page, close } = await newPhone(open, spoken.language)
  await addAuthenticator(page)
  await enterPassword(page, await newUser(sql), '&next=/account')
  await chooseApp(page, spoken.secondFactor.setUp)
  await expect(
    page.getByRole('heading', { name: spoken.account.factor.add }),
  ).toBeFocused()
  const secret = await readSecret(page)
  expect(await problemsOf(page)).toEqual([])

  await button(page, spoken.secondFactor.setUp.instead).click()
  await chooseApp(page, spoken.secondFactor.setUp)
  expect(await readSecret(page)).toBe(secret)
  await page.reload()
  expect(await readSecret(page)).toBe(secret)
  await button(page, spoken.shared.goOn).click()
  await expect(code(page)).toHaveAccessibleDescription(
    new RegExp(spoken.secondFactor.empty.code),
  )
  await code(page).fill(wrongCode(secret))
  await code(page).press('Enter')
  await expect(code(page)).toHaveAccessibleDescription(
    new RegExp(spoken.secondFactor.issues.code.wrong.slice(0, 10)),
  )
  await code(page).fill(totp(secret))
  await code(page).press('Enter')
  await saveCodes(page, spoken.account.factor)
  await expect(page).toHaveURL(`${server.url}/account`)
  await close()
})

test('the set-up follows a reset and an invitation', async ({ page, sql }) => {
  const [invited] = await newUsers(sql, 1)
  for (const user of [invited!, await newUser(sql)]) {
    const password = newPassword()
    await server.post(resetPath, { token: await newToken(user), password })
    await page.context().clearCookies()
    await enterPassword(page, { ...user, password })
    await chooseApp(page)
    await code(page).fill(totp(await readSecret(page)))
    await code(page).press('Enter')
    await saveCodes(page)
    await expectSignedIn(page)
  }
})

test.describe('after a lost answer', () => {
  /** Processes the next request to an operation, and loses its response. */
  const lose = (page: Page, path: string) =>
    page.route(
      `**${path}`,
      async (route) => {
        await route.fetch()
        // the fetch of the test has stored the cookies, which the browser never got
        await page.context().clearCookies({ name: /^(session|refresh|known)$/ })
        await route.abort()
      },
      { times: 1 },
    )

  /** Sets up a passkey, and loses the response. */
  async function loseSetUp(page: Page, sql: Sql) {
    const authenticator = await addAuthenticator(page)
    const user = await newUser(sql)
    await enterPassword(page, user)
    await lose(page, routes.addPasskey.path)
    await authenticator.respond(true)
    await button(page, words.create).click()
    await expect(alert(page)).toContainText(texts.signIn.unknown.body)
    return { authenticator, user }
  }

  test('another try sends the same passkey, and says that no codes were shown', async ({
    page,
    sql,
  }) => {
    const { authenticator } = await loseSetUp(page, sql)
    await button(page, words.create).click()
    await expect(heading(page)).toHaveText(factor.lost)
    expect(await authenticator.count()).toBe(1)
    await link(page, shared.goOn).click()
    await expectSignedIn(page)
  })

  test('another try with the app says that no codes were shown', async ({
    page,
    sql,
  }) => {
    await enterPassword(page, await newUser(sql))
    await chooseApp(page)
    const secret = await readSecret(page)
    await lose(page, routes.confirmSecondFactor.path)
    await code(page).fill(totp(secret))
    await code(page).press('Enter')
    await expect(alert(page)).toContainText(texts.signIn.unknown.body)
    await code(page).press('Enter')
    await expect(heading(page)).toHaveText(factor.lost)
    await link(page, factor.actions.newCodes).click()
    await expect(heading(page)).toHaveText(factor.titles.newCodes)
  })

  test('a reload asks for the password and then for the new factor', async ({
    page,
    sql,
  }) => {
    const { authenticator, user } = await loseSetUp(page, sql)
    await authenticator.respond(false)
    await page.reload()
    await expect(page.locator('#email')).toBeVisible()
    await enterPassword(page, user)
    await expect(heading(page)).toHaveText(secondFactor.title)
    await authenticator.respond(true)
    await button(page, secondFactor.passkey).click()
    await expectSignedIn(page)
  })
})

test('a browser without passkeys sets up an app, and other limits are explained', async ({
  page,
  sql,
}) => {
  await page.addInitScript(() => {
    delete (window as { PublicKeyCredential?: unknown }).PublicKeyCredential
  })
  await enterPassword(page, await newUser(sql))
  await expect(page.getByText(secondFactor.setUp.appBody)).toBeVisible()
  await expect(button(page, secondFactor.setUp.instead)).toHaveCount(0)
  await page.route(
    `**${routes.startSecondFactor.path}`,
    respondWith(429, { code: 'RATE_LIMITED' }, 1),
    { times: 1 },
  )
  await chooseApp(page)
  await expect(alert(page)).toContainText(factor.limited.title)
  await button(page, shared.tryAgain).click()
  await expect(page.locator('.key')).toBeVisible()
  await readSecret(page)
})

test('an expired set-up starts again with the password, with the address filled in', async ({
  page,
  sql,
}) => {
  // autofill would offer the passkey that the server has rejected
  await page.addInitScript(() => {
    PublicKeyCredential.isConditionalMediationAvailable = async () => false
  })
  const user = await newUser(sql)
  for (const way of ['app', 'passkey'] as const) {
    const authenticator = way === 'passkey' ? await addAuthenticator(page) : null
    await enterPassword(page, user, '&next=/account')
    await expect(heading(page)).toHaveText(secondFactor.setUp.title)
    await sql('UPDATE users SET password_changed_at = now() WHERE id = $1', [user.id])
    await authenticator?.respond(true)
    if (way === 'app') await chooseApp(page)
    else await button(page, words.create).click()
    await expect(page.locator('#password')).toHaveAccessibleDescription(
      new RegExp(secondFactor.expired.slice(0, 20)),
    )
    await expect(page.locator('#email')).toHaveValue(user.email)
    expect(new URL(page.url()).searchParams.get('next')).toBe('/account')
  }
})

test('a user with a passkey from before is asked for it, and can use another account', async ({
  page,
  sql,
}) => {
  await addAuthenticator(page)
  const user = await newPasskeyUser(sql) // its key is not in this browser
  await enterPassword(page, user)
  await expect(page.getByText(secondFactor.passkeyOnly)).toBeVisible()
  expect(await problemsOf(page)).toEqual([])
  await expect(code(page)).toHaveCount(0)
  await button(page, secondFactor.passkey).click()
  await button(page, words.cancel).click()
  await link(page, texts.signIn.another).click()
  await expect(page.locator('#email')).toHaveValue('')
})

test('a user without an app enters a recovery code', async ({ page, sql }) => {
  const user = await newFactorUser(sql)
  await sql('DELETE FROM second_factors WHERE user_id = $1', [user.id])
  await enterPassword(page, user)
  await expect(page.getByLabel(secondFactor.names.recoveryCode)).toBeVisible()
  await expect(button(page, secondFactor.instead.recoveryCode)).toHaveCount(0)
  await code(page).fill(user.recoveryCodes[0]!)
  await code(page).press('Enter')
  await expectSignedIn(page)
})

test('without scripts, asks the user to turn on JavaScript', async ({
  browserProcess,
  sql,
}) => {
  const context = await browserProcess.newContext({ javaScriptEnabled: false })
  const page = await context.newPage()
  for (const user of [await newUser(sql), await newPasskeyUser(sql)]) {
    await takeCookies(page, await server.post(routes.signIn.path, user), server.url)
    await page.goto(`${server.url}/sign-in`)
    await expect(heading(page).filter({ visible: true })).toHaveText(shared.noScript)
  }
  await closeContext(context)
})

test.describe('/account', () => {
  /** Sets up a passkey inside a sign-in, then signs in with it and opens a page. */
  async function openWithPasskey(page: Page, sql: Sql, path: string) {
    const authenticator = await addAuthenticator(page)
    const user = await newUser(sql)
    await enterPassword(page, user)
    await authenticator.respond(true)
    await button(page, words.create).click()
    await saveCodes(page)
    await expectSignedIn(page)
    await authenticator.respond(false)
    await page.goto(server.url + path)
    return { user, authenticator }
  }

  test('asks for a fresh sign-in with the passkey, and then shows new codes', async ({
    page,
    sql,
  }) => {
    const { authenticator } = await openWithPasskey(page, sql, '/account')
    await expect(page.getByText(factor.onPasskey)).toBeVisible()
    await expect(link(page, factor.actions.switchOff)).toHaveCount(0)
    await link(page, factor.actions.newCodes).click()
    await expect(heading(page)).toHaveText(factor.titles.newCodes)
    expect(await problemsOf(page)).toEqual([])
    await link(page, words.again).click()
    await button(page, words.signIn).waitFor()
    await authenticator.respond(true)
    await button(page, words.signIn).click()
    await expect(page.getByText(factor.proven)).toBeVisible()
    expect(await problemsOf(page)).toEqual([])
    await button(page, factor.actions.newCodes).click()
    await saveCodes(page)
    await expect(page.locator('.success')).toHaveText(account.done.newCodes)
  })

  test('says what follows when the last passkey is removed', async ({ page, sql }) => {
    const { user } = await openWithPasskey(page, sql, '/account')
    await page.locator('#passkeys summary').last().click()
    await expect(page.locator('#passkeys')).toContainText(words.lastRequired)
    expect(await problemsOf(page)).toEqual([])
    await button(page, words.removeThis).click()
    await expect(page.locator('.success')).toHaveText(account.done.passkeyRemoved)
    await page.context().clearCookies()
    await enterPassword(page, user)
    await expect(heading(page)).toHaveText(secondFactor.setUp.title)
  })

  test('says what follows when the app is switched off', async ({ page, sql }) => {
    const user = await newFactorUser(sql)
    const { body } = await server.post(routes.signIn.path, user)
    const given = { challenge: body.challenge, recoveryCode: user.recoveryCodes[0] }
    const signedIn = await server.post(routes.signInSecondFactor.path, given)
    await takeCookies(page, signedIn, server.url)
    await page.goto(`${server.url}/account?change=switchOff`)
    await expect(page.getByText(factor.requiredAgain)).toBeVisible()
    expect(await problemsOf(page)).toEqual([])
  })
})
