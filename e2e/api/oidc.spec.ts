import { createHash, createHmac, createPublicKey, randomBytes, randomUUID } from 'node:crypto'
import http, { type RequestOptions } from 'node:http'
import https from 'node:https'
import { gzipSync } from 'node:zlib'
import { exportSPKI, generateKeyPair } from 'jose'
import pg from 'pg'
import { lifetimes } from '../../lib/contract/lifetimes'
import * as paths from '../../lib/contract/paths'
import { newSecret } from '../../lib/secret'
import { newSigningKeys, rotateSigningKeys } from '../../lib/settings/signing-keys'
import { findConnection, type OidcConnection, redirectUri } from '../../lib/sso/connection'
import { issueSsoCode } from '../../lib/sso/exchange'
import { userOfIdentity } from '../../lib/sso/identity'
import {
  disableConnection,
  enableConnection,
  linkUser,
  listConnections,
  removeConnection,
  unlinkUser,
} from '../../lib/sso/manage'
import { authenticate, authorizationUrl } from '../../lib/sso/oidc'
import { ConnectionSettings } from '../../lib/sso/settings'
import { exchangePath, expect, keepSecret, newAddress, postTo, type Sql, test } from '../support/fixtures'
import { startNameServer } from '../support/name-server'
import {
  type Behaviour,
  clientSecret,
  connect,
  type Provider,
  signed,
  startProvider,
  Visitor,
} from '../support/oidc-provider'
import { lockRow } from '../support/row-lock'
import { type Server, startServer } from '../support/server'

let server: Server
let provider: Provider
test.beforeAll(async () => {
  server = await startServer()
})
test.afterAll(() => server?.stop())
test.beforeEach(async () => {
  provider = await startProvider()
})
test.afterEach(() => provider.stop())

/** Adds as much to a response of the provider as it lacks of a size. */
const sized = (genuine: object, bytes: number) => ({
  ...genuine,
  more: 'x'.repeat(bytes - JSON.stringify({ ...genuine, more: '' }).length),
})
const metadataBytes = 32 * 1024
const responseBytes = 64 * 1024

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

const { privateKey: foreignKey } = await generateKeyPair('RS256', { extractable: true })
const part = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url')
const withoutSignature = (header: object, claims: object) => `${part(header)}.${part(claims)}.`
const hs256 = (claims: object, secret: string) => {
  const input = `${part({ alg: 'HS256', typ: 'JWT' })}.${part(claims)}`
  return `${input}.${createHmac('sha256', secret).update(input).digest('base64url')}`
}
const allowsEverything = (metadata: object) => ({
  ...metadata,
  id_token_signing_alg_values_supported: ['RS256', 'HS256', 'none'],
})
const now = () => Math.floor(Date.now() / 1000)

const forged: Record<string, [check: string, behaviour: Behaviour]> = {
  'a foreign key': ['id_token_signature', { sign: (claims) => signed(claims, { privateKey: foreignKey } as never) }],
  'a foreign key that the header brings along': [
    'id_token_signature',
    {
      sign: async (claims) => {
        const { kty, n, e } = createPublicKey(foreignKey as never).export({ format: 'jwk' })
        return signed(claims, { privateKey: foreignKey } as never, { jwk: { kty, n, e } })
      },
    },
  ],
  'a key that the provider does not publish': [
    'id_token_key',
    { sign: (claims) => signed(claims, { privateKey: foreignKey } as never, { kid: 'key-2' }) },
  ],
  'a signature that was cut off': [
    'id_token_signature',
    { sign: async (claims, keys) => (await signed(claims, keys)).replace(/[^.]*$/, '') },
  ],
  'changed claims': [
    'id_token_signature',
    {
      sign: async (claims, keys) => {
        const [header, , signature] = (await signed(claims, keys)).split('.')
        return `${header}.${part({ ...claims, sub: 'another' })}.${signature}`
      },
    },
  ],
  'alg none': ['id_token_alg', { sign: (claims) => withoutSignature({ alg: 'none' }, claims) }],
  'alg none, as the metadata allows': [
    'id_token_alg',
    { sign: (claims) => withoutSignature({ alg: 'none' }, claims), metadata: allowsEverything },
  ],
  'HS256 with the client secret': ['id_token_alg', { sign: (claims) => hs256(claims, clientSecret) }],
  'HS256 with the client secret, as the metadata allows': [
    'id_token_alg',
    { sign: (claims) => hs256(claims, clientSecret), metadata: allowsEverything },
  ],
  'HS256 with the public key, as the metadata allows': [
    'id_token_alg',
    {
      sign: async (claims, { publicKey }) => hs256(claims, await exportSPKI(publicKey)),
      metadata: allowsEverything,
    },
  ],
  'no JWT': ['id_token_format', { sign: () => 'abc' }],
  'no ID token': ['id_token_missing', { token: ({ id_token: _, ...body }) => ({ body }) }],
  'another nonce': ['id_token_nonce', { claims: (claims) => ({ ...claims, nonce: newSecret() }) }],
  'no nonce': ['id_token_nonce', { claims: ({ nonce: _, ...claims }) => claims }],
  'another issuer': ['id_token_iss', { claims: (claims) => ({ ...claims, iss: 'https://accounts.google.com' }) }],
  'an issuer with a slash': ['id_token_iss', { claims: (claims) => ({ ...claims, iss: `${claims.iss}/` }) }],
  'another audience': ['id_token_aud', { claims: (claims) => ({ ...claims, aud: 'another-client' }) }],
  'an empty audience': ['id_token_aud', { claims: (claims) => ({ ...claims, aud: [] }) }],
  'two audiences without azp': ['id_token_aud', { claims: (claims) => ({ ...claims, aud: [claims.aud, 'other'] }) }],
  'two audiences, and azp is the other': [
    'id_token_azp',
    { claims: (claims) => ({ ...claims, aud: [claims.aud, 'other'], azp: 'other' }) },
  ],
  'one audience, and azp is another': ['id_token_azp', { claims: (claims) => ({ ...claims, azp: 'other' }) }],
  'nbf in two minutes': ['id_token_nbf', { claims: (claims) => ({ ...claims, nbf: now() + 120 }) }],
  'exp two minutes ago': ['id_token_exp', { claims: (claims) => ({ ...claims, exp: now() - 120 }) }],
  'iat in two minutes': ['id_token_iat', { claims: (claims) => ({ ...claims, iat: now() + 120 }) }],
  'an empty sub': ['id_token_sub', { claims: (claims) => ({ ...claims, sub: '' }) }],
  'a number as sub': ['id_token_sub', { claims: (claims) => ({ ...claims, sub: 7 }) }],
  'an endless sub': ['id_token_sub', { claims: (claims) => ({ ...claims, sub: 'x'.repeat(256) }) }],
  'half a surrogate pair in sub': ['id_token_sub', { claims: (claims) => ({ ...claims, sub: 'a\ud800' }) }],
  'a NUL in sub': ['id_token_sub', { claims: (claims) => ({ ...claims, sub: 'a\0b' }) }],
  'another iss parameter': ['response_iss', { response: (given) => given.set('iss', 'https://accounts.google.com') }],
  'no iss parameter, where it was announced': ['response_iss', { response: (given) => given.delete('iss') }],
  'no code': ['response_code', { response: (given) => given.delete('code') }],
  'two codes': ['response_invalid', { response: (given) => given.append('code', 'x') }],
  'an ID token in the URL': ['id_token_alg', { response: (given) => given.append('id_token', 'x.y.z') }],
}
for (const claim of ['iss', 'sub', 'aud', 'exp', 'iat'])
  forged[`no ${claim}`] = [`id_token_${claim}`, { claims: ({ [claim]: _, ...claims }) => claims }]

test.describe('rejects an ID token or a response with', () => {
  for (const [what, [check, behaviour]] of Object.entries(forged)) {
    test(what, async ({ sql }) => {
      const slug = await connect(provider)
      const unaffected = new Visitor(server.url)
      const url = await unaffected.authorize(await unaffected.start(slug))
      provider.behaviour = behaviour
      const mine = behaviour.metadata ? await connect(provider) : slug // metadata is cached by connection
      await expectRejected(mine, check)
      expect(await usersOf(sql, mine)).toEqual([])
      provider.behaviour = {}
      provider.person.email = `ada@${slug}.example.org`
      expect(errorOf(await unaffected.comeBack(url)), 'another attempt is unaffected').toBeNull()
    })
  }

  test('a code of another sign-in (PKCE)', async ({ sql }) => {
    const slug = await connect(provider)
    const [visitor, attacker] = [new Visitor(server.url), new Visitor(server.url)]
    const stolen = await visitor.authorize(await visitor.start(slug))
    const own = await attacker.authorize(await attacker.start(slug))
    own.searchParams.set('code', stolen.searchParams.get('code')!)
    expect(errorOf(await attacker.comeBack(own))).toBe('server_error')
    expect((await logged(attacker)).check).toBe('token_invalid_grant')
    expect(await usersOf(sql, slug)).toEqual([])
  })
})

test('accepts what specifications leave open: no iss parameter, clocks 30 s apart, our own azp, one audience in an array', async () => {
  const slug = await connect(provider, {})
  provider.behaviour = {
    metadata: ({ authorization_response_iss_parameter_supported: _, ...metadata }) => metadata,
    response: (given) => given.delete('iss'),
    claims: (claims) => ({ ...claims, aud: [claims.aud], azp: claims.aud, iat: now() + 30, nbf: now() + 30 }),
  }
  expect(errorOf(await new Visitor(server.url).signIn(slug))).toBeNull()
  provider.behaviour.claims = (claims) => ({ ...claims, exp: now() - 30 })
  expect(errorOf(await new Visitor(server.url).signIn(slug))).toBeNull()
})

test('the client secret goes where the provider accepts it', async () => {
  const post = await startProvider({
    metadata: (metadata) => ({ ...metadata, token_endpoint_auth_methods_supported: ['client_secret_post'] }),
  })
  const slug = await connect(post)
  const visitor = new Visitor(server.url)
  await visitor.signIn(slug)
  expect((await logged(visitor)).check).toBe('token_invalid_client') // this provider reads the header only
  await post.stop()
  expect(errorOf(await new Visitor(server.url).signIn(await connect(provider)))).toBeNull()
})

test.describe('the provider', () => {
  test('its errors get words of ours, and its descriptions are dropped', async () => {
    const slug = await connect(provider)
    for (const [error, check, shown] of [
      ['access_denied', 'provider_access_denied', 'access_denied'],
      ['login_required', 'provider_login_required', 'login_required'],
      ['temporarily_unavailable', 'provider_temporarily_unavailable', 'temporarily_unavailable'],
      ['server_error', 'provider_server_error', 'server_error'],
      ['<b>Call 555</b>', 'provider_error', 'other'],
    ] as const) {
      provider.behaviour.response = (given) => {
        given.delete('code')
        given.set('error', error)
        given.set('error_description', 'Call 555')
      }
      await expectRejected(slug, check, shown)
    }
    const landing = await new Visitor(server.url).signIn(slug, '/reports')
    expect(landing.search, 'the way on survives').toBe('?error=other&next=%2Freports')
  })

  test('its error counts only with the state of this browser', async () => {
    const slug = await connect(provider)
    const visitor = new Visitor(server.url)
    const landing = await visitor.open(`/api/auth/sso/${slug}/callback?error=access_denied&state=${newSecret()}`)
    expect(errorOf(landing)).toBe('attempt_invalid')
  })

  const broken: Record<string, [check: string, error: string, behaviour: Behaviour]> = {
    'a token endpoint that never responds': [
      'provider_timeout',
      'temporarily_unavailable',
      { token: (body) => ({ body, delayMs: 60_000 }) },
    ],
    'keys that never arrive': [
      'provider_timeout',
      'temporarily_unavailable',
      { jwks: (body) => ({ body, delayMs: 60_000 }) },
    ],
    'a token endpoint that fails': [
      'token_response',
      'temporarily_unavailable',
      { token: () => ({ status: 502, body: 'Bad gateway', headers: { 'Content-Type': 'text/html' } }) },
    ],
    'a token error with a text of its own': [
      'token_error',
      'server_error',
      { token: () => ({ status: 400, body: { error: 'x'.repeat(100) } }) },
    ],
    'a token response of more than 64 KiB': [
      'provider_response_size',
      'temporarily_unavailable',
      { token: (genuine) => ({ body: sized(genuine, responseBytes + 1) }) },
    ],
    'a compressed token response': [
      'provider_response_encoding',
      'temporarily_unavailable',
      {
        token: (genuine) => ({
          headers: { 'Content-Encoding': 'gzip' },
          body: gzipSync(JSON.stringify(genuine)),
        }),
      },
    ],
    'keys of more than 64 KiB': [
      'provider_response_size',
      'temporarily_unavailable',
      { jwks: (genuine) => ({ body: sized(genuine, responseBytes + 1) }) },
    ],
    'user info of more than 64 KiB': [
      'provider_response_size',
      'temporarily_unavailable',
      { claims: ({ email: _, ...claims }) => claims, userInfo: (genuine) => sized(genuine, responseBytes + 1) },
    ],
  }
  for (const [what, [check, error, behaviour]] of Object.entries(broken)) {
    test(`${what}: ${check}`, async () => {
      const slug = await connect(provider)
      provider.behaviour = behaviour
      await expectRejected(slug, check, error)
    })
  }

  test('its responses may have 64 KiB, and its metadata 32 KiB', async () => {
    provider.behaviour = {
      metadata: (genuine) => sized(genuine, metadataBytes),
      jwks: (genuine) => ({ body: sized(genuine, responseBytes) }),
      token: (genuine) => ({ body: sized(genuine, responseBytes) }),
      claims: ({ email: _, ...claims }) => claims,
      userInfo: (genuine) => sized(genuine, responseBytes),
    }
    expect(errorOf(await new Visitor(server.url).signIn(await connect(provider)))).toBeNull()
  })

  test('a token endpoint that redirects leads nowhere: token_response', async () => {
    const internal = await startProvider()
    const slug = await connect(provider)
    const headers = { Location: `${internal.issuer}/token` }
    provider.behaviour.token = () => ({ status: 307, body: '', headers })
    await expectRejected(slug, 'token_response', 'temporarily_unavailable')
    expect(internal.requests).toEqual([])
    await internal.stop()
  })

  const undiscoverable: Record<string, [check: string, behaviour: Behaviour]> = {
    'another issuer': [
      'discovery_issuer',
      { metadata: (given) => ({ ...given, issuer: 'https://accounts.google.com' }) },
    ],
    'a NUL after the issuer, which a URL drops': [
      'discovery_issuer',
      { metadata: (given) => ({ ...given, issuer: `${given.issuer}\0` }) },
    ],
    'more than 32 KiB': ['provider_response_size', { metadata: (given) => sized(given, metadataBytes + 1) }],
    'no endpoint': ['discovery_metadata', { metadata: ({ authorization_endpoint: _, ...given }) => given }],
    'no token endpoint': ['discovery_metadata', { metadata: ({ token_endpoint: _, ...given }) => given }],
    'no keys': ['discovery_metadata', { metadata: ({ jwks_uri: _, ...given }) => given }],
  }
  for (const [what, [check, behaviour]] of Object.entries(undiscoverable)) {
    test(`metadata with ${what}: ${check}`, async () => {
      const slug = await connect(provider)
      provider.behaviour = behaviour
      const visitor = new Visitor(server.url)
      expect(errorOf(await visitor.start(slug))).toBe('temporarily_unavailable')
      expect(await logged(visitor)).toMatchObject({ check, connection: slug, route: 'sso-start' })
    })
  }

  test('metadata that can’t be used is fetched once in five seconds, and a mended provider works again', async () => {
    const slug = await connect(provider)
    provider.behaviour.metadata = ({ authorization_endpoint: _, ...given }) => given
    const visitors = Array.from({ length: 10 }, () => new Visitor(server.url))
    const [first, ...others] = visitors
    for (const landing of [await first!.start(slug), ...(await Promise.all(others.map((other) => other.start(slug))))])
      expect(errorOf(landing)).toBe('temporarily_unavailable')
    for (const visitor of visitors) expect((await logged(visitor)).check).toBe('discovery_metadata')
    expect(provider.requests).toEqual(['/.well-known/openid-configuration'])
    provider.behaviour = {}
    const signIn = async () => errorOf(await new Visitor(server.url).signIn(slug))
    await expect.poll(signIn, { timeout: 30_000 }).toBeNull()
  })

  test('dead: provider_unreachable', async () => {
    const slug = await connect(provider)
    await provider.stop()
    const visitor = new Visitor(server.url)
    expect(errorOf(await visitor.start(slug))).toBe('temporarily_unavailable')
    expect((await logged(visitor)).check).toBe('provider_unreachable')
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

  const fetched = () => provider.requests.filter((path) => path.includes('well-known')).length
  /** Starts a sign-in in this process, whose clock the test sets. */
  const startHere = async (slug: string) =>
    authorizationUrl((await findConnection(slug)) as OidcConnection, {
      state: 'x',
      nonce: 'x',
      codeVerifier: 'x'.repeat(43),
    })

  test('a failed discovery is kept for five seconds, with its error, or until the settings change', async ({ sql }) => {
    const slug = await connect(provider)
    provider.behaviour.metadata = ({ token_endpoint: _, ...given }) => given
    const start = () =>
      startHere(slug).then(
        () => null,
        (error) => error.check,
      )
    const realNow = performance.now.bind(performance)
    const startedAt = realNow()
    try {
      performance.now = () => startedAt
      expect(await Promise.all([start(), start(), start()])).toEqual(Array(3).fill('discovery_metadata'))
      performance.now = () => startedAt + 4_999
      expect(await start()).toBe('discovery_metadata')
      expect(fetched()).toBe(1)
      await sql(`UPDATE connections SET settings = settings || '{"clientId":"another"}' WHERE slug = $1`, [slug])
      expect(await start()).toBe('secrets') // which are bound to the client
      await sql(`UPDATE connections SET settings = settings || '{"clientId":"the-client"}' WHERE slug = $1`, [slug])
      expect(await start()).toBe('discovery_metadata')
      expect(fetched()).toBe(2)
      provider.behaviour = {}
      performance.now = () => startedAt + 4_999 + 5_001
      expect(await start()).toBeNull()
      expect(fetched()).toBe(3)
    } finally {
      performance.now = realNow
    }
  })

  test('its metadata is fetched once, then hourly, and at once when the settings change', async ({ sql }) => {
    const slug = await connect(provider)
    const start = () => startHere(slug)
    await Promise.all([start(), start(), start()])
    expect(fetched()).toBe(1)
    const realNow = performance.now.bind(performance)
    try {
      performance.now = () => realNow() + 3_599_000
      await start()
      expect(fetched()).toBe(1)
      performance.now = () => realNow() + 3_601_000
      await start()
      expect(fetched()).toBe(2)
    } finally {
      performance.now = realNow
    }
    await sql(`UPDATE connections SET settings = settings || '{"tenants":["${randomUUID()}"]}' WHERE slug = $1`, [slug])
    await start()
    expect(fetched()).toBe(3)
  })

  test('the secret goes to no other issuer, even if somebody changes it in the database', async ({ sql }) => {
    const thief = await startProvider()
    const slug = await connect(provider)
    await sql(`UPDATE connections SET settings = jsonb_set(settings, '{issuer}', to_jsonb($2::text)) WHERE slug = $1`, [
      slug,
      thief.issuer,
    ])
    const visitor = new Visitor(server.url)
    expect(errorOf(await visitor.start(slug))).toBe('unavailable')
    expect((await logged(visitor)).check).toBe('secrets')
    expect(thief.requests).toEqual([])
    await thief.stop()
  })

  test('the secret works at no other connection, and for no other client', async ({ sql }) => {
    const [slug, other] = [await connect(provider), await connect(provider)]
    await sql(
      `UPDATE connections SET sealed_secrets = (SELECT sealed_secrets FROM connections WHERE slug = $2) WHERE slug = $1`,
      [slug, other],
    )
    await sql(`UPDATE connections SET settings = settings || '{"clientId":"another"}' WHERE slug = $1`, [other])
    for (const changed of [slug, other]) {
      const visitor = new Visitor(server.url)
      expect(errorOf(await visitor.start(changed))).toBe('unavailable')
      expect((await logged(visitor)).check).toBe('secrets')
    }
  })
})

test.describe('a provider with https', () => {
  const secrets = { state: newSecret(), nonce: newSecret(), codeVerifier: newSecret() }

  /** Runs `work` while this process finds the provider of the test at an issuer with https. */
  async function standingIn<Result>(
    issuer: string,
    work: (connection: OidcConnection, slug: string) => Promise<Result>,
  ): Promise<Result> {
    const { metadata, claims } = provider.behaviour
    Object.assign(provider.behaviour, {
      metadata: (genuine) => {
        const moved = Object.entries(genuine).map(([name, value]) => [
          name,
          typeof value === 'string' ? value.replace(provider.issuer, issuer) : value,
        ])
        const own = Object.fromEntries(moved)
        return metadata?.(own) ?? own
      },
      claims: (genuine) => ({ ...genuine, iss: issuer, ...claims?.(genuine) }),
      response: (given) => given.set('iss', issuer),
    } satisfies Behaviour)
    const slug = await connect(provider, { settings: { kind: 'oidc', issuer, clientId: 'the-client' } })
    const { request } = https
    try {
      https.request = ((url: string, options: RequestOptions) =>
        http.request(url.replace(issuer, provider.issuer), options)) as typeof request
      return await work((await findConnection(slug)) as OidcConnection, slug)
    } finally {
      https.request = request
    }
  }

  const signIn = (issuer: string) =>
    standingIn(issuer, async (connection, slug) => {
      const url = await authorizationUrl(connection, secrets)
      const back = await new Visitor(server.url).authorize(new URL(url.href.replace(issuer, provider.issuer)))
      expect(back.origin + back.pathname).toBe(redirectUri(slug))
      const { identity, contact } = await authenticate(connection, back.search, secrets)
      return { identity, contact: await contact() }
    })

  test('with https has no endpoint with http', async () => {
    for (const endpoint of ['authorization_endpoint', 'token_endpoint', 'jwks_uri']) {
      provider.behaviour = { metadata: (own) => ({ ...own, [endpoint]: `${provider.issuer}/${endpoint}` }) }
      await expect(signIn('https://idp.example.com'), endpoint).rejects.toThrow(/provider_http/)
    }
    provider.behaviour = {}
    expect((await signIn('https://idp.example.com')).identity.subject).toBe(provider.person.sub)
  })

  test('its metadata is copied when it is fetched, and not for each sign-in', async () => {
    const clone = globalThis.structuredClone
    let copies = 0
    try {
      globalThis.structuredClone = ((value: object, ...more: []) => {
        if (Object.hasOwn(value, 'jwks_uri')) copies += 1
        return clone(value, ...more)
      }) as typeof structuredClone
      await signIn('https://idp.example.com')
    } finally {
      globalThis.structuredClone = clone
    }
    expect(copies, 'one for the library, and one for us').toBe(2)
  })

  test('Entra ID: oid is the user, because sub differs per app', async () => {
    const issuer = `https://login.microsoftonline.com/${randomUUID()}/v2.0`
    const oid = randomUUID()
    provider.behaviour = { claims: () => ({ oid }) }
    expect((await signIn(issuer)).identity).toEqual({ issuer, subject: oid })
    for (const other of [undefined, '', 7]) {
      provider.behaviour = { claims: () => ({ oid: other }) }
      await expect(signIn(issuer), String(other)).rejects.toMatchObject({ check: 'id_token_sub' })
    }
  })

  test('Google: hd in the ID token is the domain that it hosts', async () => {
    const issuer = 'https://accounts.google.com'
    for (const [hd, hostedDomain] of [
      ['example.com', 'example.com'],
      [undefined, null],
      [['example.com'], null],
    ]) {
      provider.behaviour = { claims: () => ({ hd }) }
      expect((await signIn(issuer)).contact.hostedDomain, String(hd)).toBe(hostedDomain)
    }
    provider.behaviour = { claims: () => ({ email: undefined }), userInfo: (own) => ({ ...own, hd: 'example.com' }) }
    const { contact } = await signIn(issuer)
    expect(contact).toEqual({ email: provider.person.email, isVerified: true, hostedDomain: null })
  })

  test('another issuer than Google has no word on hosted domains', async () => {
    provider.behaviour = { claims: () => ({ hd: 'example.com' }) }
    expect((await signIn('https://accounts.google.com.example.com')).contact.hostedDomain).toBeUndefined()
  })
})

test.describe('settings', () => {
  const oidc = (settings: object) =>
    ConnectionSettings.safeParse({ kind: 'oidc', issuer: 'https://idp.example.com', clientId: 'x', ...settings })
      .success
  test('reject what would trust too much', () => {
    expect(oidc({})).toBe(true)
    expect(oidc({ issuer: 'http://localhost:8080' })).toBe(true) // this service has http here
    for (const issuer of [
      'http://idp.example.com',
      'http://10.0.0.1',
      'ftp://idp.example.com',
      'https://idp.example.com/.well-known/openid-configuration',
      'https://idp.example.com/?x=y',
      'https://idp.example.com/#x',
      'idp.example.com',
    ])
      expect(oidc({ issuer }), issuer).toBe(false)
    const tenant = randomUUID()
    for (const path of [
      '/common/v2.0',
      '/organizations/v2.0',
      '/consumers/v2.0',
      '/Common/v2.0',
      '//common/v2.0',
      '/%63ommon/v2.0',
      `/${tenant}/../common/v2.0`,
      `/${tenant}%2f..%2fcommon/v2.0`,
      '/9188040d-6c67-4c5b-b112-36a304b66dad/v2.0', // the tenant of personal accounts
      '/9188040D-6C67-4C5B-B112-36A304B66DAD/v2.0',
      '/live.com/v2.0',
      '/',
    ]) {
      const issuer = `https://login.microsoftonline.com${path}`
      expect(oidc({ issuer }), issuer).toBe(false)
      expect(oidc({ issuer, tenants: [] }), issuer).toBe(false)
      expect(oidc({ issuer, tenants: [tenant] }), issuer).toBe(true)
    }
    for (const path of [`/${tenant}/v2.0`, `/${tenant.toUpperCase()}/v2.0`, `/common/../${tenant}/v2.0`])
      expect(oidc({ issuer: `https://login.microsoftonline.com${path}` }), path).toBe(true)
    expect(oidc({ kind: 'ldap' })).toBe(false)
    expect(oidc({ more: 1 })).toBe(false)
  })

  test('a service with https accepts no issuer with http', () => {
    const { PUBLIC_URL } = process.env
    try {
      process.env.PUBLIC_URL = 'https://login.example.com'
      expect(oidc({ issuer: 'http://localhost:8080' })).toBe(false)
    } finally {
      process.env.PUBLIC_URL = PUBLIC_URL
    }
  })

  test('with tenants, a token of another tenant is rejected', async ({ sql }) => {
    const slug = await connect(provider)
    const tenant = randomUUID()
    await sql(
      `UPDATE connections SET settings = settings || jsonb_build_object('tenants', ARRAY[$2]) WHERE slug = $1`,
      [slug, tenant],
    )
    for (const tid of [undefined, randomUUID()]) {
      provider.behaviour.claims = (claims) => ({ ...claims, tid })
      await expectRejected(slug, 'id_token_tid', 'no_access')
    }
    provider.behaviour.claims = (claims) => ({ ...claims, tid: tenant })
    expect(errorOf(await new Visitor(server.url).signIn(slug))).toBeNull()
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

  const unlinkable: Record<string, [check: string, person: (slug: string) => object]> = {
    'no e-mail address': ['email_missing', () => ({ email: null })],
    'an unverified address': ['email_unverified', () => ({ email_verified: false })],
    'an unverified address, as text': ['email_unverified', () => ({ email_verified: 'false' })],
    'an address of another domain': ['email_domain', () => ({ email: 'ada@example.com' })],
    'an address of a subdomain': ['email_domain', (slug) => ({ email: `ada@mail.${slug}.example.org` })],
    'two addresses': ['email_malformed', (slug) => ({ email: `eve@evil.example,ada@${slug}.example.org` })],
    'only a domain': ['email_malformed', (slug) => ({ email: `${slug}.example.org` })],
    'a display name': ['email_malformed', (slug) => ({ email: `Ada <ada@${slug}.example.org>` })],
    'a comment': ['email_malformed', (slug) => ({ email: `ada(x)@${slug}.example.org` })],
    'letters that only look like the address': ['email_malformed', (slug) => ({ email: `аda@${slug}.example.org` })],
    'a letter that becomes ASCII in lower case': [
      'email_malformed',
      (slug) => ({ email: `\u212Aelvin@${slug}.example.org` }),
    ],
    'a domain with a path': ['email_malformed', (slug) => ({ email: `ada@${slug}.example.org/x` })],
    'an endless address': ['email_malformed', (slug) => ({ email: `${'a'.repeat(250)}@${slug}.example.org` })],
    'an array': ['email_missing', (slug) => ({ email: [`ada@${slug}.example.org`] })],
  }
  for (const [what, [check, person]] of Object.entries(unlinkable)) {
    test(`${what}: nobody is linked or created`, async ({ sql }) => {
      const slug = await connect(provider)
      await addUser(sql, `ada@${slug}.example.org`)
      Object.assign(provider.person, person(slug))
      await expectRejected(slug, check, 'no_access')
      expect(await usersOf(sql, slug)).toEqual([])
    })
  }

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
    for (let round = 0; round < 10; round++) {
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

  test('20 × 50 simultaneous first sign-ins of one person: one user, one identity', async ({ sql }) => {
    test.setTimeout(300_000)
    for (let round = 0; round < 20; round++) {
      const slug = await connect(provider)
      const visitors = await Promise.all(
        Array.from({ length: 50 }, async () => {
          const visitor = new Visitor(server.url)
          return { visitor, url: await visitor.authorize(await visitor.start(slug)) }
        }),
      )
      const landings = await Promise.all(visitors.map(({ visitor, url }) => visitor.comeBack(url)))
      expect(landings.map(errorOf)).toEqual(Array(50).fill(null))
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
    for (let round = 0; round < 15; round++) {
      const { slug, connection } = await setUp()
      const visitors = await Promise.all(
        Array.from({ length: 8 }, async () => {
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
