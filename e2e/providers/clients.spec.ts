import { createHash, randomBytes } from 'node:crypto'
import type { BrowserContext, Page } from 'playwright/test'
import * as routes from '../../lib/contract/routes'
import { addClient, secretOf } from '../support/browsers/dashboard'
import { startApache } from '../support/clients/apache'
import { startAuthJs } from '../support/clients/auth-js'
import { startAuthlib } from '../support/clients/authlib'
import { startDjango } from '../support/clients/django'
import { startGoOidc } from '../support/clients/go-oidc'
import { startLemonLdapPortal } from '../support/clients/lemonldap'
import { startLibrary } from '../support/clients/library'
import { startNextAuth } from '../support/clients/next-auth'
import { startNodeApp } from '../support/clients/node-app'
import { startOmniauth } from '../support/clients/omniauth'
import { startPageApp } from '../support/clients/page-app'
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

type Started = { client: RealClient; slug: string; proof: string }

type Kind = {
  path: string
  start: (values: ClientValues) => Promise<RealClient>
  /** Whether it is a page without a server. */
  isPublic?: true
  /** Where it is told that a session has ended. */
  logoutPath?: string
  /** For a library without PKCE. */
  proof?: 'nonce='
  /** The client has a session of its own, and never renews the tokens. */
  renews?: false
}

const kinds: Record<string, Kind> = {
  'openid-client': {
    path: '/callback',
    start: (values) => startLibrary('openid-client', values),
  },
  oauth4webapi: {
    path: '/callback',
    start: (values) => startLibrary('oauth4webapi', values),
  },
  'Auth.js': { path: '/auth/callback/login', start: startAuthJs },
  'next-auth': { path: '/api/auth/callback/login', start: startNextAuth },
  'express-openid-connect': {
    path: '/callback',
    start: startNodeApp('express-openid-connect'),
  },
  'passport-openidconnect': {
    path: '/callback',
    start: startNodeApp('passport-openidconnect'),
    proof: 'nonce=',
  },
  'better-auth': {
    path: '/api/auth/callback/login',
    start: startNodeApp('better-auth'),
  },
  'oidc-client-ts': { path: '/callback', start: startPageApp, isPublic: true },
  mod_auth_openidc: {
    path: '/oidc/callback',
    start: startApache,
    logoutPath: '/oidc/callback?logout=backchannel',
  },
  Authlib: { path: '/callback', start: startAuthlib },
  OmniAuth: { path: '/auth/login/callback', start: startOmniauth, proof: 'nonce=' },
  'go-oidc': { path: '/callback', start: startGoOidc },
  'social-auth-core': { path: '/complete/oidc/', start: startDjango },
  'LemonLDAP::NG': {
    path: '/?openidconnectcallback=1',
    start: startLemonLdapPortal,
    renews: false,
  },
}

const pkce = 'code_challenge_method=S256'

let settings: Record<string, string>
let login: Server
const started: Record<string, Started> = {}

test.beforeAll(async ({ sql }) => {
  settings = { PORT: String(await freePort()), PASSWORD_SIGN_IN: 'true' }
  login = await startServer(settings)
  const starting = Object.entries(kinds).map(async ([name, kind]) => {
    started[name] = await startClient(sql, kind)
  })
  await Promise.all(starting)
})

async function startClient(sql: Sql, kind: Kind): Promise<Started> {
  const { path, start, isPublic, logoutPath, proof = pkce } = kind
  const slug = `client-${randomBytes(6).toString('hex')}`
  const port = await freePort()
  const redirectUri = `http://127.0.0.1:${port}${path}`
  const signedOutUri = `http://127.0.0.1:${port}/signed-out`
  await addClient(sql, slug, [redirectUri], isPublic, [signedOutUri])
  if (logoutPath)
    await sql('UPDATE clients SET backchannel_logout_uri = $2 WHERE slug = $1', [
      slug,
      new URL(logoutPath, redirectUri).href,
    ])

  const secret = keepSecret(secretOf(slug))
  const values = { issuer: login.url, slug, secret, port, redirectUri, signedOutUri }
  const client = await start(values)

  return { client, slug, proof }
}

test.afterAll(async () => {
  for (const { client } of Object.values(started)) await client.stop()
  await login?.stop()
})
test.beforeEach(async ({ page }) => {
  // a request of a page without a server would need a preflight for the tests' own header
  await page.context().setExtraHTTPHeaders({})
  page.on('request', (request) => keepSecrets(request.url()))
})

function keepSecrets(url: string): void {
  const { searchParams } = new URL(url)
  for (const name of ['code', 'state', 'nonce', 'code_challenge'])
    for (const value of searchParams.getAll(name)) keepSecret(value)
}

const childrenOf = (sql: Sql, { slug }: Started, { id }: User) =>
  sql(
    `SELECT id, generation, revoked_at FROM sessions
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

/** Opens a client as a user who is signed in at the login. */
async function openSignedIn(page: Page, own: Started, user: User): Promise<void> {
  await signInAtLogin(page.context(), user)
  await own.client.open(page)
  await expectSignedIn(page, own, user)
}

/** The same, with tokens that the client renews at its next request. */
async function openAndEndSoon(sql: Sql, page: Page, own: Started, user: User) {
  await signInAtLogin(page.context(), user)
  await endSoon(sql, user)
  await own.client.open(page)
  await expectSignedIn(page, own, user)
}

/** Begins a sign-in, and returns the callback that the browser would open next. */
async function nextCallback(page: Page, { client, proof }: Started): Promise<URL> {
  const request = await client.begin(page.request, page)
  expect(request).toContain(proof)
  const response = await page.request.get(request, { maxRedirects: 0 })
  const callback = response.headers().location!
  const separator = client.redirectUri.includes('?') ? '&' : '?'
  expect(callback.startsWith(client.redirectUri + separator)).toBe(true)
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
  await expect(page).toHaveURL(client.url)
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
  if (client.errorLink)
    await expect(page.getByRole('link', { name: client.errorLink })).toBeVisible()
  expect(await client.begin(page.request, page), 'a new sign-in begins').toContain(
    login.url,
  )
}

type Change = (callback: URL, page: Page, started: Started) => Promise<void> | void
const changes: Record<string, Change> = {
  'another state': ({ searchParams }) => {
    const state = searchParams.get('state')!
    const last = state.endsWith('A') ? 'B' : 'A'
    searchParams.set('state', state.slice(0, -1) + last)
  },
  'a response of another issuer': ({ searchParams }) =>
    searchParams.set('iss', 'https://login.example.net'),
  'a response without an issuer': ({ searchParams }) => searchParams.delete('iss'),
  'a response in another browser': async (_, page, { client }) => {
    await page.context().clearCookies()
    const { origin } = new URL(client.url)
    const browser = await page.context().newCDPSession(page)
    await browser.send('Storage.clearDataForOrigin', { origin, storageTypes: 'all' })
  },
  'the code of another sign-in': async ({ searchParams }, page, own) => {
    const next = await nextCallback(page, own)
    searchParams.set('state', next.searchParams.get('state')!)
  },
}

for (const name of Object.keys(kinds)) {
  test(`${name}: signs a user in through the pages`, async ({ page, sql }) => {
    const own = started[name]!
    const user = await newPasswordUser(sql, { cost: 4 })
    await own.client.open(page)
    const address = page.getByRole('textbox', { name: 'Email address' })
    const password = page.getByLabel('Password', { exact: true })
    await address.fill(user.email)
    // asked for first if an earlier file has left a live connection
    if (!(await password.isVisible())) await address.press('Enter')
    await password.fill(user.password)
    await page.getByRole('button', { name: 'Sign in', exact: true }).click()

    await expectSignedIn(page, own, user)
    expect(await childrenOf(sql, own, user)).toMatchObject([
      { generation: 0, revoked_at: null },
    ])
  })

  if (kinds[name]!.renews !== false)
    test(`${name}: renews the session, with a new refresh token each time`, async ({
      page,
      user,
      sql,
    }) => {
      const own = started[name]!
      await openAndEndSoon(sql, page, own, user)

      const [first] = await childrenOf(sql, own, user)
      for (const renewals of [1, 2]) {
        await endSoon(sql, user)
        await page.goto(own.client.url)
        await expectSignedIn(page, own, user)
        const generation = first!.generation + renewals
        expect(await childrenOf(sql, own, user)).toEqual([{ ...first, generation }])
      }
    })

  test(`${name}: signs the user out here and at the login`, async ({
    page,
    user,
    sql,
  }) => {
    const own = started[name]!
    await openSignedIn(page, own, user)

    await own.client.signOut(page)
    const live = 'SELECT id FROM sessions WHERE user_id = $1 AND revoked_at IS NULL'
    await expect.poll(() => sql(`${live} AND parent_id IS NULL`, [user.id])).toEqual([])
    await page.goto(own.client.url)
    await expect(page.locator('body')).not.toContainText(user.email)
    expect(await own.client.begin(page.request, page)).toContain(login.url)
  })

  if (kinds[name]!.logoutPath)
    test(`${name}: a sign-out at the login ends the session there`, async ({
      page,
      user,
    }) => {
      const own = started[name]!
      await openSignedIn(page, own, user)

      await page.request.post(login.url + routes.signOut.path, { data: {} })
      const begin = () => own.client.begin(page.request, page).catch(() => '')
      await expect.poll(begin).toContain(login.url)
    })

  if (kinds[name]!.renews !== false)
    test(`${name}: asks for a sign-in if the session cannot be renewed`, async ({
      page,
      user,
      sql,
    }) => {
      const own = started[name]!
      await openAndEndSoon(sql, page, own, user)

      await sql('UPDATE sessions SET revoked_at = now() WHERE user_id = $1', [user.id])
      await page.goto(own.client.url)
      await expect(page.locator('body')).not.toContainText(user.email)
      expect(await own.client.begin(page.request, page)).toContain(login.url)
    })

  // mod_auth_openidc ends its session after any failed renewal
  if (name !== 'mod_auth_openidc')
    test(`${name}: keeps the session while the login does not respond`, async ({
      page,
      user,
      sql,
    }) => {
      const own = started[name]!
      await openAndEndSoon(sql, page, own, user)
      const [before] = await childrenOf(sql, own, user)

      await login.stop()
      await page.goto(own.client.url)
      login = await startServer(settings)
      await endSoon(sql, user)
      await page.goto(own.client.url)
      await expectSignedIn(page, own, user)
      expect(await childrenOf(sql, own, user)).toMatchObject([{ id: before!.id }])
    })

  for (const [title, change] of Object.entries(changes)) {
    // this version accepts it
    if (name === 'mod_auth_openidc' && title === 'a response without an issuer') continue

    test(`${name}: rejects ${title}`, async ({ page, user, sql }) => {
      const own = started[name]!
      await signInAtLogin(page.context(), user)
      const callback = await nextCallback(page, own)
      const code = callback.searchParams.get('code')!
      await change(callback, page, own)

      await expectRejected(page, own, callback)
      // a client compares the nonce after it has exchanged the code
      if (own.proof === 'nonce=' && title === 'the code of another sign-in') return

      expect(await childrenOf(sql, own, user)).toEqual([])
      const hash = createHash('sha256').update(code).digest()
      expect(
        await sql('SELECT used_at FROM authorization_codes WHERE code_hash = $1', [hash]),
      ).toEqual([{ used_at: null }])
    })
  }

  test(`${name}: shows an error page after an error response, without a loop`, async ({
    page,
    user,
    sql,
  }) => {
    const own = started[name]!
    await signInAtLogin(page.context(), user)
    const callback = await nextCallback(page, own)
    callback.searchParams.delete('code')
    callback.searchParams.set('error', 'temporarily_unavailable')

    await expectRejected(page, own, callback)
    expect(await childrenOf(sql, own, user)).toEqual([])
  })
}
