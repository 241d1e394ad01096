import { execFile } from 'node:child_process'
import { createHash, randomBytes, randomUUID } from 'node:crypto'
import bcrypt from 'bcrypt'
import pg from 'pg'
import { project } from '../../bin/local'
import * as paths from '../../lib/contract/paths'
import { sealSecrets } from '../../lib/sso/sealed-secrets'
import { documentedFetch } from '../support/documented'
import { blocks } from '../support/documents'
import { exchangePath, expect, keepSecret, newAddress, newPassword, postTo, resetPath, test } from '../support/fixtures'
import { clientSecret, type Provider, startProvider, Visitor } from '../support/oidc-provider'
import { type OwnDatabase, openOwnDatabase } from '../support/own-database'
import { type Server, startServer } from '../support/server'
import { type Smtp, startSmtp } from '../support/smtp'

test.describe.configure({ mode: 'serial' })

const role = `serving_${randomBytes(6).toString('hex')}`
const cronSecret = 'a secret of this test alone'
const email = 'ada@example.com'
const hash = (secret: string) => createHash('sha256').update(secret).digest()

let database: OwnDatabase
let server: Server
let smtp: Smtp
let settings: Record<string, string>
let provider: Provider
const slug = 'acme'
const domain = 'acme.example'

test.beforeAll(async () => {
  database = await openOwnDatabase()
  await database.sql(blocks['serving-role']!.text.replaceAll('the_role', role).replace('the_password', role))
  smtp = await startSmtp()
  settings = {
    ...smtp.settings,
    DATABASE_URL: database.url(role, role),
    DIRECT_DATABASE_URL: database.url(),
    CRON_SECRET: cronSecret,
    PASSWORD_SIGN_IN: 'true',
    DATABASE_POOL_SIZE: '1',
  }
  server = await startServer(settings)
  provider = await startProvider()
  const id = randomUUID()
  const oidc = { issuer: provider.issuer, clientId: 'the-client' }
  await database.sql(
    `INSERT INTO connections (id, slug, name, kind, settings, sealed_secrets, provision) VALUES ($1, $2, 'Acme', 'oidc', $3, $4, true)`,
    [id, slug, oidc, await sealSecrets({ clientSecret }, { connection: id, ...oidc })],
  )
  await database.sql('INSERT INTO connection_domains VALUES ($1, $2)', [domain, id])
})
test.afterAll(async () => {
  await provider?.stop()
  await server?.stop()
  await smtp?.stop()
  if (!database) return
  await database.sql(`DROP OWNED BY ${role}; DROP ROLE ${role}`).catch(() => {}) // the role may not exist
  await database.drop()
})

function run(
  command: string[],
  overriding: Record<string, string> = {},
): Promise<{ code: number; stdout: string; stderr: string }> {
  const env = { ...process.env, ...settings, PUBLIC_URL: server.url, ...overriding }
  return new Promise((resolve) => {
    execFile('npm', ['run', '--silent', ...command], { cwd: project, env }, (error, stdout, stderr) =>
      resolve({ code: Number(error?.code ?? 0), stdout, stderr }),
    )
  })
}

/** Creates a user through a connection, and links one. */
async function signInThroughConnection(): Promise<void> {
  const connection = `FROM connections WHERE slug = '${slug}'`
  const newUser = { sub: randomBytes(8).toString('hex'), email: `${randomBytes(8).toString('hex')}@${domain}` }
  for (provider.person of [{ ...newUser }, { ...newUser, email: 'changed@example.com' }]) {
    const landing = await new Visitor(server.url).signIn(slug)
    if (!landing.searchParams.has('code')) throw new Error(`sign-in: ${landing.search}`)
  }
  const [row] = await database.sql(
    `SELECT sso_only FROM users WHERE email = $1 AND id IN (SELECT user_id FROM identities WHERE connection_id = (SELECT id ${connection}))`,
    [newUser.email],
  )
  if (!row?.sso_only) throw new Error('The user was not created.')
}

async function issue(kind: 'sso-code' | 'reset-token', ...flags: string[]): Promise<string> {
  const { stdout, stderr } = await run(['issue', '--', kind, email, '--json', ...flags])
  if (!stdout) throw new Error(stderr)
  return keepSecret(JSON.parse(stdout).secret)
}

/** Runs every database operation of a server. Throws if one does not work. */
async function useServer({ withPasswords = false } = {}): Promise<void> {
  const headers = { 'X-Forwarded-For': newAddress() }
  const { sql } = database
  const demand = (what: string, works: unknown) => {
    if (!works) throw new Error(what)
  }
  const newSecret = () => keepSecret(randomBytes(32).toString('base64url'))
  const [user] = await sql(`INSERT INTO users (email) VALUES (gen_random_uuid() || '@example.com') RETURNING id, email`)
  const [code, other, token] = [newSecret(), newSecret(), newSecret()]
  for (const secret of [code, other])
    await sql(
      `INSERT INTO exchange_codes (code_hash, user_id, expires_at) VALUES ($1, $2, now() + interval '1 hour')`,
      [hash(secret), user!.id],
    )
  await sql(`INSERT INTO reset_tokens (token_hash, user_id, expires_at) VALUES ($1, $2, now() + interval '1 hour')`, [
    hash(token),
    user!.id,
  ])

  demand('exchange', (await postTo(server.url + exchangePath, { code }, headers)).status === 200)
  demand('reuse', (await postTo(server.url + exchangePath, { code }, headers)).status === 400)
  const { body } = await postTo(server.url + exchangePath, { code: other }, headers)
  const cookie = { ...headers, Cookie: `session=${body.token}; refresh=${body.refreshToken}` }
  demand('refresh', (await postTo(server.url + paths.refreshSession, {}, cookie)).status === 200)
  demand('start page', (await (await fetch(`${server.url}/`, { headers: cookie })).text()).includes(user!.email))
  await fetch(`${server.url}/sign-out`, { method: 'POST', headers: cookie, redirect: 'manual' })
  const revoked = 'SELECT 1 FROM sessions WHERE user_id = $1 AND revoked_at IS NOT NULL'
  demand('end of both sessions', (await sql(revoked, [user!.id])).length === 2)
  const password = newPassword()
  demand('reset', (await postTo(server.url + resetPath, { token, password }, headers)).status === 200)
  demand(
    'password',
    (await sql('SELECT 1 FROM users WHERE id = $1 AND password_hash IS NOT NULL', [user!.id])).length === 1,
  )
  if (withPasswords) {
    const email = user!.email.toUpperCase()
    let known = ''
    const signIn = async (secret: string) => {
      const cookie = known && { Cookie: known }
      const response = await postTo(server.url + paths.signIn, { email, password: secret }, { ...headers, ...cookie })
      known = response.headers.getSetCookie().find((set) => set.startsWith('known=')) ?? known
      return response.status
    }
    demand('wrong password', (await signIn('wrong')) === 400)
    const old = await bcrypt.hash(password, 4)
    await sql('UPDATE users SET password_hash = $1 WHERE id = $2', [old, user!.id])
    demand('sign-in', (await signIn(password)) === 200)
    demand('sign-in from a known browser', (await signIn(password)) === 200)
    const raised = `SELECT 1 FROM users WHERE id = $1 AND password_hash LIKE '$2b$12$%'`
    demand('raised cost', (await sql(raised, [user!.id])).length === 1)
  }
  const cron = (job: string) =>
    fetch(`${server.url}/api/cron/${job}`, { headers: { ...headers, Authorization: `Bearer ${cronSecret}` } })
  demand(
    'notice',
    (await sql(`SELECT 1 FROM mails WHERE user_id = $1 AND kind = 'password-changed'`, [user!.id])).length === 1,
  )
  // Not a reset mail: another worker of the server may send it, and would issue a token after the clean-up.
  const [mail] = await sql(
    `INSERT INTO mails (kind, user_id, language) VALUES ('password-changed', $1, 'en') RETURNING id`,
    [user!.id],
  )
  await cron('mail')
  demand('sender', (await sql('SELECT 1 FROM mails WHERE id = $1 AND attempts > 0', [mail!.id])).length === 1)
  await signInThroughConnection()
  demand('ready', (await documentedFetch(`${server.url}/api/health/ready`, { headers })).status === 200)

  for (const table of ['exchange_codes', 'reset_tokens', 'sessions', 'sign_ins'])
    await sql(`UPDATE ${table} SET expires_at = now() - interval '8 days'`)
  await sql(`INSERT INTO password_attempts VALUES (sha256('x'), 1, now() - interval '1 minute')`)
  await sql(`UPDATE mails SET requested_at = now() - interval '8 days'`)
  demand('clean-up', (await cron('clean-up')).status === 200)
  const left =
    'SELECT 1 FROM exchange_codes UNION ALL SELECT 1 FROM reset_tokens UNION ALL SELECT 1 FROM sessions UNION ALL SELECT 1 FROM sign_ins UNION ALL SELECT 1 FROM mails UNION ALL SELECT 1 FROM password_attempts WHERE expires_at < now()'
  demand('clean-up of all', (await sql(left)).length === 0)
}

test('the role in docs/deploy.md can serve, issue links and clean up', async () => {
  await useServer()
  const code = await issue('sso-code', '--create')
  expect((await postTo(server.url + exchangePath, { code })).status).toBe(200)
  const token = await issue('reset-token')
  expect((await postTo(server.url + resetPath, { token, password: newPassword() })).status).toBe(200)
  expect((await run(['clean-up'])).stdout).toMatch(/sessions: 0 deleted/)
  await server.stop()
  expect(server.output()).toContain('"status":200')
  expect(server.output()).not.toContain('"level":"error"')
  server = await startServer(settings)
})

test('the role can do nothing else, and owns nothing', async () => {
  const client = new pg.Client({ connectionString: settings.DATABASE_URL })
  await client.connect()
  for (const statement of [
    'CREATE TABLE more (id int)',
    'CREATE SCHEMA more',
    'ALTER TABLE users ADD COLUMN more int',
    'DROP TABLE sessions',
    'CREATE INDEX ON users (email)',
    'TRUNCATE sessions',
    'SELECT 1 FROM _prisma_migrations',
    'DELETE FROM _prisma_migrations',
    'SELECT password_hash FROM users',
    'SELECT * FROM users',
    `UPDATE users SET email = 'eve@example.com'`,
    'UPDATE users SET disabled_at = NULL',
    'UPDATE users SET sso_only = false',
    'UPDATE connections SET disabled_at = NULL',
    'DELETE FROM connections',
    `INSERT INTO connection_domains SELECT 'example.net', gen_random_uuid()`,
    'UPDATE identities SET user_id = gen_random_uuid()',
    'DELETE FROM identities',
    'UPDATE sign_ins SET claimed_at = NULL, browser_hash = state_hash',
    `INSERT INTO users (email, password_hash) VALUES ('eve@example.com', 'x')`,
    'DELETE FROM users',
  ]) {
    await expect(client.query(statement), statement).rejects.toMatchObject({ code: '42501' })
  }
  await client.end()
  expect(await database.sql(`SELECT 1 FROM pg_class WHERE relowner = '${role}'::regrole`)).toEqual([])
  expect((await run(['migrate'], { DIRECT_DATABASE_URL: '' })).code).toBe(1)
  expect((await run(['migrate'])).stdout).toBe('No pending migrations.\n')
})

test('it may read password hashes where users sign in with them, and then needs each of its privileges', async () => {
  test.setTimeout(400_000)
  await expect(useServer({ withPasswords: true })).rejects.toThrow('wrong password')
  await database.sql(blocks['serving-role-passwords']!.text.replaceAll('the_role', role))
  const whole = await database.sql(
    `SELECT table_name AS "table", privilege_type AS privilege, NULL AS "column" FROM information_schema.role_table_grants WHERE grantee = $1`,
    [role],
  )
  const columns = await database.sql(
    `SELECT table_name AS "table", privilege_type AS privilege, column_name AS "column"
     FROM information_schema.column_privileges AS ofcolumn
     WHERE grantee = $1 AND NOT EXISTS (
       SELECT FROM information_schema.role_table_grants AS whole
       WHERE whole.grantee = ofcolumn.grantee AND whole.table_name = ofcolumn.table_name
         AND whole.privilege_type = ofcolumn.privilege_type)`,
    [role],
  )
  const privileges = [...whole, ...columns]
  expect(privileges.length).toBeGreaterThan(0)
  const works = () =>
    useServer({ withPasswords: true })
      .then(() => database.sql('DELETE FROM users'))
      .then(() => issue('sso-code', '--create'))
      .then(() => issue('reset-token'))
      .then(
        () => true,
        () => false,
      )
  expect(await works()).toBe(true)
  for (const { table, privilege, column } of privileges) {
    const what = `${privilege}${column ? ` (${column})` : ''} ON ${table}`
    await database.sql(`REVOKE ${what} FROM ${role}`)
    expect(await works(), `without ${what}`).toBe(false)
    await database.sql(`GRANT ${what} TO ${role}`)
  }
  expect(await works()).toBe(true)
})
