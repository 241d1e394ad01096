import { randomBytes } from 'node:crypto'
import type { Page } from 'playwright/test'
import { type LocalProvider, startLocalProvider } from '../../bin/dev/provider'
import { ssoUrl } from '../../lib/sso/urls'
import { problemsOf } from '../support/browsers/page-checks'
import { addTestConnection } from '../support/databases/connection'
import { expect, heading, type Sql, test } from '../support/fixtures'
import { keepSecret } from '../support/secrets'

// Tests complete sign-ins through a provider that uses another implementation of OpenID
// Connect.

let provider: LocalProvider
let slug: string
let domain: string

test.beforeEach(async () => {
  slug = `page-${randomBytes(6).toString('hex')}`
  domain = `${slug}.example.org`
  const people = ['Ada', 'Grace'].map((name) => {
    const id = name.toLowerCase()
    return { id, name, email: `${id}@${domain}` }
  })
  provider = await startLocalProvider({
    redirectUris: [ssoUrl(slug, 'callback')],
    people,
  })
})
test.afterEach(() => provider.stop())

async function connect(): Promise<void> {
  const { issuer, clientId, clientSecret } = provider
  const settings = { kind: 'oidc', issuer, clientId } as const
  const secrets = { clientSecret: keepSecret(clientSecret) }
  const name = `Acme ${slug}`
  await addTestConnection(domain, {
    slug,
    name,
    settings,
    secrets,
    provision: true,
    listed: true,
  })
}

const choose = (page: Page, name: string) =>
  page.getByRole('link', { name: new RegExp(`^${name} `) }).click()
const atProvider = (page: Page) => expect(heading(page)).toHaveText('Choose an account')
const emailsOf = async (sql: Sql) =>
  (
    await sql('SELECT email FROM users WHERE email LIKE $1 ORDER BY 1', [`%@${domain}`])
  ).map((user) => user.email)

test('the example provider separates its lists, and shows its errors as pages', async ({
  page,
}) => {
  await connect()
  await page.setViewportSize({ width: 320, height: 640 })
  await page.goto(`/api/auth/sso/${slug}/start`)
  await atProvider(page)
  expect(await problemsOf(page)).toEqual([])
  const lists = page.locator('.choices')
  await expect(lists).toHaveCount(2)
  const [first, second] = await lists.evaluateAll((each) =>
    each.map((list) => list.getBoundingClientRect()),
  )
  expect(second!.top - first!.bottom).toBeGreaterThanOrEqual(16)

  await page.goto(`${provider.issuer}/interaction/unknown`)
  await expect(heading(page)).toHaveText('This sign-in can’t continue')
  await expect(page.locator('main p')).toHaveText(
    'It has ended, or was started in another browser. Begin it again in the app.',
  )
  expect(await problemsOf(page)).toEqual([])
})

test('signs in by email address from the start page, and then opens `next`', async ({
  page,
  sql,
}) => {
  await connect()
  const urls: string[] = []
  page.on('request', (request) => urls.push(request.url()))
  const continueWith = async (address: string) => {
    await page.getByLabel('Email address').fill(address)
    await page.getByRole('button', { name: 'Continue' }).click()
  }
  await page.goto('/?next=/reports?year=2026')
  await page.getByRole('link', { name: 'Sign in', exact: true }).click()
  await continueWith('ada@nowhere.example')
  await expect(page.locator('#email-error')).toContainText(
    'There’s no sign-in for this email address',
  )
  await expect(page).toHaveTitle(/^Error: Sign in – /)
  await continueWith(`ada@${domain.toUpperCase()}`)
  await atProvider(page)
  await page.goBack()
  await expect(page.getByLabel('Email address')).toBeVisible()
  await continueWith(`ada@${domain}`)
  await atProvider(page)
  expect(urls.filter((requested) => requested.includes('ada'))).toEqual([])
  await choose(page, 'Ada')
  await page.waitForURL('/reports?year=2026')
  await page.goto('/')
  await expect(heading(page)).toHaveText('You’re signed in')
  await expect(page.getByText(`ada@${domain}`)).toBeVisible()
  expect(await emailsOf(sql)).toEqual([`ada@${domain}`])
})

test('sends the documented number of requests, and another user replaces the session', async ({
  page,
  sql,
}) => {
  await connect()
  const remaining = async () =>
    (await page.request.get('/api/health')).headers().ratelimit!.match(/r=(\d+)/)![1]
  for (const [name, cost] of [
    ['Ada', 8],
    ['Grace', 6],
  ] as const) {
    const before = Number(await remaining())
    await page.goto('/sign-in?another&next=/%23top')
    if (name === 'Ada') {
      await page.getByLabel('Email address').fill(`ada@${domain}`)
      await page.getByRole('button', { name: 'Continue' }).click()
    } else {
      await expect(heading(page)).toHaveText('Sign in to Dashboard')
      await expect(page.getByText('or', { exact: true })).toBeVisible()
      const button = page.getByRole('link', { name: `Continue with Acme ${slug}` })
      expect(await button.locator('svg').boundingBox()).toMatchObject({
        width: 20,
        height: 20,
      })
      await button.click()
    }
    await atProvider(page)
    await choose(page, name)
    await page.waitForURL('/#top')
    await expect(page.getByText(`${name.toLowerCase()}@${domain}`)).toBeVisible()
    // plus the request of `remaining`
    expect(before - Number(await remaining())).toBe(cost + 1)
  }
  const sessions = await sql(
    `SELECT email, revoked_at IS NOT NULL AS revoked FROM sessions JOIN users ON users.id = user_id
     WHERE email LIKE $1 ORDER BY sessions.created_at`,
    [`%@${domain}`],
  )
  expect(sessions).toEqual([
    { email: `ada@${domain}`, revoked: true },
    { email: `grace@${domain}`, revoked: false },
  ])
})

test('shows the error of a provider that sends no state or an earlier one, and does not start again', async ({
  page,
}) => {
  await connect()
  await page.goto(`/api/auth/sso/${slug}/start`)
  const callback = page.waitForRequest(/\/callback\?/)
  await choose(page, 'Ada')
  const used = new URL((await callback).url()).searchParams.get('state')!
  await page.waitForURL('/')
  await page.context().clearCookies({ name: 'session' })

  const titles = {
    access_denied: 'You weren’t signed in',
    login_required: 'Sign in to your organization again',
    temporarily_unavailable: 'Sign-in at your organization isn’t available',
    server_error: 'Sign-in at your organization had a problem',
    invalid_request: 'Your organization’s sign-in service didn’t sign you in',
    invalid_scope: 'Your organization’s sign-in service didn’t sign you in',
  }
  const starts: string[] = []
  page.on('request', (request) => {
    if (request.url().includes('/start')) starts.push(request.url())
  })
  for (const [error, title] of Object.entries(titles))
    for (const state of ['', `&state=${'x'.repeat(43)}`, `&state=${used}`]) {
      await page.goto(`/api/auth/sso/${slug}/callback?error=${error}${state}`)
      await expect(heading(page), error + state.slice(0, 8)).toHaveText(title)
    }
  expect(starts).toEqual([])
})

test('shows an error with its reference and a link when the user cancels', async ({
  page,
  sql,
}) => {
  await connect()
  const sent: Promise<string | null>[] = []
  page.on('response', (response) => sent.push(response.headerValue('x-request-id')))
  await page.goto(`/api/auth/sso/${slug}/start?next=/reports`)
  await choose(page, 'Cancel')
  await expect(heading(page)).toHaveText('You weren’t signed in')
  expect(await Promise.all(sent)).toContain(
    await page.locator('.reference code').innerText(),
  )
  await expect(page.getByRole('link', { name: 'Sign in again' })).toHaveAttribute(
    'href',
    '/sign-in?next=%2Freports',
  )
  expect(await emailsOf(sql)).toEqual([])
})
