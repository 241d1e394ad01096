import type { Page } from 'playwright/test'
import * as routes from '../../lib/contract/routes'
import { takeCookies } from '../support/browsers/cookies'
import { liveSessionsOf } from '../support/databases/account'
import { newPasswordUser, type PasswordUser } from '../support/databases/password-user'
import { type FactorUser, newFactorUser, totp } from '../support/databases/second-factor'
import {
  expect,
  heading,
  newCode,
  newPassword,
  newToken,
  postTo,
  test,
} from '../support/fixtures'
import { keepSecret, newAddress } from '../support/secrets'
import {
  type DroppingProxy,
  startBehindDroppingProxy,
} from '../support/servers/dropping-proxy'

let proxy: DroppingProxy
test.beforeAll(async ({ serverWith }) => {
  proxy = await startBehindDroppingProxy(serverWith)
})
test.afterAll(() => proxy.stop())

const button = (page: Page, name: string) =>
  page.getByRole('button', { name, exact: true })
const field = (page: Page, name: string) => page.getByLabel(name, { exact: true })

/** Opens a page, and connections that the browser keeps. Then prepares the loss. */
async function open(page: Page, path: string, lost: string): Promise<void> {
  await page.goto(proxy.url + path)
  await loseNext(page, lost)
}

async function loseNext(page: Page, path: string): Promise<void> {
  await page.evaluate(() =>
    Promise.all([1, 2, 3].map(() => fetch('/api/health', { cache: 'no-store' }))),
  )
  proxy.dropNext(path)
}

/** Enters the address and the password. */
async function enterPassword(page: Page, { email, password }: PasswordUser) {
  await field(page, 'Email address').fill(email)
  await field(page, 'Password').fill(password)
  await button(page, 'Sign in').click()
}

/** Signs in without a page. */
async function signIn(page: Page, { email, password }: PasswordUser): Promise<void> {
  const headers = { 'X-Forwarded-For': newAddress() }
  const path = routes.signIn.path
  const response = await postTo(proxy.url + path, { email, password }, headers)
  expect(response.status).toBe(200)
  await takeCookies(page, response, proxy.url)
}

async function expectRepeated(): Promise<void> {
  await expect.poll(() => proxy.count()).toBeGreaterThan(1)
}

test('an exchange', async ({ page, sql, user }) => {
  await open(page, '/', routes.exchangeSsoCode.path)
  await page.goto(`${proxy.url}/sso/callback?code=${await newCode(user)}`)
  await expect(heading(page)).toHaveText('You’re signed in')
  await expectRepeated()
  expect(await liveSessionsOf(sql, user)).toHaveLength(1)
})

test('a password sign-in', async ({ page, sql }) => {
  const user = await newPasswordUser(sql, { cost: 4 })
  await open(page, '/sign-in?step=password', routes.signIn.path)
  await enterPassword(page, user)
  await expect(heading(page)).toHaveText('You’re signed in')
  await expectRepeated()
  expect(await liveSessionsOf(sql, user)).toHaveLength(1)
})

for (const [what, proofOf] of Object.entries({
  'a TOTP code': ({ secret }: FactorUser) => totp(secret),
  'a recovery code': ({ recoveryCodes }: FactorUser) => recoveryCodes[0]!,
}))
  test(`a sign-in with ${what}`, async ({ page, sql }) => {
    const user = await newFactorUser(sql)
    await page.goto(`${proxy.url}/sign-in?step=password`)
    await enterPassword(page, user)
    await expect(heading(page)).toHaveText('Confirm it’s you')
    if (what === 'a recovery code') await button(page, 'Use a recovery code').click()
    await loseNext(page, routes.signInSecondFactor.path)
    await page.locator('#code').fill(proofOf(user))
    await button(page, 'Sign in').click()
    await expect(heading(page)).toHaveText('You’re signed in')
    await expectRepeated()
    expect(await liveSessionsOf(sql, user)).toHaveLength(1)
  })

test('a change of the password', async ({ page, sql }) => {
  const user = await newPasswordUser(sql, { cost: 4 })
  await signIn(page, user)
  await open(page, '/account', routes.changePassword.path)
  const password = newPassword()
  await field(page, 'Current password').fill(user.password)
  await field(page, 'New password').fill(password)
  await button(page, 'Change password').click()
  await expect(page.getByText('Your password has been changed.')).toBeVisible()
  await expectRepeated()

  await page.context().clearCookies()
  await signIn(page, { ...user, password })
})

test('a set-up of the second factor', async ({ page, sql }) => {
  const user = await newPasswordUser(sql, { cost: 4 })
  await signIn(page, user)
  await page.goto(`${proxy.url}/account?change=setUp`)
  await field(page, 'Current password').fill(user.password)
  await button(page, 'Continue').click()
  const secret = keepSecret(
    (await page.locator('.key code').textContent())!.replace(/\s/g, ''),
  )
  await loseNext(page, routes.confirmSecondFactor.path)
  await page.locator('#code').fill(totp(secret))
  await button(page, 'Continue').click()
  await expect(heading(page)).toHaveText('Your recovery codes weren’t shown')
  await expectRepeated()

  await page.getByRole('link', { name: 'New recovery codes' }).click()
  await expect(heading(page)).toHaveText('Get new recovery codes')
})

test('a reset', async ({ page, user }) => {
  await open(
    page,
    `/reset-password?token=${await newToken(user)}`,
    routes.resetPassword.path,
  )
  await field(page, 'New password').fill(newPassword())
  await button(page, 'Save password').click()
  await expect(heading(page)).toHaveText('Your password has been changed')
  await expectRepeated()
})

test('a sign-out', async ({ page, sql }) => {
  const user = await newPasswordUser(sql, { cost: 4 })
  await signIn(page, user)
  await open(page, '/', routes.signOutOfPages.path)
  await button(page, 'Sign out').click()
  await expect(heading(page)).toHaveText('You’ve been signed out')
  await expectRepeated()
  expect(await liveSessionsOf(sql, user)).toHaveLength(0)
})

test('ending the other sessions', async ({ page, sql }) => {
  const user = await newPasswordUser(sql, { cost: 4 })
  await signIn(page, user)
  await page.context().clearCookies()
  await signIn(page, user)
  await open(page, '/account', routes.updateAccount.path)
  await button(page, 'Sign out everywhere else').click()
  await expect(page.getByText('All other devices were signed out.')).toBeVisible()
  await expectRepeated()
  expect(await liveSessionsOf(sql, user)).toHaveLength(1)
})
