import { attachDatabasePool } from '@vercel/functions/db-connections'
import pg from 'pg'
import { env } from './env'
import { describeCause, log } from './log'

const connectMs = 3_000
const setUpMs = 1_000
const statementMs = 4_000 // PostgreSQL gives up: nothing was done
const answerMs = 6_000 // we give up waiting: whether something was done is unknown
const idleInTransactionMs = 10_000 // of a server that froze, PostgreSQL lets go

// To read a table from its beginning costs nothing where it was empty when it was last analysed, and
// a plan that is cached then goes on doing so while the table grows. Without sequential scans, every
// look-up is by key from the start, provided that a statement leaves the planner one index to choose:
// a join of empty tables may as well read an index from its beginning. So the statements have
// subqueries instead of joins (`LATERAL … OFFSET 0` is one that the planner does not make a join of).
const setUp = `
  SET statement_timeout = ${statementMs};
  SET idle_in_transaction_session_timeout = ${idleInTransactionMs};
  SET enable_seqscan = off`

/** How the message of an error begins after which nothing was done for sure, whatever it was: no statement could be sent, or no COMMIT. */
export const nothingDone = 'nothing was done'

// kept across the module reloads of development, which would otherwise each open a pool
const kept = globalThis as typeof globalThis & { databasePool?: pg.Pool }

/** The connections to the database, which `db()` uses too. For the one statement that has to be fast: give it a name, so that a connection plans it once. */
export function databasePool(): pg.Pool {
  kept.databasePool ??= open()
  return kept.databasePool
}

/**
 * Runs statements in one transaction, and answers what `work` does. After an error the connection is closed rather than used again: it may still
 * be inside the transaction, which PostgreSQL then rolls back. An error before COMMIT was sent is marked as one that did nothing.
 */
export async function inTransaction<Result>(work: (query: Query) => Promise<Result>): Promise<Result> {
  const client = await databasePool().connect()
  const endsAt = performance.now() + answerMs
  const query: Query = (config) => client.query({ ...config, query_timeout: Math.max(1, endsAt - performance.now()) } as pg.QueryConfig)
  try {
    await query({ text: 'BEGIN' }).catch(markAsNotDone)
    const result = await work((config) => query(config).catch(markAsNotDone))
    await query({ text: 'COMMIT' })
    client.release()
    return result
  } catch (error) {
    client.release(true)
    throw error
  }
}

type Query = (config: pg.QueryConfig) => Promise<pg.QueryResult>

/** For the `catch` of what can't have done anything. The error keeps its meaning: its cause is looked at as well. */
export function markAsNotDone(error: Error): never {
  throw new Error(`${nothingDone}: ${error.message}`, { cause: error })
}

/** Marks also an error that came before there was a connection. */
class MarkingClient extends pg.Client {
  constructor(config?: string | pg.ClientConfig) {
    super(config)
    this.on('error', () => {}) // lost between two statements of a transaction: the next one tells, and nobody listening would end the process
  }

  // the pool passes a callback, and takes no notice of what comes back
  override connect(callback: (error: any, client?: any) => void = () => {}): any {
    super.connect((error: Error | null) => callback(error && new Error(`${nothingDone}: ${error.message}`, { cause: error }), this))
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
    // Not as start-up parameters, which poolers reject. Behind a pooler a SET would reach other
    // clients instead: there the role has these settings (see the README).
    onConnect: async (client) => {
      if (env().DATABASE_POOLED) return
      await client.query({ text: setUp, query_timeout: setUpMs } as pg.QueryConfig).catch(markAsNotDone)
    },
  })
  if (env().VERCEL) attachDatabasePool(pool) // keeps the function awake until its idle connections are closed
  pool.on('error', (error) => log.warn({ cause: describeCause(error) }, 'an idle database connection was lost'))
  return pool
}
