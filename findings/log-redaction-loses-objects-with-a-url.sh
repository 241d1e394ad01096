#!/usr/bin/env bash
# One would expect: a redaction path that finds nothing changes nothing in a log line.
# Seen with pino 10.4.0: if a path of three or more parts crosses a URL or a Buffer, such as
# `*.*.token` for {request: {url: new URL(...)}}, the whole object `request` becomes the text
# "[unable to serialize, circular reference is too complex to analyze]". Without the path,
# with a path of two parts, or with a Date in place of the URL, it is written as usual.
# Where it matters: request logs of a sign-in, where such wildcards are added to be safe. The
# line that would explain a failure is lost, and nothing is circular. Log `url.href`.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm init -y >/dev/null
npm install --silent --no-audit --no-fund --ignore-scripts pino@10.4.0

cat >seen.mjs <<'END'
import assert from 'node:assert'
import { Writable } from 'node:stream'
import pino from 'pino'

function log(redact, value) {
  let line = ''
  const stream = new Writable({
    write: (chunk, _, done) => done((line += chunk) && null),
  })
  pino({ base: null, timestamp: false, redact }, stream).info({
    request: { id: 7, value },
  })
  console.log(`${JSON.stringify(redact)} ${value.constructor.name}: ${line.trim()}`)
  return JSON.parse(line).request
}
const lost = '[unable to serialize, circular reference is too complex to analyze]'
const url = new URL('https://app.example/sign-in')
assert.equal(log([], url).id, 7)
assert.equal(log(['*.token'], url).id, 7)
assert.equal(log(['*.*.token'], new Date(0)).id, 7)
assert.equal(log(['*.*.token'], url), lost)
assert.equal(log(['request.value.token'], url), lost)
assert.equal(log(['*.*.token'], Buffer.from('x')), lost)
END
echo "pino 10.4.0"
node seen.mjs
