#!/usr/bin/env bash
# One would expect: a token response that says `"refresh_token": null` means what it means
# without the member: there is none. Serializers that keep empty members write it that way.
# Seen with openid-client 6.9.0: the whole response is rejected, with the access token in it;
# so are `"refresh_token": ""` and `"scope": null`. The wrong type of another member,
# `"expires_in": "900"`, is accepted and even converted to a number.
# Where it matters: a provider that works with other clients fails at every sign-in, although
# nobody asked for a refresh token. The message names the member, so show it to operators.
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

const token = { access_token: 'x', token_type: 'bearer' }
let answer
const server = http.createServer((req, res) => {
  req.resume()
  res.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(answer))
})
await new Promise((done) => server.listen(0, '127.0.0.1', done))
const issuer = `http://127.0.0.1:${server.address().port}`
const config = new client.Configuration(
  { issuer, token_endpoint: `${issuer}/token` },
  'app',
  {},
  client.ClientSecretPost('secret'),
)
client.allowInsecureRequests(config)

async function ask(more) {
  answer = { ...token, ...more }
  const outcome = await client.clientCredentialsGrant(config).then(
    (got) => `accepted, expires_in ${typeof got.expires_in}`,
    (error) => `${error.code}: ${error.cause.message}`,
  )
  console.log(`${JSON.stringify(more)}: ${outcome}`)
  return outcome
}
assert.match(await ask({}), /^accepted/)
assert.match(await ask({ expires_in: '900' }), /^accepted, expires_in number/)
assert.match(
  await ask({ refresh_token: null }),
  /OAUTH_INVALID_RESPONSE.*"refresh_token"/,
)
assert.match(await ask({ refresh_token: '' }), /OAUTH_INVALID_RESPONSE.*"refresh_token"/)
assert.match(await ask({ scope: null }), /OAUTH_INVALID_RESPONSE.*"scope"/)
server.close()
END
echo "openid-client 6.9.0"
node seen.mjs
