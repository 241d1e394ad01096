#!/usr/bin/env bash
# One would expect: an OAuth client library shows `error` and `error_description` of a failed
# token request, above all if the server follows RFC 6749 §5.2, which demands the header
# WWW-Authenticate beside `invalid_client` for a client that used HTTP Basic.
# Seen with openid-client 6.9.0: with this header the error has another class and another
# code, and neither `error` nor `error_description`; the body stays unread in `response`.
# Without the header both are there. So the correct server is the one that explains nothing.
# Where it matters: code that switches on `error.error === 'invalid_client'` never gets
# there. Match both codes, and read `response` yourself for the description.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm init -y >/dev/null
npm install --silent --no-audit --no-fund --ignore-scripts openid-client@6.9.0

cat >seen.mjs <<'END'
import assert from 'node:assert'
import http from 'node:http'
import * as client from 'openid-client'

const server = http.createServer((req, res) => {
  req.resume()
  const challenge =
    req.url === '/with-header' ? { 'www-authenticate': 'Basic realm="op"' } : {}
  res.writeHead(401, { 'content-type': 'application/json', ...challenge })
  res.end('{"error":"invalid_client","error_description":"the secret has expired"}')
})
await new Promise((done) => server.listen(0, '127.0.0.1', done))
const issuer = `http://127.0.0.1:${server.address().port}`

async function ask(path) {
  const config = new client.Configuration(
    { issuer, token_endpoint: issuer + path },
    'app',
    {},
    client.ClientSecretBasic('secret'),
  )
  client.allowInsecureRequests(config)
  const error = await client.clientCredentialsGrant(config).catch((thrown) => thrown)
  console.log(
    `${path}: ${error.name} ${error.code}, error: ${error.error}, description: ${error.error_description}`,
  )
  return error
}
const without = await ask('/without-header')
assert.equal(without.code, 'OAUTH_RESPONSE_BODY_ERROR')
assert.equal(without.error, 'invalid_client')
const withHeader = await ask('/with-header')
assert.equal(withHeader.code, 'OAUTH_WWW_AUTHENTICATE_CHALLENGE')
assert.equal(withHeader.error, undefined)
assert.equal(withHeader.error_description, undefined)
assert.equal(withHeader.response.bodyUsed, false)
console.log(`the unread body: ${await withHeader.response.text()}`)
server.close()
END
echo "openid-client 6.9.0"
node seen.mjs
