import { connectSaml } from '../support/browsers/saml-visitor'
import { usersOf } from '../support/browsers/sso-visitor'
import { expect, heading, newCode, test } from '../support/fixtures'
import { startSamlPages } from '../support/providers/saml-pages'
import { newSamlProvider } from '../support/providers/saml-provider'
import { keepSecret } from '../support/secrets'

// e2e/providers/saml.spec.ts tests a complete sign-in.

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

test('a logout message of the provider leaves the session alive, and the page offers to sign out', async ({
  page,
  url,
  user,
}) => {
  const provider = await newSamlProvider()
  const slug = await connectSaml(provider, url)
  await page.goto(`/sso/callback?code=${await newCode(user)}`)
  await page.waitForURL('/')
  const request = '<samlp:LogoutRequest/>'
  await page.route('https://idp.example/logout', (route) =>
    route.fulfill({
      contentType: 'text/html',
      body: `<form method="post" action="${url}/api/auth/sso/${slug}/acs"><input name="SAMLRequest" value="${btoa(request)}"></form><script>document.forms[0].submit()</script>`,
    }),
  )
  await page.goto('https://idp.example/logout')
  await expect(heading(page)).toHaveText(/^You weren’t signed out of /)
  await page.goto('/')
  await expect(heading(page)).toHaveText('You’re signed in')

  await page.goto(`/api/auth/sso/${slug}/acs?SAMLRequest=x`)
  await page.getByRole('button', { name: 'Sign out' }).click()
  await expect(heading(page)).toHaveText('You’ve been signed out')
})
