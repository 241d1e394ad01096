// Prisma's schema engine as WebAssembly, from npm. The Prisma CLI would download a binary.
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { PrismaPg } from '@prisma/adapter-pg'
import { bindMigrationAwareSqlAdapterFactory, DriverAdapterError } from '@prisma/driver-adapter-utils'
import * as bindings from '@prisma/schema-engine-wasm/schema_engine_bg'
import pg from 'pg'

const connectMs = 10_000

const wasmFile = createRequire(import.meta.url)
  .resolve('@prisma/schema-engine-wasm/schema_engine_bg')
  .replace(/\.js$/, '.wasm')
const { instance } = await WebAssembly.instantiate(readFileSync(wasmFile), { './schema_engine_bg.js': bindings })
bindings.__wbg_set_wasm(instance.exports)
instance.exports.__wbindgen_start()

export const engineVersion = () => bindings.version()

/**
 * Keeps a connection after an error of PostgreSQL, unlike a pool, which would replace it: the lock
 * would be lost, because the engine looks for tables that an empty database does not have.
 */
class KeptConnection extends pg.Pool {
  /** @param {any[]} query */
  async query(...query) {
    const client = await this.connect()
    try {
      return await client.query(.../** @type {[any]} */ (query))
    } finally {
      client.release()
    }
  }
}

/**
 * Opens a single connection for an engine, because an advisory lock belongs to one connection.
 * Removes the role's statement time-out, which is meant for the service: a migration may take
 * longer.
 * @param {string} url
 */
export function openConnection(url) {
  const pool = new KeptConnection({
    connectionString: url,
    max: 1,
    connectionTimeoutMillis: connectMs,
    idleTimeoutMillis: 0, // an idle time-out would close the connection and release the lock
    keepAlive: true,
    onConnect: (client) => client.query('SET statement_timeout = 0'),
  })
  pool.on('error', () => {}) // if the idle connection is lost, the next query fails
  return pool
}

/**
 * Starts an engine on a connection. `datamodels` are the paths of the schema files.
 * @param {pg.Pool} pool
 * @param {string[]} [datamodels]
 */
export async function startEngine(pool, datamodels) {
  const options = { datamodels: datamodels?.map((path) => [path, readFileSync(path, 'utf8')]) }
  return bindings.SchemaEngine.new(options, () => {}, bindMigrationAwareSqlAdapterFactory(new WholeScripts(pool)))
}

/**
 * Sends a migration as one script. Prisma's adapter would split it at every semicolon, even inside
 * a comment, a string or a function, and would keep the statements before a failure. It would also
 * report errors of kinds that the engine does not know, and PostgreSQL's message would be lost.
 */
class WholeScripts extends PrismaPg {
  async connect() {
    const adapter = await super.connect()
    adapter.executeScript = async (script) => {
      await this.externalPool.query(script).catch((error) => {
        const { severity, code, message, detail, column, hint } = error
        if (!severity) return adapter.onError(error) // from the connection, not from PostgreSQL
        const cause = { kind: 'postgres', code, severity, message, detail, column, hint }
        throw new DriverAdapterError({ ...cause, originalCode: code, originalMessage: message })
      })
    }
    return adapter
  }
}
