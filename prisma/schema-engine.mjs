#!/usr/bin/env node
// The Prisma CLI downloads a schema engine for the platform. Prisma publishes the same engine as WebAssembly on npm; this puts
// it behind the protocol the CLI speaks to the downloaded one: JSON-RPC 2.0, a message a line, on stdin and stdout.
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { createInterface } from 'node:readline'
import { parseArgs } from 'node:util'
import { PrismaPg } from '@prisma/adapter-pg'
import { bindMigrationAwareSqlAdapterFactory } from '@prisma/driver-adapter-utils'
import * as bindings from '@prisma/schema-engine-wasm/schema_engine_bg'

const { values: flags, positionals } = parseArgs({
  options: {
    datamodels: { type: 'string', multiple: true },
    datasource: { type: 'string' },
    version: { type: 'boolean' },
  },
  allowPositionals: true,
  strict: false, // the CLI passes more than this engine needs
})

const wasmFile = createRequire(import.meta.url)
  .resolve('@prisma/schema-engine-wasm/schema_engine_bg')
  .replace(/\.js$/, '.wasm')
const { instance } = await WebAssembly.instantiate(readFileSync(wasmFile), { './schema_engine_bg.js': bindings })
bindings.__wbg_set_wasm(instance.exports)
instance.exports.__wbindgen_start()

if (flags.version) {
  console.log(`schema-engine-cli ${bindings.version()}`)
  process.exit()
}

const url = JSON.parse(flags.datasource ?? '{}').url
// the role may have a limit that suits the service (see the README); a migration takes its time
const onConnect = (client) => client.query('SET statement_timeout = 0')
const adapter = url && new PrismaPg({ connectionString: url, onConnect })

// `schema-engine cli can-connect-to-database`: the exit code is the answer
if (positionals[0] === 'cli') {
  const database = await adapter.connect()
  await database.executeScript('SELECT 1')
  await database.dispose()
  process.exit()
}

// it connects at once, so that even a `migrate diff` between files needs an address; `generate` alone does without
const engine =
  adapter &&
  (await bindings.SchemaEngine.new(
    { datamodels: flags.datamodels?.map((path) => [path, readFileSync(path, 'utf8')]) },
    () => {},
    bindMigrationAwareSqlAdapterFactory(adapter),
  ))

const mapsAsObjects = (_key, value) => (value instanceof Map ? Object.fromEntries(value) : value)
const send = (message) => console.log(JSON.stringify({ jsonrpc: '2.0', ...message }, mapsAsObjects))
let ownId = 1_000_000 // ids of the requests that we send to the CLI, far from its own

for await (const line of createInterface({ input: process.stdin })) {
  const { id, method, params } = JSON.parse(line)
  if (!method) continue // the CLI's answer to one of ours
  try {
    if (!engine) throw new Error('no database address: set DATABASE_URL')
    const result = await engine[method](params)
    if (result?.stdout) send({ id: ++ownId, method: 'print', params: { content: result.stdout } })
    send({ id, result: result ?? {} })
  } catch (error) {
    const { message, code, meta } = error
    const data = { is_panic: false, message, error_code: code, meta: meta ?? null }
    send({ id, error: { code: 4466, message: 'error', data } })
  }
}
process.exit()
