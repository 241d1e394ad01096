import { connectSaml } from '../support/browsers/saml-visitor'
import { usersOf } from '../support/browsers/sso-visitor'
import { expect, heading, test } from '../support/fixtures'
import { startSamlPages } from '../support/providers/saml-pages'
import { newSamlProvider } from '../support/providers/saml-provider'
import { keepSecret } from '../support/secrets'

// e2e/pages/dashboards.spec.ts tests a complete sign-in.

test('stops a provider that never responds to our request, although its forms contain no cookies', async ({
  page,
  url,
  sql,
}) => {
  const provider = await newSamlProvider()
  const pages = await startSamlPages(() => ({
    acsUrl: provider.settings.acsUrl,
    response: keepSecret(provider.respond({ response: true, requestId: '_unsolicited' })),
    relayState: '',
  }))
  provider.settings.ssoUrl = pages.ssoUrl
  const slug = await connectSaml(provider, url)
  // a browser sends no cookies with a form of another site
  const posted: (string | undefined)[] = []
  page.on('request', async (request) => {
    if (request.url() === provider.settings.acsUrl)
      posted.push((await request.allHeaders()).cookie)
  })
  await page.goto(pages.ssoUrl)
  await expect(heading(page)).toHaveText('We couldn’t verify your sign-in')
  expect(posted).toEqual(Array(4).fill(undefined))
  expect(await usersOf(sql, slug)).toEqual([])
  await pages.stop()
})
