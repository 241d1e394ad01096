#!/usr/bin/env node
// Lets the Prisma CLI use the engine of engine.mjs instead of the binary that it would download.
// The CLI speaks JSON-RPC 2.0 over stdin and stdout, one message per line.
import { createInterface } from 'node:readline'
import { parseArgs } from 'node:util'
import { engineVersion, openConnection, startEngine } from './engine.mjs'

const { values: flags, positionals } = parseArgs({
  options: {
    datamodels: { type: 'string', multiple: true },
    datasource: { type: 'string' },
    version: { type: 'boolean' },
  },
  allowPositionals: true,
  strict: false, // the CLI passes more than this engine needs
})

if (flags.version) {
  console.log(`schema-engine-cli ${engineVersion()}`)
  process.exit()
}

const url = JSON.parse(flags.datasource ?? '{}').url
const connection = url && openConnection(url)

// `schema-engine cli can-connect-to-database`: the exit code is the result
if (positionals[0] === 'cli') {
  await connection.query('SELECT 1')
  await connection.end()
  process.exit()
}

// The engine connects at once, so even `migrate diff` between two files needs a URL. `generate`
// does not.
const engine = connection && (await startEngine(connection, flags.datamodels))

const mapsAsObjects = (_key, value) => (value instanceof Map ? Object.fromEntries(value) : value)
const send = (message) => console.log(JSON.stringify({ jsonrpc: '2.0', ...message }, mapsAsObjects))
let ownId = 1_000_000 // for requests to the CLI; high enough not to collide with its own IDs

for await (const line of createInterface({ input: process.stdin })) {
  const { id, method, params } = JSON.parse(line)
  if (!method) continue // the CLI's response to one of our requests
  try {
    if (!engine) throw new Error('there is no database URL: set DATABASE_URL')
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
