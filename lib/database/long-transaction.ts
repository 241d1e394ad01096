import { databasePool } from './pool'
import type { Prisma } from './prisma'

/** Executes a statement, and returns its rows. */
export type Query = <Row extends object>(statement: Prisma.Sql) => Promise<Row[]>

/**
 * Executes `work` in one transaction of a command, which may take long: only each of its
 * statements has the usual time limits. Any error rolls back.
 */
export async function longTransaction<Result>(
  work: (query: Query) => Promise<Result>,
): Promise<Result> {
  const client = await databasePool().connect()
  const query: Query = async ({ text, values }) =>
    (await client.query({ text, values })).rows

  try {
    await client.query('BEGIN')
    const result = await work(query)
    await client.query('COMMIT')
    client.release()

    return result
  } catch (error) {
    client.release(true) // closes the connection, which rolls back
    throw error
  }
}
