import { randomBytes } from 'node:crypto'
import pg from 'pg'
import { applyMigrations } from '../prisma/migrate'

const people = 1_000
const run = randomBytes(6).toString('hex')

export type Database = {
  url: string
  /** Codes that nobody has used, each for one exchange. */
  newCodes: (count: number) => Promise<() => string>
  /** Tokens that are alive, each of a person of its own. */
  newTokens: (count: number) => Promise<() => string>
  /** Adds sign-ins so old that the clean-up deletes them: so many codes, sessions and refresh tokens. */
  addExpired: (count: number) => Promise<void>
  end: () => Promise<void>
  /** Ends, and leaves nothing behind. */
  drop: () => Promise<void>
}

/** A migrated database of a name, with so many rows of everything; one that is there already with as many is used again. */
export async function openDatabase(
  maintenanceUrl: string,
  name: string,
  rows: number,
  say: (line: string) => void,
): Promise<Database> {
  const url = new URL(maintenanceUrl)
  url.pathname = `/${name}`
  await maintain(maintenanceUrl, `CREATE DATABASE ${name}`).catch((error) => {
    if (error.code !== '42P04') throw error // it is there already
  })
  await applyMigrations(url.href)
  const client = new pg.Client({ connectionString: url.href })
  await client.connect()
  await fill(client, rows, say)

  let issued = 0
  const secretsFrom = async (count: number, insert: string) => {
    const first = issued
    issued += count
    await client.query(insert, [first + 1, issued])
    let next = first
    return () => {
      if (next === first + count) throw new Error('too few secrets were prepared')
      return secret(++next)
    }
  }
  return {
    url: url.href,
    newCodes: (count) =>
      secretsFrom(
        count,
        `INSERT INTO exchange_codes (code_hash, user_id, expires_at)
         SELECT sha256(${secretSql}::bytea), ${personSql(`number % ${people}`)}, now() + interval '1 day' FROM generate_series($1::int, $2::int) number`,
      ),
    newTokens: (count) =>
      secretsFrom(
        count,
        `WITH person AS (INSERT INTO users (email) SELECT 'reset-' || ${secretSql} || '@example.com' FROM generate_series($1::int, $2::int) number RETURNING id, email)
         INSERT INTO reset_tokens (token_hash, user_id, expires_at) SELECT sha256(substr(email, 7, 43)::bytea), id, now() + interval '1 day' FROM person`,
      ),
    addExpired: async (count) => {
      await client.query(
        `WITH old AS (SELECT gen_random_uuid() AS id, ${personSql(`number % ${people}`)} AS person FROM generate_series(1, $1::int) number),
         code AS (INSERT INTO exchange_codes (code_hash, user_id, expires_at) SELECT sha256(id::text::bytea), person, now() - interval '9 days' FROM old),
         session AS (INSERT INTO sessions (id, user_id, expires_at) SELECT id, person, now() - interval '8 days' FROM old)
         INSERT INTO refresh_tokens (token_hash, session_id, expires_at) SELECT sha256(id::text::bytea), id, now() - interval '2 days' FROM old`,
        [count],
      )
    },
    end: () => client.end(),
    drop: async () => {
      await client.end()
      await maintain(maintenanceUrl, `DROP DATABASE ${name} WITH (FORCE)`)
    },
  }
}

/** 43 characters, as a real one; of the run and a number, so that SQL can make as many as are needed. */
const secret = (number: number) => `${run}${String(number).padStart(31, '0')}`
const secretSql = `('${run}' || lpad(number::text, 31, '0'))`
const personSql = (number: string) => `lpad(to_hex(${number}), 32, '0')::uuid`

async function maintain(maintenanceUrl: string, statement: string): Promise<void> {
  const client = new pg.Client({ connectionString: maintenanceUrl })
  await client.connect()
  await client.query(statement).finally(() => client.end())
}

/** Used codes with their sessions, and their refresh tokens; and as many reset tokens. Spread over the last week, as they would be. */
async function fill(client: pg.Client, rows: number, say: (line: string) => void): Promise<void> {
  const { rows: found } = await client.query('SELECT (SELECT count(*)::int FROM sessions LIMIT 1) AS count')
  if (found[0].count >= rows) return
  if (rows > 100_000)
    say(`Filling a database with ${rows.toLocaleString('en')} rows a table: this takes some minutes, once …`)
  const age = `now() - number * interval '7 days' / ${rows}`
  const series = `generate_series(0, ${rows - 1}) number`
  for (const statement of [
    `SET session_replication_role = replica`, // no check of foreign keys row by row: they hold by construction
    `SET maintenance_work_mem = '512MB'`,
    `TRUNCATE users, exchange_codes, reset_tokens, sessions, refresh_tokens`,
    `INSERT INTO users (id, email) SELECT ${personSql('number')}, 'person-' || number || '@example.com' FROM generate_series(0, ${Math.max(rows, people) - 1}) number`,
    `INSERT INTO sessions (id, user_id, created_at, expires_at)
     SELECT md5(number::text)::uuid, ${personSql('number')}, ${age}, ${age} + interval '12 hours' FROM ${series}`,
    `INSERT INTO refresh_tokens (token_hash, session_id, created_at, expires_at)
     SELECT sha256(('refresh' || number)::bytea), md5(number::text)::uuid, ${age}, ${age} + interval '7 days' FROM ${series}`,
    `INSERT INTO exchange_codes (code_hash, user_id, created_at, expires_at, used_at, session_id)
     SELECT sha256(('code' || number)::bytea), ${personSql('number')}, ${age}, ${age} + interval '1 minute', ${age} + interval '2 seconds', md5(number::text)::uuid FROM ${series}`,
    `INSERT INTO reset_tokens (user_id, token_hash, created_at, expires_at) SELECT ${personSql('number')}, sha256(('reset' || number)::bytea), ${age}, ${age} + interval '1 hour' FROM ${series}`,
    `RESET session_replication_role`,
    `VACUUM ANALYZE`,
    `CHECKPOINT`,
  ])
    await client.query(statement)
}
