#!/usr/bin/env bash
# One would expect: a client whose renewal meets a 503 keeps its refresh token and tries again
# later. Only `invalid_grant` means that the session has ended (RFC 6749 §5.2).
# Seen: @hono/oidc-auth 1.8.1 deletes its session cookie for a 503 and for a closed connection,
# and responds with 500, so the user is signed out by a restart of the provider. OAuth2Fetch of
# @badgateway/oauth2-client 3.3.1 logs that the refresh token was not accepted, and asks for a
# new sign-in. google-auth-library 10.9.1 sends the same refresh token four times for a 503,
# and three times for a closed connection. oidc-client-ts 3.5.0 sends it once and keeps the user.
# Where it matters: each deployment of the provider. And a provider that rotates refresh tokens
# takes the repetition for a theft, if it had stored the first one before the connection broke.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm init -y >/dev/null
npm install --silent --no-audit --no-fund --ignore-scripts hono@4.13.19 @hono/node-server@2.1.9 \
  @hono/oidc-auth@1.8.1 @badgateway/oauth2-client@3.3.1 google-auth-library@10.9.1 oidc-client-ts@3.5.0 jose@6.2.18

cat >seen.mjs <<'END'
import assert from 'node:assert'
import http from 'node:http'
import { OAuth2Client as Badgateway, OAuth2Fetch } from '@badgateway/oauth2-client'
import { serve } from '@hono/node-server'
import { OAuth2Client as Google } from 'google-auth-library'
import { Hono } from 'hono'
import { exportJWK, generateKeyPair, SignJWT } from 'jose'
import { InMemoryWebStorage, User, UserManager, WebStorageStateStore } from 'oidc-client-ts'

const { publicKey, privateKey } = await generateKeyPair('RS256')
const keys = [{ ...(await exportJWK(publicKey)), kid: 'key', alg: 'RS256', use: 'sig' }]
const host = '127.0.0.1'
let [issuer, outage, renewals] = ['', null, 0]
const provider = http.createServer(async (req, res) => {
  const form = new URLSearchParams((await req.toArray()).join(''))
  if (form.get('grant_type') === 'refresh_token') renewals++
  if (req.url === '/token' && outage === 'closed') return req.socket.destroy()

  res.setHeader('content-type', 'application/json')
  if (req.url === '/token' && outage === '503') res.statusCode = 503
  const answers = {
    '/.well-known/openid-configuration': () => ({
      issuer,
      authorization_endpoint: `${issuer}/authorize`,
      token_endpoint: `${issuer}/token`,
      jwks_uri: `${issuer}/keys`,
      response_types_supported: ['code'],
      subject_types_supported: ['public'],
      scopes_supported: ['openid'],
      id_token_signing_alg_values_supported: ['RS256'],
      code_challenge_methods_supported: ['S256'],
    }),
    '/keys': () => ({ keys }),
    '/token': async () => {
      if (outage) return { error: 'temporarily_unavailable' }
      const token = new SignJWT({ nonce: form.get('code') ?? undefined })
        .setProtectedHeader({ alg: 'RS256', kid: 'key' })
        .setIssuer(issuer)
        .setSubject('ada')
        .setAudience('app')
        .setIssuedAt()
        .setExpirationTime('1h')
      const tokens = { access_token: 'access', refresh_token: 'refresh', token_type: 'Bearer', expires_in: 3600 }
      return { ...tokens, id_token: await token.sign(privateKey) }
    },
  }
  res.end(JSON.stringify(await answers[req.url]()))
})
await new Promise((done) => provider.listen(0, host, done))
issuer = `http://${host}:${provider.address().port}`
const client = { clientId: 'app', clientSecret: 'secret' }
const expired = { accessToken: 'old', refreshToken: 'refresh', expiresAt: 1 }

// Each returns whether the user is still signed in after the outage.
async function signInWithHono() {
  const env = { OIDC_ISSUER: issuer, OIDC_CLIENT_ID: 'app', OIDC_CLIENT_SECRET: 'secret' }
  Object.assign(process.env, env, { OIDC_AUTH_SECRET: 'a secret of the cookies, which is long enough' })
  process.env.OIDC_AUTH_REFRESH_INTERVAL = '1'
  const { oidcAuthMiddleware, processOAuthCallback } = await import('@hono/oidc-auth')
  const app = new Hono()
  app.get('/callback', processOAuthCallback)
  app.use('*', oidcAuthMiddleware())
  app.get('/', (context) => context.text('signed in'))
  const origin = await new Promise((done) =>
    serve({ fetch: app.fetch, port: 0, hostname: host }, ({ port }) => done(`http://${host}:${port}`)),
  )
  process.env.OIDC_REDIRECT_URI = `${origin}/callback`
  const cookies = new Map()
  const open = async (path) => {
    const cookie = [...cookies].map((pair) => pair.join('=')).join('; ')
    const response = await fetch(origin + path, { redirect: 'manual', headers: { cookie } })
    for (const line of response.headers.getSetCookie()) {
      const [name, ...value] = line.split(';')[0].split('=')
      if (/max-age=0/i.test(line)) cookies.delete(name)
      else cookies.set(name, value.join('='))
    }
    return response
  }
  const { searchParams } = new URL((await open('/')).headers.get('location'))
  await open(`/callback?${new URLSearchParams({ code: searchParams.get('nonce'), state: searchParams.get('state') })}`)
  assert.equal((await open('/')).status, 200)
  return async (during) => {
    await new Promise((done) => setTimeout(done, 3000)) // the renewal is due
    outage = during
    const { status } = await open('/')
    outage = null
    return `${(await open('/')).status === 200}, status ${status}`
  }
}
const store = () => new WebStorageStateStore({ store: new InMemoryWebStorage() })
const cases = {
  '@hono/oidc-auth': async (during) => (await signInWithHono())(during),
  'OAuth2Fetch of @badgateway': async (during) => {
    outage = during
    let isKept = true
    const fetcher = new OAuth2Fetch({
      client: new Badgateway({ server: issuer, tokenEndpoint: `${issuer}/token`, ...client }),
      getStoredToken: () => expired,
      storeToken: () => {},
      getNewToken: () => ((isKept = false), null),
      onError: () => {},
    })
    await fetcher.fetch(`${issuer}/keys`).catch(() => {})
    return String(isKept)
  },
  'google-auth-library': async (during) => {
    outage = during
    const google = new Google({ ...client, endpoints: { oauth2TokenUrl: `${issuer}/token` } })
    google.setCredentials({ access_token: 'old', refresh_token: 'refresh', expiry_date: 1 })
    await google.getAccessToken().catch(() => {})
    return String(google.credentials.refresh_token === 'refresh')
  },
  'oidc-client-ts': async (during) => {
    outage = during
    const settings = { authority: issuer, client_id: 'app', redirect_uri: `http://${host}/callback` }
    const stores = { userStore: store(), stateStore: store() }
    const manager = new UserManager({ ...settings, ...stores, automaticSilentRenew: false, monitorSession: false })
    const tokens = { access_token: 'old', refresh_token: 'refresh', token_type: 'Bearer', scope: 'openid', expires_at: 1 }
    await manager.storeUser(new User({ ...tokens, profile: { sub: 'ada' } }))
    await manager.signinSilent().catch(() => {})
    return String(Boolean(await manager.getUser()))
  },
}
const expected = {
  '@hono/oidc-auth': [1, 'false, status 500', 1, 'false, status 500'],
  'OAuth2Fetch of @badgateway': [1, 'false', 1, 'false'],
  'google-auth-library': [4, 'true', 3, 'true'],
  'oidc-client-ts': [1, 'true', 1, 'true'],
}
for (const [name, run] of Object.entries(cases)) {
  const seen = []
  for (const during of ['503', 'closed']) {
    renewals = 0
    const kept = await run(during)
    seen.push(renewals, kept)
    outage = null
  }
  console.log(`${name}: 503: ${seen[0]} requests, kept: ${seen[1]}; closed: ${seen[2]} requests, kept: ${seen[3]}`)
  assert.deepEqual(seen, expected[name])
}
process.exit()
END
echo "@hono/oidc-auth 1.8.1, @badgateway/oauth2-client 3.3.1, google-auth-library 10.9.1, oidc-client-ts 3.5.0"
node seen.mjs
