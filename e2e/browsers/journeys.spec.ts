import { randomUUID } from 'node:crypto'
import { createServer } from 'node:http'
import { startLocalProvider } from '../../bin/dev/provider'
import { addWidget } from '../../lib/widget/manage'
import { browserKinds, consoleOfWebKit } from '../support/browsers/debian-browsers'
import { newSetupLink } from '../support/browsers/setup-visitor'
import { test, type Visitor } from '../support/browsers/visitor'
import { newPasswordUser, type PasswordUser } from '../support/databases/password-user'
import {
  expect,
  newCode,
  newPassword,
  newToken,
  type TestServer,
} from '../support/fixtures'
import { keepSecret } from '../support/secrets'
import { type Example, startDashboard, startWidget } from '../support/servers/examples'
import { listen } from '../support/servers/listen'
import { freePort } from '../support/servers/server'
import { allFeatures } from '../support/servers/settings'

let server: TestServer
let dashboard: Example
let widgetServer: Example
let customer: Awaited<ReturnType<typeof listen>>

const newUrl = async () => `http://127.0.0.1:${await freePort()}`

test.beforeAll(async ({ serverWith, sql }) => {
  server = await serverWith({ ...allFeatures, SETUP_LINKS: 'true' })
  dashboard = await startDashboard(sql, server.url, await newUrl())
  widgetServer = await startWidget(server.url, await newUrl())
  customer = await startCustomer()
})
test.afterAll(() =>
  Promise.all([dashboard, widgetServer, customer].map((each) => each?.stop())),
)

/** Starts the site of a customer, whose page has the widget. */
async function startCustomer() {
  let html = ''
  const site = await listen(
    createServer((_, response) =>
      response.setHeader('Content-Type', 'text/html').end(html),
    ),
  )
  const slug = `w-${randomUUID()}`
  const token = keepSecret(await addWidget(slug, slug, [site.url]))
  html = `<!doctype html><link rel="icon" href="data:,"><body><script
    src="${widgetServer.url}/widget.js" data-login="${server.url}" data-token="${token}" async></script>`
  return site
}

/** Starts a site that sets our cookie of the language to Arabic, and redirects. */
async function startArabicSite(to: string) {
  const headers = { 'Set-Cookie': 'language=ar; Path=/', Location: to }
  const site = createServer((_, response) => response.writeHead(303, headers).end())
  const { url, stop } = await listen(site)
  return { url: url.replace('127.0.0.1', 'localhost'), stop } // ports share cookies
}

async function signIn(visitor: Visitor, { email, password }: PasswordUser) {
  await visitor.fill('email', email)
  await visitor.send('password', password)
}

for (const kind of browserKinds)
  for (const width of [390, 1280])
    test.describe(`${kind}, ${width} px`, () => {
      test('signs in with a code', async ({ open, user }) => {
        const visitor = await open(kind, width)
        await visitor.goTo(`${server.url}/sso/callback?code=${await newCode(user)}`)
        await visitor.sees('You’re signed in')
        expect(await visitor.browser.run('return innerWidth')).toBe(width)
        const look = `return getComputedStyle(document.querySelector('#language')).appearance`
        expect(await visitor.browser.run(look)).toBe('none')
      })

      test('sets a new password, signs in with it, and changes it', async ({
        open,
        sql,
      }) => {
        const visitor = await open(kind, width)
        const user = await newPasswordUser(sql, { cost: 4 })
        const [first, second] = [newPassword(), newPassword()]
        await visitor.goTo(`${server.url}/reset-password?token=${await newToken(user)}`)
        await visitor.send('password', first)
        await visitor.sees('Your password has been changed')

        await visitor.goTo(`${server.url}/sign-in?step=password`)
        await signIn(visitor, { ...user, password: first })
        await visitor.sees('You’re signed in')

        await visitor.goTo(`${server.url}/account`)
        await visitor.fill('current', 'not the password')
        await visitor.send('password', second)
        await visitor.sees('The current password is wrong')
        await visitor.fill('current', first)
        await visitor.press('Change password')
        await visitor.sees('Your password has been changed.')

        await visitor.goTo(`${server.url}/account?change=addPasskey`)
        await visitor.sees('Add a passkey')
      })

      test('signs in, starting at a dashboard, and signs out there', async ({
        open,
        sql,
      }) => {
        const visitor = await open(kind, width)
        const user = await newPasswordUser(sql, { cost: 4 })
        await visitor.goTo(`${dashboard.url}/reports`)
        await visitor.send('email', user.email)
        await visitor.send('password', user.password)
        await visitor.sees(user.email)
        await visitor.press('Sign out')
        await visitor.sees('signed out')
      })

      test('enters and corrects the values of a provider with a setup link', async ({
        open,
      }) => {
        const visitor = await open(kind, width)
        const { slug, secret } = await newSetupLink()
        const provider = await startLocalProvider({
          redirectUris: [`${server.url}/api/auth/sso/${slug}/callback`],
          people: [],
        })
        await visitor.goTo(`${server.url}/setup#${secret}`)
        await visitor.follow('Another product, with OpenID Connect')
        await visitor.fill('issuer', provider.issuer)
        await visitor.fill('clientId', provider.clientId)
        await visitor.fill('clientSecret', 'wrong')
        await visitor.press('Save')
        await visitor.sees('The provider rejects')
        await visitor.fill('clientSecret', keepSecret(provider.clientSecret))
        await visitor.press('Save')
        await visitor.sees('No test has succeeded yet')
        await provider.stop()
      })

      test('shows a widget in a page of another site', async ({ open }) => {
        const visitor = await open(kind, width)
        await visitor.goTo(customer.url)
        await visitor.sees(`Hello, page of ${customer.url}`)
      })
    })

// The driver of WebKitGTK does not report the console, so the browser opens these pages
// without a driver.
test('WebKitGTK writes nothing to the console', async ({ user }) => {
  const arabic = await startArabicSite(`${server.url}/forgot-password?sent`)
  const written = await consoleOfWebKit([
    `${server.url}/sso/callback?code=${await newCode(user)}`,
    `${server.url}/reset-password?token=${await newToken(user)}`,
    `${server.url}/sign-in?step=password`,
    dashboard.url,
    customer.url,
    arabic.url,
  ])
  await arabic.stop()
  expect(written).toEqual([])
})
