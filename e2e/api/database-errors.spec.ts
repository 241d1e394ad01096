import { createHash, randomUUID } from 'node:crypto'
import pg from 'pg'
import { makeRefreshToken } from '../../lib/session/tokens'
import { type OwnDatabase, openOwnDatabase } from '../support/databases/own-database'
import { documentedFetch } from '../support/documents/documented'
import { exchangePath, expect, type TestServer, test } from '../support/fixtures'
import { keepSecret } from '../support/secrets'
import { unreachableDatabase } from '../support/servers/settings'

let database: OwnDatabase
let server: TestServer
test.beforeAll(async ({ serverWith }) => {
  database = await openOwnDatabase()
  server = await serverWith({ DATABASE_URL: database.url(), DATABASE_POOL_SIZE: '2' })
})
test.afterAll(() => database?.drop())

test('sends 503 for a temporary database error, and 500 for any other', async () => {
  const failWith = (sqlState: string) =>
    database.sql(`CREATE OR REPLACE FUNCTION fail() RETURNS trigger LANGUAGE plpgsql AS $$
      BEGIN RAISE EXCEPTION 'as the test wants' USING ERRCODE = '${sqlState}'; END $$;
    CREATE OR REPLACE TRIGGER fail BEFORE INSERT ON sessions FOR EACH ROW EXECUTE FUNCTION fail()`)
  const code = keepSecret(randomUUID())
  await database.sql(
    `WITH added AS (INSERT INTO users (email, email_domain) VALUES ('grace@example.com', 'example.com') RETURNING id)
     INSERT INTO exchange_codes (code_hash, user_id, expires_at) SELECT $1, id, now() + interval '1 hour' FROM added`,
    [createHash('sha256').update(code).digest()],
  )
  const exchange = () => server.post(exchangePath, { code })
  for (const [sqlState, ...expected] of [
    ['40001', 503, 'SERVICE_UNAVAILABLE', undefined],
    ['57P02', 503, 'SERVICE_UNAVAILABLE', 'unknown'],
    ['23514', 500, 'INTERNAL_ERROR', undefined],
  ] as const) {
    await failWith(sqlState)
    const { status, body } = await exchange()
    expect([status, body.code, body.outcome], sqlState).toEqual(expected)
  }
  await database.sql('DROP TRIGGER fail ON sessions')
  expect((await exchange()).status).toBe(200) // the failed requests did not use the code
})

test('logs which lookup of which request for a page failed, without the error message of the database', async () => {
  await database.sql(`
    ALTER TABLE sessions RENAME TO sessions_of_ada;
    ALTER TABLE connections RENAME TO connections_of_ada`)
  const refresh = keepSecret(makeRefreshToken({ sessionId: randomUUID(), generation: 0 }))
  const signedIn = { Cookie: `refresh=${refresh}` }
  for (const [path, headers] of [
    ['/', signedIn],
    ['/sign-in', signedIn],
    ['/sign-in', {}],
    ['/sign-in?connection=acme', {}],
  ] as const) {
    const response = await fetch(server.url + path, { headers })
    expect(response.status, path).toBe(500)
    const requestId = response.headers.get('x-request-id')!
    const messages = async () => (await server.logged(requestId)).map(({ msg }) => msg)
    await expect
      .poll(messages, path)
      .toContainEqual(expect.stringMatching(/ could not be looked up$/))
  }
  for (const what of ['a session', 'a connection', 'the connections'])
    await expect.poll(server.output).toContain(`${what} could not be looked up`)
  expect(await server.output()).toContain(
    '"name":"PrismaClientKnownRequestError","code":"42P01"',
  )
  expect(await server.output()).not.toContain('does not exist')
  await database.sql(`
    ALTER TABLE sessions_of_ada RENAME TO sessions;
    ALTER TABLE connections_of_ada RENAME TO connections`)
})

test('is ready only if all migrations of this version are applied, and otherwise logs what to do', async () => {
  const requestId = randomUUID()
  const ready = async () => {
    const headers = { 'X-Request-Id': requestId }
    const response = await documentedFetch(`${server.url}/api/health/ready`, { headers })
    expect(await response.text()).not.toMatch(/migration/i)
    return response.status
  }
  expect(await ready()).toBe(200)
  const [latest] = await database.sql(
    'SELECT max(migration_name) AS name FROM _prisma_migrations',
  )
  await database.sql(
    'UPDATE _prisma_migrations SET rolled_back_at = now() WHERE migration_name = $1',
    [latest!.name],
  )
  expect(await ready()).toBe(503)
  await database.sql('ALTER TABLE _prisma_migrations RENAME TO migrations_of_ada')
  expect(await ready()).toBe(503)
  await database.sql('ALTER TABLE migrations_of_ada RENAME TO _prisma_migrations')
  await database.sql('UPDATE _prisma_migrations SET rolled_back_at = NULL')
  expect(await ready()).toBe(200)
  await expect
    .poll(server.output)
    .toContain(`"pending":["${latest!.name}"],"msg":"migrations are pending: npm run mig`)
  await expect
    .poll(server.output)
    .toContain('the database was never migrated: npm run migrate')

  const lines = (await server.logged(requestId)).filter(({ status }) => status)
  expect(lines.map(({ status, check }) => [status, check])).toEqual([
    [200, undefined],
    [503, 'migrations_pending'],
    [503, 'migrations_pending'],
    [200, undefined],
  ])
})

test('a read-only or unreachable database is in the log line of health-ready, not in its response', async ({
  serverWith,
}) => {
  await database.sql(
    `ALTER DATABASE ${database.name} SET default_transaction_read_only = on`,
  )
  for (const [settings, check] of [
    [{ DATABASE_URL: database.url() }, 'database_read_only'],
    [unreachableDatabase, 'database_unreachable'],
  ] as const) {
    const server = await serverWith(settings)
    const requestId = randomUUID()
    const response = await server.get('/api/health/ready', { 'X-Request-Id': requestId })
    expect(response.status).toBe(503)
    expect(await response.text()).not.toMatch(/database|unreachable|read|ECONN/i)
    const lines = (await server.logged(requestId)).filter(({ status }) => status)
    expect(lines).toMatchObject([{ route: 'health-ready', check }])
  }
  await database.sql(
    `ALTER DATABASE ${database.name} RESET default_transaction_read_only`,
  )
})

test('DATABASE_POOL_SIZE is the maximum number of database connections of a process', async () => {
  const holder = new pg.Client({ connectionString: database.url() })
  await holder.connect()
  await holder.query('BEGIN; LOCK TABLE exchange_codes')
  const exchanges = Array.from({ length: 6 }, () =>
    server.post(exchangePath, { code: 'fabricated' }),
  )
  const count = async (condition: string) =>
    (
      await database.sql(
        `SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND ${condition}`,
      )
    ).length
  await expect.poll(() => count(`wait_event_type = 'Lock'`)).toBe(2)
  await holder.query('COMMIT')
  await holder.end()
  await Promise.all(exchanges)
  await expect.poll(() => count('pid <> pg_backend_pid()')).toBe(2) // the pool does not close idle connections
})

test('every constraint rejects invalid rows', async () => {
  const [hash, short] = [`sha256('x')`, `'\\x00'::bytea`]
  const later = `now() + interval '1 hour'`
  const code = (columns: string, values: string) =>
    `INSERT INTO exchange_codes (user_id, expires_at, ${columns}) VALUES (gen_random_uuid(), ${later}, ${values})`
  const authorizationCode = (columns: string, values: string) =>
    `INSERT INTO authorization_codes (client_id, parent_id, redirect_uri, expires_at, ${columns})
     VALUES (gen_random_uuid(), gen_random_uuid(), 'https://app.example.com/', ${later}, ${values})`
  const session = (columns: string, values: string) =>
    `INSERT INTO sessions (user_id, expires_at, ${columns}) VALUES (gen_random_uuid(), ${later}, ${values})`
  const connection = (slug: string, kind: string, settings: string) =>
    `INSERT INTO connections (name, slug, kind, settings) VALUES ('x', '${slug}', '${kind}', '${settings}')`
  const domain = (name: string) =>
    `INSERT INTO connection_domains VALUES ('${name}', gen_random_uuid())`
  const identity = (issuer: string, subject: string) =>
    `INSERT INTO identities (connection_id, issuer, subject, user_id)
     VALUES (gen_random_uuid(), '${issuer}', '${subject}', gen_random_uuid())`
  const signIn = (state: string, browser: string) =>
    `INSERT INTO sso_attempts (connection_id, kid, expires_at, state_hash, browser_hash)
     VALUES (gen_random_uuid(), 'x', ${later}, ${state}, ${browser})`
  const mail = (columns: string, values: string) =>
    `INSERT INTO mails (user_id, ${columns}) VALUES (gen_random_uuid(), ${values})`
  const attempts = (key: string, count: number) =>
    `INSERT INTO password_attempts VALUES (${key}, ${count}, ${later})`
  const rejected: Record<string, string[]> = {
    users_email_is_lower_case: [
      `INSERT INTO users (email, email_domain) VALUES ('Ada@example.com', 'example.com')`,
    ],
    users_email_domain_is_of_email: [
      `INSERT INTO users (email, email_domain) VALUES ('ada@example.com', 'example.org')`,
    ],
    users_password_policy_is_known: [
      `INSERT INTO users (email, email_domain, password_policy) VALUES ('ada@example.com', 'example.com', 'x')`,
    ],
    exchange_codes_code_hash_is_sha256: [code('code_hash', short)],
    exchange_codes_used_has_session: [
      code('code_hash, used_at', `${hash}, now()`),
      code('code_hash, session_id', `${hash}, gen_random_uuid()`),
    ],
    exchange_codes_browser_hash_is_sha256: [
      code('code_hash, browser_hash', `${hash}, ${short}`),
    ],
    exchange_codes_used_by_is_sha256: [code('code_hash, used_by', `${hash}, ${short}`)],
    reset_tokens_token_hash_is_sha256: [
      `INSERT INTO reset_tokens (user_id, token_hash, expires_at) VALUES (gen_random_uuid(), ${short}, ${later})`,
    ],
    authorization_codes_code_hash_is_sha256: [authorizationCode('code_hash', short)],
    authorization_codes_code_challenge_is_sha256: [
      authorizationCode('code_hash, code_challenge', `${hash}, ${short}`),
    ],
    sessions_method_is_known: [session('method', `'x'`)],
    sessions_device_is_short: [session('device', `'Mozilla/5.0'`)],
    sessions_of_clients_have_a_parent: [
      session('client_id', 'gen_random_uuid()'),
      session('parent_id', 'gen_random_uuid()'),
    ],
    second_factors_failures_are_bounded: [-1, 101].map(
      (failures) =>
        `INSERT INTO second_factors VALUES (gen_random_uuid(), 'x', 0, ${failures})`,
    ),
    recovery_codes_hash_is_sha256: [
      `INSERT INTO recovery_codes VALUES (gen_random_uuid(), ${short})`,
    ],
    passkeys_credential_id_has_valid_length: [
      `''`,
      `decode(repeat('00', 1024), 'hex')`,
    ].map(
      (id) =>
        `INSERT INTO passkeys VALUES (${id}, gen_random_uuid(), gen_random_uuid(), 'x', 0, true, true, '{}', gen_random_uuid())`,
    ),
    widget_tokens_token_hash_is_sha256: [
      `INSERT INTO widget_tokens (widget_id, token_hash, hint) VALUES (gen_random_uuid(), ${short}, 'x')`,
    ],
    scim_tokens_token_hash_is_sha256: [
      `INSERT INTO scim_tokens (connection_id, token_hash, hint) VALUES (gen_random_uuid(), ${short}, 'x')`,
    ],
    setup_links_secret_hash_is_sha256: [
      `INSERT INTO setup_links (connection_id, secret_hash, may_activate, expires_at) VALUES (gen_random_uuid(), ${short}, true, now())`,
    ],
    client_secrets_secret_hash_is_sha256: [
      `INSERT INTO client_secrets (client_id, secret_hash, hint) VALUES (gen_random_uuid(), ${short}, 'x')`,
    ],
    clients_token_minutes_are_of_a_session_jwt: [4, 721].map(
      (minutes) =>
        `INSERT INTO clients (slug, public, redirect_uris, token_minutes) VALUES ('x', true, '{}', ${minutes})`,
    ),
    connections_slug_is_a_path_segment: [
      '',
      'Acme',
      'a/b',
      '-a',
      'a-',
      'a'.repeat(64),
    ].map((slug) => connection(slug, 'oidc', '{}')),
    connections_settings_is_an_object: [
      connection('acme', 'oidc', '[]'),
      connection('acme', 'saml', '"x"'),
    ],
    connections_session_hours_are_of_a_week: [0, 169].map(
      (hours) =>
        `INSERT INTO connections (name, slug, kind, settings, session_hours) VALUES ('x', 'x', 'oidc', '{}', ${hours})`,
    ),
    connection_domains_domain_is_ascii: [
      'Acme.example',
      'acme',
      'münchen.example',
      'acme.example.',
    ].map(domain),
    identities_subject_is_not_empty: [identity('', 'x'), identity('x', '')],
    sso_attempts_state_hash_is_sha256: [signIn(short, hash)],
    sso_attempts_browser_hash_is_sha256: [signIn(hash, short)],
    mails_language_is_a_tag: [mail('kind, language', `'reset', 'en;q=1'`)],
    mails_device_is_short: [
      mail('kind, language, device', `'reset', 'en', 'Mozilla/5.0 (X11; Linux)'`),
      mail('kind, language, device', `'reset', 'en', repeat('x', 41)`),
    ],
    mails_attempts_are_counted: [mail('kind, language, attempts', `'reset', 'en', -1`)],
    mails_due_until_the_end: [
      mail('kind, language, due_at', `'reset', 'en', NULL`),
      mail('kind, language, sent_at', `'reset', 'en', now()`),
    ],
    password_attempts_key_hash_is_sha256: [attempts(short, 1)],
    password_attempts_count_is_not_negative: [attempts(hash, -1)],
  }
  const constraints = await database.sql(
    `SELECT conname FROM pg_constraint WHERE contype = 'c' AND connamespace = 'public'::regnamespace`,
  )
  expect(Object.keys(rejected).sort()).toEqual(
    constraints.map(({ conname }) => conname).sort(),
  )
  await database.sql(
    `INSERT INTO users (email, email_domain) VALUES ('ada@example.com', 'example.com')`,
  )
  const again = database.sql(
    `INSERT INTO users (email, email_domain) VALUES ('ada@example.com', 'example.com')`,
  )
  await expect(again).rejects.toMatchObject({
    code: '23505',
    constraint: 'users_email_key',
  })
  for (const [constraint, statements] of Object.entries(rejected))
    for (const statement of statements)
      await expect(database.sql(statement), statement).rejects.toMatchObject({
        code: '23514',
        constraint,
      })
})
