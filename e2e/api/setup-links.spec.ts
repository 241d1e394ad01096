import { randomUUID } from 'node:crypto'
import * as routes from '../../lib/contract/routes'
import { activateDomains } from '../../lib/sso/manage/activate'
import {
  addConnection,
  enableConnection,
  listConnections,
} from '../../lib/sso/manage/connections'
import { revokeLink } from '../../lib/sso/setup/invite'
import { recordLinkTest } from '../../lib/sso/setup/link'
import { requestIdIn, responseTo } from '../support/browsers/saml-visitor'
import { Administrator, newSetupLink, problemIn } from '../support/browsers/setup-visitor'
import { errorOf, Visitor } from '../support/browsers/sso-visitor'
import { openReport } from '../support/browsers/test-sign-in'
import { eventsOfConnection } from '../support/databases/events'
import { expect, newUsers, type Sql, type TestServer, test } from '../support/fixtures'
import {
  clientSecret,
  type Provider,
  startProvider,
} from '../support/providers/oidc-provider'
import { providerMetadata } from '../support/providers/saml-metadata'
import { newSamlProvider, type SamlProvider } from '../support/providers/saml-provider'
import { keepSecret } from '../support/secrets'

// Setup links: what their holder can do, and what not.

let server: TestServer
let provider: Provider
let saml: SamlProvider
test.beforeAll(async ({ serverWith }) => {
  server = await serverWith({ SETUP_LINKS: 'true', PASSWORD_SIGN_IN: 'true' })
  ;[provider, saml] = await Promise.all([startProvider(), newSamlProvider()])
})
test.afterAll(() => provider?.stop())
test.beforeEach(() => {
  provider.behavior = {}
})

const ofLink =
  'SELECT * FROM setup_links WHERE connection_id = $1 ORDER BY created_at DESC'

async function find(slug: string) {
  const [connection] = await listConnections(slug)
  return connection!
}

const values = () => ({
  protocol: 'oidc',
  issuer: provider.issuer,
  clientId: 'the-client',
  clientSecret,
})

/** Makes a link and opens it. */
async function begin(more: Parameters<typeof newSetupLink>[0] = {}) {
  const link = await newSetupLink(more)
  const administrator = new Administrator(server)
  expect((await administrator.openLink(link.secret)).status).toBe(200)

  return { ...link, administrator }
}

/** Adds a user of the domain, as whom the provider signs everybody in. */
async function addPerson(sql: Sql, domain: string): Promise<string> {
  const [user] = await newUsers(sql, 1)
  const email = `${randomUUID()}@${domain}`
  await sql('UPDATE users SET email = $2, email_domain = $3 WHERE id = $1', [
    user!.id,
    email,
    domain,
  ])
  provider.person = { sub: randomUUID(), email }

  return email
}

/** Begins a test from the page, and returns the report. */
async function tryOut(administrator: Administrator) {
  const request = await administrator.open(routes.testSetup.path)
  const back = await administrator.authorize(request)

  return openReport(administrator, back.pathname + back.search)
}

/** Expects that nobody can sign in: at the start, and with a response of the provider. */
async function expectNoSignIn(sql: Sql, slug: string): Promise<void> {
  const visitor = new Visitor(server.url)
  expect(errorOf(await visitor.start(slug))).toBe('connection_unavailable')
  const callback = `/api/auth/sso/${slug}/callback?code=made-up&state=made-up`
  expect(errorOf(await visitor.open(callback))).toBe('connection_unavailable')
  const ofConnection = 'connection_id = (SELECT id FROM connections WHERE slug = $1)'
  for (const table of ['identities', 'exchange_codes', 'sessions'])
    expect(await sql(`SELECT FROM ${table} WHERE ${ofConnection}`, [slug])).toEqual([])
}

test('from the link to a tested OpenID connection, with which nobody can sign in until it is enabled', async ({
  sql,
}) => {
  const { slug, domain, administrator } = await begin()
  const email = await addPerson(sql, domain)
  expect(await administrator.page()).toContain('Okta, with OpenID Connect')
  const steps = await administrator.page('?product=other-oidc')
  expect(steps).toContain(`/api/auth/sso/${slug}/callback`)
  await expectNoSignIn(sql, slug)

  expect(await administrator.save(values())).toMatchObject({
    status: 200,
    body: { ok: true, outcome: 'saved' },
  })
  await expectNoSignIn(sql, slug)
  expect(await administrator.page()).toContain('No test has succeeded yet')

  const { text } = await tryOut(administrator)
  expect(text).toContain(`${email} could sign in to`)
  expect(text).toContain('To go on with the setup, close this tab')
  const page = await administrator.page()
  expect(page).toContain('A test has succeeded')
  expect(page).toContain('tell your contact')
  expect(page).not.toContain(clientSecret)
  await administrator.save({ ...values(), clientSecret: '' }) // what is saved already
  expect(await administrator.page()).toContain('A test has succeeded')
  await expectNoSignIn(sql, slug)
  expect((await administrator.apply()).status).toBe(400)
  await expectNoSignIn(sql, slug)

  const connection = await find(slug)
  expect(connection.settings).toMatchObject({ publicOnly: true })
  const [stored] = await sql(ofLink, [connection.id])
  expect(stored).toMatchObject({ tried_as: email, ended_at: null })

  await enableConnection(connection)
  expect(errorOf(await new Visitor(server.url).signIn(slug))).toBeNull()
  expect(await administrator.page()).toContain('There is nothing left to do')
  expect((await administrator.save(values())).status).toBe(400)
})

test('from the link to an active SAML connection, if the link may apply', async ({
  sql,
}) => {
  const { slug, domain, administrator } = await begin({ mayActivate: true })
  const email = await addPerson(sql, domain)
  const metadataUrl = `${server.url}/api/auth/sso/${slug}/metadata`
  const before = await (await fetch(metadataUrl)).text()
  expect(before).toContain(`entityID="${metadataUrl}"`)

  const own = await newSamlProvider()
  const metadata = metadataOf(own)
  expect(await administrator.saveMetadata(metadata)).toMatchObject({ status: 200 })
  expect(await (await fetch(metadataUrl)).text()).toBe(before) // the same key pair
  await expectNoSignIn(sql, slug)
  expect(problemIn(await administrator.apply())).toContain('Test a sign-in first')

  const request = await administrator.open(routes.testSetup.path)
  const relayState = request.searchParams.get('RelayState')!
  Object.assign(own.settings, {
    entityId: metadataUrl,
    acsUrl: `${server.url}/api/auth/sso/${slug}/acs`,
  })
  const begun = { slug, url: request, relayState, requestId: requestIdIn(request) }
  const SAMLResponse = responseTo(own, begun, { email })
  const form = new URLSearchParams({ SAMLResponse, RelayState: relayState })
  const { text } = await openReport(administrator, `/api/auth/sso/${slug}/acs`, form)
  expect(text).toContain(`${email} could sign in to`)

  const unknown = new URLSearchParams({ SAMLResponse, RelayState: 'x'.repeat(43) })
  const landing = await new Visitor(server.url).open(`/api/auth/sso/${slug}/acs`, unknown)
  expect(errorOf(landing)).toBe('connection_unavailable')
  await expectNoSignIn(sql, slug)

  expect(await administrator.page()).toContain(`Use it for everybody at ${domain}`)
  expect(await administrator.apply()).toMatchObject({
    status: 200,
    body: { domains: [domain] },
  })
  const { domains, disabledAt } = await find(slug)
  expect([domains, disabledAt]).toEqual([[domain], null])
  const used = await administrator.page()
  expect(used).toContain('is in use with what you have entered')
  expect(problemIn(await administrator.apply())).toContain('This link has ended')
})

/** Returns the metadata of a provider. */
function metadataOf({ settings }: SamlProvider, issuer = settings.issuer): string {
  return providerMetadata(settings.certificates[0]!, issuer, settings.ssoUrl)
}

test('each operation is an event, whose actor is the link', async ({ sql }) => {
  const { slug, domain, administrator } = await begin({ mayActivate: true })
  await addPerson(sql, domain)
  for (let count = 0; count < 2; count++) await administrator.save(values())
  await administrator.save({ ...values(), clientSecret: '' }) // changes nothing
  await tryOut(administrator)
  const { id } = await find(slug)
  expect((await administrator.apply()).status).toBe(200)

  const events = await eventsOfConnection(sql, id)
  const byLink = events.filter(({ actor }) => actor === 'setup-link')
  expect(byLink.map(({ kind }) => kind)).toEqual([
    'setup_link_opened',
    'setup_link_saved',
    'setup_link_saved',
    'setup_link_tested',
    'connection_activated',
    'connection_enabled',
    'setup_link_applied',
    'setup_link_ended',
  ])
  const [first, second] = byLink.filter(({ kind }) => kind === 'setup_link_saved')
  expect(first!.changed).toEqual(
    expect.arrayContaining(['issuer', 'clientId', 'publicOnly', 'secrets']),
  )
  expect(second!.changed).toEqual(['secrets'])

  const renewal = await begin({ slug, domains: [], mayActivate: true })
  await renewal.administrator.save({ protocol: 'oidc', clientSecret })
  expect((await eventsOfConnection(sql, id)).slice(-3)).toMatchObject([
    { kind: 'setup_link_opened', actor: 'setup-link' },
    { kind: 'setup_link_ended', actor: 'setup-link' },
    { kind: 'setup_link_renewed', actor: 'setup-link', changed: ['secrets'] },
  ])
})

test('a test with an account without a user shows that the connection works', async ({
  sql,
}) => {
  const { slug, domain, administrator } = await begin({ mayActivate: true })
  await addPerson(sql, domain)
  const email = `grace@${domain}`
  provider.person = { sub: randomUUID(), email }
  await administrator.save(values())
  const report = await tryOut(administrator)
  expect(report.html).toContain('<h1>The connection works</h1>')
  expect(report.text).toContain(
    `Everything that your provider sent is right, for ${email}`,
  )
  expect(report.text).toContain('Your contact can add the user.')
  expect(report.text).toContain('A user may sign in: not yet')
  expect(report.text).toContain('only the email address of this account is stored')
  const page = await administrator.page()
  expect(page).toContain('has no user with this address yet')
  expect(page).toContain('Test with the account of a user first.')
  const [stored] = await sql(ofLink, [(await find(slug)).id])
  expect(stored).toMatchObject({ tried_as: email })
  expect((await find(slug)).triedAt).not.toBeNull() // so `activate` does not ask

  await sql('UPDATE users SET email = $1 WHERE email_domain = $2', [email, domain])
  expect(await administrator.page()).not.toContain('has no user with this address yet')
})

test('a test that fails for another reason counts nothing, and names what to correct', async ({
  sql,
}) => {
  const { slug, domain, administrator } = await begin()
  await addPerson(sql, domain)
  await administrator.save(values())
  provider.person = { sub: randomUUID(), email: 'ada@elsewhere.example' }
  const { html, text } = await tryOut(administrator)
  expect(html).toContain('<h1>The sign-in would be rejected</h1>')
  expect(text).toContain('none of yours on the setup page')
  expect(text).toContain('Nobody was signed in, and nothing is stored.')
  expect((await find(slug)).triedAt).toBeNull()
  expect(await administrator.page()).toContain('No test has succeeded yet')
})

test('a test counts only for the values that are saved now', async ({ sql }) => {
  const { slug, domain, administrator } = await begin({ mayActivate: true })
  await addPerson(sql, domain)
  await administrator.save(values())
  await tryOut(administrator)
  const tested = await find(slug)
  await administrator.save(values())
  expect(problemIn(await administrator.apply())).toContain('Test a sign-in first')

  // a test that ends after the values were replaced
  const [link] = await sql(ofLink, [tested.id])
  await recordLinkTest(link!.id, tested, 'ada@example.com')
  expect(problemIn(await administrator.apply())).toContain('Test a sign-in first')
  expect((await find(slug)).disabledAt).not.toBeNull()
})

test('never makes a domain live that is live elsewhere', async ({ sql }) => {
  const other = await newSetupLink()
  await addConnection({
    slug: other.slug,
    name: 'Old',
    settings: { kind: 'oidc', issuer: provider.issuer, clientId: 'the-client' },
    secrets: { clientSecret },
    domains: [other.domain],
    activate: true,
    provision: false,
    listed: false,
    allowPasswords: false,
  })
  const { slug, administrator } = await begin({
    domains: [other.domain],
    beside: other.slug,
    mayActivate: true,
  })
  await addPerson(sql, other.domain)
  await administrator.save(values())
  await tryOut(administrator)
  expect(await administrator.page()).toContain('Your contact has to move it')

  expect(await administrator.apply()).toMatchObject({
    status: 200,
    body: { domains: [] },
  })
  const [mine, old] = [await find(slug), await find(other.slug)]
  expect([mine.trialDomains, mine.disabledAt]).toEqual([[other.domain], null])
  expect(old.domains).toEqual([other.domain])
})

test('renews the secret of an enabled connection once, and nothing else of it', async ({
  sql,
}) => {
  const { slug, domain, administrator } = await begin()
  await addPerson(sql, domain)
  await administrator.save(values())
  await tryOut(administrator)
  await enableConnection(await find(slug))
  await activateDomains(await find(slug))

  const renewal = await begin({ slug, domains: [], mayActivate: true })
  expect(await renewal.administrator.page()).toContain('Renew single sign-on')
  const refused = await renewal.administrator.save(values())
  expect(problemIn(refused)).toContain('nothing else')
  const before = await find(slug)
  const wrong = { protocol: 'oidc', clientSecret: keepSecret(randomUUID()) }
  expect(problemIn(await renewal.administrator.save(wrong))).toContain(
    'The provider rejects the client ID or the client secret.',
  )
  expect((await find(slug)).encryptedSecrets).toBe(before.encryptedSecrets)

  const renewed = await renewal.administrator.save({ protocol: 'oidc', clientSecret })
  expect(renewed.body.outcome).toBe('renewed')
  const after = await find(slug)
  expect(after.encryptedSecrets).not.toBe(before.encryptedSecrets)
  expect(after.settings).toEqual(before.settings)
  const again = await renewal.administrator.save({ protocol: 'oidc', clientSecret })
  expect(problemIn(again)).toContain('This link has ended')
  const warnings = await server.logged('has changed how an enabled connection')
  expect(warnings.filter(({ connection }) => connection === slug)).toEqual([
    expect.objectContaining({ level: 'warn', setup: 'renewed' }),
  ])
})

test('a renewal keeps the issuer as it is stored, because users are linked to it', async () => {
  const { slug, domain } = await newSetupLink()
  const issuer = `${provider.issuer}/`
  const other = `${slug}-stored`
  await addConnection({
    slug: other,
    name: 'Stored',
    settings: { kind: 'oidc', issuer, clientId: 'the-client' },
    secrets: { clientSecret },
    domains: [`other.${domain}`],
    activate: true,
    provision: false,
    listed: false,
    allowPasswords: false,
  })

  const { administrator } = await begin({ slug: other, domains: [], mayActivate: true })
  const renewed = await administrator.save({ protocol: 'oidc', clientSecret })
  expect(renewed.body.outcome).toBe('renewed')
  expect((await find(other)).settings.issuer).toBe(issuer)
})

test('renews SAML only with metadata of the same provider', async () => {
  const { slug, administrator } = await begin()
  await administrator.saveMetadata(metadataOf(saml))
  await enableConnection(await find(slug))

  const renewal = await begin({ slug, domains: [], mayActivate: true })
  const other = metadataOf(saml, 'https://other.example/metadata')
  expect(problemIn(await renewal.administrator.saveMetadata(other))).toContain(
    'ask your contact',
  )
  const next = await newSamlProvider({ isOther: true })
  next.settings.issuer = saml.settings.issuer
  expect((await renewal.administrator.saveMetadata(metadataOf(next))).status).toBe(200)
  const { settings } = await find(slug)
  expect(settings).toMatchObject({ certificates: next.settings.certificates })
})

const files: Record<string, [file: string | Buffer, problem: string]> = {
  'an empty file': ['', 'This file is empty.'],
  'a web page': ['<!doctype html><p>Metadata<br>', 'a web page (HTML)'],
  JSON: ['{"issuer":"https://idp.example"}', 'This is JSON'],
  'metadata of a service provider': [
    `<EntityDescriptor xmlns="urn:oasis:names:tc:SAML:2.0:metadata" entityID="x"><SPSSODescriptor protocolSupportEnumeration="urn:oasis:names:tc:SAML:2.0:protocol"/></EntityDescriptor>`,
    'the metadata of a service provider',
  ],
  'a DTD': ['<!DOCTYPE x [<!ENTITY a "b">]><EntityDescriptor/>', 'DTD'],
  'deep XML': ['<a>'.repeat(30) + '</a>'.repeat(30), 'more than 25 levels'],
  'a large file': [Buffer.alloc(256 * 1024 + 1, 'x'), 'more than 256 KiB'],
}
for (const [what, [file, problem]] of Object.entries(files))
  test(`${what} changes nothing, and the page says what it is`, async ({ sql }) => {
    const { slug, administrator } = await begin()
    const response = await administrator.saveMetadata(file)
    expect(response.status).toBe(400)
    expect(problemIn(response)).toContain(problem)
    const rows = await sql('SELECT kind FROM connections WHERE slug = $1', [slug])
    expect(rows).toEqual([{ kind: 'draft' }])
  })

const wrongValues: Record<string, [change: object, problem: string]> = {
  'an issuer without metadata': [{ issuer: 'PROVIDER/nothing' }, 'Nothing was saved'],
  'a wrong secret': [{ clientSecret: 'wrong' }, 'rejects the client ID or the client'],
  'no secret': [{ clientSecret: '' }, 'Enter the client secret.'],
  'no issuer': [
    { issuer: '', clientId: '' },
    'The issuer must be a URL that begins with https://.\nThe client ID must have at',
  ],
  'several tenants of Entra ID': [
    { issuer: 'https://login.microsoftonline.com/common/v2.0' },
    'must contain the ID of your tenant',
  ],
  'a domain': [{ domains: ['example.com'] }, ''],
  'a name': [{ name: 'Other' }, ''],
  'a flag': [{ provision: true }, ''],
  'another claim': [{ emailClaim: 'upn', trustClaim: true }, ''],
  'publicOnly: false': [{ publicOnly: false }, ''],
}
for (const [what, [change, problem]] of Object.entries(wrongValues))
  test(`refuses ${what}, and saves nothing`, async ({ sql }) => {
    const { slug, administrator } = await begin()
    const entered = { ...values(), ...change }
    entered.issuer = entered.issuer.replace('PROVIDER', provider.issuer)
    const response = await administrator.save(entered)
    expect(response.status).toBe(400)
    expect(problemIn(response)).toContain(problem)
    const rows = await sql('SELECT kind FROM connections WHERE slug = $1', [slug])
    expect(rows).toEqual([{ kind: 'draft' }])
  })

for (const added of ['/.well-known/openid-configuration', '/'])
  test(`accepts an issuer with ${added} at its end, and saves it as the provider writes it`, async () => {
    const { slug, administrator } = await begin()
    const issuer = provider.issuer + added
    expect((await administrator.save({ ...values(), issuer })).status).toBe(200)
    expect((await find(slug)).settings.issuer).toBe(provider.issuer)
  })

test('keeps the saved secret only for the same client', async () => {
  const { administrator } = await begin()
  await administrator.save(values())
  const same = { ...values(), clientSecret: '' }
  expect((await administrator.save(same)).status).toBe(200)
  const other = { ...same, clientId: 'other' }
  expect(problemIn(await administrator.save(other))).toContain('has changed')
  const saved = await administrator.saveMetadata(metadataOf(saml))
  expect(problemIn(saved)).toContain('Values for the other protocol')
})

test('a link that has expired, was revoked or replaced opens nothing, nor does an old cookie', async ({
  sql,
}) => {
  for (const end of ['expired', 'revoked', 'replaced']) {
    const { slug, secret, administrator } = await begin()
    const [row] = await sql('SELECT id FROM connections WHERE slug = $1', [slug])
    const id = row!.id as string
    if (end === 'revoked') expect(await revokeLink({ id })).toBe(true)
    if (end === 'replaced') await newSetupLink({ slug, domains: [] })
    if (end === 'expired')
      await sql('UPDATE setup_links SET expires_at = now() WHERE connection_id = $1', [
        id,
      ])

    const opened = await new Administrator(server).openLink(secret)
    expect([end, opened.status, problemIn(opened)]).toEqual([
      end,
      400,
      expect.stringContaining('This link has ended'),
    ])
    expect((await administrator.save(values())).status).toBe(400)
    expect(await administrator.page()).toContain('This link has ended')
    const { pathname } = await administrator.open(routes.testSetup.path)
    expect(pathname).toBe('/setup')
    expect(await sql('SELECT kind FROM connections WHERE id = $1', [id])).toEqual([
      { kind: 'draft' },
    ])

    await newSetupLink({ slug, domains: [] }) // ends the earlier one, if it is valid
    const ends = (await eventsOfConnection(sql, id)).filter(
      ({ kind }) => kind === 'setup_link_ended',
    )
    expect([end, ends.length]).toEqual([
      end,
      { expired: 0, revoked: 1, replaced: 2 }[end],
    ])
  }
})

test('opening a link uses nothing up, and the cookie is bound to one link', async () => {
  const { secret } = await newSetupLink()
  for (const _ of ['a scanner of emails', 'the administrator'])
    expect((await new Administrator(server).openLink(secret)).status).toBe(200)

  const forged = new Administrator(server)
  forged.cookies.set('setup', 'A'.repeat(48))
  const refused = await forged.save(values())
  expect(refused.status).toBe(400)
  expect(problemIn(refused)).toContain('Open it again.')
  expect(await forged.page()).toContain('Open your setup link')
  for (const text of ['', 'x', 'x'.repeat(43)])
    expect((await forged.openLink(text)).status).toBe(400)
})

test('rejects requests from another site', async () => {
  const { administrator, secret } = await begin()
  const foreign = { Origin: 'https://evil.example' }
  const fetched = { 'Sec-Fetch-Site': 'cross-site', 'Sec-Fetch-Mode': 'cors' }
  for (const path of [routes.saveSetup.path, routes.applySetup.path])
    for (const headers of [foreign, fetched]) {
      const { status } = await administrator.post(path, values(), headers)
      expect.soft(status, path).toBe(403)
    }
  const opened = await administrator.post(routes.openSetup.path, { secret }, foreign)
  expect(opened.status).toBe(403)
})

test('allows 30 tests and saved values in an hour', async () => {
  const { administrator } = await begin()
  for (let count = 0; count < 30; count++)
    expect((await administrator.save({ ...values(), issuer: 'x' })).status).toBe(400)
  const limited = await administrator.save(values())
  expect([limited.status, problemIn(limited)]).toEqual([
    429,
    expect.stringContaining('30 tests'),
  ])
  const { pathname, search } = await administrator.open(routes.testSetup.path)
  expect(pathname + search).toBe('/setup') // nothing is saved, so nothing can be tested
})

test('the secret is in no log, URL or page, and the log names what happened', async ({
  sql,
}) => {
  const { slug, domain, secret, administrator } = await begin()
  await addPerson(sql, domain)
  await administrator.save(values())
  await tryOut(administrator)
  const html = await administrator.page()
  expect(html).not.toContain(secret)
  expect(await server.output()).not.toContain(secret)
  const lines = (await server.logged(slug)).filter(({ setup }) => setup)
  expect(lines.map(({ route, setup }) => `${route} ${setup}`)).toEqual([
    'setup opened',
    'setup saved',
    'sso-callback tested',
  ])
})

test('HTML in a value is text', async () => {
  const { administrator } = await begin({ name: '"><script>alert(1)</script>' })
  await administrator.saveMetadata(
    metadataOf(saml, 'urn:&lt;img src=x onerror=alert(1)&gt;'),
  )
  const html = await administrator.page('?product="><script>alert(1)</script>')
  expect(html).toContain('urn:&#60;img src=x')
  expect(html).not.toContain('<img src=x')
  expect(html).not.toContain('<script>alert')
})

test('does not exist without the setting', async ({ serverWith }) => {
  const off = await serverWith()
  const { secret, slug } = await newSetupLink()
  expect((await new Administrator(off).openLink(secret)).status).toBe(404)
  expect((await off.fetch('/setup')).status).toBe(404)
  expect((await off.fetch(`/api/auth/sso/${slug}/metadata`)).status).toBe(404)
})
