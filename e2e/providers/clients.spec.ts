import { createHash, randomBytes } from 'node:crypto'
import type { BrowserContext, Page } from 'playwright/test'
import { addClient, secretOf } from '../support/browsers/dashboard'
import { startApache } from '../support/clients/apache'
import { startAuthJs } from '../support/clients/auth-js'
import { startLibrary } from '../support/clients/library'
import type { ClientValues, RealClient } from '../support/clients/recipe'
import { newPasswordUser } from '../support/databases/password-user'
import {
  exchangePath,
  expect,
  newCode,
  postTo,
  type Sql,
  test,
  type User,
} from '../support/fixtures'
import { keepSecret, newAddress } from '../support/secrets'
import { freePort, type Server, startServer } from '../support/servers/server'

// Clients that others have written sign in with the recipes of docs/clients.md.

type Started = { client: RealClient; slug: string }

const kinds: Record<
  string,
  { path: string; start: (values: ClientValues) => Promise<RealClient> }
> = {
  'openid-client': {
    path: '/callback',
    start: (values) => startLibrary('openid-client', values),
  },
  oauth4webapi: {
    path: '/callback',
    start: (values) => startLibrary('oauth4webapi', values),
  },
  'Auth.js': { path: '/auth/callback/login', start: startAuthJs },
  mod_auth_openidc: { path: '/oidc/callback', start: startApache },
}

let login: Server
const started: Record<string, Started> = {}

test.beforeAll(async ({ sql }) => {
  login = await startServer({ PASSWORD_SIGN_IN: 'true' })
  for (const [name, { path, start }] of Object.entries(kinds)) {
    const slug = `client-${randomBytes(6).toString('hex')}`
    const port = await freePort()
    const redirectUri = `http://127.0.0.1:${port}${path}`
    await addClient(sql, slug, [redirectUri])
    const secret = keepSecret(secretOf(slug))
    const client = await start({ issuer: login.url, slug, secret, port, redirectUri })
    started[name] = { client, slug }
  }
})
test.afterAll(async () => {
  for (const { client } of Object.values(started)) await client.stop()
  await login?.stop()
})
test.beforeEach(({ page }) => {
  page.on('request', (request) => keepSecrets(request.url()))
})

function keepSecrets(url: string): void {
  const { searchParams } = new URL(url)
  for (const name of ['code', 'state', 'nonce', 'code_challenge'])
    for (const value of searchParams.getAll(name)) keepSecret(value)
}

const childrenOf = (sql: Sql, { slug }: Started, { id }: User) =>
  sql(
    `SELECT generation, revoked_at FROM sessions
     WHERE user_id = $1 AND client_id = (SELECT id FROM clients WHERE slug = $2)`,
    [id, slug],
  )

/** Signs a user in at the login, so that clients need no page of it. */
async function signInAtLogin(context: BrowserContext, user: User): Promise<void> {
  const headers = { 'X-Forwarded-For': newAddress() }
  const code = await newCode(user)
  const { body } = await postTo(login.url + exchangePath, { code }, headers)
  const { url } = login
  await context.addCookies([{ name: 'refresh', value: body.refreshToken!, url }])
}

/** Begins a sign-in, and returns the callback that the browser would open next. */
async function nextCallback(page: Page, { client }: Started): Promise<URL> {
  const request = await client.begin(page.request)
  expect(request).toContain('code_challenge_method=S256')
  const response = await page.request.get(request, { maxRedirects: 0 })
  const callback = response.headers().location!
  expect(callback.startsWith(`${client.redirectUri}?`)).toBe(true)
  keepSecrets(callback)
  return new URL(callback)
}

/**
 * Lets the sessions of a user end in less than a minute, so that clients get tokens that
 * they renew at once.
 */
const endSoon = (sql: Sql, { id }: User) =>
  sql(
    `UPDATE sessions SET expires_at = now() + interval '55 seconds',
       rotated_at = rotated_at - interval '1 minute' WHERE user_id = $1`,
    [id],
  )

async function expectSignedIn(page: Page, { client }: Started, user: User) {
  await page.waitForURL(client.url)
  await expect(page.locator('body')).toContainText(user.id)
  await expect(page.locator('body')).toContainText(user.email)
}

/** Opens a callback, and expects an error page of the client, without another sign-in. */
async function expectRejected(page: Page, { client }: Started, callback: URL) {
  const opened: string[] = []
  page.on('request', (request) => {
    if (request.isNavigationRequest()) opened.push(request.url())
  })
  await page.goto(callback.href)
  const { origin } = new URL(client.url)
  expect(opened.filter((url) => new URL(url).origin !== origin)).toEqual([])
  expect(opened.length).toBeLessThan(4)
  await expect(page.locator('body')).not.toContainText('@example.com')
  expect(await client.begin(page.request), 'a new sign-in begins').toContain(login.url)
}

type Change = (callback: URL, page: Page, started: Started) => Promise<void> | void
const changes: Record<string, { change: Change; isCodeUnused?: true }> = {
  'another state': {
    change: ({ searchParams }) => {
      const state = searchParams.get('state')!
      const last = state.endsWith('A') ? 'B' : 'A'
      searchParams.set('state', state.slice(0, -1) + last)
    },
  },
  'the response of another issuer': {
    change: ({ searchParams }) => searchParams.set('iss', 'https://login.example.net'),
  },
  'the code of another sign-in': {
    change: async ({ searchParams }, page, client) => {
      const own = await nextCallback(page, client)
      searchParams.set('state', own.searchParams.get('state')!)
    },
  },
}

for (const name of Object.keys(kinds)) {
  test(`${name}: signs a user in through the pages`, async ({ page, sql }) => {
    const user = await newPasswordUser(sql, { cost: 4 })
    const { client } = started[name]!
    await client.open(page)
    await page.getByRole('textbox', { name: 'Email address' }).fill(user.email)
    await page.getByLabel('Password', { exact: true }).fill(user.password)
    await page.getByRole('button', { name: 'Sign in', exact: true }).click()
    await expectSignedIn(page, started[name]!, user)
    expect(await childrenOf(sql, started[name]!, user)).toEqual([
      { generation: 0, revoked_at: null },
    ])
  })

  test(`${name}: renews the session, with a new refresh token each time`, async ({
    page,
    user,
    sql,
  }) => {
    await signInAtLogin(page.context(), user)
    await endSoon(sql, user)
    await started[name]!.client.open(page)
    await expectSignedIn(page, started[name]!, user)
    const generation = async () =>
      (await childrenOf(sql, started[name]!, user))[0]!.generation
    const first = await generation()
    for (const renewals of [1, 2]) {
      await endSoon(sql, user)
      await page.goto(started[name]!.client.url)
      await expectSignedIn(page, started[name]!, user)
      expect(await generation()).toBe(first + renewals)
    }
    expect(await childrenOf(sql, started[name]!, user)).toMatchObject([
      { revoked_at: null },
    ])
  })

  test(`${name}: a renewal after a sign-out ends the session`, async ({
    page,
    user,
    sql,
  }) => {
    await signInAtLogin(page.context(), user)
    await endSoon(sql, user)
    await started[name]!.client.open(page)
    await expectSignedIn(page, started[name]!, user)
    await sql('UPDATE sessions SET revoked_at = now() WHERE user_id = $1', [user.id])
    await page.goto(started[name]!.client.url)
    await expect(page.locator('body')).not.toContainText(user.email)
    expect(await started[name]!.client.begin(page.request)).toContain(login.url)
  })

  for (const [title, { change }] of Object.entries(changes))
    test(`${name}: rejects ${title}`, async ({ page, user, sql }) => {
      await signInAtLogin(page.context(), user)
      const callback = await nextCallback(page, started[name]!)
      const hash = createHash('sha256').update(callback.searchParams.get('code')!)
      await change(callback, page, started[name]!)
      await expectRejected(page, started[name]!, callback)
      expect(await childrenOf(sql, started[name]!, user)).toEqual([])
      expect(
        await sql('SELECT used_at FROM authorization_codes WHERE code_hash = $1', [
          hash.digest(),
        ]),
      ).toEqual([{ used_at: null }])
    })

  test(`${name}: an error response ends at an error page, without a loop`, async ({
    page,
    user,
    sql,
  }) => {
    await signInAtLogin(page.context(), user)
    const callback = await nextCallback(page, started[name]!)
    callback.searchParams.delete('code')
    callback.searchParams.set('error', 'temporarily_unavailable')
    await expectRejected(page, started[name]!, callback)
    expect(await childrenOf(sql, started[name]!, user)).toEqual([])
  })
}
