import * as routes from '../../lib/contract/routes'
import { issueIdentityCode } from '../../lib/sso/code'
import { findConnection, type SamlConnection } from '../../lib/sso/connection'
import { findOrLinkUser } from '../../lib/sso/identity'
import {
  disableConnection,
  enableConnection,
  type ListedConnection,
  listConnections,
  removeConnection,
  updateConnection,
} from '../../lib/sso/manage/connections'
import { rotateKey } from '../../lib/sso/saml/setup'
import { isSignedBy } from '../support/browsers/saml-visitor'
import { createKinds, type Sso, send, testWithSso } from '../support/browsers/sso-kinds'
import { errorOf, logLine, usersOf, Visitor } from '../support/browsers/sso-visitor'
import { connect } from '../support/databases/connection'
import { rounds } from '../support/databases/race'
import { lockRow } from '../support/databases/row-lock'
import { expect, postTo, type Sql, test } from '../support/fixtures'
import {
  newSamlProvider,
  type ResponseOptions,
  replace,
} from '../support/providers/saml-provider'
import { keepSecret } from '../support/secrets'

// What a connection decides about its sessions, and what ends when it is disabled.

let { server, provider, samlProvider, kinds } = {} as Sso
testWithSso((sso) => ({ server, provider, samlProvider, kinds } = sso))

const logged = (visitor: Visitor) => logLine(visitor, server)
const refreshed = async (refreshToken: unknown) =>
  (await postTo(server.url + routes.refreshSession.path, { refreshToken })).body

// Disabled connections

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

/** Adds a connection with a linked user. Returns the connection and the identity. */
const setUpIdentity = async () => {
  const { slug, connection } = await setUp()
  const identity = { issuer: provider.issuer, subject: 'ada' }
  const found = (await findConnection(slug))!
  const id = await findOrLinkUser(found, identity, async () => ({
    email: `ada@${slug}.example.org`,
    isVerified: true,
  }))
  return { connection, id, ...identity }
}

test('a disabled connection rejects start, callback, exchange and refresh, and its sessions are ended', async ({
  sql,
}) => {
  const { slug, connection, visitor: signedIn, landing: first, id } = await setUpUser(sql)
  const [starting, exchanging] = [new Visitor(server.url), new Visitor(server.url)]
  const { body: tokens } = await signedIn.exchange(first)
  const returning = new Visitor(server.url)
  const back = await returning.authorize(await returning.start(slug))
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

test('a disabled or removed connection rejects codes and refresh tokens that were issued before', async ({
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
  const { connection, id, issuer, subject } = await setUpIdentity()
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

test('a connection is removed after its SSO attempts, which are deleted in batches', async ({
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
  const { connection, id } = await setUpIdentity()
  const lock = await lockRow('identities', 'user_id = $1', id)
  await lock.sql(
    `INSERT INTO sessions (user_id, connection_id, expires_at) VALUES ($1, $2, now() + interval '1 day')`,
    [id, connection.id],
  )
  const disabling = disableConnection(connection)
  await lock.waiting(1)
  const isDisabled = 'SELECT 1 FROM connections WHERE id = $1 AND disabled_at IS NOT NULL'
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
  for (let round = 0; round < rounds; round++) {
    const { connection, id, issuer, subject } = await setUpIdentity()
    const codes = await Promise.all(
      [1, 2, 3, 4].map(() => issueIdentityCode(id, connection.id, { issuer, subject })),
    )
    const exchanges = codes.map(({ secret }) =>
      postTo(server.url + routes.exchangeSsoCode.path, { code: keepSecret(secret) }),
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

// Sessions

const signInWithSaml = async (slug: string, options?: ResponseOptions) => {
  const visitor = new Visitor(server.url)
  const request = await visitor.start(slug)
  const answer = await kinds.SAML.answer(slug, request, { assertion: true, ...options })
  return visitor.exchange(await send(visitor, answer))
}

test('does not renew a session after the end of the provider’s session', async ({
  sql,
}) => {
  const slug = await kinds.SAML.connect()
  const { body } = await signInWithSaml(slug)
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
    const slug = await kinds.SAML.connect()
    await sql('UPDATE connections SET session_hours = $2 WHERE slug = $1', [
      slug,
      sessionHours,
    ])
    await signInWithSaml(
      slug,
      isEnded ? {} : { edit: replace(/ SessionNotOnOrAfter="[^"]*"/, '') },
    )
    const [session] = await sql(
      `SELECT round(extract(epoch FROM renewable_until - created_at) / 3600)::int AS hours FROM sessions
       WHERE connection_id = (SELECT id FROM connections WHERE slug = $1)`,
      [slug],
    )
    expect(session).toEqual({ hours: expected })
  })

// Keys

test('the encrypted key of a connection is bound to its provider and certificate', async ({
  sql,
}) => {
  const slug = await kinds.SAML.connect()
  const visitor = new Visitor(server.url)
  const { issuer, certificate } = samlProvider.settings
  const set = (name: string, value: string) =>
    sql(
      `UPDATE connections SET settings = settings || jsonb_build_object($2::text, $3::text) WHERE slug = $1`,
      [slug, name, value],
    )
  for (const [name, value, genuine] of [
    ['issuer', 'https://other.example', issuer],
    ['certificate', samlProvider.nextKey.certificate, certificate],
  ] as const) {
    await set(name, value)
    expect([errorOf(await visitor.start(slug)), (await logged(visitor)).check]).toEqual([
      'unavailable',
      'secrets',
    ])
    await set(name, genuine)
  }
  expect((await visitor.start(slug)).host).toBe('idp.example')
})

test('during a key rotation, decrypts with the old and the new key, and signs with the old key until it is removed', async () => {
  const own = await newSamlProvider()
  const { SAML } = createKinds(server.url, provider, own)
  const slug = await SAML.connect()
  const visitor = new Visitor(server.url)
  const stored = async () =>
    (await listConnections(slug))[0] as ListedConnection & SamlConnection
  const rotate = async (drop?: boolean) =>
    updateConnection(await stored(), await rotateKey(await stored(), drop))
  const { certificate: first } = own.settings
  const signInFor = async (certificate: string) => {
    own.settings.certificate = certificate
    const request = await visitor.start(slug)
    const options = { assertion: true, encrypted: true }
    return errorOf(await send(visitor, await SAML.answer(slug, request, options)))
  }
  const signs = async (certificate: string) =>
    isSignedBy(await visitor.start(slug), certificate)
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
