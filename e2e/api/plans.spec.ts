import { execFile } from 'node:child_process'
import { createHash, randomBytes } from 'node:crypto'
import { promisify } from 'node:util'
import { project } from '../../bin/local'
import * as paths from '../../lib/contract/paths'
import { blocks } from '../support/documents'
import { exchangePath, expect, keepSecret, newPassword, postTo, resetPath, test } from '../support/fixtures'
import { type OwnDatabase, openOwnDatabase } from '../support/own-database'
import { startServer } from '../support/server'

const tables = [
  'connection_domains',
  'connections',
  'exchange_codes',
  'identities',
  'mails',
  'password_attempts',
  'reset_tokens',
  'sessions',
  'sign_ins',
  'users',
]
const mailSettings = { SMTP_URL: 'smtp://localhost:1', MAIL_FROM: 'login@example.com' }
const cronSecret = 'a secret of this test alone'
const hash = (secret: string) => createHash('sha256').update(secret).digest()

type Plan = {
  'Node Type': string
  'Relation Name'?: string
  'Index Cond'?: string
  'TID Cond'?: string
  Plans?: Plan[]
}

const nodesOf = (plan: Plan): Plan[] => [plan, ...(plan.Plans ?? []).flatMap(nodesOf)]

/** The scans in a plan that read a whole table or index. */
function scansFromTheBeginning(plan: Plan): string[] {
  const { 'Node Type': type, 'Relation Name': relation, 'Index Cond': indexCond, 'TID Cond': tidCond } = plan
  const reads = /Seq Scan|Index|Tid Scan/.test(type) && !indexCond && !tidCond
  return [...(reads ? [`${type} of ${relation}`] : []), ...(plan.Plans ?? []).flatMap(scansFromTheBeginning)]
}

/** The generic plan of every statement, after an ANALYZE of empty tables. */
async function plansOf(database: OwnDatabase, settings: Record<string, string>): Promise<Record<string, Plan>> {
  await database.sql('VACUUM ANALYZE')
  const { stdout } = await promisify(execFile)(
    process.execPath,
    ['--import', 'tsx', `${project}e2e/support/explain.ts`],
    {
      cwd: project,
      env: {
        ...process.env,
        DATABASE_URL: database.url(),
        DATABASE_POOL_SIZE: '1',
        LOG_LEVEL: 'silent',
        ...mailSettings,
        ...settings,
      },
    },
  )
  return JSON.parse(stdout)
}

/** The full scans in the generic plan of every statement, after an ANALYZE of empty tables. */
async function scansOf(database: OwnDatabase, settings: Record<string, string>): Promise<Record<string, string[]>> {
  const plans = await plansOf(database, settings)
  return Object.fromEntries(Object.entries(plans).map(([statement, plan]) => [statement, scansFromTheBeginning(plan)]))
}

function expectKeysOnly(scans: Record<string, string[]>): void {
  const statements = Object.keys(scans)
  for (const part of [
    'INSERT INTO exchange_codes',
    'INSERT INTO reset_tokens',
    'WITH holder AS MATERIALIZED',
    'WITH code AS MATERIALIZED',
    'WITH claimed AS ( UPDATE reset_tokens',
    'FROM users WHERE id = $1 FOR UPDATE',
    'FROM reset_tokens',
    'FROM sessions',
    'UPDATE sessions SET generation',
    'WITH revoked AS ( UPDATE sessions',
    'DELETE FROM exchange_codes',
    'DELETE FROM reset_tokens',
    'DELETE FROM sessions',
    'DELETE FROM sign_ins',
    'DELETE FROM mails',
    'FROM users WHERE email = ANY ($1)',
    'WITH candidate AS',
    'WITH allowed AS',
    'notice AS ( INSERT INTO mails',
    'UPDATE mails SET attempts',
    'WHERE id = (SELECT user_id FROM mails',
    'UPDATE mails SET (due_at, gave_up_at)',
    'UPDATE mails SET gave_up_at',
    'UPDATE mails SET sent_at',
    'sso_only AS "ssoOnly" FROM users WHERE email = ANY ($1)',
    'AS "isLinked" FROM users WHERE email = ANY ($2)',
    'FROM connections WHERE slug =',
    'FROM connections WHERE id =',
    'FROM connection_domains',
    'INSERT INTO sign_ins',
    'UPDATE sign_ins',
    'FROM sign_ins WHERE state_hash',
    'FROM sign_ins WHERE connection_id',
    'connection_id = $2 AND true',
    'FROM identities WHERE connection_id',
    'INSERT INTO identities',
    'INSERT INTO users',
    'INSERT INTO password_attempts',
    'UPDATE password_attempts SET count',
    'DELETE FROM password_attempts',
    'FROM users WHERE email = ANY ($1) AND password_changed_at',
    'FROM users WHERE email = ANY ($1) AND disabled_at IS NULL AND NOT sso_only AND password_hash',
    'AND password_hash = $2 AND disabled_at IS NULL',
    'UPDATE users SET password_hash = $1 WHERE id = $2 AND password_hash',
  ]) {
    expect(
      statements.some((statement) => statement.includes(part)),
      part,
    ).toBe(true)
  }
  for (const [statement, found] of Object.entries(scans)) expect(found, statement).toEqual([])
}

let database: OwnDatabase
test.beforeEach(async () => {
  database = await openOwnDatabase()
  for (const table of tables) await database.sql(`ALTER TABLE ${table} SET (autovacuum_enabled = off)`) // autovacuum would analyze them during the test
})
test.afterEach(() => database.drop())

test('after an ANALYZE of empty tables, every generic plan finds its rows by key', async () => {
  expectKeysOnly(await scansOf(database, {}))
})

test('the query for sign-ins that go in circles reads those of the last minute only', async () => {
  const plans = Object.entries(await plansOf(database, {}))
  const [, plan] = plans.find(([statement]) => statement.includes('FROM sign_ins WHERE connection_id'))!
  const conditions = nodesOf(plan).map((node) => node['Index Cond'])
  expect(conditions.join()).toMatch(/connection_id = .* AND \(browser_hash = .* AND \(created_at > /)
})

test('a sign-in reads the newest live sessions of its user only, however many others there are', async () => {
  const starts = Object.entries(await plansOf(database, {})).filter(([text]) => text.includes('INSERT INTO sessions'))
  expect(starts).toHaveLength(2)
  for (const [, plan] of starts) {
    const limits = nodesOf(plan).filter((node) => node['Node Type'] === 'Limit')
    expect(limits).toHaveLength(1)
    const [scan] = limits[0]!.Plans!.filter((node) => node['Relation Name'] === 'sessions') // without a sort between them
    expect(scan).toMatchObject({ 'Node Type': 'Index Scan', 'Scan Direction': 'Backward' })
    expect(scan!['Index Cond']).toMatch(/user_id = .* AND \(revoked_at IS NULL\)/)
  }
})

test('whoever ends all sessions of a user reads the codes that can be used only', async () => {
  const enders = Object.entries(await plansOf(database, {})).filter(([text]) => text.includes('codes_deleted AS'))
  expect(enders).toHaveLength(1)
  const scans = nodesOf(enders[0]![1]).filter(
    (node) => node['Relation Name'] === 'exchange_codes' && node['Index Cond'],
  )
  expect(scans.map((node) => node['Index Cond'])).toEqual([expect.stringMatching(/user_id = .* AND \(expires_at > /)])
})

test('behind a pooler, the role settings in docs/deploy.md have the same effect', async () => {
  const name = `pooled_${randomBytes(6).toString('hex')}`
  await database.sql(
    `CREATE ROLE ${name} LOGIN PASSWORD '${name}'; GRANT ALL ON ALL TABLES IN SCHEMA public TO ${name}`,
  )
  try {
    await database.sql(blocks['pooled-role']!.text.replaceAll('the_role', name))
    expectKeysOnly(await scansOf(database, { DATABASE_URL: database.url(name, name), DATABASE_POOLED: 'true' }))
  } finally {
    await database.sql(`DROP OWNED BY ${name}; DROP ROLE ${name}`)
  }
})

test('a server that started with empty tables still finds rows by key when they have grown', async () => {
  test.setTimeout(180_000)
  const { sql } = database
  await sql('SET enable_seqscan = off') // the foreign key checks of this test’s own inserts must not count
  await sql('VACUUM ANALYZE')
  const settings = { DATABASE_URL: database.url(), DATABASE_POOL_SIZE: '1', CRON_SECRET: cronSecret }
  const server = await startServer(settings)
  const newSecret = () => keepSecret(randomBytes(32).toString('base64url'))
  const round = async () => {
    const [user] = await sql(`INSERT INTO users (email) VALUES (gen_random_uuid() || '@example.com') RETURNING id`)
    const newCode = async () => {
      const code = newSecret()
      await sql(
        `INSERT INTO exchange_codes (code_hash, user_id, expires_at) VALUES ($1, $2, now() + interval '1 hour')`,
        [hash(code), user!.id],
      )
      return code
    }
    const [first, second, token] = [await newCode(), await newCode(), newSecret()]
    await sql(`INSERT INTO reset_tokens (token_hash, user_id, expires_at) VALUES ($1, $2, now() + interval '1 hour')`, [
      hash(token),
      user!.id,
    ])
    expect((await postTo(server.url + exchangePath, { code: first })).status).toBe(200)
    expect((await postTo(server.url + exchangePath, { code: first })).status).toBe(400) // revokes its session
    const { body } = await postTo(server.url + exchangePath, { code: second })
    for (const cookie of [`session=${body.token}`, `refresh=${body.refreshToken}`]) {
      expect(await (await fetch(`${server.url}/`, { headers: { Cookie: cookie } })).text()).toContain('@example.com')
    }
    const headers = { Cookie: `session=${body.token}; refresh=${body.refreshToken}` }
    expect((await postTo(server.url + paths.refreshSession, {}, headers)).status).toBe(200)
    await fetch(`${server.url}/sign-out`, { method: 'POST', headers, redirect: 'manual' })
    expect((await postTo(server.url + resetPath, { token, password: newPassword() })).status).toBe(200)
    const cleanUp = await fetch(`${server.url}/api/cron/clean-up`, {
      headers: { Authorization: `Bearer ${cronSecret}` },
    })
    expect(cleanUp.status).toBe(200)
  }
  for (let rounds = 0; rounds < 8; rounds++) await round() // after five executions a plan is cached
  await sql(`
    WITH new_users AS (INSERT INTO users (email) SELECT number || '@example.net' FROM generate_series(1, 5000) number RETURNING id),
    codes AS (INSERT INTO exchange_codes (code_hash, user_id, expires_at) SELECT sha256(id::text::bytea), id, now() + interval '1 hour' FROM new_users),
    tokens AS (INSERT INTO reset_tokens (token_hash, user_id, expires_at) SELECT sha256(id::text::bytea), id, now() + interval '1 hour' FROM new_users)
    INSERT INTO sessions (user_id, expires_at) SELECT id, now() + interval '1 hour' FROM new_users`)
  const before = await rowsRead()
  await round()
  await server.stop() // a connection reports its statistics at the latest when it closes
  await expect.poll(async () => (await rowsRead()).by_key).toBeGreaterThan(before.by_key)
  const after = await rowsRead()
  expect(after.scanned - before.scanned).toBe(0)
  expect(after.by_key - before.by_key).toBeLessThan(1_000)

  /** The number of rows read through an index and by sequential scans. */
  async function rowsRead(): Promise<{ by_key: number; scanned: number }> {
    await sql('SELECT pg_stat_force_next_flush()')
    const [read] = await sql(
      `SELECT sum(idx_tup_fetch)::int AS by_key, sum(seq_tup_read)::int AS scanned FROM pg_stat_user_tables WHERE relname = ANY ($1)`,
      [tables],
    )
    return read as { by_key: number; scanned: number }
  }
})
