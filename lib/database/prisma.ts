import { hash } from 'node:crypto'
import { PrismaPg } from '@prisma/adapter-pg'
import type { SqlQuery, SqlQueryable } from '@prisma/driver-adapter-utils'
import type { Client, QueryConfig } from 'pg'
import { Prisma, PrismaClient } from '../../prisma/client/client'
import { inSpan } from '../log/telemetry'
import { env } from '../settings/env'
import { asUnavailable, NothingChanged } from './errors'
import { databasePool, resultMs } from './pool'

export { Prisma }

// On globalThis, because each module reload in development would create another client.
const globals = globalThis as typeof globalThis & { prismaClient?: PrismaClient }

/**
 * Returns the Prisma client. Connects on first use, because `next build` loads every
 * module without a database.
 */
export function prisma(): PrismaClient {
  globals.prismaClient ??= createClient()
  return globals.prismaClient
}

/**
 * Converts `extract(epoch …)` of a raw statement to a date. Prisma would read a timestamp
 * as if it were in UTC.
 */
export function dateFromEpoch(seconds: number): Date {
  return new Date(Math.round(seconds * 1_000))
}

export type Transaction = Prisma.TransactionClient

/**
 * Executes `work` in one transaction. Any error rolls back. A database error before
 * COMMIT becomes NothingChanged. Only commands may take longer than the default of
 * `timeoutMs`; each of their statements still has the usual time limit.
 */
export async function transaction<Result>(
  work: (tx: Transaction) => Promise<Result>,
  { timeoutMs = resultMs } = {},
): Promise<Result> {
  let mayBeCommitted = false
  try {
    const run = async (tx: Transaction) => {
      const result = await work(tx)
      mayBeCommitted = true
      return result
    }
    return await prisma().$transaction(run, { maxWait: resultMs, timeout: timeoutMs })
  } catch (error) {
    if (mayBeCommitted || !asUnavailable(error)) throw error
    return NothingChanged.rethrow(error as Error)
  }
}

function createClient(): PrismaClient {
  // Each connection prepares a statement once under this name. Names are never removed,
  // so SQL texts must be constant.
  const named = {
    statementNameGenerator: ({ sql }: { sql: string }) =>
      hash('sha256', sql).slice(0, 16),
  }

  const adapter = new Adapter(
    databasePool(),
    env().DATABASE_PREPARED_STATEMENTS ? named : {},
  )

  return new PrismaClient({ adapter, errorFormat: 'minimal', log: [] })
}

/**
 * To roll back, closes the connection: Prisma would reuse a connection whose ROLLBACK
 * could not be sent.
 */
class Adapter extends PrismaPg {
  override async connect() {
    const adapter = await super.connect()
    const start = adapter.startTransaction.bind(adapter)
    if (globalThis.tracing) traceStatements(adapter)

    adapter.startTransaction = async (isolationLevel) => {
      const begin = { name: 'database', operation: 'BEGIN' } as const
      const transaction = await inSpan(begin, () => start(isolationLevel))
      if (globalThis.tracing) traceStatements(transaction)
      const endsAt = performance.now() + resultMs
      const { client } = transaction as unknown as { client: Client }
      const release = transaction.rollback.bind(transaction) // sends no ROLLBACK
      const close = () => {
        void client.end()
        return release()
      }

      const commit = async () => {
        const leftMs = endsAt - performance.now()
        const withinMs = leftMs > 0 ? leftMs : resultMs // the transaction of a command
        await client.query({ text: 'COMMIT', query_timeout: withinMs } as QueryConfig)
        return release()
      }

      // With `usePhantomQuery`, Prisma calls these functions instead of sending COMMIT or
      // ROLLBACK.
      return Object.assign(transaction, {
        options: { usePhantomQuery: true },
        commit: () =>
          inSpan({ name: 'database', operation: 'COMMIT' }, commit).catch((error) =>
            close().then(() => Promise.reject(error)),
          ),
        rollback: close,
      })
    }

    return adapter
  }
}

/**
 * Gives each statement a span, which begins before a connection of the pool is free. The
 * span has no text of the statement.
 */
function traceStatements(queryable: SqlQueryable): void {
  const { queryRaw, executeRaw } = queryable
  const describe = ({ sql }: SqlQuery) =>
    ({ name: 'database', operation: readOperation(sql) }) as const

  queryable.queryRaw = (query) =>
    inSpan(describe(query), () => queryRaw.call(queryable, query))
  queryable.executeRaw = (query) =>
    inSpan(describe(query), () => executeRaw.call(queryable, query))
}

function readOperation(sql: string): string {
  return sql.match(/[a-z]+/i)![0].toUpperCase()
}
