import { createHmac, createPublicKey, randomBytes, randomUUID } from 'node:crypto'
import net from 'node:net'
import tls from 'node:tls'
import { gzipSync } from 'node:zlib'
import { exportSPKI, generateKeyPair } from 'jose'
import {
  afterAll,
  afterEach,
  beforeAll,
  beforeEach,
  describe,
  expect,
  test,
  vi,
} from 'vitest'
import {
  type Behavior,
  type Claims,
  clientSecret,
  kid,
  type Provider,
  signed,
  startProvider,
} from '../../../e2e/support/providers/oidc-provider'
import { newSecret } from '../../crypto/token'
import { log } from '../../log/log'
import { env } from '../../settings/env'
import type { OidcConnection } from '../connection'
import { advice, SignInRejected } from '../rejection'
import { createBinding, encryptSecrets } from '../secrets'
import { ssoUrl } from '../urls'
import { type OidcSettings, requestedScope } from './settings'
import { authenticate, authorize, choosePrompt, readEmail } from './sign-in'

env().ENCRYPTION_KEY = [randomBytes(32)]

let provider: Provider
beforeAll(async () => {
  provider = await startProvider()
})
afterAll(() => provider.stop())
beforeEach(() => {
  provider.behavior = {}
  provider.requests.length = 0
  provider.person = { sub: randomUUID(), email: 'ada@example.com' }
})
afterEach(() => {
  vi.restoreAllMocks()
  vi.unstubAllEnvs()
})

/**
 * Returns a new connection to the provider. Its metadata is fetched again, because the
 * cache is per connection.
 */
async function connect(settings: Partial<OidcSettings> = {}): Promise<OidcConnection> {
  const connection = {
    id: randomUUID(),
    slug: 'acme',
    name: 'Acme',
    provision: true,
    allowPasswords: false,
    sessionHours: null,
    settings: {
      kind: 'oidc' as const,
      issuer: provider.issuer,
      clientId: 'the-client',
      ...settings,
    },
  }
  return {
    ...connection,
    encryptedSecrets: await encryptSecrets({ clientSecret }, createBinding(connection)),
  }
}

const newSecrets = () => ({
  state: newSecret(),
  nonce: newSecret(),
  codeVerifier: newSecret(),
  requestId: '',
})
/**
 * Starts a sign-in. Returns the query with which the provider redirects to the callback.
 */
async function visit(
  connection: OidcConnection,
  secrets: ReturnType<typeof newSecrets>,
): Promise<URLSearchParams> {
  const href = await authorize(connection, secrets)
  const response = await fetch(
    href.replace(connection.settings.issuer, provider.issuer),
    { redirect: 'manual' },
  )
  const back = new URL(response.headers.get('location')!)
  expect(back.origin + back.pathname).toBe(ssoUrl(connection.slug, 'callback'))
  return back.searchParams
}

async function signIn(connection: OidcConnection) {
  const secrets = newSecrets()
  const { identity, contact, amr } = await authenticate(
    connection,
    await visit(connection, secrets),
    secrets,
  )
  return { identity, contact: await contact(), amr }
}

/**
 * Returns the check at which a sign-in fails, with the error for the page, or 'accepted'.
 */
async function outcomeOf(
  work: Promise<unknown>,
): Promise<string | [check: string, error: string]> {
  try {
    await work
    return 'accepted'
  } catch (error) {
    if (!(error instanceof SignInRejected)) throw error
    return [error.check, error.error]
  }
}

/** Tests that each behavior of the provider ends the sign-in with this error. */
function rejects(
  error: string,
  behaviors: Record<string, [check: string, behavior: Behavior]>,
) {
  for (const [what, [check, behavior]] of Object.entries(behaviors)) {
    test(`rejects ${what}: ${check}`, async () => {
      provider.behavior = behavior
      expect(await outcomeOf(signIn(await connect()))).toEqual([check, error])
    })
  }
}

// Tests of ID tokens and authorization responses

test('reads the amr claim only if all its values are registered', async () => {
  const connection = await connect()
  for (const [given, taken] of [
    [
      ['pwd', 'mfa', 'otp', 'pwd'],
      ['pwd', 'mfa', 'otp'],
    ],
    ...[undefined, [], 'mfa', ['pwd', 'ngcmfa'], ['mfa', 1], [['mfa']], { 0: 'mfa' }].map(
      (other) => [other, null],
    ),
  ]) {
    provider.behavior = claims({ amr: given })
    expect((await signIn(connection)).amr, JSON.stringify(given)).toEqual(taken)
  }
})

const { privateKey: foreignKey } = await generateKeyPair('RS256', { extractable: true })
const foreign = { privateKey: foreignKey } as Provider['keys']
const part = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url')
const withoutSignature = (claims: Claims) => `${part({ alg: 'none' })}.${part(claims)}.`
const hs256 = (claims: object, secret: string) => {
  const input = `${part({ alg: 'HS256', typ: 'JWT' })}.${part(claims)}`
  return `${input}.${createHmac('sha256', secret).update(input).digest('base64url')}`
}
const metadata = (changed: Claims): Behavior => ({
  metadata: (genuine) => ({ ...genuine, ...changed }),
})
const anyAlgorithm = metadata({
  id_token_signing_alg_values_supported: ['RS256', 'HS256', 'none'],
})
/** Changes claims of the ID token. Claims that are undefined are omitted. */
const claims = (change: Claims | ((genuine: Claims) => Claims)): Behavior => ({
  claims: (genuine) => ({
    ...genuine,
    ...(typeof change === 'function' ? change(genuine) : change),
  }),
})
const now = () => Math.floor(Date.now() / 1000)
/** Pads a response to this size. */
const sized = (genuine: object, bytes: number) => ({
  ...genuine,
  more: 'x'.repeat(bytes - JSON.stringify({ ...genuine, more: '' }).length),
})
const fetched = () =>
  provider.requests.filter((path) => path.includes('well-known')).length
const minuteMs = 60_000
const [timeOrigin, startOfClock] = [
  Date.now.bind(Date),
  performance.now.bind(performance),
]
/** Moves the clocks of this process, which the provider uses too. */
function later(ms: number): void {
  vi.spyOn(Date, 'now').mockImplementation(() => timeOrigin() + ms)
  vi.spyOn(performance, 'now').mockImplementation(() => startOfClock() + ms)
}
const metadataBytes = 32 * 1024
const keysBytes = 64 * 1024
const responseBytes = 256 * 1024

rejects('response_invalid', {
  'a foreign key': ['id_token_signature', { sign: (claims) => signed(claims, foreign) }],
  'a foreign key that is in the header': [
    'id_token_signature',
    {
      sign: async (claims) => {
        const { kty, n, e } = createPublicKey(foreignKey as never).export({
          format: 'jwk',
        })
        return signed(claims, foreign, { jwk: { kty, n, e } })
      },
    },
  ],
  'a key that is not published': [
    'id_token_key',
    { sign: (claims) => signed(claims, foreign, { kid: 'key-2' }) },
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
  'alg none, although the metadata allows it': [
    'id_token_alg',
    { sign: withoutSignature, ...anyAlgorithm },
  ],
  'HS256 with the client secret, although the metadata allows it': [
    'id_token_alg',
    { sign: (claims) => hs256(claims, clientSecret), ...anyAlgorithm },
  ],
  'HS256 with the public key, although the metadata allows it': [
    'id_token_alg',
    {
      sign: async (claims, { publicKey }) => hs256(claims, await exportSPKI(publicKey)),
      ...anyAlgorithm,
    },
  ],
  'no JWT': ['id_token_format', { sign: () => 'abc' }],
  'an encrypted ID token': [
    'id_token_encrypted',
    { sign: () => `${part({ alg: 'RSA-OAEP', enc: 'A128GCM' })}.a.b.c.d` },
  ],
  'HS256, which is the only announced algorithm, without a key': [
    'id_token_alg',
    {
      sign: (claims) => hs256(claims, clientSecret),
      ...metadata({ id_token_signing_alg_values_supported: ['HS256'] }),
      jwks: () => ({ body: { keys: [] } }),
    },
  ],
  'a signature without published keys': [
    'provider_keys_empty',
    { jwks: () => ({ body: { keys: [] } }) },
  ],
  'signed user info without an announced algorithm': [
    'user_info_signed',
    {
      ...claims({ email: undefined }),
      userInfoJwt: (person, keys) => signed(person, keys),
    },
  ],
  'no ID token': [
    'id_token_missing',
    { token: ({ id_token: _, ...body }) => ({ body }) },
  ],
  'an access token that is not a Bearer token': [
    'token_response',
    { token: (genuine) => ({ body: { ...genuine, token_type: 'N_A' } }) },
  ],
  'another nonce': ['id_token_nonce', claims({ nonce: newSecret() })],
  'no nonce': ['id_token_nonce', claims({ nonce: undefined })],
  'another issuer': ['id_token_iss', claims({ iss: 'https://accounts.google.com' })],
  'no issuer': ['id_token_iss', claims({ iss: undefined })],
  'another audience': ['id_token_aud', claims({ aud: 'another-client' })],
  'no audience': ['id_token_aud', claims({ aud: undefined })],
  'two audiences without azp': [
    'id_token_aud',
    claims(({ aud }) => ({ aud: [aud, 'other'] })),
  ],
  'two audiences with another azp': [
    'id_token_azp',
    claims(({ aud }) => ({ aud: [aud, 'other'], azp: 'other' })),
  ],
  'one audience with another azp': ['id_token_azp', claims({ azp: 'other' })],
  'nbf in four minutes': ['id_token_nbf', claims(() => ({ nbf: now() + 240 }))],
  'exp four minutes ago': ['id_token_exp', claims(() => ({ exp: now() - 240 }))],
  'no exp': ['id_token_exp', claims({ exp: undefined })],
  'iat in four minutes': ['id_token_iat', claims(() => ({ iat: now() + 240 }))],
  'no iat': ['id_token_iat', claims({ iat: undefined })],
  'no sub': ['id_token_sub', claims({ sub: undefined })],
  'a sub of 256 characters': ['id_token_sub', claims({ sub: 'x'.repeat(256) })],
  'half a surrogate pair in sub': ['id_token_sub', claims({ sub: 'a\ud800' })],
  'a NUL in sub': ['id_token_sub', claims({ sub: 'a\0b' })],
  'another iss parameter': [
    'response_iss',
    { response: (given) => given.set('iss', 'https://accounts.google.com') },
  ],
  'no iss parameter, although announced': [
    'response_iss',
    { response: (given) => given.delete('iss') },
  ],
  'no code': ['response_code', { response: (given) => given.delete('code') }],
  'two codes': ['response_invalid', { response: (given) => given.append('code', 'x') }],
  'an ID token in the URL': [
    'id_token_alg',
    { response: (given) => given.append('id_token', 'x.y.z') },
  ],
  'user info of another subject': [
    'user_info_sub',
    {
      ...claims({ email: undefined }),
      userInfo: (person) => ({ ...person, sub: 'another' }),
    },
  ],
})

test('rejects a code that belongs to another sign-in (PKCE)', async () => {
  const connection = await connect()
  const [own, stolen] = [newSecrets(), newSecrets()]
  const response = await visit(connection, own)
  response.set('code', (await visit(connection, stolen)).get('code')!)
  const outcome = await outcomeOf(authenticate(connection, response, own))
  expect(outcome).toEqual(['token_invalid_grant', 'server_error'])
})

test('accepts a missing iss parameter, a clock difference of 170 seconds, our own azp, and one audience in an array', async () => {
  provider.behavior = {
    ...metadata({ authorization_response_iss_parameter_supported: undefined }),
    ...claims(({ aud }) => ({
      aud: [aud],
      azp: aud,
      iat: now() + 170,
      nbf: now() + 170,
    })),
    response: (given) => given.delete('iss'),
  }
  const connection = await connect()
  expect(await outcomeOf(signIn(connection))).toBe('accepted')
  Object.assign(provider.behavior, claims({ exp: now() - 170 }))
  expect(await outcomeOf(signIn(connection))).toBe('accepted')
})

test('rejects a token of a tenant that is not listed', async () => {
  const tenant = randomUUID()
  const connection = await connect({ tenants: [tenant] })
  for (const tid of [undefined, null, randomUUID(), tenant, tenant.toUpperCase()]) {
    provider.behavior = claims({ tid })
    const isListed = tid?.toLowerCase() === tenant
    expect(await outcomeOf(signIn(connection))).toEqual(
      isListed ? 'accepted' : ['id_token_tid', 'no_access'],
    )
  }
})

test('returns the domains for which the tenant of the token vouches', async () => {
  const [one, two, single] = [randomUUID(), randomUUID(), randomUUID()]
  const connection = await connect({
    tenants: [one, two],
    tenantDomains: { [one]: ['a.example'], [two]: ['b.example'] },
  })
  for (const [tid, domains] of [
    [one.toUpperCase(), ['a.example']],
    [two, ['b.example']],
  ]) {
    provider.behavior = claims({ tid })
    expect((await signIn(connection)).contact).toMatchObject({ domains })
  }
  provider.behavior = claims({ tid: single })
  expect((await signIn(await connect({ tenants: [single] }))).contact).not.toHaveProperty(
    'domains',
  )
})

test('rejects every sign-in if several tenants are configured without their domains', async () => {
  const [one, two] = [randomUUID(), randomUUID()]
  provider.behavior = claims({ tid: one })
  for (const tenantDomains of [undefined, { [one]: ['a.example'] }]) {
    const connection = await connect({
      tenants: [one, two],
      ...(tenantDomains && { tenantDomains }),
    })
    expect(await outcomeOf(signIn(connection))).toEqual(['tenant_domains', 'unavailable'])
  }
})

// Tests of the provider's responses

test('sends the client secret by the method that the connection names or that the provider announces', async () => {
  const both = ['client_secret_basic', 'client_secret_post']
  for (const [announced, registered, tokenAuth, accepted] of [
    [undefined, 'basic', undefined, true],
    [undefined, 'post', undefined, false],
    [undefined, 'post', 'post', true],
    [both, 'basic', undefined, true],
    [both, 'post', undefined, false],
    [both, 'post', 'post', true],
    [both.toReversed(), 'post', 'post', true],
    [['client_secret_post'], 'post', undefined, true],
    [['client_secret_post'], 'basic', undefined, false],
    [['client_secret_post'], 'basic', 'basic', true],
    [['private_key_jwt', 'client_secret_jwt'], 'basic', 'basic', true],
    [both, 'basic', 'post', false],
  ] as const) {
    provider.behavior = {
      ...metadata({ token_endpoint_auth_methods_supported: announced }),
      tokenAuth: registered,
    }
    const connection = await connect(tokenAuth && { tokenAuth })
    const outcome = accepted ? 'accepted' : ['token_invalid_client', 'server_error']
    expect(
      await outcomeOf(signIn(connection)),
      `${announced} ${registered} ${tokenAuth}`,
    ).toEqual(outcome)
  }
})

test('asks for the email address only, and for the profile where a claim needs it', async () => {
  const read = async (settings: Partial<OidcSettings>) =>
    new URL(await authorize(await connect(settings), newSecrets())).searchParams
  expect((await read({})).get('scope')).toBe('openid email')
  expect((await read({ emailClaim: 'upn' })).get('scope')).toBe('openid email profile')
  expect(
    requestedScope({
      kind: 'oidc',
      issuer: `https://login.microsoftonline.com/${randomUUID()}/v2.0`,
      clientId: 'x',
    }),
  ).toBe('openid email profile')

  const authorizationParameters = {
    domain_hint: 'example.com',
    nonce: 'x',
    acr_values: '1',
  }
  const sent = await read({ authorizationParameters })
  expect(sent.get('domain_hint')).toBe('example.com')
  expect(sent.getAll('acr_values')).toEqual(['1'])
  expect(sent.getAll('nonce')).toEqual([expect.stringMatching(/^[\w-]{43}$/)])
})

test('the advice for a failed client authentication names the flag that sets the method of authentication', () => {
  expect(advice.token_invalid_client).toContain('--token-auth post or basic')
})

for (const error of ['invalid_scope', 'invalid_request'])
  rejects('other', {
    [`the error ${error} of the provider`]: [
      `provider_${error}`,
      {
        response: (given) => {
          given.delete('code')
          given.set('error', error)
        },
      },
    ],
  })

for (const error of [
  'access_denied',
  'login_required',
  'temporarily_unavailable',
  'server_error',
]) {
  const response = (given: URLSearchParams) => {
    given.delete('code')
    given.set('error', error)
  }
  rejects(error, {
    [`the error ${error} of the provider`]: [`provider_${error}`, { response }],
  })
}

const tokenError = { status: 400, body: { error: 'x'.repeat(100) } }
rejects('server_error', {
  'a token error with an unknown code': ['token_error', { token: () => tokenError }],
})
rejects('temporarily_unavailable', {
  'a token endpoint that fails': [
    'token_response',
    {
      token: () => ({
        status: 502,
        body: 'Bad gateway',
        headers: { 'Content-Type': 'text/html' },
      }),
    },
  ],
  'a token response of more than 256 KiB': [
    'provider_response_size',
    { token: (genuine) => ({ body: sized(genuine, responseBytes + 1) }) },
  ],
  'a compressed token response': [
    'provider_response_encoding',
    {
      token: (genuine) => ({
        headers: { 'Content-Encoding': 'gzip' },
        body: gzipSync(JSON.stringify(genuine)),
      }),
    },
  ],
  'metadata with another issuer': [
    'discovery_issuer',
    metadata({ issuer: 'https://accounts.google.com' }),
  ],
  'metadata with a NUL, which a URL drops, after the issuer': [
    'discovery_issuer',
    { metadata: (genuine) => ({ ...genuine, issuer: `${genuine.issuer}\0` }) },
  ],
  'metadata above 32 KiB': [
    'provider_response_size',
    { metadata: (genuine) => sized(genuine, metadataBytes + 1) },
  ],
  'metadata without an endpoint': [
    'discovery_metadata',
    metadata({ authorization_endpoint: undefined }),
  ],
})

test('accepts responses of 256 KiB, keys of 64 KiB, and metadata of 32 KiB', async () => {
  provider.behavior = {
    metadata: (genuine) => sized(genuine, metadataBytes),
    jwks: (genuine) => ({ body: sized(genuine, keysBytes) }),
    token: (genuine) => ({ body: sized(genuine, responseBytes) }),
    ...claims({ email: undefined }),
    userInfo: (genuine) => sized(genuine, responseBytes),
  }
  expect(await outcomeOf(signIn(await connect()))).toBe('accepted')
})

test('accepts an ID token of 100 KB with 2,500 groups', async () => {
  const groups = Array.from({ length: 2_500 }, () => randomUUID())
  provider.behavior = claims({ groups })
  expect(await outcomeOf(signIn(await connect()))).toBe('accepted')
  provider.behavior = {
    ...claims({ email: undefined }),
    userInfo: (own) => ({ ...own, groups }),
  }
  expect(await outcomeOf(signIn(await connect()))).toBe('accepted')
})

for (const [endpoint, check] of [
  ['token', 'provider_timeout'],
  ['jwks', 'provider_keys'],
] as const) {
  test(`ends a sign-in when the ${endpoint} endpoint has not responded for five seconds`, async () => {
    const { timeout } = AbortSignal
    const limit = vi
      .spyOn(AbortSignal, 'timeout')
      .mockImplementation((ms) => timeout(ms / 10))
    provider.behavior = { [endpoint]: (body: Claims) => ({ body, delayMs: 60_000 }) }
    expect(await outcomeOf(signIn(await connect()))).toEqual([
      check,
      'temporarily_unavailable',
    ])
    expect(new Set(limit.mock.calls.flat())).toEqual(new Set([5_000]))
  })
}

const unusableKeys: Record<string, NonNullable<Behavior['jwks']>> = {
  'a failure': () => ({
    status: 503,
    body: 'Maintenance',
    headers: { 'Content-Type': 'text/html' },
  }),
  'a web page': () => ({
    body: '<html></html>',
    headers: { 'Content-Type': 'text/html' },
  }),
  'JSON without keys': () => ({ body: {} }),
  'an empty response': () => ({ body: '' }),
  'a redirect': () => ({ status: 302, body: '', headers: { Location: '/elsewhere' } }),
  'more than 64 KiB': (genuine) => ({ body: sized(genuine, keysBytes + 1) }),
}
test('uses the last good keys for a day instead of keys that it can’t use, and rejects sign-ins without good keys', async () => {
  const warnings = vi.spyOn(log, 'warn').mockReturnValue()
  const connection = await connect()
  const outcomeWith = (jwks: NonNullable<Behavior['jwks']>) => {
    provider.behavior = { jwks }
    return outcomeOf(signIn(connection))
  }
  const rejected = ['provider_keys', 'temporarily_unavailable']
  for (const [what, jwks] of Object.entries(unusableKeys))
    expect(await outcomeWith(jwks), what).toEqual(rejected)
  provider.behavior = {}
  expect(await outcomeOf(signIn(connection))).toBe('accepted')
  expect(warnings).not.toHaveBeenCalled()
  for (const [index, [what, jwks]] of Object.entries(unusableKeys).entries()) {
    later((index + 1) * 6 * minuteMs)
    expect(await outcomeWith(jwks), what).toBe('accepted')
    expect(warnings.mock.calls.length, what).toBe(index + 1)
  }
  const failed = { connection: 'acme', check: 'provider_keys' }
  expect(warnings.mock.lastCall![0]).toEqual(failed)
  later(25 * 60 * minuteMs)
  expect(await outcomeWith(unusableKeys['a failure']!)).toEqual(rejected)
})

test('ignores keys that it can’t use, and fetches the keys again for an unknown key ID', async () => {
  const others = [
    { kty: 'OKP', crv: 'Ed25519', x: 'AAAA', kid: 'other', alg: 'EdDSA' },
    { kty: 'EC', crv: 'P-256', x: 'AAAA', y: 'AAAA', kid },
    { kty: 'AKP', alg: 'ML-DSA-65', pub: 'AAAA', kid },
    { kty: 'RSA', n: 'AAAA', e: 'AQAB', kid, use: 'enc', alg: 'RSA-OAEP' },
    { kty: 'RSA', n: 'AAAA', e: 'AQAB', kid: 'expired' },
    { kty: 'unknown' },
    {},
  ]
  const around = (keys: object[]): Behavior => ({
    jwks: (genuine) => ({
      body: { keys: [...keys, ...(genuine.keys as object[]), ...keys] },
    }),
  })
  provider.behavior = around(others)
  const connection = await connect()
  expect(await outcomeOf(signIn(connection))).toBe('accepted')
  later(6 * minuteMs)
  provider.behavior = {
    ...around(others),
    sign: (claims, keys) => signed(claims, keys, { kid: 'key-2' }),
  }
  expect(await outcomeOf(signIn(connection))).toEqual([
    'id_token_key',
    'response_invalid',
  ])
  const { jwks } = around(others)
  provider.behavior.jwks = (genuine) => {
    const renamed = (genuine.keys as object[]).map((key) => ({ ...key, kid: 'key-2' }))
    return jwks!({ keys: renamed })
  }
  later(12 * minuteMs)
  expect(await outcomeOf(signIn(connection))).toBe('accepted')
})

test('uses the last good metadata for a day if a fetch fails, and renews it in the background', async () => {
  const warnings = vi.spyOn(log, 'warn').mockReturnValue()
  const connection = await connect()
  expect(await outcomeOf(signIn(connection))).toBe('accepted')
  const outages: [Behavior, string][] = [
    [metadata({ token_endpoint: undefined }), 'discovery_metadata'],
    [metadata({ issuer: 'https://idp.example' }), 'discovery_issuer'],
    [
      { metadata: (genuine) => sized(genuine, metadataBytes + 1) },
      'provider_response_size',
    ],
  ]
  for (const [index, [behavior, check]] of outages.entries()) {
    provider.behavior = behavior
    later((61 + index * 2) * minuteMs)
    for (let times = 0; times < 2; times++)
      expect(await outcomeOf(signIn(connection))).toBe('accepted')
    await vi.waitFor(() =>
      expect(warnings.mock.calls.map(([fields]) => fields)).toContainEqual({
        connection: 'acme',
        check,
      }),
    )
  }
  // at most one fetch and one warning per minute
  expect([fetched(), warnings.mock.calls.length]).toEqual([4, 3])

  // After the outage, the metadata is renewed in the background.
  provider.behavior = { metadata: (genuine) => genuine }
  later(70 * minuteMs)
  expect(await outcomeOf(signIn(connection))).toBe('accepted')
  await vi.waitFor(() => expect(fetched()).toBe(5))
  later(80 * minuteMs)
  expect(await outcomeOf(signIn(connection))).toBe('accepted')
  expect(fetched(), 'renewed for an hour').toBe(5)

  provider.behavior = metadata({ token_endpoint: undefined })
  later(26 * 60 * minuteMs)
  expect(await outcomeOf(signIn(connection))).toEqual([
    'discovery_metadata',
    'temporarily_unavailable',
  ])
})

test('follows no redirect of the token endpoint', async () => {
  const headers = { Location: `${provider.issuer}/internal` }
  provider.behavior.token = () => ({ status: 307, body: '', headers })
  expect(await outcomeOf(signIn(await connect()))).toEqual([
    'token_response',
    'temporarily_unavailable',
  ])
  expect(provider.requests).not.toContain('/internal')
})

test('rejects a provider that can’t be reached', async () => {
  const dead = await startProvider()
  await dead.stop()
  const outcome = await outcomeOf(signIn(await connect({ issuer: dead.issuer })))
  expect(outcome).toEqual(['provider_unreachable', 'temporarily_unavailable'])
})

test('sends no request to a private address for a connection that a setup link entered', async () => {
  const elsewhere = 'http://10.255.255.1:9'
  const connection = await connect({ publicOnly: true })
  expect(await outcomeOf(signIn(connection))).toBe('accepted')

  for (const endpoint of ['token_endpoint', 'jwks_uri']) {
    provider.behavior = metadata({ [endpoint]: `${elsewhere}/internal` })
    const outcome = await outcomeOf(signIn(await connect({ publicOnly: true })))
    expect(outcome, endpoint).toEqual(['provider_address', 'temporarily_unavailable'])
  }

  const outcome = await outcomeOf(
    signIn(await connect({ issuer: elsewhere, publicOnly: true })),
  )
  expect(outcome).toEqual(['provider_address', 'temporarily_unavailable'])
})

test('sends the client secret only to its own issuer, for its own connection and client', async () => {
  const connection = await connect()
  const { settings } = connection
  for (const changed of [
    { ...connection, settings: { ...settings, issuer: `${provider.issuer}/thief` } },
    { ...connection, settings: { ...settings, clientId: 'another' } },
    { ...connection, id: randomUUID() },
  ])
    expect(await outcomeOf(signIn(changed))).toEqual(['secrets', 'unavailable'])
  expect(provider.requests).toEqual([])
})

// Tests of the metadata

/**
 * Returns a function that starts a sign-in with changed settings and returns 'accepted'
 * or the failed check.
 */
async function startable() {
  const connection = await connect()
  return (settings: Partial<OidcSettings> = {}) =>
    outcomeOf(
      authorize(
        { ...connection, settings: { ...connection.settings, ...settings } },
        newSecrets(),
      ),
    ).then((outcome) => (outcome === 'accepted' ? outcome : outcome[0]))
}

test('repeats the error of a failed discovery for five seconds, unless the settings change', async () => {
  const start = await startable()
  provider.behavior = metadata({ token_endpoint: undefined })
  const startedAt = performance.now()
  const clock = vi.spyOn(performance, 'now').mockReturnValue(startedAt)
  expect(await Promise.all([start(), start(), start()])).toEqual(
    Array(3).fill('discovery_metadata'),
  )
  clock.mockReturnValue(startedAt + 4_999)
  expect([await start(), fetched()]).toEqual(['discovery_metadata', 1])
  expect(await start({ clientId: 'another' })).toBe('secrets') // the secrets are bound to the client ID
  expect([await start(), fetched()]).toEqual(['discovery_metadata', 2])
  provider.behavior = {}
  clock.mockReturnValue(startedAt + 4_999 + 5_001)
  expect([await start(), fetched()]).toEqual(['accepted', 3])
})

test('fetches metadata once, then hourly, and again when the settings change', async () => {
  const start = await startable()
  const startedAt = performance.now()
  const clock = vi.spyOn(performance, 'now').mockReturnValue(startedAt)
  await Promise.all([start(), start(), start()])
  clock.mockReturnValue(startedAt + 3_599_000)
  expect([await start(), fetched()]).toEqual(['accepted', 1])
  clock.mockReturnValue(startedAt + 3_601_000)
  expect(await start()).toBe('accepted')
  await vi.waitFor(() => expect(fetched()).toBe(2))
  expect([await start({ tenants: [randomUUID()] }), fetched()]).toEqual(['accepted', 3])
})

describe('a provider with https', () => {
  /**
   * Signs in at an https issuer. This process connects to the test's provider instead.
   */
  async function signInAt(issuer: string) {
    const { metadata, claims } = provider.behavior
    Object.assign(provider.behavior, {
      metadata: (genuine) => {
        const own = JSON.parse(
          JSON.stringify(genuine).replaceAll(provider.issuer, issuer),
        )
        return metadata?.(own) ?? own
      },
      claims: (genuine) => ({ ...genuine, iss: issuer, ...claims?.(genuine) }),
      response: (given) => given.set('iss', issuer),
    } satisfies Behavior)
    vi.spyOn(tls, 'connect').mockImplementation((() => {
      const { port, hostname } = new URL(provider.issuer)
      const socket = net.connect(Number(port), hostname)
      return socket.on('connect', () => socket.emit('secureConnect'))
    }) as never)
    return signIn(await connect({ issuer }))
  }

  test('must not have an endpoint with http', async () => {
    for (const endpoint of ['authorization_endpoint', 'token_endpoint', 'jwks_uri']) {
      provider.behavior = metadata({ [endpoint]: `${provider.issuer}/${endpoint}` })
      const [check] = await outcomeOf(signInAt('https://idp.example.com'))
      expect(check, endpoint).toBe('provider_http')
    }
    provider.behavior = {}
    expect((await signInAt('https://idp.example.com')).identity.subject).toBe(
      provider.person.sub,
    )
  })

  test('identifies a user of Entra ID by oid, because sub differs per app', async () => {
    const issuer = `https://login.microsoftonline.com/${randomUUID()}/v2.0`
    const oid = randomUUID()
    provider.behavior = { claims: () => ({ oid }) }
    expect((await signInAt(issuer)).identity).toEqual({ issuer, subject: oid })
    for (const other of [undefined, '']) {
      provider.behavior = { claims: () => ({ oid: other }) }
      await expect(signInAt(issuer), String(other)).rejects.toMatchObject({
        check: 'id_token_sub',
      })
    }
  })

  test('reads the hosted domain from hd in the ID token, but only for Google', async () => {
    const issuer = 'https://accounts.google.com'
    for (const [from, hd, hostedDomain] of [
      [issuer, 'example.com', 'example.com'],
      [issuer, undefined, null],
      [issuer, ['example.com'], null],
      [`${issuer}.example.com`, 'example.com', undefined],
    ] as const) {
      provider.behavior = { claims: () => ({ hd }) }
      expect((await signInAt(from)).contact.hostedDomain, String(hd)).toBe(hostedDomain)
    }
    provider.behavior = {
      claims: () => ({ email: undefined }),
      userInfo: (own) => ({ ...own, hd: 'example.com' }),
    }
    const { contact } = await signInAt(issuer)
    expect(contact).toEqual({
      email: provider.person.email,
      isVerified: true,
      hostedDomain: null,
    })
  })
})

// Tests of email addresses

const email = 'ada@example.com'
const problemOf = (documents: object[], name?: string) => {
  try {
    return readEmail(documents as Record<string, unknown>[], name).email
  } catch (error) {
    return (error as SignInRejected).check
  }
}
const isVerified = (documents: object[]) =>
  readEmail([...(documents as Record<string, unknown>[]), { email }]).isVerified

test('accepts true, "true" and a missing email_verified as verified', () => {
  for (const email_verified of [undefined, true, 'true', 'True', 'TRUE', ' true\n'])
    expect(isVerified([{ email, email_verified }]), String(email_verified)).toBe(true)
  for (const email_verified of [null, false, 'false', 'False', 'true?', '', ['true'], 0])
    expect(isVerified([{ email, email_verified }]), String(email_verified)).toBe(false)
})

test('rejects an address that the ID token or the user info marks as unverified', () => {
  expect(isVerified([{ email_verified: true }, { email, email_verified: true }])).toBe(
    true,
  )
  for (const documents of [
    [{ email_verified: false }, { email }],
    [{ email_verified: false }, { email, email_verified: true }],
    [{ email_verified: true }, { email, email_verified: false }],
    [{ email }, { email_verified: 'False' }],
  ])
    expect(isVerified(documents), JSON.stringify(documents)).toBe(false)
})

test('rejects an address whose domain Entra ID marks as unverified, unless the address is in another claim', () => {
  for (const xms_edov of [undefined, null, true, 'true', '1', 1])
    expect(isVerified([{ email, xms_edov }]), String(xms_edov)).toBe(true)
  for (const xms_edov of [false, 'false', 'False', '0', 0]) {
    expect(isVerified([{ email, xms_edov }]), String(xms_edov)).toBe(false)
    expect(isVerified([{ email }, { xms_edov }]), String(xms_edov)).toBe(false)
    expect(readEmail([{ upn: email, xms_edov }], 'upn').isVerified).toBe(true)
  }
})

test('reads the email address from the ID token, or from the user info if the ID token has none', () => {
  expect(readEmail([{ email }, { email: 'eve@example.com' }]).email).toBe(email)
  expect(readEmail([{ email: null }, { email }]).email).toBe(email)
  expect(
    readEmail([{ email: [email, 'ADA@example.com'] }, { email: 'eve@example.com' }])
      .email,
  ).toBe('ADA@example.com')
})

test('treats white space, empty texts and lists, and other types as a missing email address', () => {
  for (const nothing of [undefined, null, '', ' \n', [], [''], [null], 0, {}])
    expect(
      readEmail([{ email: nothing }, { email }]).email,
      JSON.stringify(nothing),
    ).toBe(email)
  for (const padded of [` ${email}`, `${email}\r\n`, ['', email], [`${email} `, email]])
    expect(readEmail([{ email: padded }]).email, JSON.stringify(padded)).toBe(email)
})

test('rejects two different email addresses, even if their letters look the same', () => {
  for (const another of [
    'eve@example.com',
    'ada@example.com.evil.example',
    '\u0430da@example.com',
  ])
    expect(problemOf([{ email: [email, another] }])).toBe('email_several')
  expect(problemOf([{ email: ['kelvin@example.com', '\u212Aelvin@example.com'] }])).toBe(
    'email_several',
  )
})

test('reads only the configured claim, and reports an address that is in another claim', () => {
  for (const name of [
    'upn',
    'unique_name',
    'preferred_username',
    'emails',
    'https://acme.example/email',
  ])
    expect(problemOf([{ email: 'eve@example.com', [name]: email }], name)).toBe(email)
  expect(problemOf([{ emails: [email, ' '] }], 'emails')).toBe(email) // as Azure AD B2C sends it
  for (const claims of [
    { upn: email },
    { preferred_username: email, email: '' },
    { mail: [email] },
  ])
    expect(problemOf([claims])).toBe('email_elsewhere')
  expect(problemOf([{ email }], 'upn')).toBe('email_elsewhere')
  for (const claims of [{}, { email: null, name: 'Ada' }, { sub: 'ada@' }])
    expect(problemOf([claims])).toBe('email_missing')
})

test('links users by a claim other than email only if that claim is trusted', async () => {
  provider.behavior = claims({ email: undefined, upn: 'ada@example.com' })
  const outcome = async (settings: Partial<OidcSettings>) =>
    outcomeOf(signIn(await connect(settings)))
  expect(await outcome({})).toBe('accepted') // the user info contains the email address
  expect(await outcome({ emailClaim: 'upn' })).toEqual([
    'email_claim_untrusted',
    'no_access',
  ])
  provider.person = { sub: randomUUID(), email: 'eve@example.com' }
  const { contact } = await signIn(await connect({ emailClaim: 'upn', trustClaim: true }))
  expect(contact).toEqual({ email: 'ada@example.com', isVerified: true })
  provider.behavior = {
    ...claims({ email: undefined }),
    userInfo: (own) => ({ ...own, email: null, upn: email }),
  }
  expect(await outcome({})).toEqual(['email_elsewhere', 'no_access'])
  expect(
    (await signIn(await connect({ emailClaim: 'upn', trustClaim: true }))).contact.email,
  ).toBe(email)
})

test('reads the address from the user info if it is blank in the ID token', async () => {
  // with a verdict, so that only the missing address requires the user info
  provider.behavior = claims({ email: ' ', email_verified: true })
  expect((await signIn(await connect())).contact.email).toBe(provider.person.email)
})

const infoWith = (claims: Claims): Behavior => ({
  userInfo: (own) => ({ ...own, ...claims }),
})
const verified = claims({ email_verified: true })
const upn = { emailClaim: 'upn', trustClaim: true }
const strict = { requireVerified: true }
// whether the address in the ID token counts as verified, and whether the user info is requested
const verdicts: [
  what: string,
  isVerified: boolean,
  isAsked: boolean,
  behavior: Behavior,
  settings?: Partial<OidcSettings>,
][] = [
  ['false in the user info', false, true, infoWith({ email_verified: false })],
  ['null in the user info', false, true, infoWith({ email_verified: null })],
  ['true in the user info', true, true, infoWith({ email_verified: true })],
  ['nothing in either', true, true, {}],
  [
    'false in the user info, which has another address',
    false,
    true,
    infoWith({ email: 'eve@example.com', email_verified: false }),
  ],
  [
    'another address in the user info',
    true,
    true,
    infoWith({ email: 'eve@example.com', email_verified: true }),
  ],
  [
    'true in the ID token',
    true,
    false,
    { ...verified, ...infoWith({ email_verified: false }) },
  ],
  ['null in the ID token', false, false, claims({ email_verified: null })],
  ['no user info', true, false, metadata({ userinfo_endpoint: undefined })],
  [
    'no user info, if true is required',
    false,
    false,
    metadata({ userinfo_endpoint: undefined }),
    strict,
  ],
  ['nothing in either, if true is required', false, true, {}, strict],
  [
    'true in the user info, which is required',
    true,
    true,
    infoWith({ email_verified: true }),
    strict,
  ],
  ['true in the ID token, which is required', true, false, verified, strict],
  [
    'false in the user info, if the address is in another claim of the ID token',
    true,
    false,
    { ...claims({ upn: email }), ...infoWith({ email_verified: false }) },
    upn,
  ],
]
for (const [what, isVerified, isAsked, behavior, settings] of verdicts) {
  test(`treats an address as ${isVerified ? 'verified' : 'unverified'} with ${what}`, async () => {
    const warnings = vi.spyOn(log, 'warn').mockReturnValue()
    provider.behavior = behavior
    const { contact } = await signIn(await connect(settings))
    expect(contact).toEqual({ email, isVerified })
    expect(provider.requests.includes('/userinfo')).toBe(isAsked)
    expect(warnings).not.toHaveBeenCalled()
  })
}

test('reads the verdict on an address from the ID token alone if the user info can’t be read', async () => {
  const warnings = vi.spyOn(log, 'warn').mockReturnValue()
  for (const [check, behavior] of [
    ['user_info_sub', infoWith({ sub: 'another', email_verified: false })],
    ['user_info_response', { userInfo: () => [] as never }],
    ['user_info_response', metadata({ userinfo_endpoint: `${provider.issuer}/none` })],
  ] as const) {
    provider.behavior = behavior
    expect((await signIn(await connect())).contact).toEqual({ email, isVerified: true })
    expect(warnings.mock.lastCall![0]).toEqual({ connection: 'acme', check })
  }
  expect(warnings).toHaveBeenCalledTimes(3)
})

test('rejects an address without a verdict if true is required and the user info can’t be read', async () => {
  provider.behavior = infoWith({ sub: 'another' })
  expect(await outcomeOf(signIn(await connect(strict)))).toEqual([
    'user_info_sub',
    'response_invalid',
  ])
})

test('returns when the ID token was issued, so that the clocks can be compared', async () => {
  const secrets = newSecrets()
  const connection = await connect()
  const response = await visit(connection, secrets)
  const iat = now() + 100
  provider.behavior = claims({ iat })
  const { issuedAt } = await authenticate(connection, response, secrets)
  expect(issuedAt).toEqual(new Date(iat * 1000))
})

test('treats null in a token response as a missing field', async () => {
  const nulls = Object.fromEntries(
    ['refresh_token', 'expires_in', 'scope', 'id_token_hint', 'more'].map((name) => [
      name,
      null,
    ]),
  )
  provider.behavior.token = (genuine) => ({ body: { ...genuine, ...nulls } })
  expect(await outcomeOf(signIn(await connect()))).toBe('accepted')
  for (const [changed, outcome] of [
    [{ id_token: null }, ['id_token_missing', 'response_invalid']],
    [{ access_token: null }, ['response_invalid', 'response_invalid']],
  ] as const) {
    provider.behavior.token = (genuine) => ({ body: { ...genuine, ...changed } })
    expect(await outcomeOf(signIn(await connect()))).toEqual(outcome)
  }
})

const prompts: [
  who: string,
  account?: string | undefined,
  login?: string | undefined,
  listed?: string[] | string | undefined,
  issuer?: string,
][] = [
  [
    'a provider that lists both prompts',
    'select_account',
    'login',
    ['none', 'login', 'consent', 'select_account'],
  ],
  [
    'a provider that does not list select_account',
    'login',
    'login',
    ['none', 'login', 'consent'],
  ],
  [
    'a provider that does not list login',
    'select_account',
    'select_account',
    ['none', 'select_account'],
  ],
  ['a provider that lists neither', undefined, undefined, ['none']],
  ['a provider without a list', 'login', 'login', undefined],
  ['a provider whose list is not an array', 'login', 'login', 'select_account'],
  [
    'Google',
    'select_account',
    'select_account',
    undefined,
    'https://accounts.google.com',
  ],
  [
    'Entra ID',
    'select_account',
    'login',
    undefined,
    `https://login.microsoftonline.com/${randomUUID()}/v2.0`,
  ],
]
test.each(prompts)(
  'the prompt is valid for %s',
  (_, account, login, listed, issuer = 'https://idp.example') => {
    const metadata = { issuer, prompt_values_supported: listed }
    expect([choosePrompt('account', metadata), choosePrompt('login', metadata)]).toEqual([
      account,
      login,
    ])
  },
)
