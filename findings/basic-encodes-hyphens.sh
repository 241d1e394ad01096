#!/usr/bin/env bash
# One would expect: a client ID of letters, digits and hyphens looks the same in every client's
# `Authorization: Basic` header.
# Seen with openid-client 6.9.0: a hyphen, a dot and an underscore are percent-encoded as well
# (`my-app` becomes `my%2Dapp`). RFC 6749 §2.3.1 allows it, and a server that decodes does not
# notice. @node-oauth/oauth2-server 5.3.0 does not decode, so the right secret is wrong.
# Where it matters: client IDs are often UUIDs or have hyphens. curl works with the same
# secret, which sends people to search elsewhere. client_secret_post works with both.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm init -y >/dev/null
npm install --silent --no-audit --no-fund --ignore-scripts \
  openid-client@6.9.0 @node-oauth/oauth2-server@5.3.0

cat >seen.mjs <<'END'
import assert from 'node:assert'
import http from 'node:http'
import OAuth2Server from '@node-oauth/oauth2-server'
import * as client from 'openid-client'

const id = 'my-app'
const secret = 'first_part.second'
let received
const model = {
  async getClient(clientId, clientSecret) {
    received = `${clientId} ${clientSecret}`
    return clientId === id && clientSecret === secret ? { id, grants: ['client_credentials'] } : null
  },
  getUserFromClient: async () => ({}),
  validateScope: async () => ['any'],
  saveToken: async (token, owner, user) => ({ ...token, client: owner, user }),
}
const provider = new OAuth2Server({ model })
const server = http.createServer(async (req, res) => {
  let text = ''
  for await (const chunk of req) text += chunk
  const body = Object.fromEntries(new URLSearchParams(text))
  const answer = new OAuth2Server.Response({})
  await provider
    .token(new OAuth2Server.Request({ method: 'POST', query: {}, headers: req.headers, body }), answer)
    .catch((error) => Object.assign(answer, { status: error.code, body: { error: error.name } }))
  res
    .writeHead(answer.status, { ...answer.headers, 'content-type': 'application/json' })
    .end(JSON.stringify(answer.body))
})
await new Promise((done) => server.listen(0, '127.0.0.1', done))
const issuer = `http://127.0.0.1:${server.address().port}`

async function ask(name, authentication) {
  const config = new client.Configuration({ issuer, token_endpoint: `${issuer}/token` }, id, {}, authentication)
  client.allowInsecureRequests(config)
  const outcome = await client.clientCredentialsGrant(config).then(
    () => 'a token',
    (error) => error.status,
  )
  console.log(`${name}: the server read "${received}" and answered ${outcome}`)
  return [received, outcome]
}
assert.deepEqual(await ask('client_secret_basic', client.ClientSecretBasic(secret)), [
  'my%2Dapp first%5Fpart%2Esecond',
  401,
])
assert.deepEqual(await ask('client_secret_post', client.ClientSecretPost(secret)), [`${id} ${secret}`, 'a token'])
server.close()
END
echo "openid-client 6.9.0, @node-oauth/oauth2-server 5.3.0"
node seen.mjs
