import { verify, X509Certificate } from 'node:crypto'
import * as paths from '../../lib/contract/paths'
import { newSecret } from '../../lib/secret'
import { disableConnection, listConnections } from '../../lib/sso/manage'
import { exchangePath, expect, postTo, type Sql, test } from '../support/fixtures'
import { connect, startProvider } from '../support/oidc-provider'
import {
  assertionPattern,
  inOrder,
  modes,
  newSamlProvider,
  parts,
  type ResponseOptions,
  replace,
  type SamlProvider,
} from '../support/saml-provider'
import { authnRequestIn, connectSaml, responseTo, SamlVisitor } from '../support/saml-visitor'
import { keepSecret, newAddress } from '../support/secrets'
import { type Server, startServer } from '../support/server'

// The attacks are in lib/sso/saml/*.spec.ts. Here, some of them go over HTTP.

let server: Server
let provider: SamlProvider
let slug: string
let visitor: SamlVisitor
test.beforeAll(async () => {
  server = await startServer()
})
test.afterAll(() => server?.stop())
test.beforeEach(async () => {
  provider = await newSamlProvider()
  slug = await connectSaml(provider, server.url)
  visitor = new SamlVisitor(server.url)
})

type Line = { connection?: string; check?: string; userId?: string; status: number; route: string; code?: string }

/** The log line of the visitor's last request. */
async function logged({ requestId }: SamlVisitor): Promise<Line> {
  const line = () =>
    server
      .output()
      .split('\n')
      .find((text) => text.includes(requestId))
  await expect.poll(line).toBeTruthy()
  return JSON.parse(line()!)
}

const errorOf = (landing: URL) => landing.searchParams.get('error')
const exchange = async (landing: URL, { cookies }: SamlVisitor) =>
  postTo(
    server.url + exchangePath,
    { code: landing.searchParams.get('code') },
    { 'X-Forwarded-For': newAddress(), Cookie: `browser=${cookies.get('browser')}` },
  )
const usersOf = (sql: Sql, connection: string) =>
  sql(
    `SELECT users.id, email, sso_only, issuer, subject FROM users JOIN identities ON user_id = users.id
     JOIN connections ON connections.id = connection_id WHERE slug = $1`,
    [connection],
  )
const unclaimed = async (sql: Sql, connection = slug) => {
  const rows = await sql(
    `SELECT 1 FROM sign_ins JOIN connections ON connections.id = connection_id
     WHERE slug = $1 AND claimed_at IS NULL`,
    [connection],
  )
  return rows.length
}

for (const name of ['a signed assertion', 'both signed, encrypted']) {
  test(`signs in with ${name}; the session begins in this browser only`, async ({ sql }) => {
    const begun = await visitor.begin(slug, '/reports?year=2026')
    const landing = await visitor.deliver(begun, responseTo(provider, begun, modes[name]))
    expect(landing.pathname).toBe('/sso/callback')
    expect(Object.fromEntries(landing.searchParams)).toEqual({
      code: expect.stringMatching(/^[\w-]{43}$/),
      next: '/reports?year=2026',
    })
    const [user] = await usersOf(sql, slug)
    const { entityId: issuer } = provider.settings.provider
    expect(user).toMatchObject({ email: `ada@${slug}.example.org`, sso_only: true, issuer, subject: 'ada' })
    expect(await logged(visitor)).toMatchObject({ route: 'sso-acs', status: 303, connection: slug, userId: user!.id })

    const elsewhere = new SamlVisitor(server.url)
    elsewhere.cookies.set('browser', keepSecret(newSecret()))
    expect((await exchange(landing, elsewhere)).body.code).toBe('SSO_EXCHANGE_INVALID')
    expect((await exchange(landing, visitor)).status).toBe(200)
    const [session] = await sql(
      'SELECT slug FROM sessions JOIN connections ON connections.id = connection_id WHERE user_id = $1',
      [user!.id],
    )
    expect(session).toEqual({ slug })
  })
}

test('signs requests with the key whose certificate is in our metadata, unless the connection does not sign', async () => {
  const response = await visitor.request(`/api/auth/sso/${slug}/metadata`)
  expect([response.status, response.headers.get('content-type')]).toEqual([200, 'application/samlmetadata+xml'])
  const metadata = await response.text()
  expect(metadata).toContain(`entityID="${server.url}/api/auth/sso/${slug}/metadata"`)
  expect(metadata).toContain(`Location="${server.url}/api/auth/sso/${slug}/acs"`)
  const certificates = [...metadata.matchAll(/<ds:X509Certificate>([^<]*)</g)].map(([, base64]) => base64!)
  expect(certificates).toHaveLength(2) // for signing and for encryption
  expect(await logged(visitor)).toMatchObject({ route: 'sso-metadata', connection: slug })

  const { url, requestId, relayState } = await visitor.begin(slug)
  expect(`${url.origin}${url.pathname}?tenant=${url.searchParams.get('tenant')}`).toBe(
    provider.settings.provider.ssoUrl,
  )
  expect(relayState).toMatch(/^[\w-]{43}$/)
  expect(requestId).toMatch(/^_[\w-]{43}$/)
  expect(requestId).not.toContain(relayState)
  expect(authnRequestIn(url)).toContain(`AssertionConsumerServiceURL="${server.url}/api/auth/sso/${slug}/acs"`)
  const [signed, signature] = url.search.slice(url.search.indexOf('SAMLRequest=')).split('&Signature=')
  for (const certificate of certificates) {
    const { publicKey } = new X509Certificate(Buffer.from(certificate, 'base64'))
    const bytes = Buffer.from(decodeURIComponent(signature!), 'base64')
    expect(verify('sha256', Buffer.from(signed!), publicKey, bytes)).toBe(true)
  }
  const unsigned = await connectSaml(provider, server.url, { settings: { signRequests: false } })
  expect((await visitor.begin(unsigned)).url.searchParams.has('Signature')).toBe(false)
})

test('during a rotation, two certificates count', async () => {
  const { certificates } = provider.settings.provider
  const both = [...certificates, provider.nextKey.certificate]
  const signIn = async (connection: string, options: ResponseOptions) => {
    const begun = await visitor.begin(connection)
    return errorOf(await visitor.deliver(begun, responseTo(provider, begun, options)))
  }
  expect(await signIn(slug, { assertion: true, signing: provider.nextKey })).toBe('response_invalid')
  expect((await logged(visitor)).check).toBe('saml_signature')
  const rotating = await connectSaml(provider, server.url, { settings: { certificates: both } })
  expect(await signIn(rotating, { assertion: true })).toBeNull()
  expect(await signIn(rotating, { response: true, signing: provider.nextKey })).toBeNull()
})

test('requires the signatures that the connection wants', async () => {
  const signatures = [{ response: true }, { assertion: true }, { response: true, assertion: true }]
  for (const [signed, accepted] of [
    ['response', [true, false, true]],
    ['assertion', [false, true, true]],
    ['both', [false, false, true]],
  ] as const) {
    const strict = await connectSaml(provider, server.url, { settings: { signed } })
    for (const [index, mode] of signatures.entries()) {
      const begun = await visitor.begin(strict)
      const error = errorOf(await visitor.deliver(begun, responseTo(provider, begun, mode)))
      expect([error, (await logged(visitor)).check], `${signed}: ${JSON.stringify(mode)}`).toEqual(
        accepted[index] ? [null, undefined] : ['response_invalid', 'saml_unsigned'],
      )
    }
  }
})

// Hostile responses

const forged = inOrder(replace('>ada<', '>root<'), replace(/ID="_[^"]*"/, 'ID="_forged"'), replace(parts.signature, ''))
const hostile: Record<string, [check: string, options: ResponseOptions]> = {
  'no signature': ['saml_unsigned', { assertion: false }],
  'another subject after signing': ['saml_signature', { tamper: replace('>ada<', '>root<') }],
  'another assertion beside the signed one': [
    'saml_assertion_count',
    { tamper: replace(assertionPattern, (original) => forged(original!) + original) },
  ],
  'another audience': [
    'saml_audience',
    { edit: replace(/<saml:Audience>[^<]*</, '<saml:Audience>https://other.example<') },
  ],
  'another request': ['saml_in_response_to', { requestId: '_another' }],
  'an assertion that ended 90 seconds ago': ['saml_time', { notOnOrAfter: -90 }],
  'a comment in the NameID': ['saml_markup', { tamper: replace('>ada<', '>a<!-- -->da<') }],
  'a bomb inside an encrypted assertion': [
    'saml_too_complex',
    { encrypted: true, tamperAssertion: replace('>ada<', `>ada${'<a/>'.repeat(1_000)}<`) },
  ],
  'a document of more than 256 KiB': [
    'saml_too_large',
    { tamper: replace('</samlp:Status>', `</samlp:Status>${' '.repeat(257 * 1024)}`) },
  ],
  'text that is not XML': ['saml_malformed', { tamper: () => 'hello' }],
}

for (const [what, [check, options]] of Object.entries(hostile)) {
  test(`rejects a response: ${what}`, async ({ sql }) => {
    const [begun, other] = [await visitor.begin(slug, '/reports'), await visitor.begin(slug)]
    const landing = await visitor.deliver(begun, responseTo(provider, begun, { assertion: true, ...options }))
    expect(landing.pathname + landing.search).toBe('/sso/callback?error=response_invalid&next=%2Freports')
    expect(await logged(visitor)).toMatchObject({ route: 'sso-acs', connection: slug, check, status: 303 })
    expect(await usersOf(sql, slug)).toEqual([])

    // Its own attempt is used up, and no other.
    expect(await unclaimed(sql)).toBe(1)
    expect(errorOf(await visitor.deliver(begun, responseTo(provider, begun)))).toBe('attempt_invalid')
    expect((await logged(visitor)).check).toBe('state_used')
    expect(errorOf(await visitor.deliver(other, responseTo(provider, other)))).toBeNull()
  })
}

test('the provider’s own error ends the sign-in in other words', async () => {
  const begun = await visitor.begin(slug)
  const failed = (xml: string) =>
    inOrder(replace('status:Success', 'status:Responder'), replace(assertionPattern, ''))(xml)
  const landing = await visitor.deliver(begun, responseTo(provider, begun, { assertion: false, edit: failed }))
  expect([errorOf(landing), (await logged(visitor)).check]).toEqual(['other', 'saml_status'])
})

test('a response counts once, also when it arrives twice at the same time', async ({ sql }) => {
  const begun = await visitor.begin(slug)
  const response = responseTo(provider, begun)
  const landings = await Promise.all([1, 2, 3, 4].map(() => new SamlVisitor(server.url).deliver(begun, response)))
  expect(landings.filter((landing) => landing.searchParams.has('code'))).toHaveLength(1)
  expect(errorOf(await visitor.deliver(begun, response))).toBe('attempt_invalid')
  expect((await logged(visitor)).check).toBe('state_used')
  const codes = await sql(
    'SELECT 1 FROM exchange_codes JOIN connections ON connections.id = connection_id WHERE slug = $1',
    [slug],
  )
  expect(codes).toHaveLength(1)

  const later = await visitor.begin(slug)
  expect(errorOf(await visitor.deliver(later, response))).toBe('response_invalid')
  expect((await logged(visitor)).check).toBe('saml_in_response_to')
})

test('a response in another browser ends in no session, and takes nothing from its owner', async ({ sql }) => {
  const begun = await visitor.begin(slug)
  const response = responseTo(provider, begun)
  const victim = new SamlVisitor(server.url)
  await victim.begin(slug)
  // A form of a sibling subdomain carries cookies: the difference is known at once.
  expect(errorOf(await victim.deliver(begun, response, true))).toBe('attempt_invalid')
  expect((await logged(victim)).check).toBe('state_browser')
  expect(await unclaimed(sql)).toBe(2)

  // A form of another site carries none: the code is of no use to the victim.
  const landing = await victim.deliver(begun, response)
  expect((await exchange(landing, victim)).body.code).toBe('SSO_EXCHANGE_INVALID')
  expect((await exchange(landing, visitor)).status).toBe(200)
})

test('a form of the same site carries the cookie of this browser', async () => {
  const begun = await visitor.begin(slug)
  expect(errorOf(await visitor.deliver(begun, responseTo(provider, begun), true))).toBeNull()
})

test('another connection’s response is rejected, by its state and by its signature', async ({ sql }) => {
  const otherProvider = await newSamlProvider()
  const other = await connectSaml(otherProvider, server.url)
  const [begun, elsewhere] = [await visitor.begin(slug), await visitor.begin(other)]
  const landing = await visitor.deliver({ ...begun, slug: other }, responseTo(provider, begun))
  expect([errorOf(landing), (await logged(visitor)).check]).toEqual(['attempt_invalid', 'state_connection'])
  expect([await unclaimed(sql), await unclaimed(sql, other)]).toEqual([1, 1])

  // Both have the same entity ID, so that the key alone tells them apart.
  Object.assign(otherProvider.settings, { acsUrl: provider.settings.acsUrl, entityId: provider.settings.entityId })
  const mixedUp = await visitor.deliver(begun, responseTo(otherProvider, begun))
  expect([errorOf(mixedUp), (await logged(visitor)).check]).toEqual(['response_invalid', 'saml_signature'])
  expect([await unclaimed(sql), await unclaimed(sql, other)]).toEqual([0, 1])
  expect(elsewhere.relayState).not.toBe(begun.relayState)
})

test('an expired, an unknown and a disabled sign-in', async ({ sql }) => {
  const begun = await visitor.begin(slug)
  const response = responseTo(provider, begun)
  await sql(
    `UPDATE sign_ins SET expires_at = now() WHERE connection_id = (SELECT id FROM connections WHERE slug = $1)`,
    [slug],
  )
  expect(errorOf(await visitor.deliver(begun, response))).toBe('attempt_invalid')
  expect((await logged(visitor)).check).toBe('state_expired')

  const relayState = keepSecret(newSecret())
  expect(errorOf(await visitor.deliver({ slug, relayState }, response))).toBe('attempt_invalid')
  expect((await logged(visitor)).check).toBe('state_unknown')

  const late = await visitor.begin(slug)
  const [connection] = await listConnections(slug)
  await disableConnection(connection!)
  expect(errorOf(await visitor.deliver(late, responseTo(provider, late)))).toBe('connection_unavailable')
  expect((await logged(visitor)).check).toBe('connection')
  expect((await visitor.request(`/api/auth/sso/${slug}/metadata`)).status).toBe(404)
})

test('an unsolicited response is not read: it leads to our own start, and not in circles', async ({ sql }) => {
  const post = (relayState?: string) => {
    const unsolicited = new URLSearchParams({
      SAMLResponse: '<not-even-base64>',
      ...(relayState && { RelayState: relayState }),
    })
    return visitor.open(`/api/auth/sso/${slug}/acs`, unsolicited)
  }
  for (const relayState of [undefined, 'https://app.example/reports', 'x'.repeat(44)]) {
    const start = await post(relayState)
    expect(start.pathname + start.search).toBe(`/api/auth/sso/${slug}/start?unsolicited`)
    expect(await logged(visitor)).toMatchObject({ status: 303, check: 'unsolicited', connection: slug })
    const { host } = await visitor.open(start.pathname + start.search)
    expect(host).toBe('idp.example')
  }
  const again = await post()
  expect(errorOf(await visitor.open(again.pathname + again.search))).toBe('response_invalid')
  expect((await logged(visitor)).check).toBe('unsolicited_loop')
  expect(await unclaimed(sql)).toBe(3)

  // Neither another browser nor a start of one's own is affected, and a minute ends it.
  expect((await new SamlVisitor(server.url).open(again.pathname + again.search)).host).toBe('idp.example')
  const begun = await visitor.begin(slug)
  await sql(`UPDATE sign_ins SET created_at = now() - interval '1 minute' WHERE claimed_at IS NULL`)
  expect((await visitor.open(again.pathname + again.search)).host).toBe('idp.example')
  expect(errorOf(await visitor.deliver(begun, responseTo(provider, begun)))).toBeNull()
})

test('the ACS accepts forms of up to 350 KiB, and only by POST', async ({ sql }) => {
  const begun = await visitor.begin(slug)
  const path = `/api/auth/sso/${slug}/acs`
  const form = (size: number) => {
    const empty = new URLSearchParams({ RelayState: begun.relayState, SAMLResponse: '' }).toString()
    return new URLSearchParams(empty + 'A'.repeat(size - empty.length))
  }
  const get = await visitor.request(
    `${path}?${new URLSearchParams({ RelayState: begun.relayState, SAMLResponse: 'x' })}`,
  )
  expect([get.status, get.headers.get('allow')]).toEqual([405, 'POST'])
  const json = await fetch(server.url + path, { method: 'POST', body: '{}', headers: { 'Content-Type': 'text/plain' } })
  expect(json.status).toBe(415)
  const tooLarge = await visitor.request(path, form(350 * 1024 + 1))
  expect([tooLarge.status, (await logged(visitor)).code]).toEqual([413, 'PAYLOAD_TOO_LARGE'])
  expect(await unclaimed(sql)).toBe(1)
  expect(errorOf(await visitor.open(path, form(350 * 1024)))).toBe('response_invalid')
  expect((await logged(visitor)).check).toBe('saml_too_large')
})

test('without a SAML connection, nothing is read', async () => {
  for (const size of [4, 400_000]) {
    const form = new URLSearchParams({ RelayState: newSecret(), SAMLResponse: 'A'.repeat(size) })
    expect(errorOf(await visitor.open(`/api/auth/sso/none-${slug}/acs`, form))).toBe('connection_unavailable')
    expect((await logged(visitor)).check).toBe('connection')
  }
  expect((await visitor.request(`/api/auth/sso/none-${slug}/metadata`)).status).toBe(404)
})

test('each kind of connection has its own way back', async ({ sql }) => {
  const oidcProvider = await startProvider()
  const oidc = await connect(oidcProvider)
  const begun = await visitor.begin(slug)
  const callback = await visitor.open(`/api/auth/sso/${slug}/callback?state=${begun.relayState}&code=x`)
  expect([errorOf(callback), (await logged(visitor)).check]).toEqual(['connection_unavailable', 'connection_kind'])
  const acs = await visitor.deliver({ slug: oidc, relayState: begun.relayState }, responseTo(provider, begun))
  expect([errorOf(acs), (await logged(visitor)).check]).toEqual(['connection_unavailable', 'connection_kind'])
  expect((await visitor.request(`/api/auth/sso/${oidc}/metadata`)).status).toBe(404)
  expect(await unclaimed(sql)).toBe(1)
  await oidcProvider.stop()
})

test('a session is not renewed after the provider has ended its own', async ({ sql }) => {
  const begun = await visitor.begin(slug)
  const landing = await visitor.deliver(begun, responseTo(provider, begun))
  const { status, body } = await exchange(landing, visitor)
  expect(status).toBe(200)
  const [session] = await sql(
    `SELECT sessions.id, extract(epoch FROM renewable_until - created_at)::int AS seconds, sessions.expires_at - now() > '6 days' AS is_long
     FROM sessions WHERE connection_id = (SELECT id FROM connections WHERE slug = $1)`,
    [slug],
  )
  expect(Math.abs(session!.seconds - 3_600)).toBeLessThan(60)
  expect(session!.is_long).toBe(true)
  const refresh = async () =>
    (await postTo(server.url + paths.refreshSession, { refreshToken: body.refreshToken })).status
  const renewsPage = async () =>
    (await (await fetch(server.url, { headers: { Cookie: `refresh=${body.refreshToken}` } })).text()).includes(slug)
  expect([await refresh(), await renewsPage()]).toEqual([200, true])
  await sql('UPDATE sessions SET renewable_until = now() WHERE id = $1', [session!.id])
  expect([await refresh(), await renewsPage()]).toEqual([400, false])
})

test('a provider that names no end of its session limits nothing', async ({ sql }) => {
  const begun = await visitor.begin(slug)
  const endless = replace(/ SessionNotOnOrAfter="[^"]*"/, '')
  const landing = await visitor.deliver(begun, responseTo(provider, begun, { assertion: true, edit: endless }))
  const { body } = await exchange(landing, visitor)
  const [session] = await sql(
    'SELECT renewable_until FROM sessions WHERE connection_id = (SELECT id FROM connections WHERE slug = $1)',
    [slug],
  )
  expect(session).toEqual({ renewable_until: null })
  expect((await postTo(server.url + paths.refreshSession, { refreshToken: body.refreshToken })).status).toBe(200)
})

// Users

test('the second sign-in finds the same user, whatever the e-mail address is by then', async ({ sql }) => {
  for (const email of [undefined, 'someone.else@nowhere.example', 'not an address']) {
    const begun = await visitor.begin(slug)
    const response = responseTo(provider, begun, { assertion: true, ...(email && { email }) })
    expect(errorOf(await visitor.deliver(begun, response))).toBeNull()
  }
  expect(await usersOf(sql, slug)).toMatchObject([{ email: `ada@${slug}.example.org` }])
})

test('linking follows the rules of every connection', async ({ sql }) => {
  const linked = await connectSaml(provider, server.url, { provision: false, settings: { emailAttribute: 'upn' } })
  const signIn = async (connection: string, options: ResponseOptions) => {
    const begun = await visitor.begin(connection)
    const landing = await visitor.deliver(begun, responseTo(provider, begun, { assertion: true, ...options }))
    return [errorOf(landing), (await logged(visitor)).check]
  }
  const upn = replace('Name="mail"', 'Name="upn"')
  expect(await signIn(linked, {})).toEqual(['no_access', 'email_missing'])
  expect(await signIn(linked, { edit: upn, email: 'ada@example.com' })).toEqual(['no_access', 'email_domain'])
  expect(await signIn(linked, { edit: upn })).toEqual(['no_access', 'identity_not_provisioned'])
  await sql('INSERT INTO users (email) VALUES ($1)', [`ada@${linked}.example.org`])
  expect(await signIn(linked, { edit: upn })).toEqual([null, undefined])
  expect(await signIn(linked, { edit: upn, nameId: 'eve' })).toEqual(['no_access', 'identity_other_subject'])
  await sql('UPDATE users SET disabled_at = now() WHERE email = $1', [`ada@${linked}.example.org`])
  expect(await signIn(linked, { edit: upn })).toEqual(['no_access', 'user_disabled'])
})

test('our private key is stored sealed, for this provider and this certificate', async ({ sql }) => {
  const [row] = await sql('SELECT connections::text AS text FROM connections WHERE slug = $1', [slug])
  const [, line] = provider.settings.privateKey.split('\n')
  for (const form of [line!, Buffer.from(line!).toString('base64').slice(4, 40)]) expect(row!.text).not.toContain(form)
  const set = (name: string, value: string) =>
    sql(`UPDATE connections SET settings = settings || jsonb_build_object($2::text, $3::text) WHERE slug = $1`, [
      slug,
      name,
      value,
    ])
  for (const [name, value, genuine] of [
    ['issuer', 'https://other.example', provider.settings.provider.entityId],
    ['certificate', provider.nextKey.certificate, provider.settings.certificate],
  ] as const) {
    await set(name, value)
    expect(errorOf(await visitor.start(slug))).toBe('unavailable')
    expect((await logged(visitor)).check).toBe('secrets')
    await set(name, genuine)
  }
  expect((await visitor.start(slug)).host).toBe('idp.example')
})

test('nothing of a sign-in is stored that opens anything', async ({ sql }) => {
  const { relayState, requestId } = await visitor.begin(slug)
  const [row] = await sql(
    `SELECT sign_ins::text AS text FROM sign_ins JOIN connections ON connections.id = connection_id WHERE slug = $1`,
    [slug],
  )
  for (const secret of [relayState, requestId.slice(1)])
    for (const form of [secret, Buffer.from(secret).toString('hex'), Buffer.from(secret, 'base64url').toString('hex')])
      expect(row!.text).not.toContain(form)
})
