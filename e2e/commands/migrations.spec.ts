import {
  cpSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { project } from '../../bin/dev/local'
import * as routes from '../../lib/contract/routes'
import { makeRefreshToken } from '../../lib/session/tokens'
import { type OwnDatabase, openOwnDatabase } from '../support/databases/own-database'
import { blocks } from '../support/documents/documents'
import { expect, test } from '../support/fixtures'
import { keepSecret } from '../support/secrets'
import { type Ended, runProgram } from '../support/servers/command'

const migrations = readdirSync(`${project}prisma/migrations`, { withFileTypes: true })
  .filter((entry) => entry.isDirectory())
  .map(({ name }) => name)
  .sort()
const tables = [
  '_prisma_migrations',
  'authorization_codes',
  ...['client_secrets', 'clients', 'connection_domains', 'connections'],
  ...['events', 'exchange_codes', 'identities', 'logout_notices', 'mails'],
  ...[
    'passkeys',
    'password_attempts',
    'recovery_codes',
    'rejected_sign_ins',
    'reset_tokens',
    'scim_tokens',
    'scim_users',
    'second_factors',
    'sessions',
    'setup_links',
    'sso_attempts',
    'users',
  ],
  ...['widget_origins', 'widget_tokens', 'widgets'],
]
const bookkeeping = `SELECT migration_name, checksum, applied_steps_count, finished_at IS NOT NULL AS finished, rolled_back_at, logs
  FROM _prisma_migrations ORDER BY migration_name`

let database: OwnDatabase
let copy: string

test.beforeEach(async () => {
  database = await openOwnDatabase({ migrated: false })
  mkdirSync(`${project}e2e/results`, { recursive: true })
  copy = `${mkdtempSync(`${project}e2e/results/migrations-`)}/`
  for (const part of ['bin', 'lib', 'prisma', 'package.json', 'tsconfig.json'])
    cpSync(project + part, copy + part, { recursive: true })
  symlinkSync(`${project}node_modules`, `${copy}node_modules`)
})
test.afterEach(async () => {
  await database.drop()
  rmSync(copy, { recursive: true, force: true })
})

function run(
  program: string,
  parameters: string[],
  settings: Record<string, string> = {},
): Promise<Ended> {
  const env = {
    ...process.env,
    DATABASE_URL: database.url(),
    DIRECT_DATABASE_URL: '',
    ...settings,
  }
  return runProgram(program, parameters, { cwd: copy, env })
}
const script = (name: string, ...parameters: string[]) => [
  '--import',
  'tsx',
  `bin/${name}.ts`,
  ...parameters,
]
const runMigrate = (settings?: Record<string, string>) =>
  run(process.execPath, script('migrate'), settings)
/**
 * Runs the migrations. Returns the names of the applied ones. If the run fails, throws
 * its output.
 */
async function migrate(): Promise<string[]> {
  const { code, stdout, stderr } = await runMigrate()
  if (code !== 0) throw new Error(stderr)
  return [...stdout.matchAll(/^ {2}(\w+)$/gm)].map(([, name]) => name!)
}

function addMigration(name: string, script: string): void {
  mkdirSync(`${copy}prisma/migrations/${name}`, { recursive: true })
  writeFileSync(`${copy}prisma/migrations/${name}/migration.sql`, script)
}

async function applied(): Promise<string[]> {
  const finished =
    'SELECT migration_name FROM _prisma_migrations WHERE finished_at IS NOT NULL ORDER BY 1'
  return (await database.sql(finished)).map((row) => row.migration_name)
}

async function existingTables(): Promise<string[]> {
  const rows = await database.sql(
    `SELECT tablename FROM pg_tables WHERE schemaname = 'public' ORDER BY 1`,
  )
  return rows.map((row) => row.tablename)
}

test('two concurrent runs migrate an empty database only once', async () => {
  const more = ['20270101000000_slow', '20270102000000_concurrently']
  addMigration(more[0]!, 'SELECT pg_sleep(2)') // so that the second run must wait for the first
  addMigration(more[1]!, 'CREATE INDEX CONCURRENTLY ON sessions (created_at)') // this statement waits for all running statements
  const runs = await Promise.all([runMigrate(), runMigrate()])
  expect(runs.map(({ code, stderr }) => [code, stderr]).sort()).toEqual([
    [0, ''],
    [0, 'Another run is migrating this database: waiting for it …\n'],
  ])
  const listed = `Applied:\n${[...migrations, ...more].map((name) => `  ${name}\n`).join('')}`
  expect(runs.map(({ stdout }) => stdout).sort()).toEqual([
    listed,
    'No pending migrations.\n',
  ])
  expect(await existingTables()).toEqual(tables)
  const rows = await database.sql(bookkeeping)
  expect(
    rows.map((row) => [
      row.migration_name,
      row.finished,
      row.applied_steps_count,
      row.logs,
    ]),
  ).toEqual([...migrations, ...more].map((name) => [name, true, 1, null]))
})

test('applies a migration with semicolons in comments, strings and functions', async () => {
  addMigration(
    '20270102000000_semicolons',
    `-- one; two
    CREATE TABLE texts AS SELECT 'a;b' AS text;
    CREATE FUNCTION other() RETURNS text LANGUAGE plpgsql AS $$ BEGIN RETURN 'c;d'; END $$;
    INSERT INTO texts VALUES (other())`,
  )
  expect(await migrate()).toEqual([...migrations, '20270102000000_semicolons'])
  expect(await database.sql('SELECT text FROM texts ORDER BY 1')).toEqual([
    { text: 'a;b' },
    { text: 'c;d' },
  ])
})

test('rolls back a failed migration, prints the message of PostgreSQL, and applies no later migrations', async () => {
  addMigration(
    '20270101000000_broken',
    `CREATE TABLE half (id int); INSERT INTO half VALUES ('x')`,
  )
  const failed = migrate()
  await expect(failed).rejects.toThrow('The migration 20270101000000_broken failed:')
  await expect(failed).rejects.toThrow('invalid input syntax for type integer: "x"')
  expect(await existingTables()).toEqual(tables)
  expect(await applied()).toEqual(migrations)
  await expect(migrate()).rejects.toThrow('20270101000000_broken')
  addMigration('20270101000000_broken', 'CREATE TABLE half (id int)')
  await database.sql(blocks['rolled-back']!.text.replace('NAME', '20270101000000_broken'))
  expect(await migrate()).toEqual(['20270101000000_broken'])
})

test('in a database of an earlier version, decides by domain who may use a password', async () => {
  const folder = `${copy}prisma/migrations/`
  const later = migrations.filter((name) => name > '20261124223443_turns_of_mails')
  for (const name of later) renameSync(folder + name, copy + name)
  await migrate()
  await database.sql(`
    INSERT INTO connections (id, slug, name, kind, settings, allow_passwords, disabled_at)
    SELECT gen_random_uuid(), slug, slug, 'oidc', '{"issuer":"https://idp.example.com","clientId":"x"}', allows, disabled
    FROM (VALUES ('acme', false, NULL::timestamptz), ('off', false, now()), ('open', true, NULL)) AS given (slug, allows, disabled);
    INSERT INTO connection_domains SELECT domain, id FROM connections JOIN (VALUES
      ('acme.example', 'acme'), ('xn--bcher-kva.example', 'acme'), ('off.example', 'off'), ('open.example', 'open')
    ) AS given (domain, of) ON slug = of;
    INSERT INTO users (email, sso_only, password_hash)
    SELECT name || domain, name = 'only', CASE WHEN name <> 'without' THEN 'x' END
    FROM unnest(ARRAY['only', 'ada', 'without']) AS name, unnest(ARRAY[
      '@acme.example', '@bücher.example', E'@bu\u0308cher.example', '@off.example', '@open.example', '@bucher.example', '@😀.example'
    ]) AS domain;
    INSERT INTO identities (connection_id, issuer, subject, user_id)
    SELECT connections.id, 'https://idp.example.com', email, users.id FROM connections, users
    WHERE slug = 'acme' AND email LIKE '%@acme.example'`)
  for (const name of later) renameSync(copy + name, folder + name)
  const { code, stderr } = await runMigrate()
  expect(code, stderr).toBe(0)
  // ada, in each domain. Both forms of the domain in Unicode are one domain
  const lost = (domain: string, count: number) =>
    `${domain}: users who can no longer use a password: ${count}. To allow it: npm run users -- allow-password --domain ${domain}\n`
  expect(stderr).toBe(
    lost('acme.example', 1) + lost('off.example', 1) + lost('xn--bcher-kva.example', 2),
  )
  const never = `SELECT email FROM users WHERE password_policy = 'never' ORDER BY email COLLATE "C"`
  expect((await database.sql(never)).map(({ email }) => email)).toEqual([
    'only@bucher.example',
    'only@open.example',
    'only@😀.example',
  ])
  expect(
    await database.sql('SELECT 1 FROM users WHERE password_policy IS NULL'),
  ).toHaveLength(18)
  const ofAscii = `SELECT DISTINCT email_domain FROM users WHERE email ~ 'b(ü|u\u0308)cher'`
  expect(await database.sql(ofAscii)).toEqual([{ email_domain: 'xn--bcher-kva.example' }])
})

/** Two sessions of Ada in a database of 0.2.0: of her browser, and of a dashboard there. */
const [ofBrowser, ofDashboard] = [1, 2].map(
  (digit) => `0000000${digit}-0000-4000-8000-000000000000`,
) as [string, string]

/** Rows in every table of 0.2.0. Ada has a password, a second factor and a dashboard. */
const rowsOfLastVersion = `
  INSERT INTO users (id, email, email_domain, password_hash, password_changed_at, second_factor_at)
    VALUES (gen_random_uuid(), 'ada@example.com', 'example.com', 'x', now(), now());
  INSERT INTO connections (slug, name, kind, settings, allow_passwords, disabled_at) VALUES
    ('acme', 'Acme', 'oidc', '{}', true, NULL), ('closed', 'Closed', 'saml', '{}', false, NULL),
    ('off', 'Off', 'oidc', '{}', false, now());
  INSERT INTO connection_domains SELECT part || '.example', id FROM connections, unnest(ARRAY[slug, 'www.' || slug]) AS part;
  INSERT INTO identities (connection_id, issuer, subject, user_id)
    SELECT connections.id, 'https://idp.example.com', 'ada', users.id FROM connections, users;
  INSERT INTO sso_attempts (state_hash, connection_id, browser_hash, kid, expires_at)
    SELECT sha256(slug::bytea), id, sha256('browser'), 'x', now() + interval '1 hour' FROM connections;
  INSERT INTO mails (kind, user_id, language) SELECT 'reset', id, 'en' FROM users;
  INSERT INTO password_attempts VALUES (sha256('key'), 1, now() + interval '1 hour');
  INSERT INTO reset_tokens (user_id, token_hash, expires_at) SELECT id, sha256('reset'), now() + interval '1 hour' FROM users;
  INSERT INTO second_factors SELECT id, 'x', 0, 0 FROM users;
  INSERT INTO recovery_codes SELECT id, sha256('recovery') FROM users;
  INSERT INTO widgets (slug, name) VALUES ('page', 'Page');
  INSERT INTO widget_origins SELECT id, 'https://www.example.com' FROM widgets;
  INSERT INTO widget_tokens (widget_id, token_hash, hint) SELECT id, sha256('widget'), 'x' FROM widgets;
  INSERT INTO sessions (id, user_id, expires_at, method, device, amr, parent_id, redirect_uri)
    SELECT given.id::uuid, users.id, now() + interval '7 days', 'password', 'Firefox', '{pwd}', parent_id::uuid, redirect_uri
    FROM users, (VALUES ('${ofBrowser}', NULL, NULL), ('${ofDashboard}', '${ofBrowser}', 'https://app.example.com/callback'))
      AS given (id, parent_id, redirect_uri);
  INSERT INTO exchange_codes (code_hash, user_id, expires_at, used_at, session_id, parent_id, redirect_uri, code_challenge)
    SELECT sha256(name::bytea), users.id, now() + interval '1 hour', CASE WHEN session_id IS NOT NULL THEN now() END,
      session_id::uuid, parent_id::uuid, redirect_uri, CASE WHEN parent_id IS NOT NULL THEN sha256('verifier') END
    FROM users, (VALUES ('unused', NULL, NULL, NULL), ('used', '${ofBrowser}', NULL, NULL),
      ('unused of the dashboard', NULL, '${ofBrowser}', 'https://app.example.com/callback'),
      ('used of the dashboard', '${ofDashboard}', '${ofBrowser}', 'https://app.example.com/callback'))
      AS given (name, session_id, parent_id, redirect_uri)`

test('in a database of 0.2.0, ends the sessions and codes of dashboards, makes all domains live, and keeps everything else', async ({
  serverWith,
}) => {
  const folder = `${copy}prisma/migrations/`
  const later = migrations.filter((name) => name > '20261129020000_second_factor')
  for (const name of later) renameSync(folder + name, copy + name)
  await migrate()
  await database.sql(rowsOfLastVersion)

  const given = (await existingTables()).filter((table) => table !== '_prisma_migrations')
  /** The rows of all tables as JSON, without the columns that only one version has. */
  const readRows = async () => {
    const rows: Record<string, unknown[]> = {}
    for (const table of given) {
      const ofTable = {
        exchange_codes: ',operator',
        sessions: ',browser_hash',
        sso_attempts: ',is_try,issuer,setup_link_id',
      }[table]
      const columns = `to_jsonb(row) - '{code_challenge,parent_id,redirect_uri,client_id,live_since,tried_at,has_password,disabled_by,provider_session${ofTable ?? ''}}'::text[]`
      const read = await database.sql(
        `SELECT ${columns} AS row FROM ${table} AS row ORDER BY 1`,
      )
      rows[table] = read.map(({ row }) => row)
    }
    return rows
  }
  const before = await readRows()
  for (const [table, rows] of Object.entries(before)) expect(rows, table).not.toEqual([])

  for (const name of later) renameSync(copy + name, folder + name)
  expect(await migrate()).toEqual(later)

  const after = await readRows()
  const { sessions, exchange_codes: codes, ...others } = after
  expect(others).toEqual({ ...before, sessions: undefined, exchange_codes: undefined })
  expect(sessions).toMatchObject([{ id: ofBrowser, revoked_at: null }])
  expect(sessions).toEqual(
    before.sessions!.filter((session) => (session as { id: string }).id === ofBrowser),
  )
  expect(codes).toHaveLength(2)
  expect(
    await database.sql(
      `SELECT FROM exchange_codes WHERE code_hash IN (sha256('unused'), sha256('used'))`,
    ),
  ).toHaveLength(2)

  const live = `SELECT FROM connection_domains WHERE live_since IS NOT NULL`
  expect(await database.sql(live)).toHaveLength(6)
  expect(
    await database.sql('SELECT FROM connections WHERE tried_at IS NULL'),
  ).toHaveLength(3)
  expect(
    await database.sql('SELECT FROM sso_attempts WHERE NOT is_try AND issuer IS NULL'),
  ).toHaveLength(3)

  const server = await serverWith({ DATABASE_URL: database.url() })
  const renew = async (sessionId: string) => {
    const refreshToken = keepSecret(makeRefreshToken({ sessionId, generation: 0 }))
    return (await server.post(routes.refreshSession.path, { refreshToken })).status
  }
  expect([await renew(ofBrowser), await renew(ofDashboard)]).toEqual([200, 400])
})

test('applies no migration if an applied migration was edited', async () => {
  expect(await migrate()).toEqual(migrations)
  addMigration(migrations.at(-1)!, 'SELECT 1')
  addMigration('20270101000000_more', 'CREATE TABLE more (id int)')
  const message = `These migrations were edited after they were applied: ${migrations.at(-1)}`
  await expect(migrate()).rejects.toThrow(message)
  expect(await applied()).toEqual(migrations)
})

test('fails if the database is unreachable or missing, or if DATABASE_URL is missing or rejected by the server', async () => {
  const absent = new URL(database.url())
  absent.pathname = '/there_is_none'
  for (const [DATABASE_URL, message] of [
    ['postgresql://nobody@127.0.0.1:1/nothing', 'ECONNREFUSED'],
    [absent.href, 'database "there_is_none" does not exist'],
    ['', 'DATABASE_URL is missing'],
    [`${database.url()}?schema=other`, 'DATABASE_URL must not have the parameter schema'],
  ] as const) {
    const { code, stdout, stderr } = await runMigrate({ DATABASE_URL })
    expect([code, stdout]).toEqual([1, ''])
    expect(stderr).toContain('Could not migrate the database.\n')
    expect(stderr).toContain(message)
  }
})

test('connects to DIRECT_DATABASE_URL, and ignores the statement timeout of the role', async () => {
  await database.sql(`ALTER DATABASE ${database.name} SET statement_timeout = '300ms'`)
  addMigration('20270101000000_slow', 'SELECT pg_sleep(0.5)')
  const { code, stdout } = await runMigrate({
    DATABASE_URL: 'postgresql://nobody@127.0.0.1:1/nothing',
    DIRECT_DATABASE_URL: database.url(),
  })
  expect([code, stdout]).toEqual([0, expect.stringContaining('Applied:\n')])
  expect(await applied()).toEqual([...migrations, '20270101000000_slow'])
})

test('npm run migration writes a migration with the schema changes since the newest committed migration', async () => {
  const git = (...parameters: string[]) =>
    run('git', ['-c', 'user.name=x', '-c', 'user.email=x@example.com', ...parameters])
  const draft = (name: string) => run(process.execPath, script('migration', name))
  for (const command of ['init --quiet', 'add prisma', 'commit --quiet -m committed'])
    await git(...command.split(' '))
  const drafts = () =>
    readdirSync(`${copy}prisma/migrations`).filter((name) =>
      name.endsWith('_add_nickname'),
    )

  expect(await draft('add_nickname')).toMatchObject({
    code: 0,
    stdout: expect.stringContaining('Nothing was written'),
  })
  expect(drafts()).toEqual([])
  expect(await draft('Add Nickname')).toMatchObject({ code: 2, stdout: '' })

  const schema = `${copy}prisma/schema.prisma`
  const model = 'model User {\n'
  writeFileSync(
    schema,
    readFileSync(schema, 'utf8').replace(model, `${model}  nickname String? @unique\n`),
  )
  expect(await draft('add_nickname')).toMatchObject({
    code: 0,
    stdout: expect.stringContaining('migration.sql'),
  })
  const [name] = drafts()
  const written = readFileSync(`${copy}prisma/migrations/${name}/migration.sql`, 'utf8')
  expect(written).toContain('ALTER TABLE "users" ADD COLUMN     "nickname" TEXT;')
  expect(written).toContain('CREATE UNIQUE INDEX "users_nickname_key"')
  expect(await migrate()).toContain(name)
})
