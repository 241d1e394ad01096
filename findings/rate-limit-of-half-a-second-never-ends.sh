#!/usr/bin/env bash
# One would expect: a rate limiter that accepts half a second in memory does so in Redis, or
# throws.
# Seen with rate-limiter-flexible 11.4.0 and Redis 7.0 of Debian 12: durations are rounded down
# to seconds, and 0 means "never". `duration: 0.5` counts for good, so a client that has used
# up its points stays locked out until somebody deletes the key. The same is true of
# `block(key, 0.5)` and of `blockDuration: 0.5`. 1.5 becomes 1. RateLimiterMemory waits 500 ms
# and 1500 ms.
# Where it matters: tests with short durations pass in memory, and a limit for bursts locks
# users out in production. Use whole seconds.
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
import { RateLimiterMemory, RateLimiterRedis } from 'rate-limiter-flexible'

const redis = new Redis(`${process.cwd()}/socket`)
redis.on('error', () => {}) // until the server listens
const pause = (ms) => new Promise((done) => setTimeout(done, ms))
async function see(limiter, duration) {
  const { msBeforeNext } = await limiter.consume('ada')
  await pause(duration * 1000 + 300)
  const later = await limiter.consume('ada').then(
    () => 'allowed',
    () => 'rejected',
  )
  // Some milliseconds may have passed.
  return [msBeforeNext === -1 ? -1 : Math.ceil(msBeforeNext / 500) * 500, later]
}
const expected = { 0.5: [-1, 'rejected'], 1.5: [1000, 'allowed'], 2: [2000, 'allowed'] }
for (const duration of [0.5, 1.5, 2]) {
  const options = { points: 1, duration, keyPrefix: `every-${duration}` }
  const inRedis = await see(new RateLimiterRedis({ ...options, storeClient: redis }), duration)
  const inMemory = await see(new RateLimiterMemory(options), duration)
  console.log(`${duration} s: in Redis: ${inRedis[0]} ms, later ${inRedis[1]}; in memory: ${inMemory[0]} ms, later ${inMemory[1]}`)
  assert.deepEqual(inRedis, expected[duration])
  assert.deepEqual(inMemory, [duration * 1000, 'allowed'])
}
const options = { points: 1, duration: 5, storeClient: redis }
await new RateLimiterRedis({ ...options, keyPrefix: 'block' }).block('ada', 0.5)
const blocking = new RateLimiterRedis({ ...options, blockDuration: 0.5, keyPrefix: 'blockDuration' })
for (let count = 0; count < 2; count++) await blocking.consume('ada').catch(() => {})
for (const key of ['block:ada', 'blockDuration:ada']) {
  const left = await redis.pttl(key)
  console.log(`${key} of half a second: TTL ${left}${left === -1 ? ', which is none' : ''}`)
  assert.equal(left, -1)
}
await redis.quit()
END
echo "ioredis 6.0.0, rate-limiter-flexible 11.4.0"
node seen.mjs
