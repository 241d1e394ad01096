import { afterEach, expect, test, vi } from 'vitest'
import { longTransaction } from './long-transaction'
import { Prisma } from './prisma'

const globals = globalThis as { databasePool?: unknown }
const pool = globals.databasePool
afterEach(() => {
  globals.databasePool = pool
  vi.useRealTimers()
})

/** Replaces the database by one in which each statement takes a time. */
function replaceDatabase(statementMs: number) {
  const calls: unknown[][] = []
  const client = {
    query: async (...statement: unknown[]) => {
      calls.push(statement)
      await vi.advanceTimersByTimeAsync(statementMs)
      return { rows: [{ answer: 1 }] }
    },
    release: (...broken: unknown[]) => void calls.push(['release', ...broken]),
  }
  globals.databasePool = { connect: async () => client }
  return calls
}

test('a transaction of a command may take an hour', async () => {
  vi.useFakeTimers()
  const calls = replaceDatabase(20 * 60_000)
  const rows = await longTransaction((query) => query(Prisma.sql`SELECT ${1} AS answer`))
  expect(rows).toEqual([{ answer: 1 }])
  expect(calls).toEqual([
    ['BEGIN'],
    [{ text: 'SELECT $1 AS answer', values: [1] }],
    ['COMMIT'],
    ['release'],
  ])
})

test('an error closes the connection, which rolls back', async () => {
  vi.useFakeTimers()
  const calls = replaceDatabase(0)
  const failed = longTransaction(() => Promise.reject(new Error('no')))
  await expect(failed).rejects.toThrow('no')
  expect(calls).toEqual([['BEGIN'], ['release', true]])
})
