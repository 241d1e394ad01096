#!/usr/bin/env bash
# One would expect: a provider that does not rotate refresh tokens answers a renewal without a
# new one (RFC 6749 §6), and the client goes on with the one that it has.
# Seen with simple-oauth2 5.1.0: the token that `refresh()` returns has `refresh_token:
# undefined`, although the source has a line that copies the old one: it reads it from the
# wrong object. The next `refresh()` sends an empty one. @badgateway/oauth2-client 3.3.1,
# client-oauth2 4.3.3 and google-auth-library 10.9.1 keep the old one. passport-oauth2-refresh
# 2.2.0 passes undefined to its callback.
# Where it matters: the first renewal works in every test, and users are signed out at the
# second one. Store `{...old, ...new}` without undefined members.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm init -y >/dev/null
npm install --silent --no-audit --no-fund --ignore-scripts simple-oauth2@5.1.0 \
  @badgateway/oauth2-client@3.3.1 client-oauth2@4.3.3 google-auth-library@10.9.1 \
  passport-oauth2-refresh@2.2.0 passport-oauth2@1.8.0

cat >seen.mjs <<'END'
import assert from 'node:assert'
import http from 'node:http'
import { OAuth2Client as Badgateway } from '@badgateway/oauth2-client'
import ClientOAuth2 from 'client-oauth2'
import { OAuth2Client as Google } from 'google-auth-library'
import OAuth2Strategy from 'passport-oauth2'
import refresh from 'passport-oauth2-refresh'
import { AuthorizationCode } from 'simple-oauth2'

const requests = []
const server = http.createServer(async (req, res) => {
  requests.push(new URLSearchParams((await req.toArray()).join('')))
  res.writeHead(200, { 'content-type': 'application/json' })
  res.end('{"access_token":"new","token_type":"Bearer","expires_in":3600}')
})
await new Promise((done) => server.listen(0, '127.0.0.1', done))
const origin = `http://127.0.0.1:${server.address().port}`
const url = `${origin}/token`

const simple = new AuthorizationCode({
  client: { id: 'app', secret: 'secret' },
  auth: { tokenHost: origin, tokenPath: '/token' },
}).createToken({ access_token: 'first', refresh_token: 'kept' })
const badgateway = new Badgateway({ server: origin, tokenEndpoint: url, clientId: 'app', clientSecret: 'secret' })
const other = new ClientOAuth2({ clientId: 'app', clientSecret: 'secret', accessTokenUri: url })
const google = new Google({ clientId: 'app', clientSecret: 'secret', endpoints: { oauth2TokenUrl: url } })
google.setCredentials({ access_token: 'first', refresh_token: 'kept', expiry_date: 1 })
const urls = { authorizationURL: url, tokenURL: url, callbackURL: origin }
refresh.use('login', new OAuth2Strategy({ ...urls, clientID: 'app', clientSecret: 'secret' }, () => {}))

const seen = {
  'simple-oauth2': (await simple.refresh()).token.refresh_token,
  'passport-oauth2-refresh': await new Promise((done) =>
    refresh.requestNewAccessToken('login', 'kept', (_error, _accessToken, refreshToken) => done(refreshToken)),
  ),
  '@badgateway/oauth2-client': (
    await badgateway.refreshToken({ accessToken: 'first', refreshToken: 'kept', expiresAt: 1 })
  ).refreshToken,
  'client-oauth2': (await other.createToken('first', 'kept', 'bearer').refresh()).refreshToken,
  'google-auth-library': (await google.getAccessToken(), google.credentials.refresh_token),
}
console.log(seen)
assert.deepEqual(Object.values(seen), [undefined, undefined, 'kept', 'kept', 'kept'])

const second = await (await simple.refresh()).refresh()
console.log(`second renewal of simple-oauth2 sends ${requests.at(-1)}, gets ${second.token.access_token}`)
assert.equal(requests.at(-1).get('refresh_token'), '')
server.close()
process.exit()
END
echo "simple-oauth2 5.1.0, passport-oauth2-refresh 2.2.0, @badgateway/oauth2-client 3.3.1"
echo "client-oauth2 4.3.3, google-auth-library 10.9.1"
node seen.mjs
