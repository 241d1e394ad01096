import * as routes from '../../lib/contract/routes'
import { test, type Visitor } from '../support/browsers/visitor'
import { liveSessionsOf } from '../support/databases/account'
import { newPasswordUser, type PasswordUser } from '../support/databases/password-user'
import { newFactorUser, totp } from '../support/databases/second-factor'
import { expect, newCode, newPassword, newToken } from '../support/fixtures'
import { keepSecret } from '../support/secrets'
import {
  type DroppingProxy,
  startBehindDroppingProxy,
} from '../support/servers/dropping-proxy'

// What e2e/pages/repetition.spec.ts shows in Chromium: Firefox sends a POST again, too.

let proxy: DroppingProxy
test.beforeAll(async ({ serverWith }) => {
  proxy = await startBehindDroppingProxy(serverWith)
})
test.afterAll(() => proxy.stop())

/** Opens connections that the browser keeps, and prepares the loss of a response. */
async function loseNext({ browser }: Visitor, path: string): Promise<void> {
  await browser.run(
    `return Promise.all([1, 2, 3].map(() => fetch('/api/health', { cache: 'no-store' }))).then(() => 0)`,
  )
  proxy.dropNext(path)
}

const expectRepeated = () => expect.poll(() => proxy.count()).toBeGreaterThan(1)

async function enterPassword(visitor: Visitor, { email, password }: PasswordUser) {
  await visitor.fill('email', email)
  await visitor.send('password', password)
}

async function signIn(visitor: Visitor, user: PasswordUser): Promise<void> {
  await visitor.goTo(`${proxy.url}/sign-in?step=password`)
  await enterPassword(visitor, user)
  await visitor.sees('You’re signed in')
}

test('an exchange', async ({ open, sql, user }) => {
  const visitor = await open('Firefox')
  await visitor.goTo(`${proxy.url}/`)
  await loseNext(visitor, routes.exchangeSsoCode.path)
  await visitor.goTo(`${proxy.url}/sso/callback?code=${await newCode(user)}`)
  await visitor.sees('You’re signed in')
  await expectRepeated()
  expect(await liveSessionsOf(sql, user)).toHaveLength(1)
})

test('a password sign-in', async ({ open, sql }) => {
  const visitor = await open('Firefox')
  const user = await newPasswordUser(sql, { cost: 4 })
  await visitor.goTo(`${proxy.url}/sign-in?step=password`)
  await loseNext(visitor, routes.signIn.path)
  await enterPassword(visitor, user)
  await visitor.sees('You’re signed in')
  await expectRepeated()
  expect(await liveSessionsOf(sql, user)).toHaveLength(1)
})

for (const what of ['a TOTP code', 'a recovery code'])
  test(`a sign-in with ${what}`, async ({ open, sql }) => {
    const visitor = await open('Firefox')
    const user = await newFactorUser(sql)
    const isTotp = what === 'a TOTP code'
    await visitor.goTo(`${proxy.url}/sign-in?step=password`)
    await enterPassword(visitor, user)
    await visitor.sees('Confirm it’s you')
    if (!isTotp) await visitor.press('Use a recovery code')
    await loseNext(visitor, routes.signInSecondFactor.path)
    await visitor.send('code', isTotp ? totp(user.secret) : user.recoveryCodes[0]!)
    await visitor.sees('You’re signed in')
    await expectRepeated()
    expect(await liveSessionsOf(sql, user)).toHaveLength(1)
  })

test('a change of the password', async ({ open, sql }) => {
  const visitor = await open('Firefox')
  const user = await newPasswordUser(sql, { cost: 4 })
  await signIn(visitor, user)
  await visitor.goTo(`${proxy.url}/account`)
  await loseNext(visitor, routes.changePassword.path)
  const password = newPassword()
  await visitor.fill('current', user.password)
  await visitor.send('password', password)
  await visitor.sees('Your password has been changed.')
  await expectRepeated()

  await visitor.forgetCookies()
  await signIn(visitor, { ...user, password })
})

test('a set-up of the second factor', async ({ open, sql }) => {
  const visitor = await open('Firefox')
  const user = await newPasswordUser(sql, { cost: 4 })
  await signIn(visitor, user)
  await visitor.goTo(`${proxy.url}/account?change=setUp`)
  await visitor.send('password', user.password)
  await visitor.browser.find('//*[@id="code"]')
  const secret = keepSecret((await visitor.textOf('.key code')).replace(/\s/g, ''))
  await loseNext(visitor, routes.confirmSecondFactor.path)
  await visitor.send('code', totp(secret))
  await visitor.sees('Your recovery codes weren’t shown')
  await expectRepeated()

  await visitor.follow('New recovery codes')
  await visitor.sees('Get new recovery codes')
})

test('a reset', async ({ open, user }) => {
  const visitor = await open('Firefox')
  await visitor.goTo(`${proxy.url}/reset-password?token=${await newToken(user)}`)
  await loseNext(visitor, routes.resetPassword.path)
  await visitor.send('password', newPassword())
  await visitor.sees('Your password has been changed')
  await expectRepeated()
})

test('a sign-out', async ({ open, sql }) => {
  const visitor = await open('Firefox')
  const user = await newPasswordUser(sql, { cost: 4 })
  await signIn(visitor, user)
  await visitor.goTo(`${proxy.url}/`)
  await loseNext(visitor, routes.signOutOfPages.path)
  await visitor.press('Sign out')
  await visitor.sees('You’ve been signed out')
  await expectRepeated()
  expect(await liveSessionsOf(sql, user)).toHaveLength(0)
})

test('ending the other sessions', async ({ open, sql }) => {
  const visitor = await open('Firefox')
  const user = await newPasswordUser(sql, { cost: 4 })
  await signIn(visitor, user)
  await visitor.forgetCookies()
  await signIn(visitor, user)
  await visitor.goTo(`${proxy.url}/account`)
  await loseNext(visitor, routes.updateAccount.path)
  await visitor.press('Sign out everywhere else')
  await visitor.sees('All other devices were signed out.')
  await expectRepeated()
  expect(await liveSessionsOf(sql, user)).toHaveLength(1)
})
