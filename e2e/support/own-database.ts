import { randomBytes } from 'node:crypto'
import pg from 'pg'
import { applyMigrations } from '../../prisma/migrate'
import type { Sql } from './fixtures'

export type OwnDatabase = {
  name: string
  /** Its URL, as the role that owns it or as another one. */
  url: (user?: string, password?: string) => string
  sql: Sql
  drop: () => Promise<void>
}

/** A database for one test, beside the shared one, migrated unless the test does it. */
export async function openOwnDatabase({ migrated = true } = {}): Promise<OwnDatabase> {
  const name = `own_${randomBytes(6).toString('hex')}`
  await maintain(`CREATE DATABASE ${name}`)
  const url = (user?: string, password?: string) => {
    const address = new URL(process.env.DATABASE_URL!)
    address.pathname = `/${name}`
    if (user) Object.assign(address, { username: user, password })
    return address.href
  }
  if (migrated) await applyMigrations(url())
  const client = new pg.Client({ connectionString: url() })
  await client.connect()
  return {
    name,
    url,
    sql: async (text, values) => (await client.query(text, values)).rows,
    drop: async () => {
      await client.end()
      await maintain(`DROP DATABASE ${name} WITH (FORCE)`)
    },
  }
}

async function maintain(text: string): Promise<void> {
  const client = new pg.Client({ connectionString: process.env.DATABASE_URL })
  await client.connect()
  await client.query(text).finally(() => client.end())
}
