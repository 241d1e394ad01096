#!/usr/bin/env bash
# One would expect: `forceFlush()` of an OpenTelemetry provider rejects with an Error, as
# `shutdown()` does.
# Seen with @opentelemetry/sdk-trace-node 2.12.1 and exporter-trace-otlp-http 0.223.1: it
# rejects with an array of errors, so `error.message` is undefined and `instanceof Error` is
# false. And with a logger set for diagnostics, nothing is logged for the rejected export.
# Where it matters: functions that flush after each request, with a collector that answers
# 401. A catch that logs `error.message` logs "undefined", and a `.catch(() => {})` hides
# for good that no trace ever arrived. Log `[error].flat().map(...)`.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm init -y >/dev/null
npm install --silent --no-audit --no-fund --ignore-scripts \
  @opentelemetry/api@1.9.1 @opentelemetry/sdk-trace-node@2.12.1 @opentelemetry/exporter-trace-otlp-http@0.223.1

cat >seen.mjs <<'END'
import assert from 'node:assert'
import http from 'node:http'
import { diag } from '@opentelemetry/api'
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http'
import { BatchSpanProcessor, NodeTracerProvider } from '@opentelemetry/sdk-trace-node'

const diagnosed = []
const note = (message) => diagnosed.push(message)
diag.setLogger({ error: note, warn: note, info() {}, debug() {}, verbose() {} })
const server = http.createServer((req, res) => req.resume() && res.writeHead(401).end())
await new Promise((done) => server.listen(0, '127.0.0.1', done))
const url = `http://127.0.0.1:${server.address().port}/v1/traces`
const provider = new NodeTracerProvider({
  spanProcessors: [new BatchSpanProcessor(new OTLPTraceExporter({ url }))],
})

async function after(name) {
  provider.getTracer('seen').startSpan('request').end()
  const thrown = await provider[name]().catch((error) => error)
  console.log(
    `${name}: array ${Array.isArray(thrown)}, Error ${thrown instanceof Error}, message ${thrown.message}`,
  )
  return thrown
}
const flushed = await after('forceFlush')
console.log(`diagnostics so far: ${JSON.stringify(diagnosed)}`)
assert.ok(Array.isArray(flushed) && flushed[0].code === 401)
assert.deepEqual(diagnosed, [])
assert.ok((await after('shutdown')) instanceof Error)
server.close()
server.closeAllConnections()
END
echo "@opentelemetry/sdk-trace-node 2.12.1, @opentelemetry/exporter-trace-otlp-http 0.223.1"
node seen.mjs
