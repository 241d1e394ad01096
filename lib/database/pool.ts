import { attachDatabasePool } from '@vercel/functions/db-connections'
import pg from 'pg'
import { describeCause, log } from '../log'
import { env } from '../settings/env'
import { NotExecuted } from './not-executed'

const connectMs = 3_000
const setUpMs = 1_000
const statementMs = 4_000 // PostgreSQL gives up and rolls back
const idleInTransactionMs = 10_000 // PostgreSQL ends the transaction of a process that froze

/** After so long without a result we stop waiting. The outcome is then unknown. */
export const resultMs = 6_000

// A sequential scan costs nothing on a table that was empty when it was last analysed, and a plan that is cached then goes on
// scanning while the table grows. Without them every look-up is by key from the start, as long as a statement leaves the planner
// one index to choose: a join of empty tables may as well read a whole index. So the statements have subqueries instead of joins
// (`LATERAL … OFFSET 0` is a subquery that the planner does not turn into a join).
const setUp = `
  SET statement_timeout = ${statementMs};
  SET idle_in_transaction_session_timeout = ${idleInTransactionMs};
  SET enable_seqscan = off`

// Kept across the module reloads of development, each of which would open a pool of its own.
const kept = globalThis as typeof globalThis & { databasePool?: pg.Pool }

/** The connections to the database, which Prisma uses too. */
export function databasePool(): pg.Pool {
  kept.databasePool ??= open()
  return kept.databasePool
}

/** Before there is a connection, nothing can have been executed. */
class Client extends pg.Client {
  constructor(config?: string | pg.ClientConfig) {
    super(config)
    // A connection that is lost between two statements: the next statement fails. Without a listener the process would end.
    this.on('error', () => {})
  }

  // The pool passes a callback and ignores the returned promise.
  override connect(callback: (error: any, client?: any) => void = () => {}): any {
    super.connect((error: Error | null) => callback(error && new NotExecuted(error), this))
  }
}

function open(): pg.Pool {
  const pool = new pg.Pool({
    Client,
    connectionString: env().DATABASE_URL,
    max: env().DATABASE_POOL_SIZE,
    connectionTimeoutMillis: connectMs,
    idleTimeoutMillis: env().VERCEL ? 5_000 : 30_000,
    query_timeout: resultMs,
    keepAlive: true,
    allowExitOnIdle: true,
    // Not as start-up parameters, which poolers reject. Behind a pooler a SET would reach other clients: there the role has these
    // settings (see docs/deploy.md).
    onConnect: async (client) => {
      if (env().DATABASE_POOLED) return
      await client.query({ text: setUp, query_timeout: setUpMs } as pg.QueryConfig).catch(NotExecuted.rethrow)
    },
  })
  if (env().VERCEL) attachDatabasePool(pool) // keeps the function awake until its idle connections are closed
  pool.on('error', (error) => log.warn({ cause: describeCause(error) }, 'an idle database connection was lost'))
  return pool
}
