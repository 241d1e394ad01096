#!/usr/bin/env bash
# One would expect: a command that ioredis was taught with `defineCommand` works after a
# failover wherever it worked before. The new master knows no scripts, and ioredis loads the
# script again when Redis answers NOSCRIPT.
# Seen with ioredis 6.0.0 and Redis 7.0 of Debian 12: a single call and a `pipeline()` recover.
# Inside `multi()` the command fails with NOSCRIPT each time, until a call outside loads the
# script; the other commands of the transaction are carried out.
# Where it matters: a rate limit that counts in a transaction. After the failover, the count is
# missing while the rest is written. Call the command once outside after each "ready".
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
# Downloads and unpacks packages of Debian 12, and prints the versions.
unpack() {
  apt-get download "$@" >apt.log 2>&1 ||
    { apt-get update && apt-get download "$@"; } >apt.log 2>&1 ||
    { cat apt.log; exit 1; }
  for package in *.deb; do dpkg-deb -x "$package" root && rm "$package"; done
  apt-cache policy "$1" | sed -n "s/^ *Candidate:/$1/p"
}
unpack redis-tools liblzf1 libhiredis0.14 libatomic1 liblua5.1-0 lua-cjson lua-bitop libjemalloc2
npm init -y >/dev/null
npm install --silent --no-audit --no-fund --ignore-scripts ioredis@6.0.0

# In Debian, the server is a link to this program, which acts by its name.
ln -s root/usr/bin/redis-check-rdb redis-server
LD_LIBRARY_PATH="$(find "$folder/root" -name '*.so*' -printf '%h\n' | sort -u | paste -sd:)" \
  ./redis-server --port 0 --unixsocket "$folder/socket" --save '' --dir "$folder" >redis.log &
server=$!
trap 'kill $server; wait $server || true; rm -rf "$folder"' EXIT

cat >seen.mjs <<'END'
import assert from 'node:assert'
import { Redis } from 'ioredis'

const redis = new Redis(`${process.cwd()}/socket`)
redis.on('error', () => {}) // until the server listens
redis.defineCommand('count', { numberOfKeys: 1, lua: `return redis.call('INCR', KEYS[1])` })
console.log(/redis_version:(\S+)/.exec(await redis.info('server'))[1], 'is the version of Redis')

const runs = {
  'a single call': async () => [[null, await redis.count('key')]],
  'pipeline()': () => redis.pipeline().count('key').set('other', '1').exec(),
  'multi()': () => redis.multi().count('key').set('other', '1').exec(),
}
const seen = {}
for (const [name, run] of Object.entries(runs)) {
  await redis.count('key')
  await redis.script('FLUSH') // as after a failover: the server has no scripts
  const replies = async () => (await run()).map(([error, reply]) => error?.message.split(' ')[0] ?? reply)
  seen[name] = [await replies(), await replies()]
  console.log(`${name}: ${JSON.stringify(seen[name][0])}, again: ${JSON.stringify(seen[name][1])}`)
}
assert.equal(typeof seen['a single call'][0][0], 'number')
assert.equal(typeof seen['pipeline()'][0][0], 'number')
assert.deepEqual(seen['multi()'], [
  ['NOSCRIPT', 'OK'],
  ['NOSCRIPT', 'OK'],
])
await redis.count('key')
assert.equal(typeof (await runs['multi()']())[0][1], 'number')
await redis.quit()
END
echo "ioredis 6.0.0"
node seen.mjs
