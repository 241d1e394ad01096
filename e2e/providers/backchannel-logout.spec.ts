import { randomBytes, randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Configuration, Provider } from 'oidc-provider'
import * as routes from '../../lib/contract/routes'
import { Visitor } from '../support/browsers/sso-visitor'
import { addTestConnection } from '../support/databases/connection'
import { expect, type Sql, test } from '../support/fixtures'
import { clientSecret } from '../support/providers/oidc-provider'
import { keepSecret } from '../support/secrets'
import { connections } from '../support/servers/command'
import { type Server, startServer } from '../support/servers/server'

// oidc-provider 9 signs and sends the logout tokens. LemonLDAP::NG 2.16, the version of
// Debian 12, sends none.

const domain = `${randomUUID()}.example.org`
const run = randomBytes(4).toString('hex') // a worker restarts after a failure
const slugs = { ofSession: `of-session-${run}`, ofSubject: `of-subject-${run}` }

let server: Server
let site: Awaited<ReturnType<typeof startSite>>

test.beforeAll(async () => {
  server = await startServer()
  site = await startSite(server.url)
  for (const [index, slug] of Object.values(slugs).entries())
    await addTestConnection(`${index}.${domain}`, {
      slug,
      settings: { kind: 'oidc', issuer: site.issuer, clientId: slug },
      provision: true,
    })
})
test.afterAll(async () => {
  await site?.stop()
  await server?.stop()
})

/** Starts a provider that signs in a person without asking. */
async function startSite(app: string) {
  const http = createServer().listen(0, '127.0.0.1')
  await once(http, 'listening')
  const issuer = `http://127.0.0.1:${(http.address() as AddressInfo).port}`
  const clients = Object.entries(slugs).map(([kind, slug]) => ({
    client_id: slug,
    client_secret: clientSecret,
    redirect_uris: [`${app}/api/auth/sso/${slug}/callback`],
    backchannel_logout_uri:
      app + routes.endProviderSession.path.replace('{connection}', slug),
    backchannel_logout_session_required: kind === 'ofSession',
  }))
  const configuration: Configuration = {
    clients,
    cookies: { keys: [randomBytes(32).toString('base64url')] },
    pkce: { required: () => true },
    // its own dispatcher connects to no loopback address
    fetch: (url, options) =>
      fetch(url, { ...options, dispatcher: undefined } as RequestInit),
    features: {
      devInteractions: { enabled: false },
      backchannelLogout: { enabled: true },
    },
    claims: { openid: ['sub'], email: ['email', 'email_verified'] },
    conformIdTokenClaims: false,
    interactions: { url: (_context, { uid }) => `/interaction/${uid}` },
    findAccount: async (context, id) => ({
      accountId: id,
      claims: async () => {
        const index = Object.values(slugs).indexOf(context.oidc.client!.clientId)
        return { sub: id, email: `${id}@${index}.${domain}`, email_verified: true }
      },
    }),
    loadExistingGrant: async ({ oidc }) => {
      const { clientId } = oidc.client!
      const accountId = oidc.session!.accountId!
      const grant = new oidc.provider.Grant({ clientId, accountId })
      grant.addOIDCScope('openid email')
      await grant.save()
      return grant
    },
  }
  const { warn } = console
  console.warn = () => {} // about Node.js 20, and about missing storage
  const { Provider: Site } = await import('oidc-provider')
  const provider: Provider = new Site(issuer, configuration)
  console.warn = warn

  const respond = provider.callback()
  http.on('request', (request, response) => {
    if (!request.url!.startsWith('/interaction/')) return void respond(request, response)
    const result = { login: { accountId: 'ada' } }
    void provider.interactionFinished(request, response, result)
  })

  return {
    issuer,
    provider,
    stop: async () => {
      http.closeAllConnections()
      http.close()
    },
  }
}

/** A browser at the provider. */
class Browser {
  readonly cookies = new Map<string, string>()

  async request(url: string | URL, form?: URLSearchParams): Promise<Response> {
    const response = await fetch(url, {
      redirect: 'manual',
      headers: { Cookie: [...this.cookies].map((pair) => pair.join('=')).join('; ') },
      ...(form && { method: 'POST', body: form }),
    })
    for (const cookie of response.headers.getSetCookie()) {
      const [, name, value] = /^([^=]+)=([^;]*)/.exec(cookie)!
      if (value) this.cookies.set(name!, keepSecret(value))
      else this.cookies.delete(name!)
    }
    return response
  }

  /** Follows redirects at the provider. Returns the URL of the redirect to the app. */
  async authorize(url: URL): Promise<URL> {
    let next = url
    while (next.origin === site.issuer) {
      const response = await this.request(next)
      next = new URL(response.headers.get('location')!, next)
    }
    return next
  }

  /** Signs out at the provider, which asks for a confirmation. */
  async signOut(): Promise<void> {
    const page = await (await this.request(`${site.issuer}/session/end`)).text()
    const xsrf = /name="xsrf" value="([^"]+)"/.exec(page)![1]!
    const form = new URLSearchParams({ xsrf, logout: 'yes' })
    const done = await this.request(`${site.issuer}/session/end/confirm`, form)
    expect(done.status).toBeLessThan(400)
  }
}

async function signIn(slug: string) {
  const [browser, visitor] = [new Browser(), new Visitor(server.url)]
  const back = await browser.authorize(await visitor.start(slug))
  const { body } = await visitor.exchange(await visitor.comeBack(back))
  return { browser, token: keepSecret(body.token!) }
}

const isLive = async (token: string) => {
  const headers = { Authorization: `Bearer ${token}` }
  return (await fetch(server.url + routes.getSession.path, { headers })).status === 200
}
const storedSessions = (sql: Sql, slug: string) =>
  sql(
    `SELECT provider_session FROM sessions WHERE connection_id = (SELECT id FROM connections WHERE slug = $1)`,
    [slug],
  )

test('oidc-provider: a sign-out there ends the session here, and no other one', async ({
  sql,
}) => {
  const [first, second] = [await signIn(slugs.ofSession), await signIn(slugs.ofSession)]
  const stored = await storedSessions(sql, slugs.ofSession)
  expect(new Set(stored.map((row) => row.provider_session)).size).toBe(2)

  await first.browser.signOut()
  await expect.poll(() => isLive(first.token)).toBe(false)
  expect(await isLive(second.token)).toBe(true)
  expect(server.logged('sso-backchannel-logout')).toMatchObject([
    { status: 200, connection: slugs.ofSession },
  ])
})

test('oidc-provider: without an ID of the session, all sessions of the person end', async () => {
  const [first, second] = [await signIn(slugs.ofSubject), await signIn(slugs.ofSubject)]
  const client = await site.provider.Client.find(slugs.ofSubject)
  await (
    client as unknown as { backchannelLogout: (sub: string) => Promise<void> }
  ).backchannelLogout('ada')
  expect([await isLive(first.token), await isLive(second.token)]).toEqual([false, false])
})

test('oidc-provider: `check` prints the URL to enter', async () => {
  const path = routes.endProviderSession.path.replace('{connection}', slugs.ofSession)
  expect(await connections(['check', slugs.ofSession])).toContain(
    `It supports back-channel logout. Enter there: ${process.env.PUBLIC_URL}${path}`,
  )
})
