import { randomUUID } from 'node:crypto'
import { generateKeyPair, SignJWT } from 'jose'
import * as routes from '../../lib/contract/routes'
import { disableConnection, listConnections } from '../../lib/sso/manage/connections'
import { connectSaml } from '../support/browsers/saml-visitor'
import { Visitor } from '../support/browsers/sso-visitor'
import { connect } from '../support/databases/connection'
import { expect, type TestServer, test } from '../support/fixtures'
import {
  type Claims,
  kid,
  type Provider,
  signed,
  startProvider,
} from '../support/providers/oidc-provider'
import { newSamlProvider } from '../support/providers/saml-provider'
import { keepSecret } from '../support/secrets'

const event = 'http://schemas.openid.net/event/backchannel-logout'
const pathOf = (slug: string) =>
  routes.endProviderSession.path.replace('{connection}', slug)

let server: TestServer
let provider: Provider
let slug: string
test.beforeAll(async ({ serverWith }) => {
  server = await serverWith()
  provider = await startProvider()
})
test.afterAll(() => provider.stop())
test.beforeEach(async () => {
  provider.person = { sub: randomUUID() }
  provider.behavior = {}
  slug = await connect(provider)
})

/** Signs the person in. `sid` is the ID of the session at the provider. */
async function signIn(sid?: string): Promise<string> {
  provider.person = { ...provider.person, sid }
  const visitor = new Visitor(server.url)
  const { status, body } = await visitor.exchange(await visitor.signIn(slug))
  expect(status).toBe(200)
  return keepSecret(body.token!)
}

const isLive = async (token: string) =>
  (await server.get(routes.getSession.path, { Authorization: `Bearer ${token}` }))
    .status === 200

/** Returns the claims of a right logout token. */
const claimsOf = (changed: Claims = {}): Claims => ({
  iss: provider.issuer,
  aud: 'the-client',
  iat: Math.floor(Date.now() / 1000),
  jti: randomUUID(),
  events: { [event]: {} },
  ...changed,
})

/** Sends a logout token. Returns the response, and the check in its log line. */
async function send(token: string | null, to = slug) {
  const body = new URLSearchParams(token === null ? {} : { logout_token: token })
  const response = await server.fetch(pathOf(to), { method: 'POST', body })
  const [line] = await server.logged(response.headers.get('x-request-id')!)
  return { status: response.status, headers: response.headers, line, response }
}
const logOut = async (changed: Claims) =>
  send(await signed(claimsOf(changed), provider.keys, { typ: 'logout+jwt' }))

test('ends the sessions of one session at the provider', async () => {
  const [first, second, other] = [
    await signIn('session-1'),
    await signIn('session-1'),
    await signIn('session-2'),
  ]
  const { status, headers } = await logOut({ sid: 'session-1' })
  expect([status, headers.get('cache-control')]).toEqual([200, 'no-store'])
  expect([await isLive(first), await isLive(second), await isLive(other)]).toEqual([
    false,
    false,
    true,
  ])
})

test('ends all sessions of a person, and no session of another one', async () => {
  const [first, second] = [await signIn('session-1'), await signIn()]
  const { sub } = provider.person
  provider.person = { sub: randomUUID(), email: `bob@${slug}.example.org` }
  const other = await signIn('session-3')
  expect((await logOut({ sub })).status).toBe(200)
  expect([await isLive(first), await isLive(second), await isLive(other)]).toEqual([
    false,
    false,
    true,
  ])
})

test('with both, ends that session and those of the person without an ID of the provider', async () => {
  const [first, other, old] = [
    await signIn('session-1'),
    await signIn('session-2'),
    await signIn(),
  ]
  const { sub } = provider.person
  expect((await logOut({ sub, sid: 'session-1' })).status).toBe(200)
  expect([await isLive(first), await isLive(other), await isLive(old)]).toEqual([
    false,
    true,
    false,
  ])
})

test('invalidates the codes that no browser has exchanged yet', async () => {
  provider.person = { ...provider.person, sid: 'session-1' }
  const visitor = new Visitor(server.url)
  const landing = await visitor.signIn(slug)
  expect((await logOut({ sid: 'session-1' })).status).toBe(200)
  expect((await visitor.exchange(landing)).status).toBe(400)
})

test('a repeated token ends no session that began later', async ({ sql }) => {
  const first = await signIn('session-1')
  const { sub } = provider.person
  const tokens = [
    await signed(claimsOf({ sub }), provider.keys),
    await signed(claimsOf({ sub, sid: 'session-1' }), provider.keys),
  ]
  for (const token of tokens) expect((await send(token)).status).toBe(200)
  expect(await isLive(first)).toBe(false)

  const next = await signIn('session-2')
  // a second later, because the time in a token has whole seconds
  await sql(
    `UPDATE sessions SET created_at = created_at + interval '2 seconds' WHERE provider_session = 'session-2'`,
  )
  for (const token of tokens) expect((await send(token)).status).toBe(200)
  expect(await isLive(next)).toBe(true)
})

test('200 if nobody has the session or the subject', async () => {
  const token = await signIn('session-1')
  expect((await logOut({ sid: 'unknown', sub: 'unknown' })).status).toBe(200)
  expect(await isLive(token)).toBe(true)
})

test('rejects every token that is not a logout token of this provider for this client', async () => {
  const token = await signIn('session-1')
  const sid = { sid: 'session-1' }
  const now = Math.floor(Date.now() / 1000)
  const other = await generateKeyPair('RS256')
  const symmetric = new SignJWT(claimsOf(sid)).setProtectedHeader({ alg: 'HS256', kid })
  const unsigned = [{ alg: 'none' }, claimsOf(sid)].map((part) =>
    Buffer.from(JSON.stringify(part)).toString('base64url'),
  )
  const sign = (changed: Claims) =>
    signed(claimsOf({ ...sid, ...changed }), provider.keys)
  const cases: [check: string, token: string | null][] = [
    ['logout_missing', null],
    ['logout_missing', ''],
    ['logout_format', 'not a token'],
    ['logout_signature', await signed(claimsOf(sid), { ...provider.keys, ...other })],
    ['logout_key', await signed(claimsOf(sid), provider.keys, { kid: 'key-2' })],
    ['logout_alg', `${unsigned.join('.')}.`],
    ['logout_alg', await symmetric.sign(Buffer.alloc(32))],
    ['logout_aud', await sign({ aud: 'another-client' })],
    ['logout_iss', await sign({ iss: 'https://idp.example.com' })],
    ['logout_nonce', await sign({ nonce: 'x' })],
    ['logout_events', await sign({ events: undefined })],
    ['logout_events', await sign({ events: { [event]: true } })],
    ['logout_events', await sign({ events: { 'https://example.com/event': {} } })],
    ['logout_subject', await sign({ sid: undefined })],
    ['logout_subject', await sign({ sid: 7 })],
    ['logout_jti', await sign({ jti: undefined })],
    ['logout_iat', await sign({ iat: undefined })],
    ['logout_iat', await sign({ iat: now + 240 })],
    ['logout_iat', await sign({ iat: now - 660 })],
    ['logout_exp', await sign({ exp: now - 240 })],
    ['logout_nonce', await sign({ nonce: 'x', events: undefined, exp: now + 300 })],
  ]
  for (const [check, given] of cases) {
    const { status, line, response } = await send(given)
    expect([status, line!.check, line!.connection], check).toEqual([400, check, slug])
    expect(await response.json()).toMatchObject({ error: 'invalid_request' })
  }
  expect(await isLive(token)).toBe(true)

  const accepted = [{ iat: now + 120 }, { iat: now - 540 }, { exp: now + 60 }]
  for (const changed of accepted)
    expect((await send(await sign({ ...changed, sid: 'unknown' }))).status).toBe(200)
})

test('404 for an unknown, a disabled or a SAML connection', async () => {
  const unknown = await send('x', 'unknown')
  expect([unknown.status, unknown.line!.check]).toEqual([404, 'connection'])
  const saml = await send('x', await connectSaml(await newSamlProvider(), server.url))
  expect([saml.status, saml.line!.check]).toEqual([404, 'connection_kind'])
  const [connection] = await listConnections(slug)
  await disableConnection(connection!)
  const disabled = await logOut({ sid: 'session-1' })
  expect([disabled.status, disabled.line!.check]).toEqual([404, 'connection'])
})

test('503 if the keys of the provider can’t be fetched, so that it sends the token again', async () => {
  const another = await startProvider({ jwks: () => ({ status: 500, body: {} }) })
  const failing = await connect(another)
  const claims = claimsOf({ iss: another.issuer, sid: 'session-1' })
  const { status, line } = await send(await signed(claims, another.keys), failing)
  expect([status, line!.check]).toEqual([503, 'provider_keys'])
  await another.stop()
})

test('fetches the keys of the provider once for many tokens with unknown keys', async () => {
  const before = provider.requests.filter((path) => path === '/jwks').length
  for (let count = 0; count < 5; count++)
    await send(await signed(claimsOf({ sid: 'x' }), provider.keys, { kid: `x${count}` }))
  const after = provider.requests.filter((path) => path === '/jwks').length
  expect(after - before).toBeLessThanOrEqual(1)
})
