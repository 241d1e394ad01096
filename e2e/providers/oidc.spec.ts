import { randomBytes } from 'node:crypto'
import type { Page } from 'playwright/test'
import { connectionState } from '../support/databases/sign-ins'
import { expect, heading, test } from '../support/fixtures'
import { type LemonLdap, startLemonLdap } from '../support/providers/lemonldap'
import { keepSecret } from '../support/secrets'
import { connections } from '../support/servers/command'
import { type Server, startServer } from '../support/servers/server'

// LemonLDAP::NG sends an array as `aud`, but no `iss` parameter. It is on 127.0.0.1 and
// the app on localhost, so they are different sites.

test.describe.configure({ mode: 'serial' }) // the tests share one provider

let server: Server
let lemonLdap: LemonLdap
let slug: string
let secret: string

test.beforeAll(async () => {
  server = await startServer()
  slug = `lemon-${randomBytes(6).toString('hex')}`
  secret = keepSecret(`${randomBytes(16).toString('hex')}-_`) // LemonLDAP::NG does not decode secrets
  lemonLdap = await startLemonLdap(`${slug}.example.org`)
  const redirectUri = `${server.url}/api/auth/sso/${slug}/callback`
  await lemonLdap.configure({ oidcClients: [{ id: 'the-app', secret, redirectUri }] })
})
test.afterAll(async () => {
  await lemonLdap?.stop()
  await server?.stop()
})
test.afterEach(() => connections(['remove', slug]))

const connect = (clientSecret: string) => {
  const provider = [
    '--issuer',
    lemonLdap.issuer,
    '--client-id',
    'the-app',
    '--domain',
    `${slug}.example.org`,
  ]
  return connections(
    ['add', 'oidc', slug, ...provider, '--provision', '--list', '--activate'],
    clientSecret,
  )
}

async function signInAtProvider(page: Page): Promise<void> {
  await page.locator('[name=user]').fill(lemonLdap.userName)
  await page.locator('[name=password]').fill(lemonLdap.userName)
  await page.locator('[type=submit]').first().click()
}

test('LemonLDAP::NG: a second sign-in, from /sign-in, finds the same user', async ({
  page,
  sql,
  browserProcess,
}) => {
  await connect(secret)
  expect(await connections(['check', slug])).toContain(
    `the provider responds, and names itself ${lemonLdap.issuer}. It accepts the client secret.`,
  )
  await page.goto(`${server.url}/sign-in?next=/reports?year=2026`)
  await page.getByLabel('Email address').fill(lemonLdap.email)
  await page.getByRole('button', { name: 'Continue' }).click()
  await signInAtProvider(page)
  await page.getByRole('button', { name: 'Accept' }).click() // the provider asks once per user and client
  await page.waitForURL(`${server.url}/reports?year=2026`)
  await page.goto(server.url)
  await expect(heading(page)).toHaveText('You’re signed in')
  await expect(page.getByText(lemonLdap.email)).toBeVisible()

  const another = await browserProcess.newContext()
  const second = await another.newPage()
  await second.goto(`${server.url}/sign-in?next=/reports`)
  await second.getByRole('link', { name: `Continue with ${slug}` }).click()
  await signInAtProvider(second)
  await second.waitForURL(`${server.url}/reports`)
  await another.close()

  const { email, userName, issuer } = lemonLdap
  expect(await connectionState(sql, slug)).toEqual({
    users: [email],
    identities: [{ issuer, subject: userName, email }],
    sessions: Array(2).fill({ email, revoked: false }),
    signIns: Array(2).fill({ claimed: true }),
  })
})

test('LemonLDAP::NG: only `check` and the log report a wrong client secret', async ({
  page,
  sql,
}) => {
  await connect(keepSecret(`wrong-${secret}`))
  await expect(connections(['check', slug])).rejects.toThrow('token_invalid_client')
  await page.goto(`${server.url}/api/auth/sso/${slug}/start?next=/reports`)
  await signInAtProvider(page)
  await expect(heading(page)).toHaveText('Sign-in at your organization had a problem')
  const line = server.logged('"sso-callback"').find(({ check }) => check)
  expect(line).toMatchObject({ connection: slug, check: 'token_invalid_client' })
  expect(await page.content()).not.toContain('invalid_client')
  expect(await connectionState(sql, slug)).toMatchObject({
    identities: [],
    sessions: [],
    signIns: [{ claimed: true }],
  })
})
