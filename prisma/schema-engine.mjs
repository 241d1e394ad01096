#!/usr/bin/env node
// Puts the engine of engine.mjs behind the protocol that the Prisma CLI speaks to the one it would
// download: JSON-RPC 2.0, a message a line, on stdin and stdout.
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

// `schema-engine cli can-connect-to-database`: the exit code is the answer
if (positionals[0] === 'cli') {
  await connection.query('SELECT 1')
  await connection.end()
  process.exit()
}

// it connects at once, so that even a `migrate diff` between files needs a URL; `generate` does without
const engine = connection && (await startEngine(connection, flags.datamodels))

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
