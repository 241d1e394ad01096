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

/** The version of the engine. */
export const engineVersion = () => bindings.version()

/**
 * The one connection that an engine works through, because a lock has to hold for all that follows.
 * It lifts the role's time limit, which suits the service and not a migration (see the README).
 * @param {string} url
 */
export function openConnection(url) {
  const pool = new pg.Pool({
    connectionString: url,
    max: 1,
    connectionTimeoutMillis: connectMs,
    idleTimeoutMillis: 0, // or a wait would end the connection, and with it the lock
    keepAlive: true,
    onConnect: (client) => client.query('SET statement_timeout = 0'),
  })
  pool.on('error', () => {}) // lost while idle: the next query tells
  return pool
}

/**
 * Starts an engine on a connection. `datamodels` are the schema's files.
 * @param {pg.Pool} pool
 * @param {string[]} [datamodels]
 */
export async function startEngine(pool, datamodels) {
  const options = { datamodels: datamodels?.map((path) => [path, readFileSync(path, 'utf8')]) }
  return bindings.SchemaEngine.new(options, () => {}, bindMigrationAwareSqlAdapterFactory(new WholeScripts(pool)))
}

/**
 * Sends a migration as it stands. Prisma's adapter would cut it at every semicolon, also in a comment,
 * a string or a function, and would keep what came before a failure. The engine does not know all
 * kinds of errors that the adapter reports, and would lose PostgreSQL's message.
 */
class WholeScripts extends PrismaPg {
  async connect() {
    const adapter = await super.connect()
    adapter.executeScript = async (script) => {
      await this.externalPool.query(script).catch((error) => {
        const { severity, code, message, detail, column, hint } = error
        if (!severity) return adapter.onError(error) // not PostgreSQL's, but of the connection
        const cause = { kind: 'postgres', code, severity, message, detail, column, hint }
        throw new DriverAdapterError({ ...cause, originalCode: code, originalMessage: message })
      })
    }
    return adapter
  }
}
