import { verify, X509Certificate } from 'node:crypto'
import * as routes from '../../lib/contract/routes'
import { newSecret } from '../../lib/crypto/token'
import type { SamlConnection } from '../../lib/sso/connection'
import {
  disableConnection,
  type ListedConnection,
  listConnections,
  updateConnection,
} from '../../lib/sso/manage/connections'
import { rotateKey } from '../../lib/sso/saml/setup'
import {
  authnRequestIn,
  connectSaml,
  requestIdIn,
  responseTo,
  SamlVisitor,
} from '../support/browsers/saml-visitor'
import {
  codesOf,
  errorOf,
  expireAttempts,
  logLine,
  usersOf,
} from '../support/browsers/sso-visitor'
import { connect } from '../support/databases/connection'
import { expect, postTo, type Sql, test } from '../support/fixtures'
import { startProvider } from '../support/providers/oidc-provider'
import {
  assertionPattern,
  inOrder,
  modes,
  newSamlProvider,
  type ResponseOptions,
  replace,
  type SamlProvider,
} from '../support/providers/saml-provider'
import { keepSecret } from '../support/secrets'
import { type Server, startServer } from '../support/servers/server'

// lib/sso/saml/*.spec.ts tests all attacks. This file tests some of them over HTTP.

let server: Server
let provider: SamlProvider
let slug: string
let visitor: SamlVisitor
test.beforeAll(async () => {
  // Sets the encryption key under its old name.
  server = await startServer({
    ENCRYPTION_KEY: '',
    CONNECTION_SECRETS_KEY: process.env.ENCRYPTION_KEY!,
  })
})
test.afterAll(() => server?.stop())
test.beforeEach(async () => {
  provider = await newSamlProvider()
  slug = await connectSaml(provider, server.url)
  visitor = new SamlVisitor(server.url)
})

const logged = () => logLine(visitor, server)
/**
 * Returns the result of a sign-in: the error in the browser, and the check in the log.
 */
const outcomeOf = async (landing: URL, who = visitor) => [
  errorOf(landing),
  (await logLine(who, server)).check,
]
/** Signs in with a response that has these options. Returns the landing page. */
const signIn = async (options: ResponseOptions = {}, connection = slug) => {
  const begun = await visitor.begin(connection)
  return visitor.deliver(
    begun,
    responseTo(provider, begun, { assertion: true, ...options }),
  )
}
/** Returns whether the request in a URL is signed with the key of this certificate. */
const isSigned = ({ search }: URL, certificate: string | Buffer) => {
  const [signed, signature] = search
    .slice(search.indexOf('SAMLRequest='))
    .split('&Signature=')
  const { publicKey } = new X509Certificate(certificate)
  return verify(
    'sha256',
    Buffer.from(signed!),
    publicKey,
    Buffer.from(decodeURIComponent(signature!), 'base64'),
  )
}
const ofConnection = 'WHERE connection_id = (SELECT id FROM connections WHERE slug = $1)'
const unclaimed = async (sql: Sql, connection = slug) => {
  const rows = await sql(
    `SELECT 1 FROM sso_attempts JOIN connections ON connections.id = connection_id
     WHERE slug = $1 AND claimed_at IS NULL`,
    [connection],
  )
  return rows.length
}

test('signs in with an encrypted assertion', async ({ sql }) => {
  const begun = await visitor.begin(slug, '/reports?year=2026')
  const landing = await visitor.deliver(
    begun,
    responseTo(provider, begun, modes['both signed, encrypted']),
  )
  expect(landing.pathname).toBe('/sso/callback')
  expect(Object.fromEntries(landing.searchParams)).toEqual({
    code: expect.stringMatching(/^[\w-]{43}$/),
    next: '/reports?year=2026',
  })
  const [user] = await usersOf(sql, slug)
  const { issuer } = provider.settings
  expect(user).toMatchObject({
    email: `ada@${slug}.example.org`,
    password_policy: null,
    issuer,
    subject: 'ada',
  })
  expect(await logged()).toMatchObject({
    route: 'sso-acs',
    status: 303,
    connection: slug,
    userId: user!.id,
  })
})

test('signs requests with the key whose certificate is in our metadata, if the connection signs requests', async () => {
  const response = await visitor.request(`/api/auth/sso/${slug}/metadata`)
  expect([response.status, response.headers.get('content-type')]).toEqual([
    200,
    'application/samlmetadata+xml',
  ])
  const metadata = await response.text()
  expect(metadata).toContain(`entityID="${server.url}/api/auth/sso/${slug}/metadata"`)
  expect(metadata).toContain(`Location="${server.url}/api/auth/sso/${slug}/acs"`)
  const certificates = [...metadata.matchAll(/<ds:X509Certificate>([^<]*)</g)].map(
    ([, base64]) => base64!,
  )
  expect(certificates).toHaveLength(2) // one for signing and one for encryption
  expect(await logged()).toMatchObject({ route: 'sso-metadata', connection: slug })

  const { url, requestId, relayState } = await visitor.begin(slug)
  expect(relayState).toMatch(/^[\w-]{43}$/)
  expect(requestId).toMatch(/^_[\w-]{43}$/)
  expect(authnRequestIn(url)).toContain(
    `AssertionConsumerServiceURL="${server.url}/api/auth/sso/${slug}/acs"`,
  )
  for (const certificate of certificates)
    expect(isSigned(url, Buffer.from(certificate, 'base64'))).toBe(true)
  const unsigned = await connectSaml(provider, server.url, {
    settings: { signRequests: false },
  })
  expect((await visitor.begin(unsigned)).url.searchParams.has('Signature')).toBe(false)
})

test('logs that the encryption key is set by its old name, CONNECTION_SECRETS_KEY', () => {
  expect(server.output()).toContain(
    'CONNECTION_SECRETS_KEY has a new name: set ENCRYPTION_KEY to its value',
  )
})

test('during a key rotation, decrypts with the old and the new key, and signs with the old key until it is removed', async () => {
  const stored = async () =>
    (await listConnections(slug))[0] as ListedConnection & SamlConnection
  const rotate = async (drop?: boolean) =>
    updateConnection(await stored(), await rotateKey(await stored(), drop))
  const { certificate: first } = provider.settings
  const signInFor = async (certificate: string) => {
    provider.settings.certificate = certificate
    return errorOf(await signIn({ encrypted: true }))
  }
  const signs = async (certificate: string) =>
    isSigned((await visitor.begin(slug)).url, certificate)
  await expect(rotate(true)).rejects.toThrow('no second key')
  await rotate()
  const { nextCertificate: second } = (await stored()).settings
  await expect(rotate()).rejects.toThrow('has two keys')
  expect([await signInFor(first), await signInFor(second!), await signs(first)]).toEqual([
    null,
    null,
    true,
  ])
  await rotate(true)
  expect((await stored()).settings).toMatchObject({
    certificate: second,
    signRequests: true,
  })
  expect((await stored()).settings).not.toHaveProperty('nextCertificate')
  expect([await signInFor(second!), await signs(second!)]).toEqual([null, true])
  expect(await signInFor(first)).toBe('response_invalid')
})

// Hostile responses

const hostile: Record<string, [check: string, options: ResponseOptions]> = {
  'another subject after signing': [
    'saml_signature',
    { tamper: replace('>ada<', '>root<') },
  ],
  'a document of more than 256 KiB': [
    'saml_too_large',
    { tamper: replace('</samlp:Status>', `</samlp:Status>${' '.repeat(257 * 1024)}`) },
  ],
}

for (const [what, [check, options]] of Object.entries(hostile)) {
  test(`rejects a response: ${what}`, async ({ sql }) => {
    const [begun, other] = [
      await visitor.begin(slug, '/reports'),
      await visitor.begin(slug),
    ]
    const landing = await visitor.deliver(
      begun,
      responseTo(provider, begun, { assertion: true, ...options }),
    )
    expect(landing.pathname + landing.search).toBe(
      '/sso/callback?error=response_invalid&next=%2Freports',
    )
    expect(await logged()).toMatchObject({
      route: 'sso-acs',
      connection: slug,
      check,
      status: 303,
    })
    expect(await usersOf(sql, slug)).toEqual([])

    // The response uses up only its own attempt.
    expect(await unclaimed(sql)).toBe(1)
    const again = await visitor.deliver(begun, responseTo(provider, begun))
    expect(await outcomeOf(again)).toEqual(['attempt_invalid', 'state_used'])
    expect(errorOf(await visitor.deliver(other, responseTo(provider, other)))).toBeNull()
  })
}

test('replaces an error from the provider with our own error', async () => {
  const failed = inOrder(
    replace('status:Success', 'status:Responder'),
    replace(assertionPattern, ''),
  )
  expect(await outcomeOf(await signIn({ assertion: false, edit: failed }))).toEqual([
    'other',
    'saml_status',
  ])
})

test('accepts a response only once, even if it is sent concurrently', async ({ sql }) => {
  const begun = await visitor.begin(slug)
  const response = responseTo(provider, begun)
  const landings = await Promise.all(
    [1, 2, 3, 4].map(() => new SamlVisitor(server.url).deliver(begun, response)),
  )
  expect(landings.filter((landing) => landing.searchParams.has('code'))).toHaveLength(1)
  expect(await outcomeOf(await visitor.deliver(begun, response))).toEqual([
    'attempt_invalid',
    'state_used',
  ])
  expect(await codesOf(sql, slug)).toHaveLength(1)

  const later = await visitor.begin(slug)
  const replayed = await visitor.deliver(later, response)
  expect(await outcomeOf(replayed)).toEqual(['response_invalid', 'saml_in_response_to'])
})

test('starts no session in another browser, and the browser that began the sign-in completes it', async ({
  sql,
}) => {
  const begun = await visitor.begin(slug)
  const response = responseTo(provider, begun)
  const victim = new SamlVisitor(server.url)
  await victim.begin(slug)
  // A form on a sibling subdomain sends cookies, so the wrong browser is detected
  // immediately.
  const withCookies = await victim.deliver(begun, response, true)
  expect(await outcomeOf(withCookies, victim)).toEqual([
    'attempt_invalid',
    'state_browser',
  ])
  expect(await unclaimed(sql)).toBe(2)

  // A form on another site sends no cookies, so the sign-in continues, but the wrong
  // browser can't use the code.
  const landing = await victim.deliver(begun, response)
  expect((await victim.exchange(landing)).body.code).toBe('SSO_EXCHANGE_INVALID')
  expect((await visitor.exchange(landing)).status).toBe(200)
  const ownForm = await visitor.begin(slug)
  expect(
    errorOf(await visitor.deliver(ownForm, responseTo(provider, ownForm), true)),
  ).toBeNull()
})

test('rejects responses to another connection (by state) and of another provider (by signature)', async ({
  sql,
}) => {
  const otherProvider = await newSamlProvider({ isOther: true })
  const other = await connectSaml(otherProvider, server.url)
  const begun = await visitor.begin(slug)
  await visitor.begin(other)
  const landing = await visitor.deliver(
    { ...begun, slug: other },
    responseTo(provider, begun),
  )
  expect(await outcomeOf(landing)).toEqual(['attempt_invalid', 'state_connection'])
  expect([await unclaimed(sql), await unclaimed(sql, other)]).toEqual([1, 1])

  // Both providers have the same entity ID, so only the key distinguishes them.
  Object.assign(otherProvider.settings, {
    acsUrl: provider.settings.acsUrl,
    entityId: provider.settings.entityId,
  })
  const mixedUp = await visitor.deliver(begun, responseTo(otherProvider, begun))
  expect(await outcomeOf(mixedUp)).toEqual(['response_invalid', 'saml_signature'])
  expect([await unclaimed(sql), await unclaimed(sql, other)]).toEqual([0, 1])
})

test('rejects a response if its sign-in is unknown or expired, or its connection was disabled', async ({
  sql,
}) => {
  const begun = await visitor.begin(slug)
  const response = responseTo(provider, begun)
  await expireAttempts(sql, slug)
  expect(await outcomeOf(await visitor.deliver(begun, response))).toEqual([
    'attempt_invalid',
    'state_expired',
  ])
  const unknown = { slug, relayState: keepSecret(newSecret()) }
  expect(await outcomeOf(await visitor.deliver(unknown, response))).toEqual([
    'attempt_invalid',
    'state_unknown',
  ])

  const late = await visitor.begin(slug)
  await disableConnection((await listConnections(slug))[0]!)
  const landing = await visitor.deliver(late, responseTo(provider, late))
  expect(await outcomeOf(landing)).toEqual(['connection_unavailable', 'connection'])
  expect((await visitor.request(`/api/auth/sso/${slug}/metadata`)).status).toBe(404)
})

test('redirects an unsolicited response to a new sign-in without reading it, but not in a loop', async ({
  sql,
}) => {
  const post = (relayState?: string) => {
    const unsolicited = new URLSearchParams({
      SAMLResponse: '<not-even-base64>',
      ...(relayState && { RelayState: relayState }),
    })
    return visitor.open(`/api/auth/sso/${slug}/acs`, unsolicited)
  }
  for (const relayState of [undefined, 'https://evil.example/reports', 'x'.repeat(44)]) {
    const start = await post(relayState)
    expect(start.pathname + start.search).toBe(`/api/auth/sso/${slug}/start?unsolicited`)
    expect(await logged()).toMatchObject({
      status: 303,
      check: 'unsolicited',
      connection: slug,
    })
    const { host } = await visitor.open(start.pathname + start.search)
    expect(host).toBe('idp.example')
  }
  const again = await post()
  const circle = await visitor.open(again.pathname + again.search)
  expect(await outcomeOf(circle)).toEqual(['response_invalid', 'unsolicited_loop'])
  expect(await unclaimed(sql)).toBe(3)

  // The loop check ignores sign-ins that the user starts, and sign-ins of other browsers.
  // It ends after a minute.
  expect(
    (await new SamlVisitor(server.url).open(again.pathname + again.search)).host,
  ).toBe('idp.example')
  const begun = await visitor.begin(slug)
  await sql(
    `UPDATE sso_attempts SET created_at = now() - interval '1 minute' ${ofConnection}`,
    [slug],
  )
  expect((await visitor.open(again.pathname + again.search)).host).toBe('idp.example')
  expect(errorOf(await visitor.deliver(begun, responseTo(provider, begun)))).toBeNull()
})

test('a sign-in from a tile leads to its RelayState, if that is an allowed destination', async () => {
  // A path, a page URL as Okta, Google and ADFS send it, and destinations that are not
  // allowed.
  for (const [relayState, next] of [
    ['/reports?year=2026#top', '/reports?year=2026#top'],
    [` ${server.url}/reports `, '/reports'],
    [`${server.url}`, null],
    [`${server.url}//evil.example`, null],
    [`${server.url}.evil.example/reports`, null],
    ['//evil.example', null],
    ['/api/auth/sign-out', null],
    [`/${'x'.repeat(2_048)}`, null],
  ] as const) {
    const tile = new SamlVisitor(server.url)
    const form = new URLSearchParams({ SAMLResponse: 'PHg+', RelayState: relayState })
    const start = await tile.open(`/api/auth/sso/${slug}/acs`, form)
    expect([start.pathname, start.searchParams.has('unsolicited')]).toEqual([
      `/api/auth/sso/${slug}/start`,
      true,
    ])
    const url = await tile.open(start.pathname + start.search)
    const begun = {
      slug,
      url,
      requestId: requestIdIn(url),
      relayState: url.searchParams.get('RelayState')!,
    }
    const landing = await tile.deliver(begun, responseTo(provider, begun))
    expect(landing.searchParams.get('code')).toBeTruthy()
    expect(landing.searchParams.get('next'), relayState).toBe(next)
  }
})

test('repeated or expired responses continue with a session or, without one, start a new request', async ({
  sql,
}) => {
  const begun = await visitor.begin(slug, '/reports')
  const response = responseTo(provider, begun)
  const landing = await visitor.deliver(begun, response)
  const { body } = await visitor.exchange(landing)
  // as after Back, when the provider's form is posted again
  const again = await visitor.deliver(begun, response)
  expect(again.pathname + again.search).toBe(
    `/api/auth/sso/${slug}/start?next=%2Freports&again`,
  )
  visitor.cookies.set('session', body.token!)
  expect((await visitor.open(again.pathname + again.search)).href).toBe(
    `${server.url}/reports`,
  )
  visitor.cookies.delete('session')
  const url = await visitor.open(again.pathname + again.search)
  expect(url.host).toBe('idp.example')
  await expireAttempts(sql, slug)
  const late = {
    slug,
    url,
    requestId: requestIdIn(url),
    relayState: url.searchParams.get('RelayState')!,
  }
  const over = await visitor.deliver(late, responseTo(provider, late))
  const page = await visitor.open(over.pathname + over.search)
  expect(page.pathname + page.search).toBe(
    '/sso/callback?error=attempt_invalid&next=%2Freports',
  )
})

test('ForceAuthn is only in the first request after a sign-out or after a sign-in without access', async () => {
  const strict = await connectSaml(provider, server.url, { provision: false })
  const begun = await visitor.begin(strict)
  expect(authnRequestIn(begun.url)).not.toContain('ForceAuthn')
  expect(errorOf(await visitor.deliver(begun, responseTo(provider, begun)))).toBe(
    'no_access',
  )
  const html = (
    await (await visitor.request('/sso/callback?error=no_access')).text()
  ).replaceAll('<wbr/>', '')
  expect(html).toContain(
    `<bdi class="account" translate="no">${keepSecret(`ada@${strict}.example.org`)}</bdi>`,
  )
  expect(html).toContain(`href="/api/auth/sso/${strict}/start"`)
  expect(authnRequestIn((await visitor.begin(strict)).url)).toContain('ForceAuthn="true"')
  expect(authnRequestIn((await visitor.begin(strict)).url)).not.toContain('ForceAuthn')
  visitor.cookies.set('ask', 'ask-login.') // the cookie that a page sets after a sign-out
  expect(authnRequestIn((await visitor.begin(strict)).url)).toContain('ForceAuthn="true"')
})

test('the ACS accepts forms of up to 350 KiB, and only by POST', async ({ sql }) => {
  const begun = await visitor.begin(slug)
  const path = `/api/auth/sso/${slug}/acs`
  const form = (size: number) => {
    const empty = new URLSearchParams({
      RelayState: begun.relayState,
      SAMLResponse: '',
    }).toString()
    return new URLSearchParams(empty + 'A'.repeat(size - empty.length))
  }
  const get = await visitor.request(`${path}?${form(1_000)}`)
  expect([get.status, get.headers.get('allow')]).toEqual([405, 'POST'])
  const json = await fetch(server.url + path, {
    method: 'POST',
    body: '{}',
    headers: { 'Content-Type': 'text/plain' },
  })
  expect(json.status).toBe(415)
  const tooLarge = await visitor.request(path, form(350 * 1024 + 1))
  expect([tooLarge.status, (await logged()).code]).toEqual([413, 'PAYLOAD_TOO_LARGE'])
  expect(await unclaimed(sql)).toBe(1)
  expect(await outcomeOf(await visitor.open(path, form(350 * 1024)))).toEqual([
    'response_invalid',
    'saml_too_large',
  ])
})

test('the ACS does not read the body if there is no SAML connection', async ({ sql }) => {
  for (const size of [4, 400_000]) {
    const form = new URLSearchParams({
      RelayState: newSecret(),
      SAMLResponse: 'A'.repeat(size),
    })
    const landing = await visitor.open(`/api/auth/sso/none-${slug}/acs`, form)
    expect(await outcomeOf(landing)).toEqual(['connection_unavailable', 'connection'])
  }
  const oidcProvider = await startProvider()
  const oidc = await connect(oidcProvider)
  const begun = await visitor.begin(slug)
  const callback = await visitor.open(
    `/api/auth/sso/${slug}/callback?state=${begun.relayState}&code=x`,
  )
  expect(await outcomeOf(callback)).toEqual(['connection_unavailable', 'connection_kind'])
  const acs = await visitor.deliver(
    { slug: oidc, relayState: begun.relayState },
    responseTo(provider, begun),
  )
  expect(await outcomeOf(acs)).toEqual(['connection_unavailable', 'connection_kind'])
  for (const other of [oidc, `none-${slug}`])
    expect((await visitor.request(`/api/auth/sso/${other}/metadata`)).status).toBe(404)
  expect(await unclaimed(sql)).toBe(1)
  await oidcProvider.stop()
})

test('does not renew a session after the end of the provider’s session', async ({
  sql,
}) => {
  const { body } = await visitor.exchange(await signIn())
  const [session] = await sql(
    `SELECT sessions.id, extract(epoch FROM renewable_until - created_at)::int AS seconds, sessions.expires_at - now() > '6 days' AS is_long
     FROM sessions WHERE connection_id = (SELECT id FROM connections WHERE slug = $1)`,
    [slug],
  )
  expect(Math.abs(session!.seconds - 3_600)).toBeLessThan(60)
  expect(session!.is_long).toBe(true)
  const refresh = async () =>
    (
      await postTo(server.url + routes.refreshSession.path, {
        refreshToken: body.refreshToken,
      })
    ).status
  const renewsPage = async () =>
    (
      await (
        await fetch(server.url, { headers: { Cookie: `refresh=${body.refreshToken}` } })
      ).text()
    ).includes(slug)
  expect([await refresh(), await renewsPage()]).toEqual([200, true])
  await sql('UPDATE sessions SET renewable_until = now() WHERE id = $1', [session!.id])
  expect([await refresh(), await renewsPage()]).toEqual([400, false])
})

const limits = [
  {
    who: 'neither the connection nor the provider',
    isEnded: false,
    sessionHours: null,
    expected: null,
  },
  { who: 'the connection', isEnded: false, sessionHours: 8, expected: 8 },
  {
    who: 'the end of the provider’s session, which is earlier,',
    isEnded: true,
    sessionHours: 8,
    expected: 1,
  },
]
for (const { who, isEnded, sessionHours, expected } of limits)
  test(`${who} limits the renewal of a session (hours: ${expected})`, async ({ sql }) => {
    await sql('UPDATE connections SET session_hours = $2 WHERE slug = $1', [
      slug,
      sessionHours,
    ])
    await visitor.exchange(
      await signIn(isEnded ? {} : { edit: replace(/ SessionNotOnOrAfter="[^"]*"/, '') }),
    )
    const [session] = await sql(
      `SELECT round(extract(epoch FROM renewable_until - created_at) / 3600)::int AS hours FROM sessions
       WHERE connection_id = (SELECT id FROM connections WHERE slug = $1)`,
      [slug],
    )
    expect(session).toEqual({ hours: expected })
  })

// Users

test('finds the same user at the next sign-in, even if the email address has changed', async ({
  sql,
}) => {
  for (const email of [undefined, 'someone.else@nowhere.example', 'not an address'])
    expect(errorOf(await signIn({ ...(email && { email }) }))).toBeNull()
  expect(await usersOf(sql, slug)).toMatchObject([{ email: `ada@${slug}.example.org` }])
})

test('links users by the same rules as for OpenID connections', async ({ sql }) => {
  const linked = await connectSaml(provider, server.url, {
    provision: false,
    settings: { emailAttribute: 'upn' },
  })
  const arrive = async (options: ResponseOptions) =>
    outcomeOf(await signIn(options, linked))
  const upn = replace('Name="mail"', 'Name="upn"')
  expect(await arrive({})).toEqual(['no_access', 'email_elsewhere'])
  expect((await logLine(visitor, server)).advice).toContain(
    '--email-attribute NAME or NameID',
  )
  expect(await arrive({ edit: upn, email: 'ada@example.com' })).toEqual([
    'no_access',
    'email_domain',
  ])
  expect(await arrive({ edit: upn })).toEqual(['no_access', 'identity_not_provisioned'])
  await sql(
    `INSERT INTO users (email, email_domain) VALUES ($1, split_part($1, '@', 2))`,
    [`ada@${linked}.example.org`],
  )
  expect(await arrive({ edit: upn })).toEqual([null, undefined])
  expect(await arrive({ edit: upn, nameId: 'eve' })).toEqual([
    'no_access',
    'identity_other_subject',
  ])
})

test('binds our encrypted key to provider and certificate, and stores only hashes of secrets', async ({
  sql,
}) => {
  const { relayState, requestId } = await visitor.begin(slug)
  const [row] = await sql(
    `SELECT sso_attempts::text AS attempt, connections::text AS connection FROM sso_attempts
     JOIN connections ON connections.id = connection_id WHERE slug = $1`,
    [slug],
  )
  for (const secret of [relayState, requestId.slice(1)])
    for (const form of [
      secret,
      Buffer.from(secret).toString('hex'),
      Buffer.from(secret, 'base64url').toString('hex'),
    ])
      expect(row!.attempt).not.toContain(form)
  const [, line] = provider.settings.privateKey.split('\n')
  for (const form of [line!, Buffer.from(line!).toString('base64').slice(4, 40)])
    expect(row!.connection).not.toContain(form)
  const set = (name: string, value: string) =>
    sql(
      `UPDATE connections SET settings = settings || jsonb_build_object($2::text, $3::text) WHERE slug = $1`,
      [slug, name, value],
    )
  for (const [name, value, genuine] of [
    ['issuer', 'https://other.example', provider.settings.issuer],
    ['certificate', provider.nextKey.certificate, provider.settings.certificate],
  ] as const) {
    await set(name, value)
    expect(await outcomeOf(await visitor.start(slug))).toEqual(['unavailable', 'secrets'])
    await set(name, genuine)
  }
  expect((await visitor.start(slug)).host).toBe('idp.example')
})
