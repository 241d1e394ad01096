import { createHash, randomBytes, randomUUID } from 'node:crypto'
import * as routes from '../../lib/contract/routes'
import { newSecret } from '../../lib/crypto/token'
import { disableConnection, listConnections } from '../../lib/sso/manage/connections'
import {
  authnRequestIn,
  connectSaml,
  isSignedBy,
  SamlVisitor,
} from '../support/browsers/saml-visitor'
import { type KindName, type Sso, send, testWithSso } from '../support/browsers/sso-kinds'
import { errorOf, logLine, usersOf, Visitor } from '../support/browsers/sso-visitor'
import { connect } from '../support/databases/connection'
import { expect, postTo, test } from '../support/fixtures'
import {
  assertionPattern,
  inOrder,
  modes,
  type ResponseOptions,
  replace,
} from '../support/providers/saml-provider'
import { newAddress } from '../support/secrets'

// How a sign-in starts, and what the routes do with the provider's response.
// lib/sso/{oidc,saml}/*.spec.ts test the checks of a response.

let { server, provider, samlProvider, kinds } = {} as Sso
testWithSso((sso) => ({ server, provider, samlProvider, kinds } = sso), {
  ENCRYPTION_KEY: '',
  CONNECTION_SECRETS_KEY: process.env.ENCRYPTION_KEY!, // its old name
})

const logged = (visitor: Visitor) => logLine(visitor, server)
const readOutcome = async (landing: URL, visitor: Visitor) => [
  errorOf(landing),
  (await logged(visitor)).check,
]

// The start

test('OpenID Connect: signs in with PKCE, state and nonce', async ({ sql }) => {
  provider.behavior.claims = (claims) => ({ ...claims, amr: ['pwd', 'mfa'] })
  const slug = await connect(provider)
  const visitor = new Visitor(server.url)
  const authorization = await visitor.start(slug, '/reports?year=2026')
  expect(authorization.origin + authorization.pathname).toBe(
    `${provider.issuer}/authorize`,
  )
  const parameters = Object.fromEntries(authorization.searchParams)
  expect(parameters).toEqual({
    response_type: 'code',
    client_id: 'the-client',
    redirect_uri: `${server.url}/api/auth/sso/${slug}/callback`,
    scope: 'openid email',
    state: expect.stringMatching(/^[\w-]{43}$/),
    nonce: expect.stringMatching(/^[\w-]{43}$/),
    code_challenge: expect.stringMatching(/^[\w-]{43}$/),
    code_challenge_method: 'S256',
  })
  const challenges = [parameters.state!, parameters.nonce!].map((value) =>
    createHash('sha256').update(value).digest('base64url'),
  )
  expect(challenges, 'the URL holds no code verifier').not.toContain(
    parameters.code_challenge,
  )

  const landing = await visitor.comeBack(await visitor.authorize(authorization))
  expect(Object.fromEntries(landing.searchParams)).toEqual({
    code: expect.stringMatching(/^[\w-]{43}$/),
    next: '/reports?year=2026',
  })
  const [user] = await usersOf(sql, slug)
  const { email, sub: subject } = provider.person
  expect(user).toMatchObject({
    email,
    password_policy: null,
    issuer: provider.issuer,
    subject,
  })
  const line = { route: 'sso-callback', status: 303, connection: slug, userId: user!.id }
  expect(await logged(visitor)).toMatchObject(line)

  const { status, body } = await visitor.exchange(landing)
  expect(status).toBe(200)
  const refreshed = await postTo(`${server.url}${routes.refreshSession.path}`, {
    refreshToken: body.refreshToken,
  })
  for (const { token } of [body, refreshed.body]) {
    expect(
      JSON.parse(Buffer.from(token!.split('.')[1]!, 'base64url').toString()),
    ).toMatchObject({
      sub: user!.id,
      email,
      connection: slug,
      amr: ['pwd', 'mfa'],
    })
  }
  const [session] = await sql(
    'SELECT slug, method FROM sessions JOIN connections ON connections.id = connection_id WHERE user_id = $1',
    [user!.id],
  )
  expect(session).toEqual({ slug, method: 'sso' })
})

test('SAML: signs in with an encrypted assertion', async ({ sql }) => {
  const kind = kinds.SAML
  const slug = await kind.connect()
  const visitor = new Visitor(server.url)
  const request = await visitor.start(slug, '/reports?year=2026')
  const options = modes['both signed, encrypted']!
  const landing = await send(visitor, await kind.answer(slug, request, options))
  expect(landing.pathname).toBe('/sso/callback')
  expect(Object.fromEntries(landing.searchParams)).toEqual({
    code: expect.stringMatching(/^[\w-]{43}$/),
    next: '/reports?year=2026',
  })
  const [user] = await usersOf(sql, slug)
  const { issuer } = samlProvider.settings
  expect(user).toMatchObject({
    email: `ada@${slug}.example.org`,
    password_policy: null,
    issuer,
    subject: 'ada',
  })
  expect(await logged(visitor)).toMatchObject({
    route: 'sso-acs',
    status: 303,
    connection: slug,
    userId: user!.id,
  })
})

test('SAML: signs requests with the key whose certificate is in our metadata, if the connection signs requests', async () => {
  const slug = await kinds.SAML.connect()
  const visitor = new SamlVisitor(server.url)
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
  expect(await logged(visitor)).toMatchObject({ route: 'sso-metadata', connection: slug })

  const { url, requestId, relayState } = await visitor.begin(slug)
  expect(relayState).toMatch(/^[\w-]{43}$/)
  expect(requestId).toMatch(/^_[\w-]{43}$/)
  expect(authnRequestIn(url)).toContain(
    `AssertionConsumerServiceURL="${server.url}/api/auth/sso/${slug}/acs"`,
  )
  for (const certificate of certificates)
    expect(isSignedBy(url, Buffer.from(certificate, 'base64'))).toBe(true)
  const unsigned = await connectSaml(samlProvider, server.url, {
    settings: { signRequests: false },
  })
  expect((await visitor.begin(unsigned)).url.searchParams.has('Signature')).toBe(false)
})

test('logs that the encryption key is set by its old name, CONNECTION_SECRETS_KEY', () => {
  expect(server.output()).toContain(
    'CONNECTION_SECRETS_KEY has a new name: set ENCRYPTION_KEY to its value',
  )
})

test('ignores a `next` that is on another site or too long, and completes the sign-in', async () => {
  const slug = randomBytes(32).toString('hex').slice(1) // the longest possible slug
  await connect(provider, { slug, domains: [`${slug}.example.org`] })
  provider.person.email = `ada@${slug}.example.org`
  const longest = encodeURI(`/${'ü'.repeat(189)}`)
  for (const [next, kept] of [
    ['//evil.example', null],
    [`/${'ü'.repeat(189)}`, longest],
    [longest, longest],
    [`/${'ü'.repeat(190)}`, null],
  ] as const) {
    const visitor = new Visitor(server.url)
    const form = new URLSearchParams({ email: `ada@${slug}.example.org`, next })
    const found = await visitor.open(routes.findSsoConnection.path, form)
    expect(found.searchParams.get('next')).toBe(kept)
    const page = await visitor.request(found.pathname + found.search)
    expect(await page.text()).toContain(
      `/api/auth/sso/${slug}/start${kept ? `?next=${encodeURIComponent(kept)}` : ''}"`,
    )
    const landing = await visitor.signIn(slug, next)
    expect([errorOf(landing), landing.searchParams.get('next')]).toEqual([null, kept])
    const html = await (await visitor.request(landing.pathname + landing.search)).text()
    expect(html).toContain(`data-destination="${kept ?? '/'}"`)
    const hostile = landing.search.replace(
      /next=.*|$/,
      `&next=${encodeURIComponent(next)}`,
    )
    const again = await (await visitor.request(`/sso/callback${hostile}`)).text()
    expect(again, 'of a link by somebody else').toContain(
      `data-destination="${kept ?? '/'}"`,
    )
  }
})

// A path, a page URL as Okta, Google and ADFS send it, and destinations that are not
// allowed.
const destinations: [given: string, next: string | null][] = [
  ['/reports?year=2026#top', '/reports?year=2026#top'],
  [' {url}/reports ', '/reports'],
  ['{url}', null],
  ['{url}//evil.example', null],
  ['{url}.evil.example/reports', null],
  ['https://evil.example/', null],
  ['//evil.example', null],
  ['/api/auth/sign-out', null],
  [`/${'x'.repeat(2_048)}`, null],
]
test('a sign-in from a tile at the provider leads to the destination of the tile, if that is allowed', async ({
  sql,
}) => {
  const [oidc, saml] = [
    await kinds['OpenID Connect'].connect(),
    await kinds.SAML.connect(),
  ]
  const visitor = new Visitor(server.url)
  const latest = `SELECT next FROM sso_attempts JOIN connections ON connections.id = connection_id
    WHERE slug = $1 ORDER BY sso_attempts.created_at DESC LIMIT 1`
  for (const [template, next] of destinations) {
    const given = template.replace('{url}', server.url)
    const form = new URLSearchParams({ SAMLResponse: 'PHg+', RelayState: given })
    const start = await visitor.open(`/api/auth/sso/${saml}/acs`, form)
    expect(start.searchParams.get('next'), given).toBe(next)
    const query = new URLSearchParams({
      iss: provider.issuer,
      login_hint: 'x',
      target_link_uri: given,
    })
    await visitor.open(`/api/auth/sso/${oidc}/start?${query}`)
    expect(await sql(latest, [oidc]), given).toEqual([{ next }])
  }
})

test('rejects unknown connections and methods other than GET', async () => {
  for (const slug of ['unknown', '%00', 'a'.repeat(200), '..%2f..']) {
    const visitor = new Visitor(server.url)
    expect(errorOf(await visitor.start(slug))).toBe('connection_unavailable')
    const line = await logged(visitor)
    expect([line.check, line.connection]).toEqual(['connection', undefined])
  }
  for (const path of ['start', 'callback']) {
    const response = await fetch(`${server.url}/api/auth/sso/x/${path}`, {
      method: 'POST',
    })
    expect([response.status, response.headers.get('allow')]).toEqual([405, 'GET, HEAD'])
  }
})

test('finds the connection of an email address only while the connection is enabled', async () => {
  const name = `Acme ${randomUUID()}`
  const slug = await connect(provider, { name, listed: true })
  const find = async (email = `ada@${slug.toUpperCase()}.example.org`) => {
    const visitor = new Visitor(server.url)
    const form = new URLSearchParams({ email, next: '/reports' })
    const { pathname, search } = await visitor.open(routes.findSsoConnection.path, form)
    const page = await (await visitor.request('/sign-in')).text()
    return [pathname + search, page.includes(name)]
  }
  const found = [`/sign-in?connection=${slug}&next=%2Freports`, true]
  expect(await find()).toEqual(found)
  for (const typed of [
    `Ada <ada@${slug}.example.org>;`,
    `mailto:ada＠${slug}.example.org`,
  ])
    expect(await find(typed), typed).toEqual(found)
  await disableConnection((await listConnections(slug))[0]!)
  expect(await find()).toEqual(['/sign-in?error=unknown&next=%2Freports', false])
})

// Responses

/** Answers that are rejected: the error in the browser, and how the answer differs. */
const rejections: Record<
  string,
  [kind: KindName, error: string, change: () => ResponseOptions | undefined]
> = {
  id_token_nonce: [
    'OpenID Connect',
    'response_invalid',
    () => {
      provider.behavior.claims = (claims) => ({ ...claims, nonce: newSecret() })
    },
  ],
  provider_error: [
    'OpenID Connect',
    'other',
    () => {
      provider.behavior.response = (given) => {
        given.delete('code')
        given.set('error', '<b>Call 555</b>')
        given.set('error_description', 'Call 555')
      }
    },
  ],
  saml_signature: [
    'SAML',
    'response_invalid',
    () => ({ assertion: true, tamper: replace('>ada<', '>root<') }),
  ],
  saml_status: [
    'SAML',
    'other',
    () => ({
      assertion: false,
      edit: inOrder(
        replace('status:Success', 'status:Responder'),
        replace(assertionPattern, ''),
      ),
    }),
  ],
}
for (const [check, [name, error, change]] of Object.entries(rejections))
  test(`a rejected response ends only its own sign-in, and the log names the failed check: ${check}`, async ({
    sql,
  }) => {
    const kind = kinds[name]
    const slug = await kind.connect()
    const visitor = new Visitor(server.url)
    const [request, other] = [
      await visitor.start(slug, '/reports'),
      await visitor.start(slug),
    ]
    const unaffected = await kind.answer(slug, other)
    const answer = await kind.answer(slug, request, change() ?? {})
    const landing = await send(visitor, answer)
    const { requestId } = visitor
    expect(landing.pathname + landing.search + landing.hash).toBe(
      `/sso/callback?error=${error}&next=%2Freports#${requestId}`,
    )
    const { route } = kind
    expect(await logged(visitor)).toMatchObject({
      route,
      connection: slug,
      check,
      status: 303,
    })
    expect(await usersOf(sql, slug)).toEqual([])
    const again = await send(visitor, answer)
    expect(await readOutcome(again, visitor)).toEqual(['attempt_invalid', 'state_used'])
    provider.behavior = {}
    expect(errorOf(await send(visitor, unaffected))).toBeNull()
  })

test('the page of an error shows our own text, and posts no code', async () => {
  const unknown = 'Your organization’s sign-in service didn’t sign you in'
  const visitor = new Visitor(server.url)
  for (const [error, title, icon] of [
    ['access_denied', 'You weren’t signed in', 'lock'],
    ['temporarily_unavailable', 'Sign-in at your organization isn’t available', 'wait'],
    ['response_invalid', 'We couldn’t verify your sign-in', 'wrong'],
    ['constructor', unknown, 'wrong'],
    ['', unknown, 'wrong'],
  ] as const) {
    const query = `error=${error}&error_description=Call+555+now&code=x`
    const html = await (await visitor.request(`/sso/callback?${query}`)).text()
    const [main] = /<main[\s\S]*<\/main>/.exec(html)!
    expect(main.match(/<h1[^>]*>([^<]*)/)?.[1], error).toBe(title)
    expect(main, error).toMatch(new RegExp(`class="icon[^"]* ${icon}\\b`))
    expect(main).not.toContain('555')
    expect(html, 'the script that posts the code').not.toContain('data-session-path')
  }
})

test('the log of a rejected sign-in advises which flag to set', async () => {
  provider.behavior.claims = ({ email: upn, ...claims }) => ({ ...claims, upn })
  provider.behavior.userInfo = () => ({ sub: provider.person.sub })
  const visitor = new Visitor(server.url)
  expect(errorOf(await visitor.signIn(await connect(provider)))).toBe('no_access')
  const { check, advice } = await logged(visitor)
  expect(check).toBe('email_elsewhere')
  expect(advice).toContain('--email-claim NAME')
})

test('a sign-in succeeds although the clock of the provider is ahead, and the log has a warning', async () => {
  const ahead = Math.floor(Date.now() / 1000) + 150
  provider.behavior.claims = (claims) => ({ ...claims, iat: ahead })
  const slug = await connect(provider)
  for (const isFirst of [true, false]) {
    const visitor = new Visitor(server.url)
    expect(errorOf(await visitor.signIn(slug))).toBeNull()
    await logged(visitor)
    const warnings = server
      .logged(visitor.requestId)
      .filter(({ level, check }) => level === 'warn' && check === 'clock')
    expect(warnings.map(({ connection }) => connection)).toEqual(isFirst ? [slug] : [])
  }
})

test('responses of the provider may have long codes, long session states, many parameters, and long descriptions in Cyrillic', async () => {
  const slug = await connect(provider)
  const more = (given: URLSearchParams, count: number) => {
    for (let index = 0; index < count; index++) given.set(`more-${index}`, 'x')
  }
  for (const [codeLength, sessionState, count] of [
    [2_400, 1_900, 0],
    [43, 100, 35],
    [3_000, 3_000, 60],
  ] as const) {
    provider.behavior = {
      codeLength,
      response: (given) => {
        given.set('session_state', 's'.repeat(sessionState))
        more(given, count)
      },
    }
    expect(
      errorOf(await new Visitor(server.url).signIn(slug)),
      `${codeLength}`,
    ).toBeNull()
  }
  provider.behavior.response = (given) => {
    given.delete('code')
    given.set('error', 'access_denied')
    given.set('error_description', 'Доступ запрещён администратором. '.repeat(36)) // 6.5 KB in the URL
    more(given, 35)
  }
  const visitor = new Visitor(server.url)
  expect(await readOutcome(await visitor.signIn(slug), visitor)).toEqual([
    'access_denied',
    'provider_access_denied',
  ])
})

test('a response that is too long leads to an error page and is logged', async () => {
  const slug = await connect(provider)
  const path = `/api/auth/sso/${slug}/callback?state=x`
  const cyrillic = `&error_description=${'%D0%AF'.repeat(1_500)}`
  for (const more of [`&code=${'x'.repeat(8_192)}`, '&a=b'.repeat(101), cyrillic]) {
    const headers = {
      Accept: 'text/html,*/*;q=0.8',
      'Accept-Language': 'de',
      'X-Forwarded-For': newAddress(),
    }
    const response = await fetch(server.url + path + more, { headers })
    const html = await response.text()
    expect([response.status, response.headers.get('content-type')]).toEqual([
      414,
      'text/html; charset=utf-8',
    ])
    expect(html).toContain('<html lang="de"')
    expect(html).toContain('<h1>Die Webadresse ist zu lang</h1>')
    expect(html).toContain('href="/sign-in"')
    expect(html).not.toContain('xxxx')
  }
  const lines = server.logged('"url_too_long"')
  expect(lines).toHaveLength(3)
  expect(lines[0]).toMatchObject({ method: 'GET', route: 'page', status: 414 })
})

test('the ACS accepts forms of up to 350 KiB, and only by POST', async ({ sql }) => {
  const slug = await kinds.SAML.connect()
  const visitor = new SamlVisitor(server.url)
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
  expect([tooLarge.status, (await logged(visitor)).code]).toEqual([
    413,
    'PAYLOAD_TOO_LARGE',
  ])
  const unclaimed = `SELECT 1 FROM sso_attempts JOIN connections ON connections.id = connection_id
    WHERE slug = $1 AND claimed_at IS NULL`
  expect(await sql(unclaimed, [slug])).toHaveLength(1)
  expect(await readOutcome(await visitor.open(path, form(350 * 1024)), visitor)).toEqual([
    'response_invalid',
    'saml_too_large',
  ])
})

test('a connection accepts only responses of its kind, and has metadata only for SAML', async () => {
  const visitor = new SamlVisitor(server.url)
  const [oidc, slug] = [
    await kinds['OpenID Connect'].connect(),
    await kinds.SAML.connect(),
  ]
  const { relayState } = await visitor.begin(slug)
  // The body is not read if there is no such connection.
  for (const [path, size, check] of [
    [`none-${slug}/acs`, 4, 'connection'],
    [`none-${slug}/acs`, 400_000, 'connection'],
    [`${oidc}/acs`, 400_000, 'connection_kind'],
    [`${slug}/callback?state=${relayState}&code=x`, 0, 'connection_kind'],
  ] as const) {
    const form = new URLSearchParams({
      RelayState: relayState,
      SAMLResponse: 'A'.repeat(size),
    })
    const landing = await visitor.open(`/api/auth/sso/${path}`, size ? form : undefined)
    expect(await readOutcome(landing, visitor), path).toEqual([
      'connection_unavailable',
      check,
    ])
  }
  const metadata = async (of: string) =>
    (await visitor.request(`/api/auth/sso/${of}/metadata`)).status
  expect([await metadata(slug), await metadata(oidc), await metadata('none')]).toEqual([
    200, 404, 404,
  ])
  await disableConnection((await listConnections(slug))[0]!)
  expect(await metadata(slug)).toBe(404)
})
