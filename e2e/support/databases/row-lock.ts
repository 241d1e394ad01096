import pg from 'pg'
import { expect } from 'playwright/test'
import type { Sql } from '../fixtures'

/** A transaction of the test that holds a row lock. */
export type RowLock = {
  /** Queries within the transaction. */
  sql: Sql
  /**
   * Returns how many connections wait for this transaction, directly or behind another
   * one.
   */
  countWaiting: () => Promise<number>
  /** Resolves when `count` connections wait. */
  waiting: (count: number) => Promise<void>
  /**
   * Commits. The waiting connections continue in the order in which they began to wait.
   */
  release: () => Promise<void>
}

const waitingFor = `
  WITH RECURSIVE blocked (pid) AS (
    SELECT $1::int UNION SELECT backend.pid FROM pg_stat_activity AS backend, blocked
    WHERE backend.wait_event_type = 'Lock' AND blocked.pid = ANY (pg_blocking_pids(backend.pid))
  )
  SELECT count(*)::int - 1 AS count FROM blocked`

/** Locks a row of a table `FOR UPDATE`. `where` has one parameter. */
export async function lockRow(
  table: string,
  where: string,
  value: unknown,
): Promise<RowLock> {
  const [holder, observer] = await Promise.all([connect(), connect()])
  const [{ pid }] = (await holder.query('SELECT pg_backend_pid() AS pid')).rows
  await holder.query('BEGIN')
  const { rowCount } = await holder.query(
    `SELECT 1 FROM ${table} WHERE ${where} FOR UPDATE`,
    [value],
  )
  expect(rowCount).toBe(1)
  const countWaiting = async () => (await observer.query(waitingFor, [pid])).rows[0].count
  return {
    countWaiting,
    sql: async (text, values) => (await holder.query(text, values)).rows,
    waiting: (count) => expect.poll(countWaiting, { intervals: [10] }).toBe(count),
    release: async () => {
      await holder.query('COMMIT')
      await Promise.all([holder.end(), observer.end()])
    },
  }
}

/**
 * Starts two operations one after the other, which both wait for a row lock, and releases
 * the lock. Their order is certain, and the second one begins before the first one ends.
 */
export async function inOrderOfLock<First, Second>(
  lock: RowLock,
  first: () => Promise<First>,
  second: () => Promise<Second>,
): Promise<[First, Second]> {
  const one = first()
  await lock.waiting(1)
  const other = second()
  await lock.waiting(2)
  await lock.release()
  return Promise.all([one, other])
}

async function connect(): Promise<pg.Client> {
  const client = new pg.Client({ connectionString: process.env.DATABASE_URL })
  await client.connect()
  return client
}
