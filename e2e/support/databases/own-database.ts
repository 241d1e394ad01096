import { randomBytes } from 'node:crypto'
import { readFileSync } from 'node:fs'
import pg from 'pg'
import { project } from '../../../bin/dev/local'
import { applyMigrations } from '../../../prisma/migrate'
import type { Sql } from '../fixtures'

/** The time zone of each test database. No process uses this time zone. */
export const otherTimeZone = 'Asia/Kolkata'

export type OwnDatabase = {
  name: string
  /** Returns the URL of the database for its owner or for another role. */
  url: (user?: string, password?: string) => string
  sql: Sql
  drop: () => Promise<void>
}

/**
 * Returns the statements in a part of deploy/database.sql. Both passwords are the name of
 * the role.
 */
function setUpOfDatabase(part: number, role: string, database: string): string[] {
  const [, ...parts] = readFileSync(`${project}deploy/database.sql`, 'utf8').split(
    /^-- (?=\d\. )/m,
  )
  const statements = parts[part - 1]!.replaceAll(/(^\d\. |--).*$/gm, '').split(';')
  const names: Record<string, string> = {
    auth_owner: `${role}_owner`,
    auth_app: role,
    auth: database,
  }
  const rename = (word: string) =>
    /^(owner|app)_password$/.test(word) ? role : (names[word] ?? word)
  return statements.map((text) => text.replaceAll(/\w+/g, rename).trim()).filter(Boolean)
}

/** Returns the URL of another database of the same server. */
export function urlOf(database: string, name: string): string {
  const url = new URL(database)
  url.pathname = `/${name}`
  return url.href
}

/**
 * Creates a separate database for one test. With `role`, sets it up as
 * deploy/database.sql describes.
 */
export async function openOwnDatabase({
  migrated = true,
  role = '',
} = {}): Promise<OwnDatabase> {
  const name = `own_${randomBytes(6).toString('hex')}`
  const create = `CREATE DATABASE ${name}${migrated ? ` TEMPLATE ${process.env.TEMPLATE_DATABASE}` : ''}`
  for (const statement of role ? setUpOfDatabase(1, role, name) : [create])
    await maintain(statement)
  await maintain(`ALTER DATABASE ${name} SET timezone = '${otherTimeZone}'`)
  const url = (user?: string, password?: string) => {
    const result = new URL(urlOf(process.env.DATABASE_URL!, name))
    if (user) Object.assign(result, { username: user, password })
    return result.href
  }
  // The pool has only one connection, so that SET stays effective until a statement
  // fails.
  const pool = new pg.Pool({ connectionString: url(), max: 1, idleTimeoutMillis: 0 })
  // The pool does not wait until its connections are closed, so DROP DATABASE may
  // terminate an open one.
  pool.on('error', () => {})
  if (role) {
    await pool.query(setUpOfDatabase(2, role, name).join(';'))
    const owner = url(`${role}_owner`, role)
    await applyMigrations(owner)
    for (const part of [3, 4, 5, 6])
      await maintain(setUpOfDatabase(part, role, name).join(';'), owner)
  }
  return {
    name,
    url,
    sql: async (text, values) => (await pool.query(text, values)).rows,
    drop: async () => {
      await pool.end()
      await maintain(`DROP DATABASE ${name} WITH (FORCE)`)
      if (role) await maintain(`DROP ROLE ${role}, ${role}_owner`)
    },
  }
}

async function maintain(
  text: string,
  connectionString = process.env.DATABASE_URL,
): Promise<void> {
  const client = new pg.Client({ connectionString })
  await client.connect()
  await client.query(text).finally(() => client.end())
}
