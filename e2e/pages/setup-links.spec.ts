import { type LocalProvider, startLocalProvider } from '../../bin/dev/provider'
import * as routes from '../../lib/contract/routes'
import { complaintsOf, problemsOf } from '../support/browsers/page-checks'
import { newSetupLink } from '../support/browsers/setup-visitor'
import { expect, heading, type TestServer, test } from '../support/fixtures'
import { providerMetadata } from '../support/providers/saml-metadata'
import { newSamlProvider } from '../support/providers/saml-provider'
import { keepSecret } from '../support/secrets'

// The page of a setup link, in a browser.

let server: TestServer
test.beforeAll(async ({ serverWith }) => {
  server = await serverWith({ SETUP_LINKS: 'true', PASSWORD_SIGN_IN: 'true' })
})

test('an administrator comes from the link to an active connection, on a phone, without help', async ({
  page,
  context,
  sql,
}) => {
  const complaints = complaintsOf(context)
  await page.setViewportSize({ width: 320, height: 640 })
  const { slug, domain, secret } = await newSetupLink({ mayActivate: true })
  const email = `ada@${domain}`
  await sql('INSERT INTO users (email, email_domain) VALUES ($1, $2)', [email, domain])
  const provider: LocalProvider = await startLocalProvider({
    redirectUris: [`${server.url}/api/auth/sso/${slug}/callback`],
    people: [{ id: 'ada', name: 'Ada', email }],
  })

  try {
    await page.goto(`${server.url}/setup#${secret}`)
    await expect(heading(page)).toHaveText('Set up single sign-on')
    expect(page.url()).toBe(`${server.url}/setup`)
    expect(await page.content()).not.toContain(secret)
    expect(await problemsOf(page)).toEqual([])

    await page.getByRole('link', { name: 'Another product, with OpenID Connect' }).click()
    await expect(page.getByText(`/api/auth/sso/${slug}/callback`)).toBeVisible()
    expect(await problemsOf(page)).toEqual([])
    await page.getByLabel('Issuer').fill(provider.issuer)
    await page.getByLabel('Client ID').fill(provider.clientId)
    await page.getByLabel('Client secret').fill('wrong')
    await page.getByRole('button', { name: 'Save' }).click()
    await expect(page.getByRole('alert')).toContainText('The provider rejects')
    await page.getByLabel('Client secret').fill(keepSecret(provider.clientSecret))
    await page.getByRole('button', { name: 'Save' }).click()
    await expect(page.getByText('No test has succeeded yet.')).toBeVisible()
    await expect(page.getByRole('alert')).toHaveText('Saved.')
    expect(await page.content()).not.toContain(provider.clientSecret)
    expect(await problemsOf(page)).toEqual([])

    const opened = context.waitForEvent('page')
    await page.getByRole('link', { name: 'Test a sign-in' }).click()
    const report = await opened
    await report.getByRole('link', { name: /^Ada / }).click()
    await expect(heading(report)).toHaveText('The sign-in would work')
    await expect(report.getByText('To go on with the setup')).toBeVisible()
    await report.close()
    await page.bringToFront()
    await page.reload() // headless tabs are never hidden
    await expect(page.getByText('A test has succeeded')).toBeVisible()
    expect(await problemsOf(page)).toEqual([])

    const action = { name: `Use it for everybody at ${domain}` }
    await page.getByRole('button', action).click()
    await expect(heading(page)).toHaveText('Single sign-on is set up')
    expect(await problemsOf(page)).toEqual([])
    expect(complaints).toEqual([])
  } finally {
    await provider.stop()
  }
})

test('shows what is wrong with a file, and accepts pasted metadata', async ({ page }) => {
  const { secret } = await newSetupLink()
  await page.goto(`${server.url}/setup#${secret}`)
  await page.getByRole('link', { name: 'Another product, with SAML' }).click()
  await page.getByLabel('Metadata file (XML)').setInputFiles({
    name: 'page.html',
    mimeType: 'text/html',
    buffer: Buffer.from('<!doctype html><p>Metadata<br>'),
  })
  await page.getByRole('button', { name: 'Save' }).click()
  await expect(page.getByRole('alert')).toContainText('This is a web page (HTML)')
  expect(await problemsOf(page)).toEqual([])

  const { settings } = await newSamlProvider()
  await page.reload()
  await page
    .getByLabel('Or its text')
    .fill(providerMetadata(settings.certificates[0]!, 'urn:idp'))
  await page.getByRole('button', { name: 'Save' }).click()
  await expect(page.getByText('Saved: urn:idp')).toBeVisible()
  await expect(page.getByText('then, your contact at')).toBeVisible()
  expect(await problemsOf(page)).toEqual([])
})

test('the pages of an unknown link, and of a link that has ended, are no dead end', async ({
  page,
  sql,
}) => {
  await page.goto(`${server.url}/setup#${'x'.repeat(43)}`)
  await expect(heading(page)).toHaveText('Open your setup link')
  await expect(page.getByRole('alert')).toContainText('This link has ended')
  expect(await problemsOf(page)).toEqual([])

  const { slug, secret } = await newSetupLink()
  await page.goto(`${server.url}/setup#${secret}`)
  await expect(heading(page)).toHaveText('Set up single sign-on')
  await sql(
    'UPDATE setup_links SET ended_at = now() WHERE connection_id = (SELECT id FROM connections WHERE slug = $1)',
    [slug],
  )
  await page.reload()
  await expect(heading(page)).toHaveText('This link has ended')
  expect(await problemsOf(page)).toEqual([])
})

test('without scripts, the page says so, and no form can be sent', async ({
  browserProcess,
}) => {
  const { secret } = await newSetupLink()
  const context = await browserProcess.newContext({ javaScriptEnabled: false })
  const response = await context.request.post(server.url + routes.openSetup.path, {
    data: { secret },
    headers: { Origin: server.url },
  })
  expect(response.status()).toBe(200)
  const page = await context.newPage()
  await page.goto(`${server.url}/setup?product=other-oidc`)
  await expect(page.locator('noscript strong')).toContainText('This page needs scripts.')
  await expect(page.getByRole('button', { name: 'Save' })).toBeDisabled()
  await context.close()
})
