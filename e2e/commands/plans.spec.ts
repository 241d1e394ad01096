import { execFile } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { promisify } from 'node:util'
import pg from 'pg'
import { project } from '../../bin/dev/local'
import { type OwnDatabase, openOwnDatabase } from '../support/databases/own-database'
import { expect, test } from '../support/fixtures'

// Tests the generic plan of every statement, and the privileges that the statements need.

test.describe.configure({ mode: 'serial' }) // the tests share one database

type Plan = {
  'Node Type': string
  'Relation Name'?: string
  'Index Cond'?: string
  'TID Cond'?: string
  Plans?: Plan[]
}

const nodesOf = (plan: Plan): Plan[] => [plan, ...(plan.Plans ?? []).flatMap(nodesOf)]

/** Returns the scans in a plan that read a whole table or index. */
function scansFromTheBeginning(plan: Plan): string[] {
  const {
    'Node Type': type,
    'Relation Name': relation,
    'Index Cond': indexCond,
    'TID Cond': tidCond,
  } = plan
  const isSmall = relation === '_prisma_migrations' // this table has no index on the names of the migrations
  const reads = /Seq Scan|Index|Tid Scan/.test(type) && !indexCond && !tidCond && !isSmall
  return [
    ...(reads ? [`${type} of ${relation}`] : []),
    ...(plan.Plans ?? []).flatMap(scansFromTheBeginning),
  ]
}

/** Runs every statement in an empty database, and returns their generic plans. */
async function plansOf(
  database: OwnDatabase,
  settings: Record<string, string> = {},
): Promise<Record<string, Plan>> {
  const tables = await database.sql(`SELECT relname FROM pg_stat_user_tables`)
  // Autovacuum would analyze the tables.
  for (const { relname } of tables)
    await database.sql(`ALTER TABLE ${relname} SET (autovacuum_enabled = off)`)
  await database.sql('VACUUM ANALYZE')
  const env = {
    ...process.env,
    ...{ DATABASE_URL: database.url(), DATABASE_POOL_SIZE: '1', LOG_LEVEL: 'silent' },
    ...{
      MIGRATIONS: '[]',
      PASSWORD_SIGN_IN: 'true',
      PASSKEYS: 'true',
      SETUP_LINKS: 'true',
      SMTP_URL: 'smtp://localhost:1',
      MAIL_FROM: 'login@example.com',
    },
    ...settings,
  }
  const program = ['--import', 'tsx', `${project}e2e/support/databases/explain.ts`]
  return JSON.parse(
    (await promisify(execFile)(process.execPath, program, { cwd: project, env })).stdout,
  )
}

function expectKeysOnly(plans: Record<string, Plan>): void {
  // the test of the privileges checks which statements these are
  expect(Object.keys(plans).length).toBeGreaterThan(50)
  for (const [statement, plan] of Object.entries(plans)) {
    expect(scansFromTheBeginning(plan), statement).toEqual([])
    expect(statement, 'a prepared statement for each length of a list').not.toMatch(
      / IN \(\$\d+,/,
    )
  }
}

const [role, pooledRole] = [1, 2].map(() => `role_${randomBytes(6).toString('hex')}`) as [
  string,
  string,
]
let database: OwnDatabase
let plans: Record<string, Plan>
test.beforeAll(async () => {
  database = await openOwnDatabase({ role })
  plans = await plansOf(database)
})
test.afterAll(() => database?.drop())

test('every generic plan finds rows by key, even if ANALYZE ran on empty tables', () => {
  expectKeysOnly(plans)
})

test('statements read no more index entries than they need', () => {
  const withText = (text: string) =>
    Object.keys(plans).filter((statement) => statement.includes(text))
  const conditionsOf = (statement: string, table?: string) =>
    nodesOf(plans[statement]!).filter(
      (node) => node['Index Cond'] && (!table || node['Relation Name'] === table),
    )

  const [loops] = withText('FROM sso_attempts WHERE connection_id')
  const ofLastMinute = /connection_id = .* AND \(browser_hash = .* AND \(created_at > /
  expect(conditionsOf(loops!).map((node) => node['Index Cond'])).toContainEqual(
    expect.stringMatching(ofLastMinute),
  )

  const endings = withText('codes_deleted AS')
  // a reset with and without passkeys, a new password, the second factor on or off, a
  // passkey removed, ending other sessions, a directory that disables or renames a user,
  // and, if a second factor is required: two set-ups, an app removed that leaves a passkey,
  // the first passkey, and the first codes
  expect(endings).toHaveLength(13)
  const unexpired = expect.stringMatching(
    /ROW\(user_id, expires_at\) > .* AND \(user_id = /,
  )
  for (const ending of endings)
    expect(
      conditionsOf(ending, 'exchange_codes').map((node) => node['Index Cond']),
    ).toEqual([unexpired])

  const starts = withText('INSERT INTO sessions')
  // with a password, a passkey, two kinds of second factor, an exchange, at a client, and
  // with two kinds of set-up, which end all sessions of the user
  expect(starts).toHaveLength(8)
  // the session of a client starts with rows that are found by equal keys
  const [atClient] = starts.filter((start) => start.includes('authorization_codes'))
  const conditions = conditionsOf(atClient!).map((node) => node['Index Cond'])
  expect(conditions.filter((condition) => !/^\(\(?\w+ = /.test(condition!))).toEqual([])

  const others = starts.filter((each) => each !== atClient && !/stored AS/.test(each))
  expect(others).toHaveLength(5)
  for (const start of others) {
    const limits = nodesOf(plans[start]!).filter((node) => node['Node Type'] === 'Limit')
    expect(limits).toHaveLength(1)
    const [scan] = limits[0]!.Plans!.filter(
      (node) => node['Relation Name'] === 'sessions',
    ) // without a sort below the limit
    expect(scan).toMatchObject({
      'Node Type': 'Index Scan',
      'Scan Direction': 'Backward',
    })
    expect(scan!['Index Cond']).toMatch(/user_id = .* AND \(revoked_at IS NULL\)/)
  }
})

test('behind a pooler, statements find rows by key with the role settings in deploy/database.sql', async () => {
  const own = await openOwnDatabase({ role: pooledRole })
  await own.sql(`GRANT ALL ON ALL TABLES IN SCHEMA public TO ${pooledRole}`)
  const pooled = { DATABASE_POOLED: 'true', DATABASE_PREPARED_STATEMENTS: 'true' }
  expectKeysOnly(
    await plansOf(own, { ...pooled, DATABASE_URL: own.url(pooledRole, pooledRole) }),
  )
  await own.drop()
})

test('the serving role has exactly the privileges that the statements need', async () => {
  await database.sql(
    `REVOKE SELECT (password_hash, password_changed_at) ON users FROM ${role}`,
  )
  const client = new pg.Client({ connectionString: database.url(role, role) })
  await client.connect()
  /**
   * Returns the statements that the role has no privilege to execute. EXPLAIN checks the
   * privileges.
   */
  const denied = async () => {
    const found: string[] = []
    for (const statement of Object.keys(plans))
      await client.query(`EXPLAIN (GENERIC_PLAN) ${statement}`).catch(({ code }) => {
        expect(code, statement).toBe('42501')
        found.push(statement)
      })
    return found
  }
  const ofPasswords = await denied()
  expect(ofPasswords.length).toBeGreaterThan(0)
  for (const statement of ofPasswords)
    expect(statement).toMatch(/password_hash|password_changed_at/)
  await database.sql(
    `GRANT SELECT (password_hash, password_changed_at) ON users TO ${role}`,
  )
  expect(await denied()).toEqual([])
  for (const statement of [
    'CREATE TABLE more (id int)',
    'CREATE SCHEMA more',
    'DROP TABLE users',
    'DELETE FROM users',
    'DELETE FROM events',
    `UPDATE events SET actor = 'user'`,
    'TRUNCATE events',
  ])
    await expect(client.query(statement), statement).rejects.toMatchObject({
      code: '42501',
    })
  const privileges = await database.sql(
    `SELECT format('%s ON %I', privilege_type, table_name) AS what FROM information_schema.role_table_grants WHERE grantee = $1
     UNION ALL
     SELECT format('%s (%I) ON %I', privilege_type, column_name, table_name) FROM information_schema.column_privileges AS ofcolumn
     WHERE grantee = $1 AND NOT EXISTS (
       SELECT FROM information_schema.role_table_grants AS whole
       WHERE whole.grantee = ofcolumn.grantee AND whole.table_name = ofcolumn.table_name
         AND whole.privilege_type = ofcolumn.privilege_type)`,
    [role],
  )
  expect(privileges.length).toBeGreaterThan(20)
  for (const { what } of privileges) {
    await database.sql(`REVOKE ${what} FROM ${role}`)
    expect((await denied()).length, `without ${what}`).toBeGreaterThan(0)
    await database.sql(`GRANT ${what} TO ${role}`)
  }
  await client.end()
})
