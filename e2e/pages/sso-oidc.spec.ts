import { randomBytes } from 'node:crypto'
import type { Page } from 'playwright/test'
import { type LocalProvider, startLocalProvider } from '../../bin/dev/provider'
import {
  disableConnection,
  listConnections,
  type NewConnection,
} from '../../lib/sso/manage/connections'
import { ssoUrl } from '../../lib/sso/urls'
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

async function connect(overriding: Partial<NewConnection> = {}): Promise<void> {
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
    ...overriding,
  })
}

const choose = (page: Page, name: string) =>
  page.getByRole('link', { name: new RegExp(`^${name} `) }).click()
const atProvider = (page: Page) => expect(heading(page)).toHaveText('Choose an account')
const emailsOf = async (sql: Sql) =>
  (
    await sql('SELECT email FROM users WHERE email LIKE $1 ORDER BY 1', [`%@${domain}`])
  ).map((user) => user.email)

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

const start = (page: Page) => page.goto(`/api/auth/sso/${slug}/start?next=/reports`)
const startAndChoose = (name: string) => async (page: Page) => {
  await start(page)
  await choose(page, name)
}

const endings: Record<string, [title: string, act: (page: Page) => Promise<unknown>]> = {
  'the user cancels': ['You weren’t signed in', startAndChoose('Cancel')],
  'the connection is disabled': [
    'This way to sign in isn’t available',
    async (page) => {
      await start(page)
      await disableConnection((await listConnections(slug))[0]!)
      await choose(page, 'Ada')
    },
  ],
  'the provider is unreachable': [
    'Sign-in at your organization isn’t available',
    (page) => provider.stop().then(() => start(page)),
  ],
}
for (const [ending, [title, act]] of Object.entries(endings)) {
  test(`shows an error with a link when ${ending}`, async ({ page, sql }) => {
    await connect({ provision: false })
    const sent: Promise<string | null>[] = []
    page.on('response', (response) => sent.push(response.headerValue('x-request-id')))
    await act(page)
    await expect(heading(page)).toHaveText(title)
    expect(await Promise.all(sent)).toContain(
      await page.locator('.reference code').innerText(),
    )
    // `next` is stored in the SSO attempt, which is not read if the connection is
    // disabled.
    const link =
      ending === 'the connection is disabled' ? '/sign-in' : '/sign-in?next=%2Freports'
    await expect(page.getByRole('link', { name: 'Sign in again' })).toHaveAttribute(
      'href',
      link,
    )
    expect(await emailsOf(sql)).toEqual([])
    if (ending !== 'the connection is disabled') return
    await page.goto('/sign-in')
    await expect(
      page.getByRole('link', { name: `Continue with Acme ${slug}` }),
    ).toHaveCount(0)
  })
}

test('if an account has no access, names it on the page but in no URL, and asks once for another', async ({
  page,
}) => {
  await connect({ provision: false })
  const prompts: (string | null)[] = []
  const urls: string[] = []
  page.on('request', (request) => {
    urls.push(`${request.url()} ${request.headers().referer ?? ''}`)
    const { pathname, searchParams } = new URL(request.url())
    if (pathname === '/auth' && searchParams.has('client_id'))
      prompts.push(searchParams.get('prompt'))
  })
  await startAndChoose('Ada')(page)
  await expect(heading(page)).toHaveText('You don’t have access to Dashboard')
  await expect(
    page.getByText(`Your organization signed you in as ada@${domain}`),
  ).toBeVisible()
  expect(await page.evaluate(() => document.cookie)).not.toContain('ask')
  await expect(page.getByRole('link', { name: 'Sign in another way' })).toHaveAttribute(
    'href',
    '/sign-in?next=%2Freports',
  )
  await page.getByRole('link', { name: 'Sign in again' }).click()
  await atProvider(page)
  await start(page)
  await atProvider(page)
  expect(prompts).toEqual([null, expect.stringMatching(/^(select_account|login)$/), null])
  expect(urls.filter((url) => /ada(@|%40)|YWRh/.test(url))).toEqual([])
})

test('works without JavaScript, but with one more link to click', async ({
  browserProcess,
  url,
}) => {
  await connect()
  const context = await browserProcess.newContext({
    baseURL: url,
    javaScriptEnabled: false,
  })
  const page = await context.newPage()
  await page.goto('/sign-in?next=/reports')
  await page.getByLabel('Email address').fill(`ada@${domain}`)
  await page.getByRole('button', { name: 'Continue' }).click()
  await expect(heading(page)).toHaveText('Taking you to your organization')
  await page.getByRole('link', { name: 'Continue' }).click()
  await atProvider(page)
  await context.close()
})
