#!/usr/bin/env bash
# One would expect: a Redis that has reached `maxmemory` refuses writes and still answers
# reads, as its documentation says.
# Seen with Redis 7.0 of Debian 12: after MULTI it refuses every command, such as GET and DEL,
# so EXEC answers EXECABORT. GET and DEL alone work, and so do a pipeline and a script that
# reads.
# rate-limiter-flexible 11.4.0 reads a limiter (`get`) with MULTI, so this fails as well.
# Where it matters: code that only asks whether an address is locked fails, and so does a
# transaction of DELs that would free memory. Read with a pipeline.
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
npm install --silent --no-audit --no-fund --ignore-scripts ioredis@6.0.0 rate-limiter-flexible@11.4.0

# In Debian, the server is a link to this program, which acts by its name.
ln -s root/usr/bin/redis-check-rdb redis-server
LD_LIBRARY_PATH="$(find "$folder/root" -name '*.so*' -printf '%h\n' | sort -u | paste -sd:)" \
  ./redis-server --port 0 --unixsocket "$folder/socket" --save '' --dir "$folder" >redis.log &
server=$!
trap 'kill $server; wait $server || true; rm -rf "$folder"' EXIT

cat >seen.mjs <<'END'
import assert from 'node:assert'
import { Redis } from 'ioredis'
import { RateLimiterRedis } from 'rate-limiter-flexible'

const redis = new Redis(`${process.cwd()}/socket`)
redis.on('error', () => {}) // until the server listens
const limiter = new RateLimiterRedis({ storeClient: redis, points: 5, duration: 60, keyPrefix: 'limit' })
await limiter.consume('ada')
await redis.set('key', 'value')
await redis.config('SET', 'maxmemory', '1')

const read = "return redis.call('GET', KEYS[1])"
const attempts = {
  SET: [() => redis.set('key', 'other'), 'OOM'],
  GET: [() => redis.get('key'), 'works'],
  DEL: [() => redis.del('other'), 'works'],
  'GET in a pipeline': [() => redis.pipeline().get('key').exec(), 'works'],
  'GET in a script': [() => redis.eval(read, 1, 'key'), 'works'],
  'GET in MULTI': [() => redis.multi().get('key').exec(), 'EXECABORT'],
  'DEL in MULTI': [() => redis.multi().del('other').exec(), 'EXECABORT'],
  'limiter.get': [() => limiter.get('ada'), 'EXECABORT'],
}
for (const [name, [run, expected]] of Object.entries(attempts)) {
  const seen = await run().then(
    () => 'works',
    (error) => error.message.split(' ')[0],
  )
  console.log(`${name}: ${seen}`)
  assert.equal(seen, expected)
}
await redis.quit()
END
echo "ioredis 6.0.0, rate-limiter-flexible 11.4.0"
node seen.mjs
