#!/usr/bin/env bash
# One would expect: the last argument of the callback of node-oauth, `results`, is the whole
# response of the token endpoint, because it has `id_token`, `scope` and `expires_in`.
# Seen with oauth 0.10.2, which passport-oauth2 and passport-openidconnect use: the library
# deletes `refresh_token` from it, and passes the token only as an argument of its own.
# Where it matters: a Passport strategy whose `verify` stores the parameters of the response
# has no refresh token, and the session ends with the first access token. Take the argument
# `refreshToken` of `verify`.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm init --yes >/dev/null
npm install --silent --no-audit --no-fund oauth@0.10.2

cat >seen.cjs <<'END'
const assert = require('node:assert')
const { createServer } = require('node:http')
const { OAuth2 } = require('oauth')

const tokens = {
  access_token: 'access',
  token_type: 'Bearer',
  expires_in: 60,
  refresh_token: 'refresh',
  id_token: 'identity',
}
const server = createServer((request, response) => {
  response.setHeader('Content-Type', 'application/json')
  response.end(JSON.stringify(tokens))
})
server.listen(0, '127.0.0.1', () => {
  const url = `http://127.0.0.1:${server.address().port}`
  const client = new OAuth2('client', 'secret', url, '/authorize', '/token')
  client.getOAuthAccessToken('code', {}, (error, access, refresh, results) => {
    server.close()
    assert.ifError(error)
    console.log('oauth', require('oauth/package.json').version)
    console.log('argument:', refresh, '| results:', Object.keys(results).join(', '))
    assert.equal(refresh, 'refresh')
    assert.equal(results.id_token, 'identity')
    assert.equal('refresh_token' in results, false)
  })
})
END
node seen.cjs
