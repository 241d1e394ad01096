import { randomBytes } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import bcrypt from 'bcrypt'
import pg from 'pg'
import { applyMigrations } from '../prisma/migrate'

const userCount = 10_000 // enough to keep each user below the limit of live sessions
const signInUsers = 100
const run = randomBytes(6).toString('hex')

export type Database = {
  url: string
  /** Issues unused codes. The returned function returns a different one each time. */
  newCodes: (count: number) => Promise<() => string>
  /**
   * Issues valid reset tokens, each for a different user. The returned function returns a
   * different one each time.
   */
  newTokens: (count: number) => Promise<() => string>
  /** Starts sessions. The returned function returns a different one each time. */
  newSessions: (count: number) => Promise<() => { sessionId: string; userId: string }>
  /**
   * Sets passwords of users. The returned function returns the credentials of a different
   * user each time.
   */
  newSignIns: () => Promise<() => { email: string; password: string }>
  end: () => Promise<void>
  /** Disconnects and drops the database. */
  drop: () => Promise<void>
}

/**
 * Opens a migrated database with `rows` rows per table. Reuses an existing database with
 * enough rows. `migrations` is the folder of another commit's migrations.
 */
export async function openDatabase(
  maintenanceUrl: string,
  name: string,
  rows: number,
  log: (line: string) => void,
  migrations?: string,
): Promise<Database> {
  const url = new URL(maintenanceUrl)
  url.pathname = `/${name}`
  await maintain(maintenanceUrl, `CREATE DATABASE ${name}`).catch((error) => {
    if (error.code !== '42P04') throw error // 42P04: the database already exists
  })
  if (!migrations) await applyMigrations(url.href)
  const client = new pg.Client({ connectionString: url.href })
  client.on('error', () => {}) // after an error elsewhere, PostgreSQL is stopped while this client is connected
  await client.connect()
  // A migration reads this table. prisma/migrate.ts would fill it, but a database without
  // users needs no rows.
  if (migrations)
    await client.query(
      'CREATE TEMPORARY TABLE ascii_domains (domain text PRIMARY KEY, ascii text)',
    )
  if (migrations) for (const sql of statementsIn(migrations)) await client.query(sql)
  await fill(client, rows, log)

  let issued = 0
  const secretsFrom = async (count: number, insert: string) => {
    const first = issued
    issued += count
    await client.query(insert, [first + 1, issued])
    let next = first
    return () => {
      if (next === first + count) throw new Error('not enough secrets were issued')
      return secret(++next)
    }
  }
  return {
    url: url.href,
    newCodes: (count) =>
      secretsFrom(
        count,
        `INSERT INTO exchange_codes (code_hash, user_id, expires_at)
         SELECT sha256(${secretSql}::bytea), ${userIdSql(`number % ${userCount}`)}, now() + interval '1 day'
         FROM generate_series($1::int, $2::int) number`,
      ),
    newTokens: (count) =>
      secretsFrom(
        count,
        `WITH owner AS (
           INSERT INTO users (email, email_domain) SELECT 'reset-' || ${secretSql} || '@example.com', 'example.com'
           FROM generate_series($1::int, $2::int) number RETURNING id, email
         )
         INSERT INTO reset_tokens (token_hash, user_id, expires_at)
         SELECT sha256(substr(email, 7, 43)::bytea), id, now() + interval '1 day' FROM owner`,
      ),
    newSessions: async (count) => {
      const { rows: begun } = await client.query(
        `INSERT INTO sessions (user_id, expires_at)
         SELECT ${userIdSql(`number % ${userCount}`)}, now() + interval '7 days' FROM generate_series(1, $1::int) number
         RETURNING id AS "sessionId", user_id AS "userId"`,
        [count],
      )
      let next = 0
      return () => begun[next++]
    },
    newSignIns: async () => {
      const password = 'lantern meadow river'
      const hash = await bcrypt.hash(password, 12)
      await client.query(
        `UPDATE users SET password_hash = $1
         WHERE email IN (SELECT 'user-' || number || '@example.com' FROM generate_series(0, $2::int - 1) number)`,
        [hash, signInUsers],
      )
      let next = 0
      return () => ({ email: `user-${next++ % signInUsers}@example.com`, password })
    },
    end: () => client.end(),
    drop: async () => {
      await client.end()
      await maintain(maintenanceUrl, `DROP DATABASE ${name} WITH (FORCE)`)
    },
  }
}

/** The SQL of each migration in a folder, the oldest first. */
function statementsIn(migrations: string): string[] {
  const names = readdirSync(migrations, { withFileTypes: true }).filter((entry) =>
    entry.isDirectory(),
  )
  return names.map(({ name }) =>
    readFileSync(`${migrations}/${name}/migration.sql`, 'utf8'),
  )
}

/**
 * Returns a secret of 43 characters, like a real one. It contains a number, so that SQL
 * can generate many.
 */
const secret = (number: number) => `${run}${String(number).padStart(31, '0')}`
const secretSql = `('${run}' || lpad(number::text, 31, '0'))`
const userIdSql = (number: string) => `lpad(to_hex(${number}), 32, '0')::uuid`

export async function maintain(maintenanceUrl: string, statement: string): Promise<void> {
  const client = new pg.Client({ connectionString: maintenanceUrl })
  await client.connect()
  await client.query(statement).finally(() => client.end())
}

/**
 * Fills the tables of the measured operations with rows that look as if they were used
 * during the last week.
 */
async function fill(
  client: pg.Client,
  rows: number,
  log: (line: string) => void,
): Promise<void> {
  const { rows: found } = await client.query('SELECT count(*)::int FROM users') // no operation deletes users
  if (found[0].count >= rows) return
  if (rows > 100_000)
    log(
      `Filling a database with ${rows.toLocaleString('en')} rows per table. This takes ten minutes, only once …`,
    )
  const age = `now() - number * interval '7 days' / ${rows}`
  const series = `generate_series(0, ${rows - 1}) number`
  for (const statement of [
    `SET session_replication_role = replica`, // disables foreign key checks
    `SET maintenance_work_mem = '512MB'`,
    `TRUNCATE users CASCADE`,
    `INSERT INTO users (id, email, email_domain) SELECT ${userIdSql('number')}, 'user-' || number || '@example.com', 'example.com'
     FROM generate_series(0, ${Math.max(rows, userCount) - 1}) number`,
    `INSERT INTO sessions (id, user_id, created_at, expires_at)
     SELECT md5(number::text)::uuid, ${userIdSql('number')}, ${age}, ${age} + interval '7 days' FROM ${series}`,
    `INSERT INTO exchange_codes (code_hash, user_id, created_at, expires_at, used_at, session_id)
     SELECT sha256(('code' || number)::bytea), ${userIdSql('number')}, ${age}, ${age} + interval '1 minute',
       ${age} + interval '2 seconds', md5(number::text)::uuid FROM ${series}`,
    `INSERT INTO reset_tokens (user_id, token_hash, created_at, expires_at)
     SELECT ${userIdSql('number')}, sha256(('reset' || number)::bytea), ${age}, ${age} + interval '1 hour' FROM ${series}`,
    `RESET session_replication_role`,
    `VACUUM ANALYZE`,
    `CHECKPOINT`,
  ])
    await client.query(statement)
}
