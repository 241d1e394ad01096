import { execFile } from 'node:child_process'
import { createHash, randomBytes, randomUUID } from 'node:crypto'
import { promisify } from 'node:util'
import bcrypt from 'bcrypt'
import { project } from '../../bin/dev/local'
import * as routes from '../../lib/contract/routes'
import { createDraftColumns } from '../../lib/sso/setup/draft'
import { assert, newPasskey, register } from '../support/authenticator'
import {
  addClients,
  type ClientCode,
  clientCode,
  exchangeClientCode,
  renewTokens,
  tokensOf,
} from '../support/browsers/dashboard'
import { Administrator } from '../support/browsers/setup-visitor'
import { errorOf, Visitor } from '../support/browsers/sso-visitor'
import { openReport, testPath } from '../support/browsers/test-sign-in'
import {
  activation,
  deactivation,
  newPerson,
  patchOf,
  withToken,
} from '../support/clients/directory'
import { insertConnection } from '../support/databases/connection'
import { type OwnDatabase, openOwnDatabase } from '../support/databases/own-database'
import { totp } from '../support/databases/second-factor'
import { newBrowser, newKey } from '../support/databases/sign-in-requests'
import { documentedFetch } from '../support/documents/documented'
import {
  exchangePath,
  expect,
  newPassword,
  postTo,
  resetPath,
  test,
} from '../support/fixtures'
import {
  clientSecret,
  type Provider,
  startProvider,
} from '../support/providers/oidc-provider'
import { keepSecret, newAddress } from '../support/secrets'
import { type Server, startServer } from '../support/servers/server'
import { type Smtp, startSmtp } from '../support/servers/smtp'

// Tests a server that connects with the role in deploy/database.sql. plans.spec.ts tests
// the privileges that each statement needs.

test.describe.configure({ mode: 'serial' })

const role = `serving_${randomBytes(6).toString('hex')}`
const cronSecret = keepSecret('a secret of this test alone')
const [slug, domain] = ['acme', 'acme.example']
const hash = (secret: string) => createHash('sha256').update(secret).digest()

let database: OwnDatabase
let server: Server
let smtp: Smtp
let provider: Provider

test.beforeAll(async () => {
  database = await openOwnDatabase({ role })
  await database.sql('SET enable_seqscan = off') // so that the test’s own inserts scan no table
  await database.sql('VACUUM ANALYZE')
  ;[smtp, provider] = await Promise.all([startSmtp(), startProvider()])
  server = await startServer({
    ...smtp.settings,
    DATABASE_URL: database.url(role, role),
    CRON_SECRET: cronSecret,
    PASSWORD_SIGN_IN: 'true',
    SECOND_FACTOR: 'true',
    SCIM: 'true',
    SETUP_LINKS: 'true',
    PASSKEYS: 'true',
    DATABASE_POOL_SIZE: '1',
  })
  await insertConnection(database.sql, slug, domain, provider)
  await addClients(database.sql)
})
test.afterAll(async () => {
  await provider?.stop()
  await server?.stop()
  await smtp?.stop()
  await database?.drop()
})

const count = async (text: string, ...values: unknown[]) =>
  (await database.sql(text, values)).length

/**
 * Creates a user through the connection, and signs in again with a changed email address.
 */
async function signInThroughConnection(): Promise<void> {
  const name = randomBytes(8).toString('hex')
  for (const email of [`${name}@${domain}`, 'changed@example.com']) {
    provider.person = { sub: name, email }
    expect((await new Visitor(server.url).signIn(slug)).searchParams.has('code')).toBe(
      true,
    )
  }
  const created = 'SELECT 1 FROM users WHERE email = $1'
  expect(await count(created, `${name}@${domain}`)).toBe(1)
}

/** Signs in through the connection as a test, and as an account without access. */
async function tryConnection(): Promise<void> {
  const path = await testPath(database.sql, slug)
  const visitor = new Visitor(server.url)
  provider.person = { sub: 'tested', email: `tested@${domain}` }
  const back = await visitor.authorize(await visitor.open(path))
  expect((await visitor.request(back.pathname + back.search)).status).toBe(200)
  const tried = 'SELECT id FROM connections WHERE slug = $1 AND tried_at IS NOT NULL'
  const [connection] = await database.sql(tried, [slug])

  provider.person = { sub: 'rejected', email: 'rejected@example.com' }
  for (const times of [1, 2]) {
    expect(errorOf(await new Visitor(server.url).signIn(slug))).toBe('no_access')
    const rejected =
      'SELECT 1 FROM rejected_sign_ins WHERE connection_id = $1 AND count >= $2'
    expect(await count(rejected, connection!.id, times)).toBe(1)
  }
}

/** Signs a browser in at a client, and uses its tokens. Returns the used code. */
async function useClient(
  cookies: { token: string; refreshToken: string },
  headers: Record<string, string>,
): Promise<ClientCode> {
  const code = (await clientCode(server.url, cookies))!
  const opened = await exchangeClientCode(server.url, code)
  expect(opened.status).toBe(200)
  expect((await exchangeClientCode(server.url, code)).status).toBe(400)

  const { token, refreshToken } = tokensOf(opened)
  expect((await renewTokens(server.url, refreshToken)).status).toBe(200)
  expect((await renewTokens(server.url, 'made-up')).status).toBe(400)
  const asClient = { headers: { ...headers, Authorization: `Bearer ${token}` } }
  expect(
    (await documentedFetch(server.url + routes.getUserInfo.path, asClient)).status,
  ).toBe(200)

  return code
}

/** Sends the requests of the directory of the connection. */
async function useDirectory(): Promise<void> {
  const token = keepSecret(`scim_${randomBytes(32).toString('base64url')}`)
  await database.sql(
    `INSERT INTO scim_tokens (connection_id, token_hash, hint) SELECT id, $1, 'x' FROM connections WHERE slug = $2`,
    [hash(token), slug],
  )
  const send = withToken(() => server.url, token)
  const added = await send('POST', '/Users', newPerson(domain))
  expect(added.status).toBe(201)
  const path = `/Users/${added.body.id}`
  const renamed = { op: 'replace', path: 'emails', value: newPerson(domain).emails }
  for (const body of [deactivation, activation, patchOf(renamed)])
    expect((await send('PATCH', path, body)).status).toBe(200)
  const filter = encodeURIComponent(`userName eq "${added.body.userName}"`)
  expect((await send('GET', `/Users?filter=${filter}`)).body.totalResults).toBe(1)
  expect((await send('DELETE', path)).status).toBe(204)
}

/** Adds a passkey, signs in with it twice, renames it and removes it. */
async function usePasskey(
  user: { id: string; email: string },
  password: string,
): Promise<void> {
  const passkey = newPasskey(user.id)
  const post = (path: string, body: object, headers = {}) =>
    postTo(server.url + path, body, { 'X-Forwarded-For': newAddress(), ...headers })
  const signedIn = await post(routes.signIn.path, { email: user.email, password })
  const own = { Cookie: `refresh=${signedIn.body.refreshToken}` }
  const started = await post(routes.startPasskey.path, {}, own)
  const { challenge } = started.body.options as { challenge: string }
  const credential = register(passkey, keepSecret(challenge), server.url)
  const added = await post(routes.addPasskey.path, { credential }, own)
  expect(added.status).toBe(200)

  const options = await documentedFetch(
    server.url + routes.getPasskeySignInOptions.path,
    { headers: { 'X-Forwarded-For': newAddress() } },
  )
  const { options: asked } = (await options.json()) as { options: { challenge: string } }
  const assertion = assert(passkey, keepSecret(asked.challenge), server.url)
  const Cookie = newBrowser()
  for (const _ of ['first', 'repeated']) {
    const path = routes.signInWithPasskey.path
    const entered = await post(path, { credential: assertion }, { Cookie })
    expect(entered.status).toBe(200)
  }

  const asUser = { Authorization: `Bearer ${signedIn.body.token}` }
  const passkeyId = (added.body.passkey as { id: string }).id
  for (const [path, body, headers] of [
    [routes.renamePasskey.path, { passkeyId, name: 'Key' }, asUser],
    [routes.removePasskey.path, { passkeyId }, own],
  ] as const)
    expect((await post(path, body, headers)).status, path).toBe(200)
}

/** Enters, tests and applies the values of a provider with the setup link of a draft. */
async function useSetupLink(): Promise<void> {
  const { sql } = database
  const [id, secret] = [randomUUID(), keepSecret(randomBytes(32).toString('base64url'))]
  const [drafted, email] = [`draft-${id}`, `ada@${id}.example`]
  const { kind, settings, encryptedSecrets } = await createDraftColumns(id, drafted)
  await sql(
    `INSERT INTO connections (id, slug, name, kind, settings, sealed_secrets, disabled_at)
     VALUES ($1, $2, $2, $3, $4, $5, now())`,
    [id, drafted, kind, settings, encryptedSecrets],
  )
  await sql('INSERT INTO connection_domains VALUES ($1, $2, NULL)', [`${id}.example`, id])
  await sql(
    `INSERT INTO setup_links (connection_id, secret_hash, may_activate, expires_at)
     VALUES ($1, $2, true, now() + interval '1 day')`,
    [id, hash(secret)],
  )
  await sql('INSERT INTO users (email, email_domain) VALUES ($1, $2)', [
    email,
    `${id}.example`,
  ])

  const administrator = new Administrator(server)
  expect((await administrator.openLink(secret)).status).toBe(200)
  const { issuer } = provider
  const values = { protocol: 'oidc', issuer, clientId: 'the-client', clientSecret }
  for (const _ of ['saved', 'corrected'])
    expect((await administrator.save(values)).status).toBe(200)
  provider.person = { sub: id, email }
  const back = await administrator.authorize(
    await administrator.open(routes.testSetup.path),
  )
  const { text } = await openReport(administrator, back.pathname + back.search)
  expect(text).toContain(`${email} could sign in to`)
  expect(await administrator.page()).toContain('A test has succeeded')
  expect((await administrator.apply()).status).toBe(200)
}

/** Makes the server execute each of its database operations. */
async function useServer(): Promise<void> {
  const { sql } = database
  const headers = { 'X-Forwarded-For': newAddress() }
  const post = (path: string, body: object, more = {}) =>
    postTo(server.url + path, body, { ...headers, ...more })
  const [user] = await sql(
    `INSERT INTO users (email, email_domain) VALUES (gen_random_uuid() || '@example.com', 'example.com') RETURNING id, email`,
  )
  const [code, other, token] = Array.from({ length: 3 }, () =>
    keepSecret(randomBytes(32).toString('base64url')),
  )
  await sql(
    `WITH codes AS (
       INSERT INTO exchange_codes (code_hash, user_id, expires_at) SELECT unnest($2::bytea[]), $1, now() + interval '1 hour'
     )
     INSERT INTO reset_tokens (token_hash, user_id, expires_at) VALUES ($3, $1, now() + interval '1 hour')`,
    [user!.id, [hash(code!), hash(other!)], hash(token!)],
  )
  expect((await post(exchangePath, { code })).status).toBe(200)
  // reuse of the code revokes its session
  expect((await post(exchangePath, { code })).status).toBe(400)
  const { body } = await post(exchangePath, { code: other })
  for (const cookie of [`session=${body.token}`, `refresh=${body.refreshToken}`])
    expect(
      await (await fetch(server.url, { headers: { Cookie: cookie } })).text(),
    ).toContain(user!.email.split('@')[0])
  const cookies = { Cookie: `session=${body.token}; refresh=${body.refreshToken}` }
  expect((await post(routes.refreshSession.path, {}, cookies)).status).toBe(200)
  const { token: jwt, refreshToken } = body as { token: string; refreshToken: string }
  const usedCode = hash((await useClient({ token: jwt, refreshToken }, headers)).code)
  await fetch(`${server.url}/sign-out`, {
    method: 'POST',
    headers: { ...headers, ...cookies },
    redirect: 'manual',
  })
  expect(
    await count(
      'SELECT 1 FROM sessions WHERE user_id = $1 AND revoked_at IS NOT NULL',
      user!.id,
    ),
  ).toBe(2)

  const password = newPassword()
  expect((await post(resetPath, { token, password })).status).toBe(200)
  expect(
    await count(
      `SELECT 1 FROM mails WHERE user_id = $1 AND kind = 'password-changed'`,
      user!.id,
    ),
  ).toBe(1)
  const old = await bcrypt.hash(password, 5)
  await sql('UPDATE users SET password_hash = $1 WHERE id = $2', [old, user!.id])
  let known = {}
  let signedIn = ''
  for (const [secret, expected] of [
    ['wrong', 400],
    [password, 200],
    [password, 200],
  ] as const) {
    const response = await post(
      routes.signIn.path,
      { email: user!.email.toUpperCase(), password: secret },
      known,
    )
    expect(response.status).toBe(expected)
    const cookie = response.headers.getSetCookie().find((set) => set.startsWith('known='))
    if (cookie) known = { Cookie: cookie }
    signedIn = response.body.token ?? ''
  }
  expect(
    await count(
      'SELECT 1 FROM users WHERE id = $1 AND password_hash <> $2',
      user!.id,
      old,
    ),
  ).toBe(1)

  const own = { Authorization: `Bearer ${signedIn}` }
  const { secret, enrolment } = (
    await post(routes.startSecondFactor.path, { password }, own)
  ).body
  expect(
    (await post(routes.confirmSecondFactor.path, { enrolment, code: totp(secret!) }, own))
      .status,
  ).toBe(200)
  const { challenge } = (await post(routes.signIn.path, { email: user!.email, password }))
    .body
  expect(
    (await post(routes.signInSecondFactor.path, { challenge, code: totp(secret!, 1) }))
      .status,
  ).toBe(200)
  await sql('UPDATE second_factors SET last_step = 0 WHERE user_id = $1', [user!.id]) // as if a minute had passed
  const replaced = await post(
    routes.replaceRecoveryCodes.path,
    { password, code: totp(secret!) },
    own,
  )
  const [recoveryCode] = replaced.body.recoveryCodes!
  expect(
    (await post(routes.removeSecondFactor.path, { password, recoveryCode }, own)).status,
  ).toBe(200)

  await usePasskey({ id: user!.id, email: user!.email }, password)

  expect((await post(routes.forgotPassword.path, { email: user!.email })).status).toBe(
    200,
  )
  const cron = (job: string) =>
    fetch(`${server.url}/api/cron/${job}`, {
      headers: { ...headers, Authorization: `Bearer ${cronSecret}` },
    })
  await cron('mail')
  // The token of the email is issued when the email is sent. The clean-up below must find
  // it.
  const resetMailSent = `SELECT 1 FROM mails WHERE user_id = $1 AND kind = 'reset' AND sent_at IS NOT NULL`
  await expect.poll(() => count(resetMailSent, user!.id)).toBe(1)
  await signInThroughConnection()
  await tryConnection()
  await useDirectory()
  await useSetupLink()
  expect(
    (await documentedFetch(`${server.url}/api/health/ready`, { headers })).status,
  ).toBe(200)

  await sql(`
    UPDATE exchange_codes SET expires_at = now() - interval '8 days' WHERE user_id = '${user!.id}';
    UPDATE reset_tokens SET expires_at = now() - interval '8 days' WHERE user_id = '${user!.id}';
    UPDATE sessions SET expires_at = now() - interval '8 days' WHERE user_id = '${user!.id}'`)
  await sql(
    `UPDATE authorization_codes SET expires_at = now() - interval '8 days' WHERE code_hash = $1`,
    [usedCode],
  )
  expect((await cron('clean-up')).status).toBe(200)
  const left = ['exchange_codes', 'reset_tokens', 'sessions'].map(
    (table) => `SELECT user_id FROM ${table}`,
  )
  expect(
    await count(
      `SELECT FROM (${left.join(' UNION ALL ')}) AS remaining WHERE user_id = $1`,
      user!.id,
    ),
  ).toBe(0)
  expect(
    await count('SELECT FROM authorization_codes WHERE code_hash = $1', usedCode),
  ).toBe(0)
}

test('without part 4, a repeated reset is rejected as a second use', async () => {
  const columns = '(password_hash, password_changed_at) ON users'
  await database.sql(`REVOKE SELECT ${columns} FROM ${role}`)
  const token = keepSecret(randomBytes(32).toString('base64url'))
  await database.sql(
    `WITH added AS (INSERT INTO users (email, email_domain) VALUES ('part4@example.com', 'example.com') RETURNING id)
     INSERT INTO reset_tokens (token_hash, user_id, expires_at) SELECT $1, id, now() + interval '1 hour' FROM added`,
    [hash(token)],
  )

  const body = { token, password: newPassword() }
  const headers = { 'Idempotency-Key': newKey(), 'X-Forwarded-For': newAddress() }
  for (const status of [200, 400])
    expect((await postTo(server.url + resetPath, body, headers)).status).toBe(status)

  await database.sql(`GRANT SELECT ${columns} TO ${role}`)
})

test('the role in deploy/database.sql can serve requests and issue links, and finds rows by key after tables grow', async () => {
  // PostgreSQL caches a plan after five executions
  for (let rounds = 0; rounds < 6; rounds++) await useServer()
  const program = [
    '--import',
    'tsx',
    `${project}bin/issue.ts`,
    'sso-code',
    'ada@example.com',
    '--create',
    '--json',
  ]
  const env = {
    ...process.env,
    DATABASE_URL: database.url(role, role),
    PUBLIC_URL: server.url,
  }
  const { stdout } = await promisify(execFile)(process.execPath, program, {
    cwd: project,
    env,
  })
  const code = keepSecret(JSON.parse(stdout).secret)
  expect(
    (
      await postTo(
        server.url + exchangePath,
        { code },
        { 'X-Forwarded-For': newAddress() },
      )
    ).status,
  ).toBe(200)

  // ANALYZE ran when all rows had expired, so the planner expects no unexpired rows.
  const expiring = [
    'authorization_codes',
    'exchange_codes',
    'password_attempts',
    'reset_tokens',
    'sessions',
    'sso_attempts',
  ]
  for (const table of expiring)
    await database.sql(`UPDATE ${table} SET expires_at = now() - interval '1 hour'`)
  await database.sql('ANALYZE')
  await database.sql(`
    WITH more AS (INSERT INTO users (email, email_domain) SELECT number || '@example.net', 'example.net' FROM generate_series(1, 5000) number RETURNING id),
    codes AS (INSERT INTO exchange_codes (code_hash, user_id, expires_at) SELECT sha256(id::text::bytea), id, now() + interval '1 hour' FROM more),
    codes_of_clients AS (INSERT INTO authorization_codes (code_hash, client_id, parent_id, redirect_uri, expires_at)
      SELECT sha256(id::text::bytea), id, id, 'https://app.example.com/', now() + interval '1 hour' FROM more),
    of_clients AS (INSERT INTO sessions (user_id, parent_id, client_id, expires_at) SELECT id, id, id, now() + interval '1 hour' FROM more),
    tokens AS (INSERT INTO reset_tokens (token_hash, user_id, expires_at) SELECT sha256(id::text::bytea), id, now() + interval '1 hour' FROM more),
    mails AS (INSERT INTO mails (kind, user_id, language, due_at, sent_at) SELECT 'reset', id, 'en', NULL, now() FROM more),
    attempts AS (INSERT INTO password_attempts SELECT sha256(id::text::bytea), 1, now() + interval '1 hour' FROM more)
    INSERT INTO sessions (user_id, expires_at) SELECT id, now() + interval '1 hour' FROM more`)
  const rowsRead = async () => {
    await database.sql('SELECT pg_stat_force_next_flush()')
    const read = `SELECT sum(idx_tup_fetch)::int AS by_key, sum(seq_tup_read)::int AS scanned
      FROM pg_stat_user_tables WHERE relname <> '_prisma_migrations'`
    return (await database.sql(read))[0] as { by_key: number; scanned: number }
  }
  const before = await rowsRead()
  await useServer()
  await server.stop() // a connection reports its remaining statistics when it closes
  await expect.poll(async () => (await rowsRead()).by_key).toBeGreaterThan(before.by_key)
  const after = await rowsRead()
  expect(after.scanned - before.scanned).toBe(0)
  expect(after.by_key - before.by_key).toBeLessThan(1_500) // a scan of a grown table reads 5,000
  expect(server.output()).toContain('"status":200')
  expect(server.output()).not.toContain('"level":"error"')
})
