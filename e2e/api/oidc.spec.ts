import { createHash, randomBytes, randomUUID } from 'node:crypto'
import pg from 'pg'
import { lifetimes } from '../../lib/contract/lifetimes'
import * as paths from '../../lib/contract/paths'
import { newSecret } from '../../lib/secret'
import { newSigningKeys, rotateSigningKeys } from '../../lib/settings/signing-keys'
import { findConnection } from '../../lib/sso/connection'
import { issueSsoCode } from '../../lib/sso/exchange'
import { type Contact, userOfIdentity } from '../../lib/sso/identity'
import {
  disableConnection,
  enableConnection,
  linkUser,
  listConnections,
  removeConnection,
  unlinkUser,
} from '../../lib/sso/manage'
import { exchangePath, expect, postTo, type Sql, test } from '../support/fixtures'
import { startNameServer } from '../support/name-server'
import { clientSecret, connect, type Provider, startProvider, Visitor } from '../support/oidc-provider'
import { rounds } from '../support/race'
import { lockRow } from '../support/row-lock'
import { keepSecret, newAddress } from '../support/secrets'
import { type Server, startServer } from '../support/server'

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
  provider.behaviour = {}
  provider.person = { sub: randomUUID() } // its address is that of the last connection
  provider.requests.length = 0
})

type Line = { connection?: string; check?: string; userId?: string; status: number; route: string }

/** The log line of the visitor's last request. */
async function logged({ requestId }: Visitor, output = server.output): Promise<Line> {
  const line = () =>
    output()
      .split('\n')
      .find((text) => text.includes(requestId))
  await expect.poll(line).toBeTruthy()
  return JSON.parse(line()!)
}

const errorOf = (landing: URL) => landing.searchParams.get('error')
const exchange = async (landing: URL, { cookies }: Visitor, url = server.url) =>
  postTo(
    url + exchangePath,
    { code: landing.searchParams.get('code') },
    { 'X-Forwarded-For': newAddress(), Cookie: `browser=${cookies.get('browser')}` },
  )
const usersOf = (sql: Sql, slug: string) =>
  sql(
    `SELECT users.id, email, sso_only, issuer, subject FROM users JOIN identities ON user_id = users.id
     JOIN connections ON connections.id = connection_id WHERE slug = $1`,
    [slug],
  )
const sha256 = `sha256($1::bytea)`

/** Signs in with a fresh visitor, and expects a rejection with these words for browser and log. */
async function expectRejected(slug: string, check: string, error = 'response_invalid'): Promise<void> {
  const visitor = new Visitor(server.url)
  const landing = await visitor.signIn(slug)
  const line = await logged(visitor)
  expect([line.check, errorOf(landing), line.connection]).toEqual([check, error, slug])
  expect(landing.pathname + landing.search).toBe(`/sso/callback?error=${error}`)
}

test('a sign-in: PKCE, state and nonce, a user of its own, and a session in this browser only', async ({ sql }) => {
  const slug = await connect(provider)
  const visitor = new Visitor(server.url)
  const authorization = await visitor.start(slug, '/reports?year=2026')
  expect(authorization.origin + authorization.pathname).toBe(`${provider.issuer}/authorize`)
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
  expect(challenges, 'the URL holds no code verifier').not.toContain(parameters.code_challenge)

  const landing = await visitor.comeBack(await visitor.authorize(authorization))
  expect(Object.fromEntries(landing.searchParams)).toEqual({
    code: expect.stringMatching(/^[\w-]{43}$/),
    next: '/reports?year=2026',
  })
  const [user] = await usersOf(sql, slug)
  expect(user).toMatchObject({
    email: provider.person.email,
    sso_only: true,
    issuer: provider.issuer,
    subject: provider.person.sub,
  })
  expect(await logged(visitor)).toMatchObject({
    route: 'sso-callback',
    status: 303,
    connection: slug,
    userId: user!.id,
  })

  const elsewhere = new Visitor(server.url)
  elsewhere.cookies.set('browser', keepSecret(newSecret()))
  expect((await exchange(landing, elsewhere)).body.code).toBe('SSO_EXCHANGE_INVALID')
  expect((await exchange(landing, visitor)).status).toBe(200)
  const [session] = await sql(
    'SELECT slug FROM sessions JOIN connections ON connections.id = connection_id WHERE user_id = $1',
    [user!.id],
  )
  expect(session).toEqual({ slug })
})

test('the second sign-in finds the same user, whatever the e-mail address is by then', async ({ sql }) => {
  const slug = await connect(provider)
  const { email } = provider.person
  const visitor = new Visitor(server.url)
  await visitor.signIn(slug)
  provider.person.email = `someone.else@${slug}.example.org`
  expect(errorOf(await visitor.signIn(slug))).toBeNull()
  expect(await usersOf(sql, slug)).toMatchObject([{ email }])
})

test('nothing secret is stored', async ({ sql }) => {
  const slug = await connect(provider)
  const visitor = new Visitor(server.url)
  const { searchParams } = await visitor.start(slug)
  const [row] = await sql(
    `SELECT sign_ins::text AS attempt, connections::text AS connection FROM sign_ins
     JOIN connections ON connections.id = connection_id WHERE slug = $1`,
    [slug],
  )
  const forms = (text: string) => [
    text,
    Buffer.from(text).toString('hex'),
    Buffer.from(text, 'base64url').toString('hex'),
  ]
  for (const secret of ['state', 'nonce']
    .map((name) => searchParams.get(name)!)
    .concat(visitor.cookies.get('browser')!))
    for (const form of forms(secret)) expect(row!.attempt).not.toContain(form)
  for (const form of forms(clientSecret)) expect(row!.connection).not.toContain(form)
})

test.describe('the state', () => {
  const back = async (slug: string) => {
    const visitor = new Visitor(server.url)
    return { visitor, url: await visitor.authorize(await visitor.start(slug)) }
  }
  const expectInvalid = async (visitor: Visitor, landing: URL, check: string) => {
    expect(errorOf(landing)).toBe('attempt_invalid')
    expect((await logged(visitor)).check).toBe(check)
  }

  test('missing, empty or unknown', async () => {
    const slug = await connect(provider)
    for (const [state, check] of [
      [null, 'state_missing'],
      ['', 'state_missing'],
      [newSecret(), 'state_unknown'],
      ['née\u0000☂', 'state_unknown'],
    ] as const) {
      const { visitor, url } = await back(slug)
      const forged = new URL(url)
      if (state === null) forged.searchParams.delete('state')
      else forged.searchParams.set('state', state)
      await expectInvalid(visitor, await visitor.comeBack(forged), check)
      expect(errorOf(await visitor.comeBack(url)), 'the genuine one still works').toBeNull()
    }
  })

  test('used twice, also at once', async ({ sql }) => {
    const slug = await connect(provider)
    const { visitor, url } = await back(slug)
    const landings = await Promise.all(Array.from({ length: 20 }, () => visitor.comeBack(url)))
    expect(landings.filter((landing) => errorOf(landing) === null)).toHaveLength(1)
    await expectInvalid(visitor, await visitor.comeBack(url), 'state_used')
    expect(
      await sql(
        'SELECT 1 FROM exchange_codes JOIN identities USING (user_id, connection_id) JOIN connections ON connections.id = connection_id WHERE slug = $1',
        [slug],
      ),
    ).toHaveLength(1)
  })

  test('expired after 20 minutes', async ({ sql }) => {
    const slug = await connect(provider)
    const { visitor, url } = await back(slug)
    const state = url.searchParams.get('state')
    const [row] = await sql(
      `SELECT expires_at - created_at = interval '20 minutes' AS lives FROM sign_ins WHERE state_hash = ${sha256}`,
      [state],
    )
    expect(row).toEqual({ lives: true })
    await sql(`UPDATE sign_ins SET expires_at = now() WHERE state_hash = ${sha256}`, [state])
    await expectInvalid(visitor, await visitor.comeBack(url), 'state_expired')
  })

  test('of another connection (mix-up): only its own can use it up', async () => {
    const other = await startProvider()
    const [slug, otherSlug] = [await connect(provider), await connect(other)]
    const { visitor, url } = await back(slug)
    const moved = new URL(url)
    moved.pathname = moved.pathname.replace(slug, otherSlug)
    await expectInvalid(visitor, await visitor.comeBack(moved), 'state_connection')
    expect(other.requests).not.toContain('/token')
    expect(errorOf(await visitor.comeBack(url))).toBeNull()
    await other.stop()
  })

  test('of another browser, or of none: only its own can use it up', async () => {
    const slug = await connect(provider)
    const { visitor, url } = await back(slug)
    const [other, without] = [new Visitor(server.url), new Visitor(server.url)]
    await other.start(slug)
    await expectInvalid(other, await other.comeBack(url), 'state_browser')
    await expectInvalid(without, await without.comeBack(url), 'state_browser')
    expect(provider.requests).not.toContain('/token')
    expect(errorOf(await visitor.comeBack(url))).toBeNull()
  })

  test('outlives a rotation of the signing key, but not its removal', async () => {
    const slug = await connect(provider)
    const { json: published } = rotateSigningKeys(process.env.SESSION_SIGNING_KEYS!)
    const { json: rotated } = rotateSigningKeys(published)
    for (const [keys, check] of [
      [rotated, undefined],
      [newSigningKeys(), 'state_key'],
    ] as const) {
      const { visitor, url } = await back(slug)
      const next = await startServer({ SESSION_SIGNING_KEYS: keys, PUBLIC_URL: server.url })
      const there = new Visitor(next.url)
      there.cookies.set('browser', visitor.cookies.get('browser')!)
      const landing = await there.comeBack(url)
      expect([errorOf(landing), (await logged(there, next.output)).check]).toEqual([
        check ? 'attempt_invalid' : null,
        check,
      ])
      await next.stop()
    }
  })
})

test('a browser keeps its cookie over several sign-ins, and each sign-in renews its age', async () => {
  const slug = await connect(provider)
  const visitor = new Visitor(server.url)
  const [first] = [await visitor.start(slug), visitor.cookies.get('browser')]
  const cookie = visitor.cookies.get('browser')
  const second = await visitor.start(slug)
  expect(visitor.cookies.get('browser')).toBe(cookie)
  for (const authorization of [second, first!]) {
    const { pathname, search } = await visitor.authorize(authorization)
    const { headers } = await visitor.request(pathname + search)
    expect(headers.getSetCookie()).toEqual([
      `browser=${cookie}; Path=/; Max-Age=${lifetimes.browser}; HttpOnly; SameSite=Lax`,
    ])
    expect(headers.get('referrer-policy'), 'of a URL with a code').toBe('no-referrer')
    const landing = new URL(headers.get('location')!, server.url)
    expect((await exchange(landing, visitor)).status).toBe(200)
  }
})

test('a rejected ID token ends its sign-in, and no other, with the check in the log', async ({ sql }) => {
  const slug = await connect(provider)
  const unaffected = new Visitor(server.url)
  const url = await unaffected.authorize(await unaffected.start(slug))
  provider.behaviour.claims = (claims) => ({ ...claims, nonce: newSecret() })
  await expectRejected(slug, 'id_token_nonce')
  expect(await usersOf(sql, slug)).toEqual([])
  provider.behaviour = {}
  expect(errorOf(await unaffected.comeBack(url))).toBeNull()
})

test.describe('the provider', () => {
  test('its errors get words of ours, and its descriptions are dropped', async () => {
    const slug = await connect(provider)
    provider.behaviour.response = (given) => {
      given.delete('code')
      given.set('error', '<b>Call 555</b>')
      given.set('error_description', 'Call 555')
    }
    await expectRejected(slug, 'provider_error', 'other')
    const landing = await new Visitor(server.url).signIn(slug, '/reports')
    expect(landing.search, 'the way on survives').toBe('?error=other&next=%2Freports')
  })

  test('its error counts only with the state of this browser', async () => {
    const slug = await connect(provider)
    const visitor = new Visitor(server.url)
    const landing = await visitor.open(`/api/auth/sso/${slug}/callback?error=access_denied&state=${newSecret()}`)
    expect(errorOf(landing)).toBe('attempt_invalid')
  })

  test('with unusable metadata: the sign-in ends at its start', async () => {
    const slug = await connect(provider)
    provider.behaviour.metadata = ({ token_endpoint: _, ...given }) => given
    const visitor = new Visitor(server.url)
    expect(errorOf(await visitor.start(slug))).toBe('temporarily_unavailable')
    expect(await logged(visitor)).toMatchObject({ check: 'discovery_metadata', connection: slug, route: 'sso-start' })
  })

  test('with endpoints whose names DNS never answers, takes no sign-in from another provider', async () => {
    const nameServer = await startNameServer({
      'token.localhost': { A: [Buffer.from([127, 0, 0, 1])] },
      'dead-token.localhost': null,
      'dead-keys.localhost': null,
    })
    const own = await startServer({
      NODE_OPTIONS: `--import ${new URL('../support/name-servers.mjs', import.meta.url).href}`,
      NAME_SERVER: nameServer.address,
    })
    const dead = await startProvider()
    const at = (name: string, { issuer }: Provider) => issuer.replace('127.0.0.1', `${name}.localhost`)
    provider.behaviour.metadata = (genuine) => ({ ...genuine, token_endpoint: `${at('token', provider)}/token` })
    const slug = await connect(provider)
    const deadSlugs: string[] = []
    for (const endpoint of ['token', 'keys']) {
      const name = endpoint === 'token' ? 'token_endpoint' : 'jwks_uri'
      dead.behaviour.metadata = (genuine) => ({ ...genuine, [name]: `${at(`dead-${endpoint}`, dead)}/${endpoint}` })
      const deadSlug = await connect(dead)
      await new Visitor(own.url).start(deadSlug) // reads the metadata
      deadSlugs.push(deadSlug, deadSlug, deadSlug, deadSlug)
    }
    const rejected = deadSlugs.map((deadSlug) => new Visitor(own.url).signIn(deadSlug))
    await expect.poll(() => new Set(nameServer.queried).size).toBe(2)
    for (let count = 0; count < 3; count++)
      expect(errorOf(await new Visitor(own.url).signIn(slug)), 'the other provider').toBeNull()
    expect((await Promise.all(rejected)).map(errorOf)).toEqual(deadSlugs.map(() => 'temporarily_unavailable'))
    await own.stop()
    await dead.stop()
    await nameServer.stop()
  })
})

test.describe('accounts', () => {
  const addUser = async (sql: Sql, email: string) =>
    (await sql('INSERT INTO users (email) VALUES ($1) RETURNING id', [email]))[0]!.id as string

  test('a user of the domain is linked by e-mail address, once', async ({ sql }) => {
    const slug = await connect(provider, { provision: false })
    const id = await addUser(sql, `ada@${slug}.example.org`)
    provider.person.email = `ADA@${slug}.Example.ORG`
    expect(errorOf(await new Visitor(server.url).signIn(slug))).toBeNull()
    expect(await usersOf(sql, slug)).toMatchObject([{ id, email: `ada@${slug}.example.org`, sso_only: false }])

    provider.person.sub = 'the next person with this address'
    await expectRejected(slug, 'identity_other_subject', 'no_access')
    expect(await usersOf(sql, slug)).toHaveLength(1)
  })

  const unlinkable: Record<string, [check: string, contact: (domain: string) => Partial<Contact>]> = {
    'no address': ['email_missing', () => ({ email: null })],
    'an unverified address': ['email_unverified', () => ({ isVerified: false })],
    'an address of another domain': ['email_domain', () => ({ email: 'ada@example.com' })],
    'an address of a subdomain': ['email_domain', (domain) => ({ email: `ada@mail.${domain}` })],
    'two addresses': ['email_malformed', (domain) => ({ email: `eve@evil.example,ada@${domain}` })],
    'only a domain': ['email_malformed', (domain) => ({ email: domain })],
    'a display name': ['email_malformed', (domain) => ({ email: `Ada <ada@${domain}>` })],
    'a comment': ['email_malformed', (domain) => ({ email: `ada(x)@${domain}` })],
    'letters that only look like the address': ['email_malformed', (domain) => ({ email: `аda@${domain}` })],
    'a letter that becomes ASCII in lower case': ['email_malformed', (domain) => ({ email: `\u212Aelvin@${domain}` })],
    'a domain with a path': ['email_malformed', (domain) => ({ email: `ada@${domain}/x` })],
    'an address of 270 characters': ['email_malformed', (domain) => ({ email: `${'a'.repeat(250)}@${domain}` })],
  }
  test('links and creates nobody without one verified address of the domain', async ({ sql }) => {
    const slug = await connect(provider)
    const connection = (await findConnection(slug))!
    const email = `ada@${slug}.example.org`
    await addUser(sql, email)
    for (const [what, [check, contact]] of Object.entries(unlinkable)) {
      const identity = { issuer: provider.issuer, subject: 'ada' }
      const arriving = userOfIdentity(connection, identity, async () => ({
        email,
        isVerified: true,
        ...contact(`${slug}.example.org`),
      }))
      await expect(arriving, what).rejects.toMatchObject({ check, error: 'no_access' })
    }
    expect(await usersOf(sql, slug)).toEqual([])
  })

  test('an address of another connection: nobody is linked or created', async ({ sql }) => {
    const slug = await connect(provider)
    await connect(provider) // whose domain the person now has
    await expectRejected(slug, 'email_domain', 'no_access')
    expect(await usersOf(sql, slug)).toEqual([])
  })

  /** What happens after the provider has authenticated a person of the connection. */
  const arrive = async (slug: string, issuer: string, subject: string, name: string) =>
    userOfIdentity((await findConnection(slug))!, { issuer, subject }, async () => ({
      email: `${name}@${slug}.example.org`,
      isVerified: true,
    }))

  test('an identity is known by connection, issuer and subject', async () => {
    const [slug, other] = [await connect(provider), await connect(provider)]
    const id = await arrive(slug, 'https://a.example', 'one', 'ada')
    expect(await arrive(slug, 'https://a.example', 'one', 'anything')).toBe(id)
    const others = [
      await arrive(other, 'https://a.example', 'one', 'ada'),
      await arrive(slug, 'https://b.example', 'one', 'bob'),
      await arrive(slug, 'https://a.example', 'two', 'eve'),
    ]
    expect(new Set([id, ...others]).size).toBe(4)
  })

  test('an unlinked subject is rejected until it is linked, and another subject with the address is linked', async () => {
    const slug = await connect(provider)
    const { id: connectionId } = (await findConnection(slug))!
    const issuer = 'https://a.example'
    const id = await arrive(slug, issuer, 'one', 'ada')
    expect(await unlinkUser(id, connectionId)).toEqual({ subject: 'one', ended: 0 })
    for (const name of ['ada', 'bob'])
      await expect(arrive(slug, issuer, 'one', name)).rejects.toMatchObject({ check: 'subject_unlinked' })
    expect(await arrive(slug, issuer, 'two', 'ada')).toBe(id)
    await unlinkUser(id, connectionId)
    await linkUser(id, { id: connectionId, slug }, { issuer, subject: 'one' })
    expect(await arrive(slug, issuer, 'one', 'bob')).toBe(id)
    await expect(arrive(slug, issuer, 'two', 'ada')).rejects.toMatchObject({ check: 'subject_unlinked' })
  })

  test('a subject of another user, or a user with another subject, is not linked', async () => {
    const slug = await connect(provider)
    const { id: connectionId } = (await findConnection(slug))!
    const issuer = 'https://a.example'
    const [ada, bob] = [await arrive(slug, issuer, 'one', 'ada'), await arrive(slug, issuer, 'two', 'bob')]
    const link = (id: string, subject: string) => linkUser(id, { id: connectionId, slug }, { issuer, subject })
    const advice = (name: string) => `Unlink it first: npm run users -- unlink ${name}@${slug}.example.org ${slug}`
    await expect(link(ada, 'three')).rejects.toThrow(advice('ada'))
    await unlinkUser(bob, connectionId)
    await expect(link(bob, 'one')).rejects.toThrow(advice('ada'))
    await link(bob, 'three')
    await link(bob, 'three')
    expect(await arrive(slug, issuer, 'one', 'ada')).toBe(ada)
    expect(await arrive(slug, issuer, 'three', 'eve')).toBe(bob)
  })

  test('first sign-ins at once: a subject with two addresses, and two subjects with an address', async () => {
    for (let round = 0; round < rounds; round++) {
      const slug = await connect(provider)
      const [first, second] = await Promise.all(
        ['ada', 'bob'].map((name) => arrive(slug, 'https://a.example', 'one', name)),
      )
      expect(second).toBe(first)
      const outcomes = await Promise.allSettled(
        ['two', 'three'].map((subject) => arrive(slug, 'https://a.example', subject, 'eve')),
      )
      const rejected = outcomes.flatMap((outcome) => (outcome.status === 'rejected' ? outcome.reason.check : []))
      expect(rejected).toEqual(['identity_other_subject'])
    }
  })

  test('an address in Unicode is matched in its ASCII form', async ({ sql }) => {
    const domain = `xn--bcher-kva.${randomUUID()}.example.org`
    const slug = await connect(provider, { domains: [domain] })
    provider.person.email = `ada@Bücher.${domain.split('.').slice(1).join('.')}`
    expect(errorOf(await new Visitor(server.url).signIn(slug))).toBeNull()
    expect(await usersOf(sql, slug)).toMatchObject([{ email: `ada@${domain}` }])
  })

  test('a user who is stored with a Unicode domain is linked, and not created again', async ({ sql }) => {
    const domain = `${randomUUID()}.example.org`
    const slug = await connect(provider, { domains: [`xn--bcher-kva.${domain}`] })
    const id = await addUser(sql, `ada@bücher.${domain}`)
    provider.person.email = `ada@xn--bcher-kva.${domain}`
    expect(errorOf(await new Visitor(server.url).signIn(slug))).toBeNull()
    expect(await usersOf(sql, slug)).toMatchObject([{ id, email: `ada@bücher.${domain}` }])
    expect(await sql('SELECT 1 FROM users WHERE email = $1', [provider.person.email])).toEqual([])
  })

  test('without provisioning, nobody is created', async ({ sql }) => {
    const slug = await connect(provider, { provision: false })
    await expectRejected(slug, 'identity_not_provisioned', 'no_access')
    expect(await sql('SELECT 1 FROM users WHERE email = $1', [provider.person.email])).toEqual([])
  })

  test('a disabled user can’t sign in, neither the first time nor later', async ({ sql }) => {
    const slug = await connect(provider)
    const id = await addUser(sql, `ada@${slug}.example.org`)
    await sql('UPDATE users SET disabled_at = now() WHERE id = $1', [id])
    await expectRejected(slug, 'user_disabled', 'no_access')
    expect(await usersOf(sql, slug)).toEqual([])
    await sql('UPDATE users SET disabled_at = NULL WHERE id = $1', [id])
    expect(errorOf(await new Visitor(server.url).signIn(slug))).toBeNull()
    await sql('UPDATE users SET disabled_at = now() WHERE id = $1', [id])
    await expectRejected(slug, 'user_disabled', 'no_access')
  })

  test('with --allow-passwords, a new user may set a password', async ({ sql }) => {
    const slug = await connect(provider, { allowPasswords: true })
    await new Visitor(server.url).signIn(slug)
    expect(await usersOf(sql, slug)).toMatchObject([{ sso_only: false }])
  })

  test('an address that only the user info endpoint has, for the same subject', async ({ sql }) => {
    const slug = await connect(provider)
    const { email } = provider.person
    provider.behaviour.claims = ({ email: _, ...claims }) => claims
    provider.behaviour.userInfo = (person) => ({ ...person, sub: 'another' })
    await expectRejected(slug, 'user_info_sub')
    expect(await usersOf(sql, slug)).toEqual([])
    provider.behaviour.claims = ({ email: _, ...claims }) => ({ ...claims, email_verified: false })
    provider.behaviour.userInfo = (person) => ({ ...person, email_verified: true })
    await expectRejected(slug, 'email_unverified', 'no_access')
    expect(await usersOf(sql, slug)).toEqual([])
    provider.behaviour = { claims: ({ email: _, ...claims }) => claims }
    expect(errorOf(await new Visitor(server.url).signIn(slug))).toBeNull()
    expect(await usersOf(sql, slug)).toMatchObject([{ email }])
    const asked = () => provider.requests.filter((path) => path === '/userinfo').length
    const before = asked()
    await new Visitor(server.url).signIn(slug)
    expect(asked(), 'a known identity needs no address').toBe(before)
  })

  test('Google: a private account with a company address is not the employee', async ({ sql }) => {
    const slug = await connect(provider)
    const connection = (await findConnection(slug))!
    const domain = `${slug}.example.org`
    const arrive = (hostedDomain: string | null) =>
      userOfIdentity(connection, { issuer: 'https://accounts.google.com', subject: randomUUID() }, async () => ({
        email: `ada@${domain}`,
        isVerified: true,
        hostedDomain,
      }))
    for (const hosted of [null, '', 'gmail.com', `${domain}\0`, `\ud800.${domain}`, `${domain}/x`])
      await expect(arrive(hosted)).rejects.toMatchObject({ check: 'email_hosted_domain' })
    expect(await arrive(domain)).toBe((await usersOf(sql, slug))[0]!.id)
  })

  test('simultaneous first sign-ins of one person: one user, one identity', async ({ sql }) => {
    test.setTimeout(300_000)
    for (let round = 0; round < rounds; round++) {
      const slug = await connect(provider)
      const visitors = await Promise.all(
        Array.from({ length: 5 }, async () => {
          const visitor = new Visitor(server.url)
          return { visitor, url: await visitor.authorize(await visitor.start(slug)) }
        }),
      )
      const landings = await Promise.all(visitors.map(({ visitor, url }) => visitor.comeBack(url)))
      expect(landings.map(errorOf)).toEqual(Array(5).fill(null))
      expect(await usersOf(sql, slug)).toHaveLength(1)
      expect(await sql('SELECT 1 FROM users WHERE email = $1', [provider.person.email])).toHaveLength(1)
    }
  })
})

test.describe('a disabled connection', () => {
  const setUp = async () => {
    const slug = await connect(provider)
    const [connection] = await listConnections(slug)
    return { slug, connection: connection! }
  }

  test('refuses at start, callback, exchange and refresh, and ends its sessions', async ({ sql }) => {
    const { slug, connection } = await setUp()
    const [starting, returning, exchanging, signedIn] = Array.from({ length: 4 }, () => new Visitor(server.url))
    const { body: tokens } = await exchange(await signedIn!.signIn(slug), signedIn!)
    const back = await returning!.authorize(await returning!.start(slug))
    const landing = await exchanging!.signIn(slug)
    const [user] = await usersOf(sql, slug)
    await sql(`INSERT INTO sessions (user_id, expires_at) VALUES ($1, now() + interval '1 day')`, [user!.id])

    expect(await disableConnection(connection)).toBe(1)
    for (const [visitor, result] of [
      [starting!, await starting!.start(slug)],
      [returning!, await returning!.comeBack(back)],
    ] as const) {
      expect(errorOf(result)).toBe('connection_unavailable')
      expect((await logged(visitor)).check).toBe('connection')
    }
    expect((await exchange(landing, exchanging!)).body.code).toBe('SSO_EXCHANGE_INVALID')
    expect((await postTo(server.url + paths.refreshSession, { refreshToken: tokens.refreshToken })).body.code).toBe(
      'REFRESH_INVALID',
    )
    const sessions = await sql(
      'SELECT connection_id IS NOT NULL AS sso, revoked_at IS NOT NULL AS revoked FROM sessions WHERE user_id = $1 ORDER BY 1',
      [user!.id],
    )
    expect(sessions).toEqual([
      { sso: false, revoked: false }, // began elsewhere
      { sso: true, revoked: true },
    ])

    await enableConnection(connection)
    expect(errorOf(await returning!.comeBack(back)), 'the attempt was not used up').toBeNull()
    expect((await exchange(landing, exchanging!)).body.code, 'the code is gone').toBe('SSO_EXCHANGE_INVALID')
  })

  test('no code of it can be exchanged, and no session refreshed, even if they were left over', async ({ sql }) => {
    const { slug } = await setUp()
    const [first, second] = [new Visitor(server.url), new Visitor(server.url)]
    const { body } = await exchange(await first.signIn(slug), first)
    const landing = await second.signIn(slug)
    for (const leave of [
      'UPDATE connections SET disabled_at = now() WHERE slug = $1',
      'DELETE FROM connections WHERE slug = $1',
    ]) {
      await sql(leave, [slug])
      expect((await exchange(landing, second)).body.code).toBe('SSO_EXCHANGE_INVALID')
      expect((await postTo(server.url + paths.refreshSession, { refreshToken: body.refreshToken })).body.code).toBe(
        'REFRESH_INVALID',
      )
    }
  })

  test('no code of a user who was unlinked meanwhile can be exchanged', async ({ sql }) => {
    const { slug } = await setUp()
    const visitor = new Visitor(server.url)
    const landing = await visitor.signIn(slug)
    await sql(
      `UPDATE identities SET user_id = NULL WHERE connection_id = (SELECT id FROM connections WHERE slug = $1)`, // `unlink` deletes the codes too
      [slug],
    )
    expect((await exchange(landing, visitor)).body.code).toBe('SSO_EXCHANGE_INVALID')
    provider.person.sub = 'another'
    await new Visitor(server.url).signIn(slug) // links the next person to the user
    expect((await exchange(landing, visitor)).body.code).toBe('SSO_EXCHANGE_INVALID')
  })

  test('no code is issued for an identity that was unlinked meanwhile', async ({ sql }) => {
    const { slug, connection } = await setUp()
    await new Visitor(server.url).signIn(slug)
    const [{ id, ...known }] = (await usersOf(sql, slug)) as [{ id: string; issuer: string; subject: string }]
    const issue = () => issueSsoCode(id, { identity: { connectionId: connection.id, ...known } })
    keepSecret((await issue()).secret)
    const rename = 'UPDATE identities SET subject = $1 WHERE user_id = $2' // the next person is linked to the user
    await sql(rename, [`${known.subject}-2`, id])
    await expect(issue()).rejects.toThrow('identity_unlinked')
    await sql('UPDATE identities SET user_id = NULL WHERE user_id = $1', [id])
    await expect(issue()).rejects.toThrow('identity_unlinked')
  })

  test('no code is issued that waited for its user to be unlinked and linked to the next person', async ({ sql }) => {
    const { slug, connection } = await setUp()
    await new Visitor(server.url).signIn(slug)
    const [{ id, ...known }] = (await usersOf(sql, slug)) as [{ id: string; issuer: string; subject: string }]
    const lock = await lockRow('users', 'id = $1', id)
    await lock.sql('UPDATE identities SET user_id = NULL WHERE user_id = $1', [id])
    const issued = issueSsoCode(id, { identity: { connectionId: connection.id, ...known } }).then(
      ({ secret }) => keepSecret(secret),
      ({ check }) => check,
    )
    await lock.waiting(1)
    await lock.sql(
      `INSERT INTO identities (connection_id, issuer, subject, user_id, created_at)
       VALUES ($1, $2, $3, $4, now() - interval '1 minute')`, // the transaction of a link can begin earlier
      [connection.id, known.issuer, `${known.subject}-2`, id],
    )
    await lock.release()
    expect(await issued).toBe('identity_unlinked')
  })

  test('removing a connection deletes its sign-ins in batches', async ({ sql }) => {
    const { slug, connection } = await setUp()
    await sql(
      `INSERT INTO sign_ins (state_hash, connection_id, browser_hash, kid, expires_at)
       SELECT sha256(($2 || number)::bytea), $1::uuid, sha256('x'), 'kid', now() + interval '20 minutes' FROM generate_series(1, 20001) number`,
      [connection.id, slug],
    )
    const log = `deleted_${randomBytes(6).toString('hex')}`
    await sql(`
      CREATE TABLE ${log} (count int);
      CREATE FUNCTION ${log}() RETURNS trigger LANGUAGE plpgsql AS $$
        BEGIN INSERT INTO ${log} SELECT count(*) FROM gone; RETURN NULL; END $$;
      CREATE TRIGGER ${log} AFTER DELETE ON sign_ins REFERENCING OLD TABLE AS gone
        FOR EACH STATEMENT EXECUTE FUNCTION ${log}()`)
    try {
      await removeConnection(connection)
      expect(await sql('SELECT 1 FROM sign_ins WHERE connection_id = $1', [connection.id])).toEqual([])
      expect(await sql('SELECT 1 FROM connections WHERE id = $1', [connection.id])).toEqual([])
      const [{ most }] = (await sql(`SELECT max(count) AS most FROM ${log}`)) as [{ most: number }]
      expect(most).toBe(10_000)
    } finally {
      await sql(`DROP TRIGGER ${log} ON sign_ins; DROP FUNCTION ${log}(); DROP TABLE ${log}`)
    }
  })

  test('a session that is starting when its connection is disabled ends', async ({ sql }) => {
    const { slug, connection } = await setUp()
    await new Visitor(server.url).signIn(slug)
    const [user] = await usersOf(sql, slug)
    const starting = new pg.Client({ connectionString: process.env.DATABASE_URL })
    await starting.connect()
    try {
      await starting.query('BEGIN')
      await starting.query(
        `INSERT INTO sessions (user_id, connection_id, expires_at) VALUES ($1, $2, now() + interval '1 day')`,
        [user!.id, connection.id],
      )
      const { rows } = await starting.query('SELECT pg_backend_pid() AS pid')
      const disabling = disableConnection(connection)
      const waiting = 'SELECT 1 FROM pg_stat_activity WHERE $1 = ANY (pg_blocking_pids(pid))'
      await expect.poll(async () => (await sql(waiting, [rows[0].pid])).length).toBe(1)
      const isDisabled = await sql('SELECT 1 FROM connections WHERE id = $1 AND disabled_at IS NOT NULL', [
        connection.id,
      ])
      expect(isDisabled, 'no other session starts meanwhile').toHaveLength(1)
      await starting.query('COMMIT')
      expect(await disabling).toBe(1)
    } finally {
      await starting.end()
    }
    expect(await sql('SELECT 1 FROM sessions WHERE user_id = $1 AND revoked_at IS NULL', [user!.id])).toEqual([])
  })

  test('disabled while codes are exchanged: no live session is left, and nothing deadlocks', async ({ sql }) => {
    test.setTimeout(300_000)
    for (let round = 0; round < rounds; round++) {
      const { slug, connection } = await setUp()
      const visitors = await Promise.all(
        Array.from({ length: 4 }, async () => {
          const visitor = new Visitor(server.url)
          return { visitor, landing: await visitor.signIn(slug) }
        }),
      )
      const exchanges = visitors.map(({ visitor, landing }) => exchange(landing, visitor))
      if (round % 4 > 0) await Promise.race(exchanges.slice(0, round % 4))
      const [responses] = await Promise.all([Promise.all(exchanges), disableConnection(connection)])
      for (const { status } of responses) expect([200, 400]).toContain(status)
      const live = await sql('SELECT 1 FROM sessions WHERE connection_id = $1 AND revoked_at IS NULL', [connection.id])
      expect(live).toEqual([])
    }
  })
})

test('an unknown connection, and methods other than GET', async () => {
  for (const slug of ['unknown', 'exchange', '%00', 'a'.repeat(200), '..%2f..']) {
    const visitor = new Visitor(server.url)
    expect(errorOf(await visitor.start(slug))).toBe('connection_unavailable')
    const line = await logged(visitor)
    expect([line.check, line.connection]).toEqual(['connection', undefined])
  }
  for (const path of ['start', 'callback']) {
    const response = await fetch(`${server.url}/api/auth/sso/x/${path}`, { method: 'POST' })
    expect([response.status, response.headers.get('allow')]).toEqual([405, 'GET, HEAD'])
  }
})

test('`next` of another site is dropped', async () => {
  const slug = await connect(provider)
  for (const next of [
    'https://evil.example/',
    '//evil.example',
    '/api/auth/session',
    '/\\evil.example',
    'javascript:alert(1)',
  ]) {
    const landing = await new Visitor(server.url).signIn(slug, next)
    expect([...landing.searchParams.keys()], next).toEqual(['code'])
  }
})

test('`next` is dropped if a URL with it would be too long, and the sign-in completes', async () => {
  const slug = randomBytes(32).toString('hex').slice(1) // the longest
  await connect(provider, { slug, domains: [`${slug}.example.org`] })
  provider.person.email = `ada@${slug}.example.org`
  for (const [characters, isKept] of [
    [189, true],
    [190, false],
    [250, false],
  ] as const) {
    const next = `/${'ü'.repeat(characters)}`
    const kept = isKept ? encodeURI(next) : null
    const visitor = new Visitor(server.url)
    const form = new URLSearchParams({ email: String(provider.person.email), next })
    const found = await visitor.open(paths.findSsoConnection, form)
    expect(found.searchParams.get('next')).toBe(kept)
    const page = await visitor.request(found.pathname + found.search)
    expect(page.status).toBe(200)
    expect(await page.text()).toContain(
      `/api/auth/sso/${slug}/start${kept ? `?next=${encodeURIComponent(kept)}` : ''}"`,
    )
    for (const given of kept ? [next, kept] : [next]) {
      const landing = await visitor.signIn(slug, given)
      expect([errorOf(landing), landing.searchParams.get('next')]).toEqual([null, kept])
      expect((await visitor.request(landing.pathname + landing.search)).status).toBe(200)
    }
  }
})

test('every start deletes a few sign-ins that ended long ago, so that starts alone never fill the table', async ({
  sql,
}) => {
  const slug = await connect(provider)
  const old = (minutes: number) =>
    sql(
      `INSERT INTO sign_ins (state_hash, connection_id, browser_hash, kid, expires_at)
       SELECT sha256(gen_random_uuid()::text::bytea), id, sha256('old'), 'x', now() - make_interval(mins => $2)
       FROM connections, generate_series(1, 6) WHERE slug = $1`,
      [slug, minutes],
    )
  const left = () =>
    sql(
      `SELECT count(*)::int AS left FROM sign_ins
       WHERE connection_id = (SELECT id FROM connections WHERE slug = $1) AND browser_hash = sha256('old')`,
      [slug],
    )
  await old(50)
  await old(100_000) // older than those of other tests
  const leftAfterStart = async () => {
    await new Visitor(server.url).start(slug) // deletes what earlier ones left, too
    return left()
  }
  await expect.poll(leftAfterStart).toEqual([{ left: 6 }]) // those that ended within the last hour
})

test('an address leads to its connection, while that is enabled', async () => {
  const name = `Acme ${randomUUID()}`
  const slug = await connect(provider, { name, listed: true })
  const find = async (next: string) => {
    const visitor = new Visitor(server.url)
    const { pathname, search } = await visitor.open(
      paths.findSsoConnection,
      new URLSearchParams({ email: `ada@${slug.toUpperCase()}.example.org`, next }),
    )
    const page = await (await visitor.request('/sign-in')).text()
    return { wayOn: pathname + search, isOffered: page.includes(name) }
  }
  expect(await find('/reports')).toEqual({
    wayOn: `/sign-in?connection=${slug}&next=%2Freports`,
    isOffered: true,
  })
  expect((await find('https://evil.example/')).wayOn).toBe(`/sign-in?connection=${slug}`)
  await disableConnection((await listConnections(slug))[0]!)
  expect(await find('/reports')).toEqual({ wayOn: '/sign-in?error=unknown&next=%2Freports', isOffered: false })
})
