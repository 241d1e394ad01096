import { createHash, randomBytes, randomUUID } from 'node:crypto'
import { lifetimes } from '../../lib/contract/lifetimes'
import * as routes from '../../lib/contract/routes'
import { newSecret } from '../../lib/crypto/token'
import { endSessions } from '../../lib/session/revoke'
import { newSigningKeys, rotateSigningKeys } from '../../lib/settings/signing-keys'
import { issueIdentityCode } from '../../lib/sso/code'
import { findConnection } from '../../lib/sso/connection'
import { type Contact, findOrLinkUser } from '../../lib/sso/identity'
import {
  disableConnection,
  enableConnection,
  linkUser,
  listConnections,
  removeConnection,
  unlinkUser,
} from '../../lib/sso/manage/connections'
import {
  codesOf,
  errorOf,
  expireAttempts,
  logLine,
  usersOf,
  Visitor,
} from '../support/browsers/sso-visitor'
import { connect } from '../support/databases/connection'
import { rounds } from '../support/databases/race'
import { lockRow } from '../support/databases/row-lock'
import { expect, postTo, type Sql, test } from '../support/fixtures'
import {
  clientSecret,
  type Provider,
  startProvider,
} from '../support/providers/oidc-provider'
import { keepSecret, newAddress } from '../support/secrets'
import { type Server, startServer } from '../support/servers/server'

const claimsOf = (token: string) =>
  JSON.parse(Buffer.from(token.split('.')[1]!, 'base64url').toString())

let server: Server
let provider: Provider
test.beforeAll(async () => {
  server = await startServer()
  provider = await startProvider()
})
test.afterAll(async () => {
  await provider?.stop()
  await server?.stop()
})
test.beforeEach(() => {
  provider.behavior = {}
  // `connect` adds an email address of the connection’s domain
  provider.person = { sub: randomUUID() }
  provider.requests.length = 0
})

const logged = (visitor: Visitor) => logLine(visitor, server)
/** Starts a sign-in as a new visitor. Returns the visitor and the URL of the callback. */
const authorized = async (slug: string) => {
  const visitor = new Visitor(server.url)
  return { visitor, url: await visitor.authorize(await visitor.start(slug)) }
}
const refreshed = async (refreshToken: unknown) =>
  (await postTo(server.url + routes.refreshSession.path, { refreshToken })).body

/**
 * Signs in as a new visitor, and expects a rejection with this check in the log and this
 * error in the browser.
 */
async function expectRejected(
  slug: string,
  check: string,
  error = 'response_invalid',
): Promise<void> {
  const visitor = new Visitor(server.url)
  const landing = await visitor.signIn(slug)
  const line = await logged(visitor)
  expect([line.check, errorOf(landing), line.connection]).toEqual([check, error, slug])
  expect(landing.pathname + landing.search).toBe(`/sso/callback?error=${error}`)
}

test('signs in with PKCE, state and nonce, and starts no session in another browser', async ({
  sql,
}) => {
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
    scope: 'openid email profile',
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

  const elsewhere = new Visitor(server.url)
  elsewhere.cookies.set('browser', keepSecret(newSecret()))
  expect((await elsewhere.exchange(landing)).body.code).toBe('SSO_EXCHANGE_INVALID')
  const { status, body } = await visitor.exchange(landing)
  expect(status).toBe(200)
  const refreshed = await postTo(`${server.url}${routes.refreshSession.path}`, {
    refreshToken: body.refreshToken,
  })
  for (const { token } of [body, refreshed.body]) {
    expect(claimsOf(token!)).toMatchObject({
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

test('stores no secret in plain text', async ({ sql }) => {
  const slug = await connect(provider)
  const visitor = new Visitor(server.url)
  const { searchParams } = await visitor.start(slug)
  const [row] = await sql(
    `SELECT sso_attempts::text AS attempt, connections::text AS connection FROM sso_attempts
     JOIN connections ON connections.id = connection_id WHERE slug = $1`,
    [slug],
  )
  const forms = (text: string) => [
    text,
    Buffer.from(text).toString('hex'),
    Buffer.from(text, 'base64url').toString('hex'),
  ]
  for (const secret of [
    searchParams.get('state')!,
    searchParams.get('nonce')!,
    visitor.cookies.get('browser')!,
  ])
    for (const form of forms(secret)) expect(row!.attempt).not.toContain(form)
  for (const form of forms(clientSecret)) expect(row!.connection).not.toContain(form)
})

test.describe('the state', () => {
  const expectInvalid = async (visitor: Visitor, landing: URL, check: string) => {
    expect([errorOf(landing), (await logged(visitor)).check]).toEqual([
      'attempt_invalid',
      check,
    ])
  }

  test('is rejected for another connection or browser, but stays valid for its own', async () => {
    const [otherSlug, slug] = [await connect(provider), await connect(provider)]
    const { visitor, url } = await authorized(slug)
    const [other, without] = [new Visitor(server.url), new Visitor(server.url)]
    await other.start(slug)
    const genuine = url.searchParams.get('state')!
    const withState = (state: string) =>
      url.href.replace(genuine, encodeURIComponent(state))
    for (const [who, href, check] of [
      [visitor, url.href.replace(`state=${genuine}`, ''), 'state_missing'],
      [visitor, withState(''), 'state_missing'],
      [visitor, withState(newSecret()), 'state_unknown'],
      [visitor, withState('née\u0000☂'), 'state_unknown'],
      [visitor, `${withState(newSecret())}&error=access_denied`, 'state_unknown'],
      [visitor, url.href.replace(slug, otherSlug), 'state_connection'],
      [other, url.href, 'state_browser'],
      [without, url.href, 'state_browser'],
    ] as const)
      await expectInvalid(who, await who.comeBack(new URL(href)), check)
    expect(provider.requests).not.toContain('/token')
    expect(errorOf(await visitor.comeBack(url)), 'the genuine one still works').toBeNull()
  })

  test('is accepted only once, even if it is used concurrently', async ({ sql }) => {
    const slug = await connect(provider)
    const { visitor, url } = await authorized(slug)
    const landings = await Promise.all(
      Array.from({ length: 20 }, () => visitor.comeBack(url)),
    )
    expect(landings.filter((landing) => errorOf(landing) === null)).toHaveLength(1)
    await expectInvalid(visitor, await visitor.comeBack(url), 'state_used')
    expect(await codesOf(sql, slug)).toHaveLength(1)
  })

  test('expires after 20 minutes', async ({ sql }) => {
    const { visitor, url } = await authorized(await connect(provider))
    const rows = await sql(
      `UPDATE sso_attempts SET expires_at = now() WHERE state_hash = sha256($1::bytea)
         AND expires_at = created_at + interval '20 minutes' RETURNING 1`,
      [url.searchParams.get('state')],
    )
    expect(rows).toHaveLength(1)
    await expectInvalid(visitor, await visitor.comeBack(url), 'state_expired')
  })

  test('is valid after a rotation of the signing key, until the old key is removed', async () => {
    const slug = await connect(provider)
    const { json: published } = rotateSigningKeys(process.env.SESSION_SIGNING_KEYS!)
    const { json: rotated } = rotateSigningKeys(published)
    for (const [keys, outcome] of [
      [rotated, [null, undefined]],
      [newSigningKeys(), ['attempt_invalid', 'state_key']],
    ] as const) {
      const { visitor, url } = await authorized(slug)
      const next = await startServer({
        SESSION_SIGNING_KEYS: keys,
        PUBLIC_URL: server.url,
      })
      const there = new Visitor(next.url)
      there.cookies.set('browser', visitor.cookies.get('browser')!)
      const landing = await there.comeBack(url)
      expect([errorOf(landing), (await logLine(there, next)).check]).toEqual(outcome)
      await next.stop()
    }
  })
})

test('each sign-in extends the lifetime of the browser cookie, and does not change its value', async () => {
  const slug = await connect(provider)
  const visitor = new Visitor(server.url)
  const first = await visitor.start(slug)
  const cookie = visitor.cookies.get('browser')
  const second = await visitor.start(slug)
  expect(visitor.cookies.get('browser')).toBe(cookie)
  for (const authorization of [second, first]) {
    const { pathname, search } = await visitor.authorize(authorization)
    const { headers } = await visitor.request(pathname + search)
    expect(headers.getSetCookie()).toEqual([
      `browser=${cookie}; Path=/; Max-Age=${lifetimes.browser}; HttpOnly; SameSite=Lax`,
    ])
    expect(headers.get('referrer-policy'), 'of a URL with a code').toBe('no-referrer')
    expect(
      (await visitor.exchange(new URL(headers.get('location')!, server.url))).status,
    ).toBe(200)
  }
})

test.describe('an account without access', () => {
  const everyPrompt = (genuine: Record<string, unknown>) => ({
    ...genuine,
    prompt_values_supported: ['none', 'login', 'select_account'],
  })
  const page = async (visitor: Visitor, path = '/sso/callback?error=no_access') =>
    (await (await visitor.request(path)).text()).replaceAll('<wbr/>', '')
  const promptOf = async (visitor: Visitor, slug: string) =>
    (await visitor.start(slug)).searchParams.get('prompt')

  test('is named on the page, and only the next sign-in asks the user to choose an account', async () => {
    provider.behavior.metadata = everyPrompt
    const slug = await connect(provider, { provision: false })
    const visitor = new Visitor(server.url)
    const address = keepSecret(provider.person.email as string)
    const landing = await visitor.signIn(slug, '/reports')
    expect(landing.pathname + landing.search).toBe(
      '/sso/callback?error=no_access&next=%2Freports',
    )
    expect(await page(visitor)).toContain(
      `<bdi class="account" translate="no">${address}</bdi>`,
    )
    for (const path of ['/sso/callback?error=other', '/sso/callback?error=access_denied'])
      expect(await page(visitor, path)).not.toContain(address)
    expect(await page(new Visitor(server.url))).toContain(
      'your account can’t be used with Dashboard',
    )
    expect(await promptOf(visitor, slug)).toBe('select_account')
    expect(await promptOf(visitor, slug)).toBeNull()
    expect(await page(visitor), 'forgotten').not.toContain(address)
  })

  test('can be replaced at the same connection with a link on the page', async () => {
    provider.behavior.metadata = everyPrompt
    const slug = await connect(provider, { provision: false })
    const start = `/api/auth/sso/${slug}/start`
    const visitor = new Visitor(server.url)
    const landing = await visitor.signIn(slug, '/reports')
    const html = await page(visitor, landing.pathname + landing.search)
    const links = [...html.matchAll(/<a class="button[^"]*" href="([^"]+)">([^<]+)/g)]
    expect(links.map(([, href, label]) => [label, href])).toEqual([
      ['Sign in again', `${start}?next=%2Freports`],
      ['Sign in another way', '/sign-in?next=%2Freports'],
    ])
    for (const path of ['/sso/callback', '/sso/callback?error=access_denied'])
      expect(await page(visitor, path)).not.toContain(start)
    const again = await visitor.open(links[0]![1]!)
    expect(again.searchParams.get('prompt')).toBe('select_account')
    expect(await page(visitor), 'forgotten').not.toContain(start)

    for (const cookie of [
      'ask-account.',
      'ask-account..',
      'ask-account..a/b',
      'ask-login.',
    ]) {
      visitor.cookies.set('ask', cookie)
      expect(await page(visitor), cookie).not.toContain('/api/auth/sso/')
    }
  })

  // Accounts without a usable email address, and the name that the page shows, if any.
  const named: Record<string, [name: string | null, person: Record<string, unknown>]> = {
    'in another claim': [
      'eve@other.example',
      { preferred_username: 'eve@other.example' },
    ],
    'of another domain': ['eve@other.example', { email: 'eve@other.example' }],
    'as no address': [null, { preferred_username: 'EVE' }],
    'in markup': [null, { email: '"<b> eve"@other.example' }],
    'with too many characters': [null, { email: `${'eve'.repeat(9_000)}@other.example` }],
    'with characters that turn the text around': [
      null,
      { email: 'eve\u202e@other.example' },
    ],
  }
  test('is shown with another name or with none if it has no usable email address', async () => {
    const slug = await connect(provider)
    for (const [how, [name, person]] of Object.entries(named)) {
      provider.person = { sub: randomUUID(), ...person }
      const visitor = new Visitor(server.url)
      expect(errorOf(await visitor.signIn(slug)), how).toBe('no_access')
      const html = await page(visitor)
      const text = name
        ? `<bdi class="account" translate="no">${keepSecret(name)}</bdi>`
        : 'your account can’t be used with Dashboard'
      expect(html, how).toContain(text)
      expect(html, how).not.toMatch(/<b>|\u202e/)
    }
  })

  test('of a disabled user is named by the email address in the user info', async ({
    sql,
  }) => {
    const slug = await connect(provider)
    const address = keepSecret(provider.person.email as string)
    provider.behavior = {
      claims: ({ email: _, ...claims }) => claims,
      userInfo: (genuine) => genuine,
    }
    expect(errorOf(await new Visitor(server.url).signIn(slug))).toBeNull()
    await sql('UPDATE users SET disabled_at = now() WHERE email = $1', [address])
    const visitor = new Visitor(server.url)
    expect(errorOf(await visitor.signIn(slug))).toBe('no_access')
    expect(await page(visitor)).toContain(address)
  })

  test('makes the provider ask at the next sign-in, as does a sign-out without a live session', async () => {
    provider.behavior.metadata = everyPrompt
    const slug = await connect(provider)
    const visitor = new Visitor(server.url)
    const see = async (path: string, cookies = '') => {
      const response = await fetch(server.url + path, {
        headers: { Cookie: cookies, 'X-Forwarded-For': newAddress() },
      })
      return response.headers.getSetCookie().filter((cookie) => cookie.startsWith('ask='))
    }
    const { body } = await visitor.exchange(await visitor.signIn(slug))
    expect(await see('/?signed-out', `session=${body.token}`)).toEqual([])
    expect(await see('/?signed-out', `refresh=${body.refreshToken}`)).toEqual([])
    for (const path of ['/', '/sign-in?signed-out'])
      expect(await see(path), path).toEqual([])
    // like a sign-out at a dashboard, which deletes no cookies
    await endSessions([claimsOf(body.token!).sid])
    expect(
      await see('/?signed-out', `session=${body.token}; refresh=${body.refreshToken}`),
    ).toHaveLength(1)
    const [marked] = await see('/?signed-out')
    expect(marked).toBe(
      `ask=ask-login.; Path=/; Max-Age=${90 * 24 * 60 * 60}; HttpOnly; SameSite=Lax`,
    )
    visitor.cookies.set('ask', 'ask-login.')
    expect(await promptOf(visitor, slug)).toBe('login')
    expect(await promptOf(visitor, slug)).toBeNull()
  })
})

test.describe('a sign-in that can’t be continued', () => {
  const startOf = (slug: string, query: string) => `/api/auth/sso/${slug}/start?${query}`

  test('starts again with the same connection and `next`, but only once', async ({
    sql,
  }) => {
    const slug = await connect(provider)
    const { visitor, url } = await authorized(slug)
    await expireAttempts(sql, slug)
    const again = await visitor.comeBack(url)
    expect(again.pathname + again.search).toBe(startOf(slug, 'again'))
    const second = await visitor.open(again.pathname + again.search)
    expect(second.origin).toBe(provider.issuer)
    await expireAttempts(sql, slug)
    const over = await visitor.comeBack(await visitor.authorize(second))
    const landing = await visitor.open(over.pathname + over.search)
    expect(landing.pathname + landing.search).toBe('/sso/callback?error=attempt_invalid')
    expect((await logged(visitor)).check).toBe('again')
    const third = await visitor.open(startOf(slug, 'again'))
    expect(third.origin, 'after the page').toBe(provider.issuer)

    // A successful sign-in deletes the cookie that marks a restart.
    expect(errorOf(await visitor.comeBack(await visitor.authorize(third)))).toBeNull()
    expect((await visitor.open(startOf(slug, 'again'))).origin).toBe(provider.issuer)

    const wanting = new Visitor(server.url)
    const late = await wanting.authorize(await wanting.start(slug, '/reports'))
    await expireAttempts(sql, slug)
    const kept = await wanting.comeBack(late)
    expect(kept.pathname + kept.search).toBe(startOf(slug, 'next=%2Freports&again'))
    const elsewhere = await new Visitor(server.url).comeBack(late)
    expect(elsewhere.search, 'another browser does not learn `next`').toBe('?again')
  })

  test('continues with a live session, for example after Back or from a bookmark', async () => {
    const slug = await connect(provider)
    const { visitor, url } = await authorized(slug)
    const landing = await visitor.comeBack(url)
    const { body } = await visitor.exchange(landing)
    const follow = async (cookies: Record<string, string>, from: string) => {
      const same = new Visitor(server.url)
      for (const [name, value] of Object.entries({
        browser: visitor.cookies.get('browser')!,
        ...cookies,
      }))
        same.cookies.set(name, value)
      const { pathname, search } = await same.open(from)
      return same.open(pathname + search)
    }
    const callback = url.pathname + url.search
    const bookmark = `/api/auth/sso/${slug}/callback?error=server_error`
    for (const from of [callback, bookmark]) {
      expect((await follow({ session: body.token! }, from)).href).toBe(`${server.url}/`)
      expect((await follow({ refresh: body.refreshToken! }, from)).href).toBe(
        `${server.url}/`,
      )
    }
    const wanted = startOf(slug, 'next=%2Freports&again')
    expect(
      (await follow({ session: body.token! }, callback.replace(/\?.*/, '?state=x')))
        .pathname,
    ).toBe('/')
    const same = new Visitor(server.url)
    same.cookies.set('session', body.token!)
    expect((await same.open(wanted)).href).toBe(`${server.url}/reports`)
    await endSessions([claimsOf(body.token!).sid])
    expect(
      (await follow({ session: body.token! }, callback)).origin,
      'an ended session',
    ).toBe(provider.issuer)
  })

  test('stops with an error in a browser that stores no cookies', async () => {
    const slug = await connect(provider)
    const forgetful = new Visitor(server.url)
    const open = async ({ pathname, search }: URL) => {
      forgetful.cookies.clear()
      return forgetful.open(pathname + search)
    }
    let url = await forgetful.authorize(await forgetful.start(slug))
    for (const next of [
      startOf(slug, 'again'),
      startOf(slug, 'again=new'),
      '/sso/callback?error=attempt_invalid',
    ]) {
      url = await open(url)
      expect(url.pathname + url.search).toBe(next)
    }
  })
})

test('a sign-in from a tile at the provider leads to the `target_link_uri` if that URI is allowed', async ({
  sql,
}) => {
  const slug = await connect(provider)
  for (const [given, next] of [
    [`${server.url}/reports?year=2026`, '/reports?year=2026'],
    ['/reports', '/reports'],
    ['https://evil.example/', null],
    [`${server.url}//evil.example/`, null],
  ] as const) {
    const query = new URLSearchParams({
      iss: provider.issuer,
      login_hint: 'x',
      target_link_uri: given,
    })
    await new Visitor(server.url).open(`/api/auth/sso/${slug}/start?${query}`)
    const ofConnection = 'connection_id = (SELECT id FROM connections WHERE slug = $1)'
    const latest = `SELECT next FROM sso_attempts WHERE ${ofConnection} ORDER BY created_at DESC LIMIT 1`
    const [row] = await sql(latest, [slug])
    expect(row!.next, given).toBe(next)
  }
})

test('a rejected ID token ends only its own sign-in, and the log names the failed check', async ({
  sql,
}) => {
  const slug = await connect(provider)
  const unaffected = await authorized(slug)
  provider.behavior.claims = (claims) => ({ ...claims, nonce: newSecret() })
  await expectRejected(slug, 'id_token_nonce')
  expect(await usersOf(sql, slug)).toEqual([])
  provider.behavior = {}
  expect(errorOf(await unaffected.visitor.comeBack(unaffected.url))).toBeNull()
})

test.describe('the provider', () => {
  test('errors and their descriptions are replaced with our own errors', async () => {
    const slug = await connect(provider)
    provider.behavior.response = (given) => {
      given.delete('code')
      given.set('error', '<b>Call 555</b>')
      given.set('error_description', 'Call 555')
    }
    await expectRejected(slug, 'provider_error', 'other')
    const landing = await new Visitor(server.url).signIn(slug, '/reports')
    expect(landing.search, '`next` is kept').toBe('?error=other&next=%2Freports')
  })

  test('responses may have long codes, long session states, many parameters, and long descriptions in Cyrillic', async () => {
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
    await expectRejected(slug, 'provider_access_denied', 'access_denied')
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
})

test.describe('accounts', () => {
  const addUser = async (sql: Sql, email: string) =>
    (
      await sql(
        `INSERT INTO users (email, email_domain) VALUES ($1, split_part($1, '@', 2)) RETURNING id`,
        [email],
      )
    )[0]!.id as string
  const issuer = 'https://a.example'
  /** Signs in through the connection as a person, and returns the result. */
  const arrive = async (
    slug: string,
    subject: string,
    name: string,
    contact: Partial<Contact> = {},
    from = issuer,
  ) =>
    findOrLinkUser(
      (await findConnection(slug))!,
      { issuer: from, subject },
      async () => ({
        email: `${name}@${slug}.example.org`,
        isVerified: true,
        ...contact,
      }),
    )

  test('links a user of the domain by email address, but only to one person', async ({
    sql,
  }) => {
    const slug = await connect(provider, { provision: false })
    const id = await addUser(sql, `ada@${slug}.example.org`)
    provider.person.email = `ADA@${slug}.Example.ORG`
    expect(errorOf(await new Visitor(server.url).signIn(slug))).toBeNull()
    expect(await usersOf(sql, slug)).toMatchObject([
      { id, email: `ada@${slug}.example.org` },
    ])

    provider.person.sub = 'the next person with this address'
    await expectRejected(slug, 'identity_other_subject', 'no_access')
    expect(await usersOf(sql, slug)).toHaveLength(1)
  })

  const unlinkable: Record<
    string,
    [check: string, contact: (domain: string) => Partial<Contact>]
  > = {
    'an unverified address': ['email_unverified', () => ({ isVerified: false })],
    'an address of another domain': [
      'email_domain',
      () => ({ email: 'ada@example.com' }),
    ],
    'an address of a subdomain': [
      'email_domain',
      (domain) => ({ email: `ada@mail.${domain}` }),
    ],
    'two addresses': [
      'email_malformed',
      (domain) => ({ email: `eve@evil.example,ada@${domain}` }),
    ],
    'letters that only look like the address': [
      'email_malformed',
      (domain) => ({ email: `аda@${domain}` }),
    ],
    'a letter that becomes ASCII in lower case': [
      'email_malformed',
      (domain) => ({ email: `\u212Aelvin@${domain}` }),
    ],
    'a letter of full width': [
      'email_malformed',
      (domain) => ({ email: `\uff21da@${domain}` }),
    ],
    'two at signs': ['email_malformed', (domain) => ({ email: `a@b@${domain}` })],
    'two lines': [
      'email_malformed',
      (domain) => ({ email: `eve@evil.example\nada@${domain}` }),
    ],
    'a name in front': [
      'email_malformed',
      (domain) => ({ email: `Ada <ada@${domain}>` }),
    ],
    quotes: ['email_malformed', (domain) => ({ email: `"ada"@${domain}` })],
    'no-break space': ['email_malformed', (domain) => ({ email: `\u00a0ada@${domain}` })],
    'a domain with a path': [
      'email_malformed',
      (domain) => ({ email: `ada@${domain}/x` }),
    ],
    'an address of 270 characters': [
      'email_malformed',
      (domain) => ({ email: `${'a'.repeat(250)}@${domain}` }),
    ],
    'an address for which another tenant vouches': [
      'email_tenant',
      () => ({ domains: ['other.example'] }),
    ],
    // Google: a private account with a company address may belong to somebody outside the
    // company.
    'no hosted domain': ['email_hosted_domain', () => ({ hostedDomain: null })],
    'another hosted domain': [
      'email_hosted_domain',
      () => ({ hostedDomain: 'gmail.com' }),
    ],
    'a hosted domain with a NUL': [
      'email_hosted_domain',
      (domain) => ({ hostedDomain: `${domain}\0` }),
    ],
  }
  test('links or creates a user only with exactly one verified address of the domain', async ({
    sql,
  }) => {
    const slug = await connect(provider)
    const domain = `${slug}.example.org`
    const id = await addUser(sql, `ada@${domain}`)
    for (const [what, [check, contact]] of Object.entries(unlinkable))
      await expect(
        arrive(slug, 'one', 'ada', contact(domain)),
        what,
      ).rejects.toMatchObject({
        check,
        error: 'no_access',
      })
    expect(await usersOf(sql, slug)).toEqual([])
    expect(
      await arrive(slug, 'one', 'ada', { hostedDomain: domain, domains: [domain] }),
    ).toBe(id)
  })

  test('identifies a linked user by connection, issuer and subject, without an email address', async () => {
    const [slug, other] = [
      await connect(provider, { allowPasswords: true }),
      await connect(provider),
    ]
    const id = await arrive(slug, 'one', 'ada')
    const unexpected = () => Promise.reject(new Error('asked for the address'))
    expect(
      await findOrLinkUser(
        (await findConnection(slug))!,
        { issuer, subject: 'one' },
        unexpected,
      ),
    ).toBe(id)
    const others = [
      await arrive(other, 'one', 'ada'),
      await arrive(slug, 'one', 'bob', {}, 'https://b.example'),
      await arrive(slug, 'two', 'eve'),
    ]
    expect(new Set([id, ...others]).size).toBe(4)
  })

  test('ignores letter case only in subjects that are email addresses', async ({
    sql,
  }) => {
    const slug = await connect(provider)
    const connection = (await findConnection(slug))!
    const domain = `${slug}.example.org`
    const signIn = (subject: string, name: string, isEmail = true) =>
      findOrLinkUser(connection, { issuer, subject, isEmail }, async () => ({
        email: `${name}@${domain}`,
        isVerified: true,
      }))
    const id = await signIn(`Ada.Lovelace@${domain}`, 'ada')
    for (const subject of [
      `ada.lovelace@${domain}`,
      `ADA.Lovelace@${domain.toUpperCase()}`,
    ]) {
      expect(await signIn(subject, 'somebody-else')).toBe(id)
      await expect(signIn(subject, 'ada', false)).rejects.toMatchObject({
        check: 'identity_other_subject',
      })
      const identity = { issuer, subject }
      expect(
        await issueIdentityCode(id, connection.id, { ...identity, isEmail: true }),
      ).toBeTruthy()
      await expect(issueIdentityCode(id, connection.id, identity)).rejects.toMatchObject({
        check: 'identity_unlinked',
      })
    }
    const others = await Promise.all(
      [
        `ada_lovelace@${domain}`, // an underscore is a wildcard of LIKE
        `%@${domain}`,
        `ad\u0430.lovelace@${domain}`,
        `ada.love\u017Face@${domain}`, // becomes an S in upper case
        `ada.love\u0130ace@${domain}`,
      ].map((subject, index) => signIn(subject, `other-${index}`)),
    )
    expect(new Set([id, ...others]).size).toBe(6)

    // An exact match is preferred. Otherwise, there must be only one match in another
    // letter case.
    const upper = await signIn(`BOB@${domain}`, 'bob-1', false)
    const title = await signIn(`Bob@${domain}`, 'bob-2', false)
    expect([
      await signIn(`BOB@${domain}`, 'x'),
      await signIn(`Bob@${domain}`, 'x'),
    ]).toEqual([upper, title])
    await expect(signIn(`bob@${domain}`, 'bob-1')).rejects.toMatchObject({
      check: 'identity_other_subject',
    })

    await unlinkUser(id, connection.id)
    await expect(signIn(`ADA.LOVELACE@${domain}`, 'new')).rejects.toMatchObject({
      check: 'subject_unlinked',
    })
    const spellings = ['eve', 'Eve', 'EVE', 'eVe'].map((name, index) =>
      signIn(`${name}@${domain}`, `eve-${index}`),
    )
    expect(
      new Set(await Promise.all(spellings)).size,
      'the first sign-ins take turns',
    ).toBe(1)
    expect(
      await sql(`SELECT 1 FROM identities WHERE lower(subject) = $1`, [`eve@${domain}`]),
    ).toHaveLength(1)
  })

  test('rejects an unlinked subject until it is linked again, and links one subject to one user', async () => {
    const slug = await connect(provider)
    const { id: connectionId } = (await findConnection(slug))!
    const link = (id: string, subject: string) =>
      linkUser(id, { id: connectionId, slug }, { issuer, subject })
    const [ada, bob] = [
      await arrive(slug, 'one', 'ada'),
      await arrive(slug, 'other', 'bob'),
    ]
    expect(await unlinkUser(ada, connectionId)).toEqual({ subject: 'one', ended: 0 })
    for (const name of ['ada', 'eve'])
      await expect(arrive(slug, 'one', name)).rejects.toMatchObject({
        check: 'subject_unlinked',
      })
    expect(await arrive(slug, 'two', 'ada')).toBe(ada)
    const advice = `Unlink it first: npm run users -- unlink ada@${slug}.example.org ${slug}`
    await expect(link(ada, 'three')).rejects.toThrow(advice)
    await unlinkUser(bob, connectionId)
    await expect(link(bob, 'two')).rejects.toThrow(advice)
    await unlinkUser(ada, connectionId)
    for (let times = 0; times < 2; times++) await link(ada, 'one')
    expect(await arrive(slug, 'one', 'bob')).toBe(ada)
    await expect(arrive(slug, 'two', 'ada')).rejects.toMatchObject({
      check: 'subject_unlinked',
    })
  })

  test('concurrent first sign-ins create one user per subject, and link only one of two subjects', async ({
    sql,
  }) => {
    for (let round = 0; round < rounds; round++) {
      const slug = await connect(provider)
      const ids = await Promise.all(
        ['ada', 'ada', 'bob', 'bob'].map((name) => arrive(slug, 'one', name)),
      )
      expect(new Set(ids).size).toBe(1)
      expect(await usersOf(sql, slug)).toHaveLength(1)
      expect(
        await sql('SELECT 1 FROM users WHERE email LIKE $1', [`%@${slug}.example.org`]),
      ).toHaveLength(1)
      const outcomes = await Promise.allSettled(
        ['two', 'three'].map((subject) => arrive(slug, subject, 'eve')),
      )
      const rejected = outcomes.flatMap((outcome) =>
        outcome.status === 'rejected' ? outcome.reason.check : [],
      )
      expect(rejected).toEqual(['identity_other_subject'])
    }
  })

  test('treats the Unicode and the ASCII form of a domain as the same, and creates no second user', async ({
    sql,
  }) => {
    const domain = `${randomUUID()}.example.org`
    const slug = await connect(provider, { domains: [`xn--bcher-kva.${domain}`] })
    const bob = await addUser(sql, `bob@bücher.${domain}`)
    const ada = await arrive(slug, 'one', 'ada', { email: `ada@Bücher.${domain}` })
    expect(
      await arrive(slug, 'two', 'bob', { email: `bob@xn--bcher-kva.${domain}` }),
    ).toBe(bob)
    expect(
      await sql('SELECT id, email FROM users WHERE email LIKE $1 ORDER BY email', [
        `%.${domain}`,
      ]),
    ).toEqual([
      { id: ada, email: `ada@xn--bcher-kva.${domain}` },
      { id: bob, email: `bob@bücher.${domain}` },
    ])
  })

  test('rejects a disabled user at the first sign-in and at later ones', async ({
    sql,
  }) => {
    const slug = await connect(provider)
    const id = await addUser(sql, `ada@${slug}.example.org`)
    for (const linked of [0, 1]) {
      await sql('UPDATE users SET disabled_at = now() WHERE id = $1', [id])
      await expect(arrive(slug, 'one', 'ada')).rejects.toMatchObject({
        check: 'user_disabled',
        error: 'no_access',
      })
      expect(await usersOf(sql, slug)).toHaveLength(linked)
      await sql('UPDATE users SET disabled_at = NULL WHERE id = $1', [id])
      expect(await arrive(slug, 'one', 'ada')).toBe(id)
    }
  })
})

test.describe('a disabled connection', () => {
  const setUp = async () => {
    const slug = await connect(provider)
    const [connection] = await listConnections(slug)
    return { slug, connection: connection! }
  }
  /**
   * Adds a connection and signs in once. Returns the connection, the user and its
   * identity.
   */
  const setUpUser = async (sql: Sql) => {
    const { slug, connection } = await setUp()
    const visitor = new Visitor(server.url)
    const landing = await visitor.signIn(slug)
    const [{ id, issuer, subject }] = (await usersOf(sql, slug)) as [
      { id: string; issuer: string; subject: string },
    ]
    return { slug, connection, visitor, landing, id, issuer, subject }
  }

  test('rejects start, callback, exchange and refresh, and its sessions are ended', async ({
    sql,
  }) => {
    const {
      slug,
      connection,
      visitor: signedIn,
      landing: first,
      id,
    } = await setUpUser(sql)
    const [starting, exchanging] = [new Visitor(server.url), new Visitor(server.url)]
    const { body: tokens } = await signedIn.exchange(first)
    const { visitor: returning, url: back } = await authorized(slug)
    const landing = await exchanging.signIn(slug)
    await sql(
      `INSERT INTO sessions (user_id, expires_at) VALUES ($1, now() + interval '1 day')`,
      [id],
    )

    expect(await disableConnection(connection)).toBe(1)
    for (const [visitor, result] of [
      [starting, await starting.start(slug)],
      [returning, await returning.comeBack(back)],
    ] as const)
      expect([errorOf(result), (await logged(visitor)).check]).toEqual([
        'connection_unavailable',
        'connection',
      ])
    expect((await exchanging.exchange(landing)).body.code).toBe('SSO_EXCHANGE_INVALID')
    expect((await refreshed(tokens.refreshToken)).code).toBe('REFRESH_INVALID')
    const sessions = await sql(
      'SELECT connection_id IS NOT NULL AS sso, revoked_at IS NOT NULL AS revoked FROM sessions WHERE user_id = $1 ORDER BY 1',
      [id],
    )
    expect(sessions).toEqual([
      { sso: false, revoked: false }, // started without the connection
      { sso: true, revoked: true },
    ])

    await enableConnection(connection)
    expect(
      errorOf(await returning.comeBack(back)),
      'the attempt was not used up',
    ).toBeNull()
    expect((await exchanging.exchange(landing)).body.code, 'the code is gone').toBe(
      'SSO_EXCHANGE_INVALID',
    )
  })

  test('rejects codes and refresh tokens that were issued before it was disabled', async ({
    sql,
  }) => {
    const { slug, visitor: first, landing: firstLanding } = await setUpUser(sql)
    const { body } = await first.exchange(firstLanding)
    const second = new Visitor(server.url)
    const landing = await second.signIn(slug)
    for (const leave of [
      'UPDATE connections SET disabled_at = now() WHERE slug = $1',
      'DELETE FROM connections WHERE slug = $1',
    ]) {
      await sql(leave, [slug])
      expect((await second.exchange(landing)).body.code).toBe('SSO_EXCHANGE_INVALID')
      expect((await refreshed(body.refreshToken)).code).toBe('REFRESH_INVALID')
    }
  })

  test('rejects a code if its user was unlinked after the code was issued', async ({
    sql,
  }) => {
    const { slug, visitor, landing, id } = await setUpUser(sql)
    await sql('UPDATE identities SET user_id = NULL WHERE user_id = $1', [id]) // `unlink` deletes the codes too
    expect((await visitor.exchange(landing)).body.code).toBe('SSO_EXCHANGE_INVALID')
    provider.person.sub = 'another'
    await new Visitor(server.url).signIn(slug) // links another person to the user
    expect((await visitor.exchange(landing)).body.code).toBe('SSO_EXCHANGE_INVALID')
  })

  test('issues no code if the user is unlinked and linked to another person during the sign-in', async ({
    sql,
  }) => {
    const { connection, id, issuer, subject } = await setUpUser(sql)
    const issue = () =>
      issueIdentityCode(id, connection.id, { issuer, subject }).then(
        ({ secret }) => keepSecret(secret) && 'issued',
        ({ check }) => check,
      )
    expect(await issue()).toBe('issued')
    const lock = await lockRow('users', 'id = $1', id)
    await lock.sql('UPDATE identities SET user_id = NULL WHERE user_id = $1', [id])
    const issued = issue()
    await lock.waiting(1)
    await lock.sql(
      `INSERT INTO identities (connection_id, issuer, subject, user_id, created_at)
       VALUES ($1, $2, $3, $4, now() - interval '1 minute')`, // as if the transaction that linked the person began earlier
      [connection.id, issuer, `${subject}-2`, id],
    )
    await lock.release()
    expect(await issued).toBe('identity_unlinked')
    await sql('UPDATE identities SET user_id = NULL WHERE user_id = $1', [id])
    expect(await issue()).toBe('identity_unlinked')
  })

  test('is removed after its SSO attempts, which are deleted in batches', async ({
    sql,
  }) => {
    const { slug, connection } = await setUp()
    await sql(
      `INSERT INTO sso_attempts (state_hash, connection_id, browser_hash, kid, expires_at)
       SELECT sha256(($2 || number)::bytea), $1::uuid, sha256('x'), 'kid', now() + interval '20 minutes' FROM generate_series(1, 20001) number`,
      [connection.id, slug],
    )
    const left = () =>
      sql('SELECT count(*)::int FROM sso_attempts WHERE connection_id = $1', [
        connection.id,
      ])
    const last = 'ctid = (SELECT max(ctid) FROM sso_attempts WHERE connection_id = $1)'
    const lock = await lockRow('sso_attempts', last, connection.id)
    const removing = removeConnection(connection)
    await lock.waiting(1)
    expect(await left(), 'the first two batches are committed').toEqual([{ count: 1 }])
    await lock.release()
    await removing
    expect(await left()).toEqual([{ count: 0 }])
    expect(await listConnections(slug)).toEqual([])
  })

  test('ends a session that starts while its connection is being disabled', async ({
    sql,
  }) => {
    const { connection, id } = await setUpUser(sql)
    const lock = await lockRow('identities', 'user_id = $1', id)
    await lock.sql(
      `INSERT INTO sessions (user_id, connection_id, expires_at) VALUES ($1, $2, now() + interval '1 day')`,
      [id, connection.id],
    )
    const disabling = disableConnection(connection)
    await lock.waiting(1)
    const isDisabled =
      'SELECT 1 FROM connections WHERE id = $1 AND disabled_at IS NOT NULL'
    expect(
      await sql(isDisabled, [connection.id]),
      'no other session starts meanwhile',
    ).toHaveLength(1)
    await lock.release()
    expect(await disabling).toBe(1)
    expect(
      await sql('SELECT 1 FROM sessions WHERE user_id = $1 AND revoked_at IS NULL', [id]),
    ).toEqual([])
  })

  test('exchanges during the disabling leave no live session and cause no deadlock', async ({
    sql,
  }) => {
    test.setTimeout(300_000)
    for (let round = 0; round < rounds; round++) {
      const { slug, connection } = await setUp()
      const visitors = Array.from({ length: 4 }, () => new Visitor(server.url))
      const landings = await Promise.all(visitors.map((visitor) => visitor.signIn(slug)))
      const exchanges = visitors.map((visitor, index) =>
        visitor.exchange(landings[index]!),
      )
      if (round % 4 > 0) await Promise.race(exchanges.slice(0, round % 4))
      const [responses] = await Promise.all([
        Promise.all(exchanges),
        disableConnection(connection),
      ])
      for (const { status } of responses) expect([200, 400]).toContain(status)
      const live = await sql(
        'SELECT 1 FROM sessions WHERE connection_id = $1 AND revoked_at IS NULL',
        [connection.id],
      )
      expect(live).toEqual([])
    }
  })
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
    expect((await visitor.request(landing.pathname + landing.search)).status).toBe(200)
  }
})

test('the start of a sign-in deletes some SSO attempts that expired long ago', async ({
  sql,
}) => {
  const slug = await connect(provider)
  const old = (minutes: number) =>
    sql(
      `INSERT INTO sso_attempts (state_hash, connection_id, browser_hash, kid, expires_at)
       SELECT sha256(gen_random_uuid()::text::bytea), id, sha256('old'), 'x', now() - make_interval(mins => $2)
       FROM connections, generate_series(1, 6) WHERE slug = $1`,
      [slug, minutes],
    )
  await old(50)
  await old(100_000) // older than those of other tests
  const leftAfterStart = async () => {
    await new Visitor(server.url).start(slug) // also deletes attempts of earlier tests
    return sql(
      `SELECT count(*)::int AS left FROM sso_attempts
       WHERE connection_id = (SELECT id FROM connections WHERE slug = $1) AND browser_hash = sha256('old')`,
      [slug],
    )
  }
  // the attempts that expired within the last hour
  await expect.poll(leftAfterStart).toEqual([{ left: 6 }])
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
