#!/usr/bin/env bash
# One would expect: a retry plugin whose documentation speaks of idempotent requests leaves a
# POST alone.
# Seen with axios-retry 4.5.0: with its defaults, a POST whose connection closes without a
# response is sent four times. The word idempotent belongs only to responses with a 5xx; a
# network error is retried for every method. With axiosRetry.isIdempotentRequestError as its
# `retryCondition`, it sends the POST once. So do got 14.6.6, ky 1.14.3 and the RetryAgent of
# undici 7.30.2 by default.
# Where it matters: one-time codes, reset tokens, refresh tokens that rotate. The server has
# carried out the first POST, and the answer that the caller sees is the error of the fourth.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm init -y >/dev/null
npm install --silent --no-audit --no-fund --ignore-scripts \
  axios@1.21.1 axios-retry@4.5.0 got@14.6.6 ky@1.14.3 undici@7.30.2

cat >seen.mjs <<'END'
import assert from 'node:assert'
import http from 'node:http'
import axios from 'axios'
import axiosRetry from 'axios-retry'
import got from 'got'
import ky from 'ky'
import { Agent, RetryAgent, request } from 'undici'

let received = 0
const server = http.createServer((req) => {
  req.resume().on('end', () => {
    received++
    req.socket.destroy()
  })
})
await new Promise((done) => server.listen(0, '127.0.0.1', done))
const url = `http://127.0.0.1:${server.address().port}/exchange`
const json = { code: 'one-time' }
const body = JSON.stringify(json)

const withRetry = (options) => {
  const client = axios.create()
  axiosRetry(client, options)
  return client
}
const clients = {
  'axios-retry, defaults': [4, () => withRetry({}).post(url, json)],
  'axios-retry, idempotent requests only': [
    1,
    () => withRetry({ retryCondition: axiosRetry.isIdempotentRequestError }).post(url, json),
  ],
  got: [1, () => got.post(url, { json })],
  ky: [1, () => ky.post(url, { json })],
  'RetryAgent of undici': [
    1,
    () => request(url, { method: 'POST', body, dispatcher: new RetryAgent(new Agent()) }),
  ],
}
for (const [name, [expected, send]] of Object.entries(clients)) {
  received = 0
  const error = await send().catch((thrown) => thrown)
  console.log(`${name}: received ${received} times, ${error.code ?? error.message}`)
  assert.equal(received, expected)
}
server.close()
process.exit()
END
echo "axios 1.21.1, axios-retry 4.5.0, got 14.6.6, ky 1.14.3, undici 7.30.2"
node seen.mjs
