import { attachDatabasePool } from '@vercel/functions/db-connections'
import pg from 'pg'
import { describeCause, log } from '../log/log'
import { withoutRequestId } from '../log/request-context'
import { env } from '../settings/env'
import { NothingChanged } from './errors'

const connectMs = 3_000
const setUpMs = 1_000
const statementMs = 4_000 // PostgreSQL cancels the statement and rolls back
const idleInTransactionMs = 10_000 // releases the locks of a frozen process

// the longest wait for a result. After it, the outcome is unknown.
export const resultMs = 6_000

// enable_seqscan: see docs/decisions/0016-subqueries-instead-of-joins.md. TimeZone:
// Prisma sends times without a zone.
const setUp = `
  SET TimeZone = 'UTC';
  SET statement_timeout = ${statementMs};
  SET idle_in_transaction_session_timeout = ${idleInTransactionMs};
  SET enable_seqscan = off`

// On globalThis, because each module reload in development would open another pool.
const globals = globalThis as typeof globalThis & { databasePool?: pg.Pool }

/** Returns the connection pool, which Prisma shares. Opens it on first use. */
export function databasePool(): pg.Pool {
  globals.databasePool ??= createPool()
  return globals.databasePool
}

/**
 * Reports a failed connection attempt as NothingChanged, because no statement was sent.
 */
class Client extends pg.Client {
  constructor(config?: string | pg.ClientConfig) {
    super(config)
    // Without a listener, a lost connection would end the process. The next statement
    // fails anyway.
    this.on('error', () => {})
  }

  // The pool passes a callback and ignores the returned promise.
  override connect(callback: (error: any, client?: any) => void = () => {}): any {
    super.connect((error: Error | null) =>
      callback(error && new NothingChanged(error), this),
    )
  }
}

function createPool(): pg.Pool {
  const pool = new pg.Pool({
    Client,
    connectionString: env().DATABASE_URL,
    max: env().DATABASE_POOL_SIZE,
    connectionTimeoutMillis: connectMs,
    idleTimeoutMillis: env().VERCEL ? 5_000 : 30_000,
    query_timeout: resultMs,
    keepAlive: true,
    allowExitOnIdle: true,
    // Poolers reject start-up parameters, and SET would affect other clients of the
    // pooler (see docs/deploy.md).
    onConnect: async (client) => {
      if (env().DATABASE_POOLED) return
      await client
        .query({ text: setUp, query_timeout: setUpMs } as pg.QueryConfig)
        .catch(NothingChanged.rethrow)
    },
  })

  // On Vercel, keeps the function alive until its idle connections are closed.
  if (env().VERCEL) attachDatabasePool(pool)

  pool.on('error', (error) => {
    const line = { cause: describeCause(error) }
    withoutRequestId(() => log.warn(line, 'an idle database connection was lost'))
  })

  return pool
}
