import { randomBytes, randomUUID } from 'node:crypto'
import { once } from 'node:events'
import http from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterEach, expect, test } from 'vitest'
import { env } from '../../settings/env'
import type { OidcConnection } from '../connection'
import type { Flags } from '../provider'
import { createBinding, encryptSecrets } from '../secrets'
import { oidcSetup as oidc } from './setup'

env().ENCRYPTION_KEY = [randomBytes(32)]

const servers: http.Server[] = []
afterEach(() => {
  for (const server of servers.splice(0)) server.close()
})

const good = { issuer: 'https://idp.example.com', 'client-id': 'x' }
const secret = async () => Buffer.from('secret\n')
const settingsFrom = async (flags: Flags) =>
  (
    await oidc.add.settingsFrom(
      { slug: 'acme', domains: [] },
      { ...good, ...flags },
      secret,
    )
  ).settings
const common = {
  issuer: 'https://login.microsoftonline.com/common/v2.0',
  'email-claim': 'upn',
}

test('reads the flags of a provider, and ignores white space around their values', async () => {
  const stored = { kind: 'oidc', issuer: good.issuer, clientId: 'x' }
  for (const [flags, settings] of [
    [{}, {}],
    [{ issuer: ` ${good.issuer}\n`, 'client-id': 'x\t' }, {}],
    [{ 'token-auth': 'post' }, { tokenAuth: 'post' }],
    [{ 'token-auth': ' Basic ' }, { tokenAuth: 'basic' }],
    [{ 'email-claim': ' upn' }, { emailClaim: 'upn' }],
    [{ 'require-verified': true }, { requireVerified: true }],
    [
      { 'authorization-parameter': ['domain_hint=example.com', 'acr_values = a=b'] },
      { authorizationParameters: { domain_hint: 'example.com', acr_values: ' a=b' } },
    ],
    [
      { 'email-claim': 'upn', 'trust-claim': true },
      { emailClaim: 'upn', trustClaim: true },
    ],
  ] as [Flags, object][])
    expect(await settingsFrom(flags), JSON.stringify(flags)).toEqual({
      ...stored,
      ...settings,
    })
  const tenant = randomUUID()
  expect(await settingsFrom({ ...common, tenant: [`${tenant}\n`] })).toMatchObject({
    tenants: [tenant],
    emailClaim: 'upn',
  })
})

test('an error names the flag that can’t be used', async () => {
  for (const [flags, message] of [
    [{ 'token-auth': 'jwt' }, '--token-auth must be post or basic'],
    [{ 'trust-claim': true }, '--trust-claim needs --email-claim'],
    [{ 'email-claim': '' }, '--email-claim '],
    [
      { ...common, tenant: [randomUUID(), randomUUID()] },
      '--email-claim can’t be used with several tenants',
    ],
    [{ ...common, tenant: [] }, '--tenant '],
    [{ 'client-id': ' ' }, '--client-id '],
    [
      { 'require-verified': true, 'email-claim': 'upn' },
      '--require-verified can’t be used with --email-claim',
    ],
    ...['x', '=x', 'x=', 'a b=x', '__proto__=x', 'x=a\u202eb'].map((given) => [
      { 'authorization-parameter': [given] },
      '--authorization-parameter must be NAME=VALUE',
    ]),
    ...['scope', 'state', 'redirect_uri', 'prompt', 'request', 'response_mode'].map(
      (name) => [
        { 'authorization-parameter': [`${name}=x`] },
        '--authorization-parameter can’t be one of the parameters of the app',
      ],
    ),
  ] as [Flags, string][])
    await expect(settingsFrom(flags), JSON.stringify(flags)).rejects.toThrow(message)
})

test('an update changes only what its flags name, and reads a secret if --new-secret, a new client ID or no flag is given', async () => {
  const stored = {
    kind: 'oidc' as const,
    issuer: good.issuer,
    clientId: 'x',
    emailClaim: 'upn',
    trustClaim: true,
  }
  for (const [flags, settings, readsSecret] of [
    [{}, {}, true],
    [{ 'new-secret': true }, {}, true],
    [{ 'client-id': 'y' }, { clientId: 'y' }, true],
    [{ 'client-id': 'x' }, {}, false],
    [{ name: 'Acme', issuer: good.issuer }, {}, false],
    [{ 'token-auth': 'post' }, { tokenAuth: 'post' }, false],
    [{ 'trust-claim': false }, { trustClaim: undefined }, false],
    [{ 'email-claim': 'mail' }, { emailClaim: 'mail', trustClaim: undefined }, false],
    [{ 'email-claim': '' }, { emailClaim: undefined, trustClaim: undefined }, false],
    [
      { 'email-claim': '', 'require-verified': true },
      { emailClaim: undefined, trustClaim: undefined, requireVerified: true },
      false,
    ],
    [
      { 'authorization-parameter': ['a=1', 'b=2', 'a='] },
      { authorizationParameters: { b: '2' } },
      false,
    ],
  ] as [Flags, object, boolean][]) {
    const { settings: entered, secrets } = await oidc.add.settingsFrom(
      { slug: 'acme', domains: [], stored },
      flags,
      secret,
    )
    expect(entered, JSON.stringify(flags)).toEqual({ ...stored, ...settings })
    expect(secrets, JSON.stringify(flags)).toEqual(
      readsSecret ? { clientSecret: 'secret' } : null,
    )
  }
  const another = oidc.add.settingsFrom(
    { slug: 'acme', domains: [], stored },
    { issuer: `${good.issuer}/` },
    secret,
  )
  await expect(another).rejects.toThrow('add it as another connection')
})

test('an update adds authorization parameters, and removes those with an empty value', async () => {
  const stored = {
    kind: 'oidc' as const,
    issuer: good.issuer,
    clientId: 'x',
    requireVerified: true,
    authorizationParameters: { a: '1', b: '2' },
  }
  const update = async (flags: Flags) =>
    (await oidc.add.settingsFrom({ slug: 'acme', domains: [], stored }, flags, secret))
      .settings
  expect(await update({ 'authorization-parameter': ['b=', 'c=3'] })).toEqual({
    ...stored,
    authorizationParameters: { a: '1', c: '3' },
  })
  const none = await update({ 'authorization-parameter': ['a=', 'b='] })
  expect(none).not.toHaveProperty('authorizationParameters')
  expect(await update({ 'require-verified': false })).not.toHaveProperty(
    'requireVerified',
  )
  expect(
    oidc.describe({ slug: 'acme', settings: stored } as never).settings.slice(1),
  ).toEqual([
    'email address: only with email_verified: true',
    'authorization parameter: a=1',
    'authorization parameter: b=2',
  ])
})

test('with several tenants, each must name the domains for which it vouches', async () => {
  const [one, two] = [randomUUID(), randomUUID()]
  const domains = ['a.example', 'b.example', 'xn--bcher-kva.example']
  const enter = async (tenant: string[]) =>
    (await oidc.add.settingsFrom({ slug: 'acme', domains }, { ...good, tenant }, secret))
      .settings
  expect(
    await enter([`${one}=A.example, bücher.example`, `${two.toUpperCase()}=b.example`]),
  ).toMatchObject({
    tenants: [one, two],
    tenantDomains: {
      [one]: ['a.example', 'xn--bcher-kva.example'],
      [two]: ['b.example'],
    },
  })
  expect(
    await enter([`${one}=a.example`, `${one}=b.example`, `${two}=b.example`]),
  ).toMatchObject({
    tenants: [one, two],
    tenantDomains: { [one]: ['a.example', 'b.example'], [two]: ['b.example'] },
  })
  for (const [tenants, message] of [
    [[one, two], '--tenant must name the domains of each of several tenants'],
    [
      [`${one}=a.example`, two],
      '--tenant must name the domains of each of several tenants',
    ],
    [[`${one}=c.example`], 'c.example is not a domain of the connection'],
    [[`${one}=`], ' is not a domain of the connection'],
    [['acme=a.example'], '--tenant'],
  ] as [string[], string][])
    await expect(enter(tenants), String(tenants)).rejects.toThrow(message)
})

test('the list shows how the client authenticates and whether the email claim may link or create users', () => {
  const lines = (settings: object) =>
    oidc.describe({
      slug: 'acme',
      settings: { kind: 'oidc', clientId: 'x', ...settings },
    } as never).settings
  expect(lines({})).toEqual(['client ID: x'])
  expect(lines({ tokenAuth: 'post', emailClaim: 'upn' }).slice(1)).toEqual([
    'client authentication: client_secret_post',
    'email claim: upn, which links and creates nobody',
  ])
  expect(
    lines({
      tenants: ['A', 'B'],
      tenantDomains: { a: ['a.example', 'b.example'] },
    }).slice(1),
  ).toEqual([
    'tenant: A, which vouches for a.example, b.example',
    'tenant: B, which vouches for no domain',
  ])
  expect(lines({ tenants: ['A'] }).at(-1)).toBe(
    'tenant: A, which vouches for all domains',
  )
  expect(lines({ emailClaim: 'upn', trustClaim: true }).at(-1)).toBe(
    'email claim: upn, which links and creates users',
  )
})

/**
 * Returns a connection to a provider that redirects one path, as a static host does after
 * a move.
 */
async function connectToMoved(moved: string): Promise<OidcConnection> {
  const server = http.createServer((req, res) => {
    if (req.url === moved) return res.writeHead(301, { location: `${moved}/` }).end()

    res.setHeader('content-type', 'application/json')
    const urls = { authorization_endpoint: issuer, token_endpoint: `${issuer}/token` }
    const metadata = { issuer, ...urls, jwks_uri: `${issuer}/keys` }
    res.end(JSON.stringify(req.url === '/keys' ? { keys: [{}] } : metadata))
  })
  servers.push(server.listen(0, '127.0.0.1'))
  await once(server, 'listening')
  const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`

  const connection = {
    id: randomUUID(),
    slug: 'acme',
    name: 'Acme',
    provision: true,
    allowPasswords: false,
    sessionHours: null,
    settings: { kind: 'oidc' as const, issuer, clientId: 'x' },
  }
  const binding = createBinding(connection)
  return {
    ...connection,
    encryptedSecrets: await encryptSecrets({ clientSecret: 'secret' }, binding),
  }
}

test.each([
  ['/.well-known/openid-configuration', 'discovery_response'],
  ['/keys', 'provider_keys'],
])(
  'the check of a provider that redirects %s says that this is not followed',
  async (moved, check) => {
    const checked = oidc.check(await connectToMoved(moved))

    await expect(checked).rejects.toThrow(
      new RegExp(`^acme: ${check}\\. .* Redirects are not followed`),
    )
  },
)

test('an issuer from a setup link leads to public addresses only, until an operator names it', async () => {
  const stored = {
    kind: 'oidc' as const,
    issuer: good.issuer,
    clientId: 'x',
    publicOnly: true as const,
  }
  const update = async (flags: Flags) =>
    (await oidc.add.settingsFrom({ slug: 'acme', domains: [], stored }, flags, secret))
      .settings
  expect(await update({ 'token-auth': 'post' })).toMatchObject({ publicOnly: true })
  expect(await update({ issuer: good.issuer })).not.toHaveProperty('publicOnly')
})
