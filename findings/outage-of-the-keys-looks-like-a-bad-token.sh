#!/usr/bin/env bash
# One would expect: if the key set of a provider can't be fetched for a while, an API goes on
# with the keys that it has, or at least does not blame the token.
# Seen: as soon as the cache has expired (by default after 10 minutes), jose 6.2.18, jwks-rsa
# 4.1.0 and express-oauth2-jwt-bearer 1.10.0 discard the keys and reject every valid token;
# hono 4.13.19 has no cache at all. The answer of express-oauth2-jwt-bearer is 401 with
# `invalid_token`, that of hono 500. get-jwks 11.0.3, aws-jwt-verify 5.2.1 and @hapi/jwt 3.2.4
# accept the token.
# Where it matters: a provider that restarts slowly. Clients take a 401 for the end of the
# session and sign their users out. Raise the cache's lifetime, or map such errors to a 503.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm init -y >/dev/null
npm install --silent --no-audit --no-fund --ignore-scripts jose@6.2.18 jwks-rsa@4.1.0 get-jwks@11.0.3 \
  aws-jwt-verify@5.2.1 hono@4.13.19 @hapi/jwt@3.2.4 @hapi/hapi@21.4.10 express@5.3.0 express-oauth2-jwt-bearer@1.10.0

cat >seen.mjs <<'END'
import assert from 'node:assert'
import http from 'node:http'
import Hapi from '@hapi/hapi'
import Jwt from '@hapi/jwt'
import { JwtVerifier } from 'aws-jwt-verify'
import { SimpleJwksCache } from 'aws-jwt-verify/jwk'
import express from 'express'
import { auth } from 'express-oauth2-jwt-bearer'
import getJwks from 'get-jwks'
import { Hono } from 'hono'
import { jwk } from 'hono/jwk'
import { createRemoteJWKSet, exportJWK, generateKeyPair, jwtVerify, SignJWT } from 'jose'
import jwksRsa from 'jwks-rsa'

const host = '127.0.0.1'
const listen = (server) =>
  new Promise((done) => {
    const running = server.listen(0, host, () => done(`http://${host}:${running.address().port}`))
  })
const { publicKey, privateKey } = await generateKeyPair('RS256')
const keys = [{ ...(await exportJWK(publicKey)), kid: 'key', alg: 'RS256', use: 'sig' }]
let isDown = false
const provider = http.createServer((_req, res) => {
  res.writeHead(isDown ? 503 : 200, { 'content-type': 'application/json' })
  res.end(JSON.stringify({ keys }))
})
const issuer = await listen(provider)
const uri = `${issuer}/keys`
const token = await new SignJWT({ sub: 'ada' })
  .setProtectedHeader({ alg: 'RS256', kid: 'key' })
  .setIssuer(issuer)
  .setAudience('app')
  .setExpirationTime('1h')
  .sign(privateKey)
const headers = { authorization: `Bearer ${token}` }
const lifetimeMs = 500
const answer = (status, challenge) => `${status}${/invalid_token/.test(challenge ?? '') ? ' invalid_token' : ''}`

// Each returns a function that verifies the token.
const libraries = {
  jose: () => {
    const set = createRemoteJWKSet(new URL(uri), { cacheMaxAge: lifetimeMs })
    return () => jwtVerify(token, set).then(() => 'accepted')
  },
  'jwks-rsa': () => {
    const client = jwksRsa({ jwksUri: uri, cacheMaxAge: lifetimeMs })
    return () => client.getSigningKey('key').then(() => 'accepted')
  },
  'express-oauth2-jwt-bearer': async () => {
    const app = express()
    const options = { cacheMaxAge: lifetimeMs, cooldownDuration: 100, tokenSigningAlg: 'RS256' }
    app.use(auth({ jwksUri: uri, issuer, audience: 'app', ...options }))
    app.get('/', (_req, res) => res.send('ada'))
    app.use((error, _req, res, _next) => res.status(error.status ?? 500).set(error.headers ?? {}).end())
    const origin = await listen(app)
    return async () => {
      const response = await fetch(origin, { headers })
      return response.ok ? 'accepted' : answer(response.status, response.headers.get('www-authenticate'))
    }
  },
  hono: () => {
    const app = new Hono()
    app.use(jwk({ jwks_uri: uri, alg: ['RS256'] }))
    app.get('/', (context) => context.text('ada'))
    app.onError((error, context) => context.text('', error.status ?? 500))
    return async () => {
      const response = await app.request('/', { headers })
      return response.ok ? 'accepted' : answer(response.status, response.headers.get('www-authenticate'))
    }
  },
  'get-jwks': () => {
    const set = getJwks({ jwksPath: '/keys', ttl: lifetimeMs })
    return () => set.getPublicKey({ domain: issuer, alg: 'RS256', kid: 'key' }).then(() => 'accepted')
  },
  'aws-jwt-verify': () => {
    // The library fetches only from https, unless it is given a function.
    const fetcher = { fetch: async () => Buffer.from(await (await fetch(uri)).arrayBuffer()) }
    const options = { issuer, audience: 'app', jwksUri: 'https://provider.example/keys' }
    const verifier = JwtVerifier.create(options, { jwksCache: new SimpleJwksCache({ fetcher }) })
    return () => verifier.verify(token).then(() => 'accepted')
  },
  '@hapi/jwt': async () => {
    const server = Hapi.server({ host, port: 0 })
    await server.register(Jwt)
    server.auth.strategy('jwt', 'jwt', {
      keys: { uri },
      verify: { aud: 'app', iss: issuer, sub: false },
      validate: () => ({ isValid: true, credentials: {} }),
    })
    server.route({ method: 'GET', path: '/', options: { auth: 'jwt' }, handler: () => 'ada' })
    await server.initialize()
    return async () => {
      const { statusCode } = await server.inject({ url: '/', headers })
      return statusCode === 200 ? 'accepted' : String(statusCode)
    }
  },
}
const expected = { jose: 'error', 'jwks-rsa': 'error', 'express-oauth2-jwt-bearer': '401 invalid_token', hono: '500' }
for (const [name, start] of Object.entries(libraries)) {
  const verify = await start()
  const seen = []
  for (isDown of [false, true]) {
    seen.push(await verify().catch(() => 'error'))
    await new Promise((done) => setTimeout(done, lifetimeMs + 200))
  }
  isDown = false
  console.log(`${name}: before: ${seen[0]}, during the outage: ${seen[1]}`)
  assert.deepEqual(seen, ['accepted', expected[name] ?? 'accepted'])
}
process.exit()
END
node seen.mjs
