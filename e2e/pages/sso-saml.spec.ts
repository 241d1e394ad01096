import { connectSaml, requestIdIn } from '../support/browsers/saml-visitor'
import { expect, heading, type Sql, test } from '../support/fixtures'
import { startSamlPages } from '../support/providers/saml-pages'
import { newSamlProvider, type SamlProvider } from '../support/providers/saml-provider'
import { keepSecret } from '../support/secrets'

// Tests complete sign-ins in a browser, which sends no cookies with forms of another
// site.

let provider: SamlProvider
let pages: Awaited<ReturnType<typeof startSamlPages>>
let slug: string
/** Whether the provider responds to requests. */
let isAttentive: boolean
/** The Cookie header of each POST to the ACS. */
let posted: (string | undefined)[]

test.beforeEach(async ({ url, page }) => {
  provider = await newSamlProvider()
  isAttentive = true
  pages = await startSamlPages((request) => {
    const relayState = request.searchParams.get('RelayState') ?? ''
    const isRequested = request.searchParams.has('SAMLRequest')
    if (relayState && isRequested) keepSecret(relayState)
    const requestId = isRequested && isAttentive ? requestIdIn(request) : '_unsolicited'
    const response = keepSecret(
      provider.respond({ response: true, requestId, email: `ada@${slug}.example.org` }),
    )
    return {
      acsUrl: provider.settings.acsUrl,
      response,
      relayState: isAttentive ? relayState : '',
    }
  })
  provider.settings.ssoUrl = pages.ssoUrl
  slug = await connectSaml(provider, url, { name: 'Acme SAML' })
  posted = []
  page.on('request', async (request) => {
    if (request.url() === provider.settings.acsUrl)
      posted.push((await request.allHeaders()).cookie)
  })
})
test.afterEach(() => pages.stop())

const sessionsOf = (sql: Sql) =>
  sql('SELECT 1 FROM sessions JOIN users ON users.id = user_id WHERE email = $1', [
    `ada@${slug}.example.org`,
  ])

test('signs in by email address from the start page, and then opens `next`', async ({
  page,
  sql,
}) => {
  await page.goto('/?next=/reports?year=2026')
  await page.getByRole('link', { name: 'Sign in', exact: true }).click()
  await page.getByLabel('Email address').fill(`ada@${slug}.example.org`)
  await page.getByRole('button', { name: 'Continue' }).click()
  await page.waitForURL('/reports?year=2026')
  expect(posted).toEqual([undefined])
  expect(await sessionsOf(sql)).toHaveLength(1)
  await page.goto('/')
  await expect(heading(page)).toHaveText('You’re signed in')
  await expect(page.getByText(`ada@${slug}.example.org`)).toBeVisible()
})

test('shows an error if the provider never responds to our request', async ({
  page,
  sql,
}) => {
  isAttentive = false
  await page.goto(pages.ssoUrl)
  await expect(heading(page)).toHaveText('We couldn’t verify your sign-in')
  expect(posted).toEqual(Array(4).fill(undefined))
  expect(await sessionsOf(sql)).toEqual([])
})
