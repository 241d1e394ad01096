import pg from 'pg'
import { expect } from 'playwright/test'
import type { Sql } from './fixtures'

/** A transaction of the test that holds row locks, and whatever waits for it. */
export type Gate = {
  sql: Sql
  /** Returns how many connections wait for this transaction, directly or behind another one. */
  count: () => Promise<number>
  /** Resolves when so many wait. */
  waiting: (count: number) => Promise<void>
  /** Commits: those who wait continue in the order in which they arrived. */
  open: () => Promise<void>
}

const waitingFor = `
  WITH RECURSIVE held (pid) AS (
    SELECT $1::int UNION SELECT backend.pid FROM pg_stat_activity AS backend, held
    WHERE backend.wait_event_type = 'Lock' AND held.pid = ANY (pg_blocking_pids(backend.pid))
  )
  SELECT count(*)::int - 1 AS count FROM held`

/** Locks a row of a table `FOR UPDATE`. `where` has one parameter. */
export async function closeGate(table: string, where: string, value: unknown): Promise<Gate> {
  const [holder, observer] = await Promise.all([connect(), connect()])
  const [{ pid }] = (await holder.query('SELECT pg_backend_pid() AS pid')).rows
  await holder.query('BEGIN')
  const { rowCount } = await holder.query(`SELECT 1 FROM ${table} WHERE ${where} FOR UPDATE`, [value])
  expect(rowCount).toBe(1)
  const count = async () => (await observer.query(waitingFor, [pid])).rows[0].count
  return {
    count,
    sql: async (text, values) => (await holder.query(text, values)).rows,
    waiting: (expected) => expect.poll(count, { intervals: [10] }).toBe(expected),
    open: async () => {
      await holder.query('COMMIT')
      await Promise.all([holder.end(), observer.end()])
    },
  }
}

/**
 * Lets two operations queue at a gate, and opens it. So their order is certain, and the second one
 * has begun before the first one ended.
 */
export async function queueAt<First, Second>(
  gate: Gate,
  first: () => Promise<First>,
  second: () => Promise<Second>,
): Promise<[First, Second]> {
  const one = first()
  await gate.waiting(1)
  const other = second()
  await gate.waiting(2)
  await gate.open()
  return Promise.all([one, other])
}

async function connect(): Promise<pg.Client> {
  const client = new pg.Client({ connectionString: process.env.DATABASE_URL })
  await client.connect()
  return client
}
