#!/usr/bin/env bash
# One would expect: a plugin that verifies ES256, and reads keys from a URL, does both at once.
# Seen with @hapi/jwt 3.2.4: from a key set (RFC 7517), it takes only RSA keys that say
# `"use": "sig"`, which is optional. With a set of EC keys, or of RSA keys without `use`, the
# server does not start: "JWKS endpoint response contained no valid keys". With an RSA key
# and an EC key it starts, and rejects each ES256 token. The same EC key as PEM works.
# Where it matters: a provider that signs with ES256, or that adds its first EC key to the set.
# Fetch the set with a library that knows EC keys, and give the plugin the keys as PEM.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm init -y >/dev/null
npm install --silent --no-audit --no-fund --ignore-scripts @hapi/jwt@3.2.4 @hapi/hapi@21.4.3 jose@6.2.18

cat >seen.mjs <<'END'
import assert from 'node:assert'
import http from 'node:http'
import Hapi from '@hapi/hapi'
import Jwt from '@hapi/jwt'
import { exportJWK, exportSPKI, generateKeyPair, SignJWT } from 'jose'

const ec = await generateKeyPair('ES256', { extractable: true })
const rsa = await generateKeyPair('RS256', { extractable: true })
const [ecKey, rsaKey] = await Promise.all([ec, rsa].map(({ publicKey }) => exportJWK(publicKey)))
const signing = { use: 'sig' }
const sets = {
  '/ec': [{ ...ecKey, ...signing, kid: 'ec', alg: 'ES256' }],
  '/rsa': [{ ...rsaKey, ...signing, kid: 'rsa', alg: 'RS256' }],
  '/rsa-without-use': [{ ...rsaKey, kid: 'rsa', alg: 'RS256' }],
  '/both': [
    { ...rsaKey, ...signing, kid: 'rsa', alg: 'RS256' },
    { ...ecKey, ...signing, kid: 'ec', alg: 'ES256' },
  ],
}
const provider = http.createServer((req, res) => {
  res.setHeader('content-type', 'application/json')
  res.end(JSON.stringify({ keys: sets[req.url] }))
})
await new Promise((done) => provider.listen(0, '127.0.0.1', done))
const origin = `http://127.0.0.1:${provider.address().port}`
const sign = (alg, kid, { privateKey }) =>
  new SignJWT({ sub: 'ada' }).setProtectedHeader({ alg, kid }).setExpirationTime('1h').sign(privateKey)

async function verify(keys, token) {
  const server = Hapi.server({ host: '127.0.0.1', port: 0 })
  await server.register(Jwt)
  server.auth.strategy('jwt', 'jwt', {
    keys,
    verify: { aud: false, iss: false, sub: false },
    validate: ({ decoded }) => ({ isValid: true, credentials: decoded.payload }),
  })
  server.route({ method: 'GET', path: '/', options: { auth: 'jwt' }, handler: (req) => req.auth.credentials.sub })
  const error = await server.initialize().then(() => null, (thrown) => thrown)
  if (error) return error.message

  const { statusCode, payload } = await server.inject({ url: '/', headers: { authorization: `Bearer ${token}` } })
  await server.stop()
  return statusCode === 200 ? payload : `${statusCode} ${JSON.parse(payload).message}`
}
const [es256, rs256] = [await sign('ES256', 'ec', ec), await sign('RS256', 'rsa', rsa)]
const from = (path, algorithm) => ({ uri: origin + path, algorithms: [algorithm] })
const none = 'JWKS endpoint response contained no valid keys'
const cases = [
  ['ES256, EC key as PEM', { key: await exportSPKI(ec.publicKey), algorithms: ['ES256'] }, es256, 'ada'],
  ['RS256, set of an RSA key', from('/rsa', 'RS256'), rs256, 'ada'],
  ['RS256, without "use"', from('/rsa-without-use', 'RS256'), rs256, none],
  ['ES256, set of an EC key', from('/ec', 'ES256'), es256, none],
  ['ES256, set of both', { uri: `${origin}/both`, algorithms: ['ES256', 'RS256'] }, es256, /^401 /],
  ['RS256, set of both', { uri: `${origin}/both`, algorithms: ['ES256', 'RS256'] }, rs256, 'ada'],
]
for (const [name, keys, token, expected] of cases) {
  const seen = await verify(keys, token)
  console.log(`${name}: ${seen}`)
  if (typeof expected === 'string') assert.equal(seen, expected)
  else assert.match(seen, expected)
}
provider.close()
END
echo "@hapi/jwt 3.2.4, @hapi/hapi 21.4.3"
node seen.mjs
