import { createHash } from 'node:crypto'
import type pg from 'pg'
import { NotExecuted } from './not-executed'
import { databasePool, resultMs } from './pool'

type Value = string | number | boolean | Date | Uint8Array | string[] | null

/** A fragment of a statement, with its parameters. Several statements can share it. */
export type Part = { strings: TemplateStringsArray; values: (Value | Part)[] }

/**
 * Executes one statement and returns its rows. Values become parameters; parts are inlined as SQL.
 */
export type Sql = <Row = Record<string, never>>(
  strings: TemplateStringsArray,
  ...values: (Value | Part)[]
) => Promise<Row[]>

/** Creates a fragment to embed in `sql`. Its values become parameters of the statement. */
export function part(strings: TemplateStringsArray, ...values: (Value | Part)[]): Part {
  return { strings, values }
}

/**
 * Executes one statement on any connection. Changes that must be atomic need one statement, or one
 * `transaction`.
 */
export const sql: Sql = async (strings, ...values) => (await databasePool().query(statement({ strings, values }))).rows

/**
 * Executes statements in one transaction and returns the result of `work`. A database error before
 * COMMIT is a NotExecuted. After any error the connection is closed, and PostgreSQL rolls back an
 * open transaction.
 */
export async function transaction<Result>(work: (sql: Sql) => Promise<Result>): Promise<Result> {
  const client = await databasePool().connect()
  const endsAt = performance.now() + resultMs
  const query = (config: pg.QueryConfig) =>
    client.query({ ...config, query_timeout: Math.max(1, endsAt - performance.now()) } as pg.QueryConfig)
  try {
    await query({ text: 'BEGIN' }).catch(NotExecuted.rethrow)
    const result = await work(
      async (strings, ...values) => (await query(statement({ strings, values })).catch(NotExecuted.rethrow)).rows,
    )
    await query({ text: 'COMMIT' })
    client.release()
    return result
  } catch (error) {
    client.release(true)
    throw error
  }
}

const names = new Map<string, string>()

/**
 * Returns the name of a prepared statement: each connection plans it once. The names are never
 * evicted, so `text` must be a constant of this program.
 */
export function statementName(text: string): string {
  let name = names.get(text)
  if (!name) {
    name = createHash('sha256').update(text).digest('hex').slice(0, 16)
    names.set(text, name)
  }
  return name
}

function statement(whole: Part): pg.QueryConfig {
  const values: Value[] = []
  const textOf = ({ strings, values: given }: Part): string =>
    strings.reduce((before, text, index) => {
      const value = given[index - 1]!
      if (isPart(value)) return before + textOf(value) + text
      return `${before}$${values.push(value)}${text}`
    })
  const text = textOf(whole)
  return { name: statementName(text), text, values }
}

function isPart(value: Value | Part): value is Part {
  return typeof value === 'object' && value !== null && 'strings' in value
}
