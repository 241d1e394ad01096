import { randomBytes } from 'node:crypto'
import { createServer } from 'node:http'
import { type LocalProvider, startLocalProvider } from '../../bin/dev/provider'
import { ssoUrl } from '../../lib/sso/urls'
import { complaintsOf, problemsOf } from '../support/browsers/page-checks'
import { connectSaml, requestIdIn, responseTo } from '../support/browsers/saml-visitor'
import { testPath } from '../support/browsers/test-sign-in'
import { addTestConnection } from '../support/databases/connection'
import { expect, heading, test } from '../support/fixtures'
import { newSamlProvider } from '../support/providers/saml-provider'
import { keepSecret } from '../support/secrets'
import { listen } from '../support/servers/listen'

// The page with the result of a test sign-in, in a browser.

const hostile = `"><img src=x onerror="document.title='run'"><script>document.title='run'</script>'<b>`

let provider: LocalProvider
let slug: string
let domain: string
test.beforeEach(async () => {
  slug = `try-${randomBytes(6).toString('hex')}`
  domain = `${slug}.example.org`
  provider = await startLocalProvider({
    redirectUris: [ssoUrl(slug, 'callback')],
    people: [
      { id: 'ada', name: 'Ada', email: `ada@${domain}` },
      { id: hostile, name: 'Eve', email: `eve@${domain}` },
    ],
  })
  const { issuer, clientId, clientSecret } = provider
  await addTestConnection(domain, {
    slug,
    settings: { kind: 'oidc', issuer, clientId },
    secrets: { clientSecret: keepSecret(clientSecret) },
    provision: true,
  })
})
test.afterEach(() => provider.stop())

test('shows the result to the person, signs nobody in, and can be read and copied', async ({
  page,
  context,
  sql,
}) => {
  const complaints = complaintsOf(context)
  await context.grantPermissions(['clipboard-read', 'clipboard-write'])
  await page.setViewportSize({ width: 320, height: 640 })
  await page.goto(await testPath(sql, slug))
  await page.getByRole('link', { name: /^Ada / }).click()
  await expect(heading(page)).toHaveText('The sign-in would work')
  await expect(page.getByText(`Would create ada@${domain}, and sign in.`)).toBeVisible()
  expect(await problemsOf(page)).toEqual([])

  await page.getByRole('button', { name: 'Copy' }).first().click()
  await expect(page.getByRole('button', { name: 'Copied' })).toHaveCount(1)
  expect(await page.evaluate(() => navigator.clipboard.readText())).toBe(provider.issuer)

  const ours = await context.cookies(ssoUrl(slug, 'start'))
  expect(ours.map(({ name }) => name)).toEqual([])
  await page.reload()
  await expect(heading(page)).toHaveText('The sign-in would be rejected')
  await expect(page.getByText('state_used')).toBeVisible()
  expect(complaints).toEqual([])
})

test('an error of the provider leads to the page too', async ({ page, sql }) => {
  await page.goto(await testPath(sql, slug))
  await page.getByRole('link', { name: /^Cancel / }).click()
  await expect(heading(page)).toHaveText('The sign-in would be rejected')
  await expect(page.getByText('provider_access_denied')).toBeVisible()
})

test('HTML in each attribute is text', async ({ page, context, sql }) => {
  const complaints = complaintsOf(context)
  const saml = await newSamlProvider()
  const escapeXml = (text: string) =>
    text.replaceAll('&', '&amp;').replaceAll('<', '&lt;')
  const value = escapeXml(hostile).replaceAll('"', '&quot;')
  let samlSlug = ''
  const { url, stop } = await listen(
    createServer((request, response) => {
      const asked = new URL(request.url!, ssoUrl(samlSlug, 'start'))
      // a browser with a window asks for an icon
      if (!asked.searchParams.has('SAMLRequest')) {
        response.writeHead(404).end()
        return
      }

      const relayState = asked.searchParams.get('RelayState')!
      const begun = {
        slug: samlSlug,
        url: asked,
        relayState,
        requestId: requestIdIn(asked),
      }
      const posted = responseTo(saml, begun, {
        nameId: value,
        email: value,
        edit: (xml) => xml.replace('Name="name"', `Name="${value}"`),
      })
      response.setHeader('Content-Type', 'text/html')
      response.end(`<form method="post" action="${ssoUrl(samlSlug, 'acs')}">
<input name="SAMLResponse" value="${posted}"><input name="RelayState" value="${relayState}"><button>Go on</button></form>`)
    }),
  )
  samlSlug = await connectSaml(saml, new URL(ssoUrl('x', 'acs')).origin, {
    domains: [`saml.${domain}`],
    settings: { ssoUrl: url },
  })
  await page.goto(await testPath(sql, samlSlug))
  await page.getByRole('button', { name: 'Go on' }).click()
  await expect(heading(page)).toHaveText('The sign-in would be rejected')
  expect(await page.locator('main').innerText()).toContain(hostile)
  expect(await page.locator('img, main b, main script:not([nonce])').count()).toBe(0)
  expect(await page.title()).not.toBe('run')
  expect(complaints).toEqual([])
  await stop()
})
