#!/usr/bin/env bash
# One would expect: the log line of an ID token with a wrong audience has what was expected and
# what arrived. openid-client 6.9.0 has both in the error: in `cause.cause`, a plain object.
# Seen: pino 10.4.0 follows causes only as long as they are errors, so it writes the two
# messages and neither value. winston 3.19.0 with `errors({ stack: true, cause: true })` loses
# the second message too, because JSON has no `message` of an error. `util.inspect` shows all.
# Where it matters: a client ID with a typing error. The line says 'unexpected JWT "aud"
# (audience) claim value', and the two values, which would explain it, were thrown away. Log
# `expected` and the claim by hand, and not the rest of the claims.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm init -y >/dev/null
npm install --silent --no-audit --no-fund --ignore-scripts \
  openid-client@6.9.0 pino@10.4.0 winston@3.19.0 jose@6.2.18

cat >seen.mjs <<'END'
import assert from 'node:assert'
import http from 'node:http'
import { PassThrough } from 'node:stream'
import { inspect } from 'node:util'
import { generateKeyPair, SignJWT } from 'jose'
import * as client from 'openid-client'
import pino from 'pino'
import winston from 'winston'

const { privateKey } = await generateKeyPair('RS256')
const server = http.createServer(async (req, res) => {
  req.resume()
  const token = new SignJWT({ sub: 'ada', iss: issuer, aud: 'another-app' }).setProtectedHeader({ alg: 'RS256' })
  const id_token = await token.setIssuedAt().setExpirationTime('1h').sign(privateKey)
  res.setHeader('content-type', 'application/json')
  res.end(JSON.stringify({ access_token: 'token', token_type: 'Bearer', id_token }))
})
await new Promise((done) => server.listen(0, '127.0.0.1', done))
const issuer = `http://127.0.0.1:${server.address().port}`
const metadata = { issuer, token_endpoint: `${issuer}/token` }
const config = new client.Configuration(metadata, 'this-app', {}, client.ClientSecretPost('secret'))
client.allowInsecureRequests(config)
const error = await client.authorizationCodeGrant(config, new URL(`${issuer}/callback?code=code`)).catch((each) => each)
assert.equal(error.cause.cause.expected, 'this-app')
assert.equal(error.cause.cause.claims.aud, 'another-app')

const lines = { 'util.inspect': inspect(error, { depth: 4 }) }
pino({ base: null }, { write: (line) => (lines.pino = line) }).error(error)
const stream = new PassThrough({ encoding: 'utf8' })
const { combine, errors, json } = winston.format
winston
  .createLogger({
    format: combine(errors({ stack: true, cause: true }), json()),
    transports: [new winston.transports.Stream({ stream })],
  })
  .error(error)
lines.winston = await new Promise((done) => stream.once('data', done))

const parts = { 'first message': 'unexpected JWT claim value', 'second message': '(audience)', expected: 'this-app', received: 'another-app' }
const seen = {}
for (const [logger, line] of Object.entries(lines)) {
  seen[logger] = Object.keys(parts).filter((name) => line.includes(parts[name]))
  console.log(`${logger}: ${seen[logger].join(', ')}`)
}
assert.deepEqual(seen, {
  'util.inspect': Object.keys(parts),
  pino: ['first message', 'second message'],
  winston: ['first message'],
})
server.close()
END
echo "openid-client 6.9.0, pino 10.4.0, winston 3.19.0"
node seen.mjs
