import { attachDatabasePool } from '@vercel/functions/db-connections'
import pg from 'pg'
import { env } from './env'
import { log } from './log'

const connectMs = 3_000
const statementMs = 4_000 // PostgreSQL gives up: nothing was done
const answerMs = 6_000 // we give up waiting: whether something was done is unknown

/** How the message of such an error begins. */
export const notConnected = 'no connection to the database'

// kept across the module reloads of development, which would otherwise each open a pool
const kept = globalThis as typeof globalThis & { databasePool?: pg.Pool }

/** The connections to the database, which `db()` uses too. For the one statement that has to be fast: give it a name, so that a connection plans it once. */
export function databasePool(): pg.Pool {
  kept.databasePool ??= open()
  return kept.databasePool
}

/** Marks an error that came before any statement could be sent: after it nothing was done for sure, whatever the error. */
class MarkingClient extends pg.Client {
  // the pool passes a callback, and takes no notice of what comes back
  override connect(callback: (error: any, client?: any) => void = () => {}): any {
    super.connect((error: Error | null) => callback(error && new Error(`${notConnected}: ${error.message}`, { cause: error }), this))
  }
}

function open(): pg.Pool {
  const pool = new pg.Pool({
    Client: MarkingClient,
    connectionString: env().DATABASE_URL,
    max: env().DATABASE_POOL_SIZE,
    connectionTimeoutMillis: connectMs,
    idleTimeoutMillis: env().VERCEL ? 5_000 : 30_000,
    query_timeout: answerMs,
    keepAlive: true,
    allowExitOnIdle: true,
    // not as a start-up parameter: poolers like PgBouncer refuse those
    onConnect: (client) => client.query({ text: `SET statement_timeout = ${statementMs}`, query_timeout: connectMs } as pg.QueryConfig),
  })
  if (env().VERCEL) attachDatabasePool(pool) // keeps the function awake until its idle connections are closed
  pool.on('error', (error) => log.warn({ cause: error.message }, 'an idle database connection was lost'))
  return pool
}
