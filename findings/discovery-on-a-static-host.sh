#!/usr/bin/env bash
# One would expect: clients of OpenID Connect read the discovery document and the key set in
# the same lenient way: what a browser shows as JSON is JSON.
# Seen: a redirect (an issuer that moved from example.com to www.example.com) is followed by
# oidc-client-ts 3.5.0, get-jwks 11.0.3, hono 4.13.19 and PyJWT 2.6.0 of Debian 12, and is an
# error in openid-client 6.9.0, express-openid-connect 3.4.0, jose 6.2.18, jwks-rsa 4.1.0 and
# @hapi/jwt 3.2.4. The type application/octet-stream, which static hosts use for a file without
# an extension such as openid-configuration, is an error only in oidc-client-ts.
# Where it matters: a provider that works with all clients of one language, and none of the
# next. Serve both documents without redirects, with the type application/json.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
# Downloads and unpacks packages of Debian 12, and prints the versions.
unpack() {
  apt-get download "$@" >apt.log 2>&1 ||
    { apt-get update && apt-get download "$@"; } >apt.log 2>&1 ||
    { cat apt.log; exit 1; }
  for package in *.deb; do dpkg-deb -x "$package" root && rm "$package"; done
  apt-cache policy "$1" | sed -n "s/^ *Candidate:/$1/p"
}
unpack python3-jwt python3-cryptography python3-cffi-backend
npm init -y >/dev/null
npm install --silent --no-audit --no-fund --ignore-scripts openid-client@6.9.0 oidc-client-ts@3.5.0 \
  express-openid-connect@3.4.0 express@5.3.0 jose@6.2.18 jwks-rsa@4.1.0 get-jwks@11.0.3 hono@4.13.19 \
  @hapi/jwt@3.2.4 @hapi/hapi@21.4.10

cat >seen.mjs <<'END'
import assert from 'node:assert'
import { execFile } from 'node:child_process'
import http from 'node:http'
import { promisify } from 'node:util'
import Hapi from '@hapi/hapi'
import Jwt from '@hapi/jwt'
import express from 'express'
import expressOpenid from 'express-openid-connect'
import getJwks from 'get-jwks'
import { Hono } from 'hono'
import { jwk } from 'hono/jwk'
import { createRemoteJWKSet, exportJWK, generateKeyPair, jwtVerify, SignJWT } from 'jose'
import jwksRsa from 'jwks-rsa'
import { InMemoryWebStorage, OidcClient, WebStorageStateStore } from 'oidc-client-ts'
import { allowInsecureRequests, discovery } from 'openid-client'

const { publicKey, privateKey } = await generateKeyPair('RS256')
const keys = [{ ...(await exportJWK(publicKey)), kid: 'key', alg: 'RS256', use: 'sig' }]
const token = await new SignJWT({ sub: 'ada' })
  .setProtectedHeader({ alg: 'RS256', kid: 'key' })
  .setExpirationTime('1h')
  .sign(privateKey)
const host = '127.0.0.1'
const listen = (server) =>
  new Promise((done) => {
    const running = server.listen(0, host, () => done(`http://${host}:${running.address().port}`))
  })
let origin
const provider = http.createServer((req, res) => {
  const [, variant, path] = /^\/(\w+)(\/.*)$/.exec(req.url)
  if (variant === 'redirect' && !path.endsWith('?moved')) {
    res.writeHead(301, { location: `${req.url}?moved` })
    return res.end()
  }
  const issuer = `${origin}/${variant}`
  const documents = {
    '/.well-known/openid-configuration': {
      issuer,
      authorization_endpoint: `${issuer}/authorize`,
      token_endpoint: `${issuer}/token`,
      jwks_uri: `${issuer}/keys`,
      response_types_supported: ['code'],
      subject_types_supported: ['public'],
      id_token_signing_alg_values_supported: ['RS256'],
    },
    '/keys': { keys },
  }
  res.setHeader('content-type', variant === 'octets' ? 'application/octet-stream' : 'application/json')
  res.end(JSON.stringify(documents[path.replace('?moved', '')]))
})
origin = await listen(provider)

async function fetchOk(url, options) {
  const response = await fetch(url, { redirect: 'manual', ...options })
  assert.ok(response.status < 400)
}
const clients = {
  'openid-client': (issuer) =>
    discovery(new URL(issuer), 'app', 'secret', undefined, { execute: [allowInsecureRequests] }),
  'express-openid-connect': async (issuer) => {
    const app = express()
    const baseURL = await listen(app)
    const secret = 'a secret of the cookies, which is long enough'
    const authorizationParams = { response_type: 'code' }
    const client = { clientID: 'app', clientSecret: 'secret', authorizationParams }
    app.use(expressOpenid.auth({ issuerBaseURL: issuer, baseURL, secret, ...client }))
    app.use((_error, _req, res, _next) => res.status(500).end())
    await fetchOk(baseURL)
  },
  'oidc-client-ts': (authority) => {
    const stateStore = new WebStorageStateStore({ store: new InMemoryWebStorage() })
    const settings = { authority, client_id: 'app', redirect_uri: `${host}/callback`, stateStore }
    return new OidcClient(settings).metadataService.getMetadata()
  },
  jose: (issuer) => jwtVerify(token, createRemoteJWKSet(new URL(`${issuer}/keys`))),
  'jwks-rsa': (issuer) => jwksRsa({ jwksUri: `${issuer}/keys` }).getSigningKey('key'),
  'get-jwks': (domain) => getJwks({ jwksPath: '/keys' }).getPublicKey({ kid: 'key', alg: 'RS256', domain }),
  hono: async (issuer) => {
    const app = new Hono()
    app.use(jwk({ jwks_uri: `${issuer}/keys`, alg: ['RS256'] }))
    app.get('/', (context) => context.text('ada'))
    app.onError((_error, context) => context.text('', 500))
    assert.equal((await app.request('/', { headers: { authorization: `Bearer ${token}` } })).status, 200)
  },
  '@hapi/jwt': async (issuer) => {
    const server = Hapi.server({ host, port: 0 })
    await server.register(Jwt)
    server.auth.strategy('jwt', 'jwt', { keys: { uri: `${issuer}/keys` }, verify: false, validate: () => true })
    await server.initialize()
  },
  PyJWT: (issuer) =>
    promisify(execFile)(
      '/usr/bin/python3',
      ['-c', 'import sys, jwt; jwt.PyJWKClient(sys.argv[1]).get_signing_keys()', `${issuer}/keys`],
      { env: { PYTHONPATH: 'root/usr/lib/python3/dist-packages' } },
    ),
}
for (const [name, read] of Object.entries(clients)) {
  const outcomes = ['plain', 'redirect', 'octets'].map((variant) =>
    Promise.resolve(`${origin}/${variant}`)
      .then(read)
      .then(
        () => 'read',
        () => 'error',
      ),
  )
  const [plain, redirect, octets] = await Promise.all(outcomes)
  console.log(`${name}: JSON: ${plain}; behind a redirect: ${redirect}; octet-stream: ${octets}`)
  assert.equal(plain, 'read')
  const strict = ['openid-client', 'express-openid-connect', 'jose', 'jwks-rsa', '@hapi/jwt']
  assert.equal(redirect, strict.includes(name) ? 'error' : 'read')
  assert.equal(octets, name === 'oidc-client-ts' ? 'error' : 'read')
}
process.exit()
END
node seen.mjs
