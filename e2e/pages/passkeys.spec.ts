import type { BrowserContext, Locator, Page } from 'playwright/test'
import * as routes from '../../lib/contract/routes'
import { ar } from '../../lib/texts/ar'
import { en } from '../../lib/texts/en'
import { newPasskey } from '../support/authenticator'
import { closeContext } from '../support/browsers/close-context'
import { takeCookies } from '../support/browsers/cookies'
import { complaintsOf, problemsOf } from '../support/browsers/page-checks'
import { respondWith } from '../support/browsers/page-states'
import {
  addAuthenticator,
  type VirtualAuthenticator,
} from '../support/browsers/virtual-authenticator'
import { countPasskeys, newPasskeyUser, storePasskey } from '../support/databases/passkey'
import { newPasswordUser, type PasswordUser } from '../support/databases/password-user'
import {
  countPosts,
  expect,
  heading,
  holdScripts,
  newPassword,
  newToken,
  type Sql,
  type TestServer,
  test,
} from '../support/fixtures'
import { newAddress } from '../support/secrets'
import { allFeatures } from '../support/servers/settings'

let server: TestServer
let query: Sql
test.beforeAll(async ({ serverWith, sql }) => {
  server = await serverWith(allFeatures)
  query = sql
})

const { passkey: texts, account, shared, home } = en('Dashboard', 8)
const button = (page: Page, name: string) =>
  page.getByRole('button', { name, exact: true })
const link = (page: Page, name: string) => page.getByRole('link', { name, exact: true })
/** Not that of Next.js, which announces navigations. */
const alert = (page: Page) => page.locator('main [role=alert]:not(.not-loaded)')
const signInButton = (page: Page) => button(page, texts.signIn)

/** Opens the account page of a user who has just signed in with the password. */
async function openAccount(page: Page, user: PasswordUser, path = '/account') {
  const { email, password } = user
  const response = await server.post(routes.signIn.path, { email, password })
  await takeCookies(page, response, server.url)
  await page.goto(server.url + path)
}

/** Adds an authenticator with a passkey of a user. */
async function addPasskey(
  page: Page,
  user: PasswordUser,
  options: Parameters<typeof addAuthenticator>[1] = {},
): Promise<VirtualAuthenticator> {
  const authenticator = await addAuthenticator(page, options)
  const passkey = newPasskey(user.id)
  await storePasskey(query, user, passkey)
  await authenticator.add(passkey)
  return authenticator
}

const isCreator = (script: string) => script.includes('credentials.create(')

/** Whether React has begun to make the page interactive. Runs in the page. */
const hasReact = () =>
  Object.keys(document).some((name) => name.startsWith('__reactContainer'))

const openSignIn = (page: Page) => page.goto(`${server.url}/sign-in?step=password`)

async function enterPassword(page: Page, { email, password }: PasswordUser) {
  await page.locator('#email').fill(email)
  await page.locator('#password').fill(password)
  await page.locator('#password').press('Enter')
}

/**
 * Opens the sign-in page, and presses its button. The authenticator answers only prompts
 * that begin after it is switched on, so it does not answer that of autofill.
 */
async function askForPasskey(page: Page, authenticator: VirtualAuthenticator) {
  await openSignIn(page)
  await signInButton(page).waitFor()
  await authenticator.respond(true)
  await signInButton(page).click()
}

const expectSignedIn = (page: Page) => expect(heading(page)).toHaveText(home.signedIn)

/** Moves the focus to an element with only the Tab key. */
async function reach(page: Page, target: Locator): Promise<void> {
  await target.waitFor()
  for (let presses = 0; presses < 60; presses++) {
    if (await target.evaluate((element) => element === document.activeElement)) return
    await page.keyboard.press('Tab')
  }
  throw new Error(`the Tab key does not lead to ${target}`)
}

test('add, rename, sign in with the button and remove by keyboard on a phone, in Arabic', async ({
  browserProcess,
  sql,
}) => {
  test.setTimeout(120_000)
  const arabic = ar('Dashboard', 8)
  const { language, passkey: words, account: ofAccount } = arabic
  const context = await browserProcess.newContext({
    viewport: { width: 390, height: 844 },
    hasTouch: true,
    isMobile: true,
    locale: language,
    extraHTTPHeaders: { 'X-Forwarded-For': newAddress() },
  })
  const complaints = complaintsOf(context as BrowserContext)
  const page = await context.newPage()
  const press = async (target: Locator) => {
    await reach(page, target)
    await page.keyboard.press('Enter')
  }
  const authenticator = await addAuthenticator(page)
  const user = await newPasswordUser(sql, { cost: 4 })

  await openAccount(page, user)
  expect(await problemsOf(page)).toEqual([])
  await press(link(page, words.add))
  await expect(heading(page)).toHaveText(words.addTitle)
  expect(await problemsOf(page)).toEqual([])
  await press(button(page, words.create))
  await expect(page.getByText(words.prompt)).toBeVisible()
  expect(await problemsOf(page)).toEqual([])
  await press(page.locator('.way-on .link'))
  await authenticator.respond(true)
  await press(button(page, words.create))
  await expect(page.locator('.success')).toHaveText(ofAccount.done.passkeyAdded)
  await authenticator.respond(false)

  await press(page.locator('#passkeys summary').first())
  const name = page.getByLabel(words.label)
  await reach(page, name)
  await page.keyboard.press('Control+A')
  await page.keyboard.type('My phone')
  expect(await problemsOf(page)).toEqual([])
  await page.keyboard.press('Enter')
  await expect(page.locator('.success')).toHaveText(ofAccount.done.passkeyRenamed)
  await expect(page.locator('#passkeys strong')).toHaveText('My phone')
  await expect(page.locator('#passkeys .hint')).toContainText(words.synced)

  await context.clearCookies()
  await openSignIn(page)
  await reach(page, button(page, words.signIn))
  expect(await problemsOf(page)).toEqual([])
  // only prompts that begin later are answered
  await authenticator.respond(true)
  await page.keyboard.press('Enter')
  await expect(heading(page)).toHaveText(arabic.home.signedIn)

  await page.goto(`${server.url}/account`)
  await press(page.locator('#passkeys summary').last())
  await expect(page.locator('#passkeys')).toContainText(words.last)
  expect(await problemsOf(page)).toEqual([])
  await press(button(page, words.removeThis))
  await expect(page.locator('.success')).toHaveText(ofAccount.done.passkeyRemoved)
  expect(await countPasskeys(sql, user)).toBe(0)
  await closeContext(context as BrowserContext)
  expect(complaints).toEqual([])
})

test('autofill signs in without the button', async ({ page, sql }) => {
  const user = await newPasswordUser(sql, { cost: 4 })
  const authenticator = await addPasskey(page, user)
  await authenticator.respond(true)
  await openSignIn(page)
  await expectSignedIn(page)
})

test('after a reload, the button works', async ({ page, sql }) => {
  const user = await newPasswordUser(sql, { cost: 4 })
  const authenticator = await addPasskey(page, user)
  await openSignIn(page)
  await expect(page.locator('#email')).toHaveAttribute(
    'autocomplete',
    'username webauthn',
  )
  await expect(page.locator('#password')).toHaveAttribute(
    'autocomplete',
    'current-password webauthn',
  )
  await page.reload()
  await signInButton(page).waitFor()
  await authenticator.respond(true)
  await signInButton(page).click()
  await expectSignedIn(page)
})

test('a cancelled prompt shows nothing, and the next one works', async ({
  page,
  sql,
}) => {
  const user = await newPasswordUser(sql, { cost: 4 })
  const authenticator = await addPasskey(page, user)
  await openSignIn(page)
  for (let round = 0; round < 2; round++) {
    await signInButton(page).click()
    await button(page, texts.cancel).click()
    await expect(button(page, texts.cancel)).toBeHidden()
    await expect(page.locator('.field-error')).toBeHidden()
  }
  await signInButton(page).waitFor()
  await authenticator.respond(true)
  await signInButton(page).click()
  await expectSignedIn(page)
})

test('a prompt that the device rejects is explained, and the next one works', async ({
  page,
  sql,
}) => {
  const user = await newPasswordUser(sql, { cost: 4 })
  const authenticator = await addPasskey(page, user)
  await openSignIn(page)
  await signInButton(page).waitFor()
  await authenticator.verify(false)
  await authenticator.respond(true)
  await signInButton(page).click()
  await expect(alert(page)).toHaveText(texts.signInProblems.NotAllowedError)
  expect(await problemsOf(page)).toEqual([])
  await authenticator.verify(true)
  await signInButton(page).click()
  await expectSignedIn(page)
})

test('autofill does not end the prompt of a button that is pressed early', async ({
  page,
}) => {
  await page.addInitScript(() => {
    const prompts: string[] = []
    const isAvailable = new Promise<boolean>((resolve) => {
      Object.assign(window, { prompts, allowAutofill: () => resolve(true) })
    })
    PublicKeyCredential.isConditionalMediationAvailable = () => isAvailable
    navigator.credentials.get = (options) => {
      prompts.push(options?.mediation ?? 'button')
      return new Promise((_, reject) => {
        const { signal } = options ?? {}
        signal?.addEventListener('abort', () => reject(signal.reason))
      })
    }
  })
  const promptsSince = (action: 'allowAutofill' | 'nothing') =>
    page.evaluate(async (name) => {
      const { prompts, allowAutofill } = window as unknown as {
        prompts: string[]
        allowAutofill: () => void
      }
      if (name === 'allowAutofill') allowAutofill()
      await new Promise((resolve) => setTimeout(resolve)) // what follows at once has run
      return prompts
    }, action)

  await openSignIn(page)
  await signInButton(page).click()
  await expect(button(page, texts.cancel)).toBeVisible()
  expect(await promptsSince('allowAutofill')).toEqual(['button'])

  await button(page, texts.cancel).click()
  await expect.poll(() => promptsSince('nothing')).toEqual(['button', 'conditional'])
})

test('a prompt that never ends times out, and can be cancelled', async ({ page }) => {
  await page.addInitScript(() => {
    const { setTimeout } = window
    const shortened = (handler: TimerHandler, ms = 0, ...rest: unknown[]) =>
      setTimeout(handler, ms > 300_000 ? 300 : ms, ...rest)
    Object.assign(window, { setTimeout: shortened })
    navigator.credentials.get = () => new Promise(() => {})
  })
  await openSignIn(page)
  await signInButton(page).click()
  await expect(alert(page)).toHaveText(texts.signInProblems.NotAllowedError)
  await signInButton(page).click()
  await button(page, texts.cancel).click()
  await expect(button(page, texts.cancel)).toBeHidden()
})

test('explains each error of the browser', async ({ page }) => {
  await openSignIn(page)
  await signInButton(page).waitFor()
  for (const [name, problem] of [
    ['SecurityError', 'SecurityError'],
    ['OperationError', 'browser'],
    ['NotAllowedError', 'NotAllowedError'],
    ['UnknownError', 'browser'],
  ] as const) {
    await page.evaluate((error) => {
      navigator.credentials.get = () => Promise.reject(new DOMException('', error))
    }, name)
    await signInButton(page).click()
    await expect(alert(page), name).toHaveText(texts.signInProblems[problem])
  }
})

test('a removed passkey is explained, and deleted from the password manager', async ({
  page,
  sql,
}) => {
  const user = await newPasswordUser(sql, { cost: 4 })
  const authenticator = await addPasskey(page, user)
  await sql('DELETE FROM passkeys WHERE user_id = $1', [user.id])
  await askForPasskey(page, authenticator)
  await expect(alert(page)).toHaveText(texts.signInProblems.unknown_passkey)
  await authenticator.respond(false)
  await expect.poll(authenticator.count).toBe(0)
})

test('an unknown passkey of an unknown user is rejected, and kept', async ({
  page,
  sql,
}) => {
  const user = await newPasswordUser(sql, { cost: 4 })
  const authenticator = await addPasskey(page, user)
  await sql('DELETE FROM users WHERE id = $1', [user.id])
  await askForPasskey(page, authenticator)
  await expect(alert(page)).toHaveText(texts.signInProblems.invalid)
  await authenticator.respond(false)
  expect(await authenticator.count()).toBe(1)
})

test('a password manager that did not check the user is explained', async ({
  page,
  sql,
}) => {
  const user = await newPasswordUser(sql, { cost: 4 })
  const authenticator = await addPasskey(page, user)
  await openSignIn(page)
  await authenticator.skipVerification(true)
  await signInButton(page).waitFor()
  await authenticator.respond(true)
  await signInButton(page).click()
  await expect(alert(page)).toHaveText(texts.signInProblems.user_not_verified)
})

test('after an expired challenge, the page gets another one', async ({ page, sql }) => {
  const user = await newPasswordUser(sql, { cost: 4 })
  const authenticator = await addPasskey(page, user)
  const body = { code: 'CHALLENGE_INVALID' }
  await page.route(`**${routes.signInWithPasskey.path}`, respondWith(400, body), {
    times: 1,
  })
  await openSignIn(page)
  await signInButton(page).waitFor()
  const renewed = page.waitForResponse(`**${routes.getPasskeySignInOptions.path}`)
  await authenticator.respond(true)
  await signInButton(page).click()
  await renewed
  // autofill answers at once
  await expectSignedIn(page)
})

test('the page renews its challenge after 45 minutes', async ({ page, sql }) => {
  const user = await newPasswordUser(sql, { cost: 4 })
  const authenticator = await addPasskey(page, user)
  await page.addInitScript(() => {
    const { setInterval } = window
    const once = (handler: TimerHandler, ms = 0) =>
      ms === 45 * 60_000 ? window.setTimeout(handler, 100) : setInterval(handler, ms)
    const { get } = navigator.credentials
    const counted = (options: CredentialRequestOptions) => {
      document.documentElement.dataset.asked += 'x'
      return get.call(navigator.credentials, options)
    }
    navigator.credentials.get = counted
    Object.assign(window, { setInterval: once })
  })
  const renewed = page.waitForResponse(`**${routes.getPasskeySignInOptions.path}`)
  await openSignIn(page)
  const { options } = await (await renewed).json()
  // the page has asked again, with the new challenge
  await page.locator('html[data-asked$=xx]').waitFor()
  const sent = page.waitForRequest(`**${routes.signInWithPasskey.path}`)
  await authenticator.respond(true)
  await signInButton(page).click()
  const { credential } = (await sent).postDataJSON()
  const clientData = JSON.parse(
    Buffer.from(credential.clientDataJSON, 'base64url').toString(),
  )
  expect(clientData.challenge).toBe(options.challenge)
  await expectSignedIn(page)
})

test('a double click sends one request', async ({ page, sql }) => {
  const user = await newPasswordUser(sql, { cost: 4 })
  const authenticator = await addPasskey(page, user)
  const posts = countPosts(page)
  await openSignIn(page)
  await signInButton(page).waitFor()
  await authenticator.respond(true)
  await signInButton(page).dblclick()
  await expectSignedIn(page)
  expect(posts.filter((url) => url.endsWith(routes.signInWithPasskey.path))).toHaveLength(
    1,
  )
})

test('a lost response to a sign-in is answered again', async ({ page, sql }) => {
  const user = await newPasswordUser(sql, { cost: 4 })
  const authenticator = await addPasskey(page, user)
  await page.route(
    `**${routes.signInWithPasskey.path}`,
    async (route) => {
      await route.fetch()
      await route.abort()
    },
    { times: 1 },
  )
  await askForPasskey(page, authenticator)
  await expectSignedIn(page)
  const live = 'SELECT FROM sessions WHERE user_id = $1 AND revoked_at IS NULL'
  expect((await sql(live, [user.id])).length).toBeLessThanOrEqual(2)
})

test.describe('adding', () => {
  test('a second passkey on one device is not an error', async ({ page, sql }) => {
    const user = await newPasswordUser(sql, { cost: 4 })
    const authenticator = await addPasskey(page, user)
    await openAccount(page, user, '/account?change=addPasskey')
    await authenticator.respond(true)
    await button(page, texts.create).click()
    await expect(page.locator('.success')).toHaveText(texts.exists)
    expect(await problemsOf(page)).toEqual([])
  })

  test('a cancelled prompt creates nothing', async ({ page, sql }) => {
    const user = await newPasswordUser(sql, { cost: 4 })
    const authenticator = await addAuthenticator(page)
    await openAccount(page, user, '/account?change=addPasskey')
    await button(page, texts.create).click()
    await page.locator('.way-on .link').click()
    await expect(link(page, texts.cancel)).toBeVisible()
    await authenticator.verify(false)
    await authenticator.respond(true)
    await button(page, texts.create).click()
    await expect(alert(page)).toHaveText(texts.addProblems.cancelled)
    expect(await countPasskeys(sql, user)).toBe(0)
  })

  test('explains each error of the browser', async ({ page, sql }) => {
    const user = await newPasswordUser(sql, { cost: 4 })
    await openAccount(page, user, '/account?change=addPasskey')
    for (const [name, problem] of [
      ['ConstraintError', 'unsupported'],
      ['SecurityError', 'address'],
      ['NotSupportedError', 'unsupported'],
      ['UnknownError', 'browser'],
    ] as const) {
      await page.evaluate((error) => {
        navigator.credentials.create = () => Promise.reject(new DOMException('', error))
      }, name)
      await button(page, texts.create).click()
      await expect(alert(page), name).toHaveText(texts.addProblems[problem])
    }
  })

  test('after a lost response, the page says where to look', async ({ page, sql }) => {
    const user = await newPasswordUser(sql, { cost: 4 })
    const authenticator = await addAuthenticator(page)
    await page.route(`**${routes.addPasskey.path}`, async (route) => {
      await route.fetch()
      await route.abort()
    })
    await openAccount(page, user, '/account?change=addPasskey')
    await authenticator.respond(true)
    await button(page, texts.create).click()
    await expect(alert(page)).toContainText(texts.unknown.body)
    expect(await countPasskeys(sql, user)).toBe(1)
  })

  test('an old sign-in has to be repeated, with the address filled in', async ({
    page,
    sql,
  }) => {
    const user = await newPasswordUser(sql, { cost: 4 })
    await openAccount(page, user)
    await sql(
      `UPDATE sessions SET authenticated_at = now() - interval '11 minutes' WHERE user_id = $1`,
      [user.id],
    )
    await link(page, texts.add).click()
    await expect(heading(page)).toHaveText(texts.addTitle)
    expect(await problemsOf(page)).toEqual([])
    await link(page, texts.again).click()
    await expect(page.locator('#email')).toHaveValue(user.email)
    await page.locator('#password').fill(user.password)
    await page.locator('#password').press('Enter')
    await expect(button(page, texts.create)).toBeVisible()
  })
})

test('a removal needs a fresh sign-in, and leads there', async ({ page, sql }) => {
  const user = await newPasskeyUser(sql)
  await openAccount(page, user)
  await sql(
    `UPDATE sessions SET authenticated_at = now() - interval '11 minutes' WHERE user_id = $1`,
    [user.id],
  )
  await page.locator('#passkeys summary').last().click()
  await button(page, texts.removeThis).click()
  await expect(alert(page)).toContainText(account.problems.signInAgain)
  expect(await countPasskeys(sql, user)).toBe(1)
  await link(page, texts.again).click()
  await page.locator('#password').fill(user.password)
  await page.locator('#password').press('Enter')
  await page.locator('#passkeys summary').last().click()
  await button(page, texts.removeThis).click()
  await expect(page.locator('.success')).toHaveText(account.done.passkeyRemoved)
  expect(await countPasskeys(sql, user)).toBe(0)
})

test('after a removal, the password manager forgets the passkey, unless it was the last', async ({
  page,
  sql,
}) => {
  const user = await newPasswordUser(sql, { cost: 4 })
  const authenticator = await addPasskey(page, user)
  const [own] = await sql('SELECT id FROM passkeys WHERE user_id = $1', [user.id])
  await sql(
    `INSERT INTO passkeys SELECT sha256('x' || id::text::bytea), gen_random_uuid(), user_id, public_key, 0, true, true, '{}', aaguid
     FROM passkeys WHERE id = $1`,
    [own!.id],
  )
  await openAccount(page, user)
  const item = page.locator('#passkeys li', { has: page.locator(`[id="${own!.id}"]`) })
  await item.locator('summary').last().click()
  await item.getByRole('button', { name: texts.removeThis }).click()
  await expect(page.locator('.success')).toHaveText(account.done.passkeyRemoved)
  await expect.poll(authenticator.count).toBe(0)
})

test.describe('the offer after a sign-in with the password', () => {
  test('creates a passkey, and goes on', async ({ page, sql }) => {
    const user = await newPasswordUser(sql, { cost: 4 })
    const authenticator = await addAuthenticator(page)
    await page.goto(`${server.url}/sign-in?step=password&next=/account`)
    await enterPassword(page, user)
    await expect(heading(page)).toHaveText(texts.offerTitle)
    expect(await problemsOf(page)).toEqual([])
    await authenticator.respond(true)
    await button(page, texts.create).click()
    await expect(heading(page)).toHaveText(account.title)
    expect(await countPasskeys(sql, user)).toBe(1)
  })

  test('is not made again for 30 days after “Not now”, and at most three times', async ({
    page,
    sql,
  }) => {
    const user = await newPasswordUser(sql, { cost: 4 })
    await addAuthenticator(page)
    const signIn = async () => {
      await page.context().clearCookies()
      await openSignIn(page)
      await enterPassword(page, user)
    }
    const passMonth = () =>
      page.evaluate(() => {
        const next = Number(localStorage.getItem('next-passkey-offer'))
        const earlier = next - 30 * 24 * 60 * 60_000 - 1
        localStorage.setItem('next-passkey-offer', String(earlier))
      })

    for (let offers = 0; offers < 3; offers++) {
      await signIn()
      await link(page, texts.notNow).click()
      await expectSignedIn(page)
      if (offers === 0) {
        await signIn()
        await expectSignedIn(page)
      }
      await passMonth()
    }
    await signIn()
    await expectSignedIn(page)
  })

  // While React waits for a script, it stops clicks in the part that needs the script.
  for (const [when, isHeld] of [
    ['before the scripts of the page have loaded', undefined],
    ['while React waits for the script that creates passkeys', isCreator],
  ] as const)
    test(`can be declined ${when}`, async ({ page, sql }) => {
      const user = await newPasswordUser(sql, { cost: 4 })
      await openAccount(page, user)
      const release = await holdScripts(page, isHeld)
      await page.goto(`${server.url}/account/passkey?next=/`, { waitUntil: 'commit' })
      if (isHeld) await page.waitForFunction(hasReact)
      await link(page, texts.notNow).click()
      release()
      await expectSignedIn(page)
      expect(await page.evaluate(() => localStorage.getItem('passkey-refusals'))).toBe(
        '1',
      )
    })

  test('is made after a sign-in with a passkey of another device', async ({
    page,
    sql,
  }) => {
    const user = await newPasswordUser(sql, { cost: 4 })
    const key = await addPasskey(page, user, { transport: 'usb' })
    await openSignIn(page)
    await signInButton(page).waitFor()
    await addAuthenticator(page)
    await key.respond(true)
    await signInButton(page).click()
    await expect(heading(page)).toHaveText(texts.offerTitle)
    await expect(page.getByText(texts.otherDevice)).toBeVisible()
    await link(page, texts.notNow).click()
    await expectSignedIn(page)
  })

  test('is not made to a user who has a passkey, or without a platform authenticator', async ({
    page,
    sql,
  }) => {
    const [user, other] = [
      await newPasskeyUser(sql),
      await newPasswordUser(sql, { cost: 4 }),
    ]
    await openSignIn(page)
    await enterPassword(page, other)
    await expectSignedIn(page)

    await page.context().clearCookies()
    await addAuthenticator(page)
    await openSignIn(page)
    await enterPassword(page, user)
    await expectSignedIn(page)
  })

  test('opens only destinations that a sign-in may open', async ({ page, sql }) => {
    const user = await newPasskeyUser(sql)
    for (const [next, path] of [
      ['/account', '/account'],
      ['https://evil.example', '/'],
      ['//evil.example', '/'],
    ] as const) {
      await openAccount(page, user, `/account/passkey?next=${encodeURIComponent(next)}`)
      expect(new URL(page.url()).pathname, next).toBe(path)
      expect(new URL(page.url()).origin).toBe(server.url)
    }
  })
})

test.describe('a browser without WebAuthn', () => {
  test.beforeEach(async ({ page }) => {
    await page.addInitScript(() => {
      Object.defineProperty(window, 'PublicKeyCredential', { value: undefined })
      Object.defineProperty(navigator, 'credentials', { value: undefined })
    })
  })

  test('signs in with the password, without a button or an offer', async ({
    page,
    sql,
  }) => {
    await openSignIn(page)
    await enterPassword(page, await newPasswordUser(sql, { cost: 4 }))
    await expectSignedIn(page)
    await openSignIn(page)
    await expect(signInButton(page)).toBeHidden()
  })

  test('is told that it cannot add a passkey', async ({ page, sql }) => {
    const user = await newPasswordUser(sql, { cost: 4 })
    await openAccount(page, user, '/account?change=addPasskey')
    await button(page, texts.create).click()
    await expect(alert(page)).toHaveText(texts.addProblems.browser)
    await link(page, texts.cancel).click()
    await expect(heading(page)).toHaveText(account.title)
  })
})

test('without scripts, passkeys can be renamed and removed, and no page is a dead end', async ({
  browserProcess,
  sql,
}) => {
  const context = await browserProcess.newContext({
    javaScriptEnabled: false,
    viewport: { width: 390, height: 844 },
    extraHTTPHeaders: { 'X-Forwarded-For': newAddress() },
  })
  const page = await context.newPage()
  const user = await newPasskeyUser(sql)

  await openAccount(page, user)
  const [rename, remove] = [
    page.locator('#passkeys summary').first(),
    page.locator('#passkeys summary').last(),
  ]
  await rename.click()
  await page.getByLabel(texts.label).fill(' ')
  await button(page, texts.save).click()
  await expect(alert(page)).toContainText(account.problems.passkeyName)
  await rename.click()
  await page.getByLabel(texts.label).fill('<b>Key</b>')
  await button(page, texts.save).click()
  await expect(page.locator('#passkeys strong')).toHaveText('<b>Key</b>')

  await page.goto(`${server.url}/account?change=addPasskey`)
  await expect(page.locator('noscript h1')).toHaveText(shared.noScript)
  await page.goto(`${server.url}/account/passkey?device&next=/account`)
  await page.locator('noscript a').click()
  await expect(heading(page)).toHaveText(account.title)

  await remove.click()
  await button(page, texts.removeThis).click()
  await expect(page.locator('.success')).toHaveText(account.done.passkeyRemoved)
  expect(await countPasskeys(sql, user)).toBe(0)
  await closeContext(context as BrowserContext)
})

test('the page of a reset offers to remove passkeys only if there are any', async ({
  page,
  sql,
}) => {
  const { reset } = en('Dashboard', 8)
  const [user, other] = [await newPasskeyUser(sql), await newPasskeyUser(sql)]
  const without = await newPasswordUser(sql, { cost: 4 })
  const open = async (each: PasswordUser) =>
    page.goto(`${server.url}/reset-password?token=${await newToken(each)}`)
  const save = async () => {
    await page.locator('#password').fill(newPassword())
    await page.locator('#password').press('Enter')
    await expect(heading(page)).toHaveText(reset.done.title)
    await expect(page.getByText(reset.passkeysKept)).toBeVisible()
  }

  await open(without)
  await expect(page.getByLabel(reset.removePasskeys)).toBeHidden()

  await open(other)
  await expect(page.getByLabel(reset.removePasskeys)).not.toBeChecked()
  expect(await problemsOf(page)).toEqual([])
  await save()
  expect(await countPasskeys(sql, other)).toBe(1)

  await open(user)
  await page.getByLabel(reset.removePasskeys).check()
  await save()
  expect(await countPasskeys(sql, user)).toBe(0)
})
