import { randomBytes } from 'node:crypto'
import pg from 'pg'
import { applyMigrations } from '../../prisma/migrate'
import type { Sql } from './fixtures'

/** The time zone of each database of the tests, which is the zone of no process. */
export const otherTimeZone = 'Asia/Kolkata'

export type OwnDatabase = {
  name: string
  /** Returns its URL, for its owner or for another role. */
  url: (user?: string, password?: string) => string
  sql: Sql
  drop: () => Promise<void>
}

/** Creates a separate database for one test. */
export async function openOwnDatabase({ migrated = true } = {}): Promise<OwnDatabase> {
  const name = `own_${randomBytes(6).toString('hex')}`
  await maintain(`CREATE DATABASE ${name}`)
  await maintain(`ALTER DATABASE ${name} SET timezone = '${otherTimeZone}'`)
  const url = (user?: string, password?: string) => {
    const result = new URL(process.env.DATABASE_URL!)
    result.pathname = `/${name}`
    if (user) Object.assign(result, { username: user, password })
    return result.href
  }
  if (migrated) await applyMigrations(url())
  // One connection, so that SET lasts until a statement fails.
  const pool = new pg.Pool({ connectionString: url(), max: 1, idleTimeoutMillis: 0 })
  // Neither the end of the pool nor a failed statement waits for its connection to close. DROP may
  // terminate it before.
  pool.on('error', () => {})
  return {
    name,
    url,
    sql: async (text, values) => (await pool.query(text, values)).rows,
    drop: async () => {
      await pool.end()
      await maintain(`DROP DATABASE ${name} WITH (FORCE)`)
    },
  }
}

async function maintain(text: string): Promise<void> {
  const client = new pg.Client({ connectionString: process.env.DATABASE_URL })
  await client.connect()
  await client.query(text).finally(() => client.end())
}
