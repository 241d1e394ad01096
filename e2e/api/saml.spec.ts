import { randomUUID, verify, X509Certificate } from 'node:crypto'
import * as paths from '../../lib/contract/paths'
import { newSecret } from '../../lib/secret'
import { disableConnection, listConnections } from '../../lib/sso/manage'
import { exchangePath, expect, keepSecret, newAddress, postTo, type Sql, test } from '../support/fixtures'
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
import { type Server, startServer } from '../support/server'

// The matrix of attacks is in lib/sso/saml/*.spec.ts. Here, each class of them goes over HTTP once.

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

for (const [name, mode] of Object.entries(modes)) {
  test(`signs in with ${name}; the session begins in this browser only`, async ({ sql }) => {
    const begun = await visitor.begin(slug, '/reports?year=2026')
    const landing = await visitor.deliver(begun, responseTo(provider, begun, mode))
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

test('requests are signed with the key whose certificate is in our metadata', async () => {
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
})

test('requests are not signed unless the connection says so', async () => {
  const other = await connectSaml(provider, server.url, { settings: { signRequests: false } })
  const { url } = await visitor.begin(other)
  expect([...url.searchParams.keys()]).toEqual(['tenant', 'SAMLRequest', 'RelayState'])
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

for (const [signed, accepted] of [
  ['response', [{ response: true }, { response: true, assertion: true }]],
  ['assertion', [{ assertion: true }, { response: true, assertion: true }]],
  ['both', [{ response: true, assertion: true }]],
] as const) {
  test(`a connection that wants signed: ${signed}`, async () => {
    const strict = await connectSaml(provider, server.url, { settings: { signed } })
    for (const mode of [{ response: true }, { assertion: true }, { response: true, assertion: true }]) {
      const begun = await visitor.begin(strict)
      const landing = await visitor.deliver(begun, responseTo(provider, begun, mode))
      const isAccepted = accepted.some((one) => JSON.stringify(one) === JSON.stringify(mode))
      expect(errorOf(landing), JSON.stringify(mode)).toBe(isAccepted ? null : 'response_invalid')
      expect((await logged(visitor)).check).toBe(isAccepted ? undefined : 'saml_unsigned')
    }
  })
}

// Hostile responses

const evil = replace('>ada<', '>root<')
const unsigned = replace(parts.signature, '')
const withNewId = replace(/ID="_[^"]*"/, `ID="_evil-${randomUUID()}"`)
const atAcs = replace(/ (Destination|Recipient)="[^"]*"/g, ' $1="https://other.example/acs"')

const hostile: Record<string, [check: string, options: ResponseOptions]> = {
  'no signature': ['saml_unsigned', { assertion: false }],
  'an encrypted assertion without a signature': ['saml_unsigned', { assertion: false, encrypted: true }],
  'a foreign key': ['saml_signature', {}],
  'SHA-1': [
    'saml_algorithm',
    { assertion: true, signing: { signatureMethod: 'http://www.w3.org/2000/09/xmldsig#rsa-sha1' } },
  ],
  'another subject after signing': ['saml_signature', { assertion: true, tamper: evil }],
  'XSW 3: another assertion before the signed one': [
    'saml_assertion_count',
    {
      assertion: true,
      tamper: replace(assertionPattern, (original) => withNewId(unsigned(evil(original!))) + original),
    },
  ],
  'XSW 4: another assertion around the signed one': [
    'saml_assertion_count',
    {
      assertion: true,
      tamper: replace(assertionPattern, (original) =>
        replace('</saml:Assertion>', () => `${original}</saml:Assertion>`)(withNewId(unsigned(evil(original!)))),
      ),
    },
  ],
  'another issuer': [
    'saml_issuer',
    { response: true, edit: replace(parts.issuer, '<saml:Issuer>https://other.example</saml:Issuer>') },
  ],
  'another issuer of the assertion': [
    'saml_issuer',
    { assertion: true, edit: replace(parts.assertionIssuer, '$1<saml:Issuer>https://other.example</saml:Issuer>') },
  ],
  'another audience': [
    'saml_audience',
    { assertion: true, edit: replace(/<saml:Audience>[^<]*</, '<saml:Audience>https://other.example<') },
  ],
  'no audience': ['saml_audience', { assertion: true, edit: replace(parts.restriction, '') }],
  'another recipient': [
    'saml_recipient',
    { assertion: true, edit: replace(/ Recipient="[^"]*"/, ' Recipient="https://other.example/acs"') },
  ],
  'another destination': ['saml_destination', { response: true, edit: atAcs }],
  'another request': ['saml_in_response_to', { assertion: true, requestId: '_another' }],
  'another request in the envelope, with which an attacker delivers a stolen assertion': [
    'saml_in_response_to',
    {
      assertion: true,
      edit: replace(/(<saml:SubjectConfirmationData[^>]* InResponseTo=)"[^"]*"/, '$1"_another"'),
    },
  ],
  'expired by more than a minute': ['saml_time', { assertion: true, notOnOrAfter: -90 }],
  'not yet valid by more than a minute': ['saml_time', { assertion: true, notBefore: 90 }],
  'no bearer confirmation': ['saml_confirmation', { assertion: true, edit: replace('cm:bearer', 'cm:sender-vouches') }],
  'a transient NameID': [
    'saml_transient',
    { assertion: true, edit: replace('nameid-format:persistent', 'nameid-format:transient') },
  ],
  'no authentication statement': ['saml_authn_statement', { assertion: true, edit: replace(parts.authnStatement, '') }],
  'a DTD': [
    'saml_markup',
    { assertion: true, tamper: replace('<samlp:Response', '<!DOCTYPE r [<!ENTITY e "ada">]><samlp:Response') },
  ],
  'a comment in the NameID': ['saml_markup', { assertion: true, tamper: replace('>ada<', '>a<!-- -->da<') }],
  'a processing instruction in the NameID': [
    'saml_markup',
    { assertion: true, nameId: 'not-ada', tamper: replace('>not-ada<', '><?p not-?>ada<') },
  ],
  CDATA: ['saml_markup', { assertion: true, tamper: replace('>ada<', '><![CDATA[ada]]><') }],
  'too many elements': [
    'saml_too_complex',
    { assertion: true, tamper: replace('</samlp:Status>', `</samlp:Status>${'<a/>'.repeat(1_000)}`) },
  ],
  'a bomb inside an encrypted assertion': [
    'saml_too_complex',
    { assertion: true, encrypted: true, tamperAssertion: replace('>ada<', `>ada${'<a/>'.repeat(1_000)}<`) },
  ],
  'a document of more than 256 KiB': [
    'saml_too_large',
    { assertion: true, tamper: replace('</samlp:Status>', `</samlp:Status>${' '.repeat(257 * 1024)}`) },
  ],
  'not XML': ['saml_malformed', { assertion: true, tamper: () => 'hello' }],
  'not UTF-8': ['saml_encoding', { assertion: true, tamper: () => 'latin1' }],
  'a request, not a response': [
    'saml_response',
    { assertion: true, edit: inOrder(replace(/samlp:Response/g, 'samlp:Request')) },
  ],
}

for (const [what, [check, options]] of Object.entries(hostile)) {
  test(`rejects a response: ${what}`, async ({ sql }) => {
    const [begun, other] = [await visitor.begin(slug, '/reports'), await visitor.begin(slug)]
    let response = responseTo(provider, begun, options)
    if (what === 'a foreign key') {
      const foreign = (await newSamlProvider()).nextKey
      response = responseTo(provider, begun, { assertion: true, signing: foreign })
    }
    if (what === 'not UTF-8') response = Buffer.from([0x3c, 0xe9, 0x3e]).toString('base64')
    const landing = await visitor.deliver(begun, response)
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

test('accepts clocks that differ by less than a minute', async () => {
  for (const times of [{ notBefore: 30 }, { notOnOrAfter: -30 }]) {
    const begun = await visitor.begin(slug)
    const landing = await visitor.deliver(begun, responseTo(provider, begun, { response: true, ...times }))
    expect(errorOf(landing), JSON.stringify(times)).toBeNull()
  }
})

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
  for (const [name, path] of [
    ['ACS', `/api/auth/sso/none-${slug}/acs`],
    ['large', `/api/auth/sso/none-${slug}/acs`],
  ] as const) {
    const form = new URLSearchParams({
      RelayState: newSecret(),
      SAMLResponse: 'A'.repeat(name === 'large' ? 400_000 : 4),
    })
    expect(errorOf(await visitor.open(path, form))).toBe('connection_unavailable')
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
