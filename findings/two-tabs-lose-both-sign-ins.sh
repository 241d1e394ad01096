#!/usr/bin/env bash
# One would expect: if a browser begins a sign-in in two tabs, at least the one that began last
# succeeds. A session with one `state` has that of the last tab.
# Seen: when the first tab returns, passport-oauth2 1.8.0, passport-openidconnect 0.1.2,
# express-openid-connect 3.4.0 and @hono/oidc-auth 1.8.1 reject it, and forget the sign-in of
# the second tab as well, which is then rejected too. With @fastify/oauth2 8.3.0 and grant
# 5.4.24, the second tab succeeds.
# Where it matters: a browser that opens its tabs again after a session has expired. The user
# signs in once, and each tab shows an error. Redirect from this error to the start, once.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm init -y >/dev/null
npm install --silent --no-audit --no-fund --ignore-scripts passport@0.7.0 passport-oauth2@1.8.0 \
  passport-openidconnect@0.1.2 express@5.3.0 express-session@1.19.0 express-openid-connect@3.4.0 \
  hono@4.13.19 @hono/node-server@2.1.9 @hono/oidc-auth@1.8.1 fastify@5.12.8 @fastify/oauth2@8.3.0 grant@5.4.24 jose@6.2.18

cat >seen.mjs <<'END'
import assert from 'node:assert'
import http from 'node:http'
import { createRequire } from 'node:module'
import fastifyOauth2 from '@fastify/oauth2'
import { serve } from '@hono/node-server'
import express from 'express'
import session from 'express-session'
import Fastify from 'fastify'
import { Hono } from 'hono'
import { exportJWK, generateKeyPair, SignJWT } from 'jose'

const require = createRequire(import.meta.url)
const host = '127.0.0.1'
const listen = (server) =>
  new Promise((done) => {
    const running = server.listen(0, host, () => done(`http://${host}:${running.address().port}`))
  })

// A provider with one user. The code is the nonce.
const { publicKey, privateKey } = await generateKeyPair('RS256')
const keys = [{ ...(await exportJWK(publicKey)), kid: 'key', alg: 'RS256', use: 'sig' }]
let issuer
const provider = http.createServer(async (req, res) => {
  const form = new URLSearchParams((await req.toArray()).join(''))
  const answers = {
    '/.well-known/openid-configuration': () => ({
      issuer,
      authorization_endpoint: `${issuer}/authorize`,
      token_endpoint: `${issuer}/token`,
      userinfo_endpoint: `${issuer}/userinfo`,
      jwks_uri: `${issuer}/keys`,
      response_types_supported: ['code'],
      subject_types_supported: ['public'],
      scopes_supported: ['openid', 'email', 'profile'],
      id_token_signing_alg_values_supported: ['RS256'],
      code_challenge_methods_supported: ['S256'],
      token_endpoint_auth_methods_supported: ['client_secret_basic', 'client_secret_post'],
    }),
    '/keys': () => ({ keys }),
    '/userinfo': () => ({ sub: 'ada', email: 'ada@example.com' }),
    '/token': async () => {
      const token = new SignJWT({ nonce: form.get('code'), email: 'ada@example.com' })
        .setProtectedHeader({ alg: 'RS256', kid: 'key' })
        .setIssuer(issuer)
        .setSubject('ada')
        .setAudience('app')
        .setIssuedAt()
        .setExpirationTime('1h')
      return { access_token: 'token', token_type: 'Bearer', expires_in: 3600, id_token: await token.sign(privateKey) }
    },
  }
  res.setHeader('content-type', 'application/json')
  res.end(JSON.stringify(await answers[req.url]()))
})
issuer = await listen(provider)
const credentials = { clientID: 'app', clientSecret: 'secret', callbackURL: '/callback' }
const urls = { authorizationURL: `${issuer}/authorize`, tokenURL: `${issuer}/token`, userInfoURL: `${issuer}/userinfo` }
const onError = (error, _req, res, _next) => res.status(500).send(error.message)

function startPassport(module, options, verify) {
  const passport = new (require('passport').Passport)()
  passport.serializeUser((user, done) => done(null, user))
  passport.deserializeUser((user, done) => done(null, user))
  passport.use('login', new (require(module))({ ...urls, ...credentials, ...options }, verify))
  const app = express()
  app.use(session({ secret: 'secret', resave: false, saveUninitialized: false }), passport.session())
  app.get('/', passport.authenticate('login'))
  app.get('/callback', passport.authenticate('login', { failWithError: true }), (_req, res) => res.send('signed in'))
  return listen(app.use(onError))
}
const starts = {
  'passport-oauth2': () =>
    startPassport('passport-oauth2', { state: true, pkce: true }, (_a, _r, _p, done) => done(null, { id: 'ada' })),
  'passport-openidconnect': () =>
    startPassport('passport-openidconnect', { issuer }, (_i, _p, done) => done(null, { id: 'ada' })),
  async 'express-openid-connect'() {
    const app = express()
    const baseURL = await listen(app)
    app.use(
      require('express-openid-connect').auth({
        issuerBaseURL: issuer,
        baseURL,
        clientID: 'app',
        clientSecret: 'secret',
        secret: 'a secret of the cookies, which is long enough',
        authorizationParams: { response_type: 'code' },
      }),
    )
    app.get('/', (_req, res) => res.send('signed in'))
    app.use(onError)
    return baseURL
  },
  async '@hono/oidc-auth'() {
    process.env.OIDC_AUTH_SECRET = 'a secret of the cookies, which is long enough'
    process.env.OIDC_ISSUER = issuer
    process.env.OIDC_CLIENT_ID = 'app'
    process.env.OIDC_CLIENT_SECRET = 'secret'
    const { oidcAuthMiddleware, processOAuthCallback } = await import('@hono/oidc-auth')
    const app = new Hono()
    app.get('/callback', processOAuthCallback)
    app.use('*', oidcAuthMiddleware())
    app.onError((error, context) => context.text(error.message, 500))
    const origin = await new Promise((done) =>
      serve({ fetch: app.fetch, port: 0, hostname: host }, ({ port }) => done(`http://${host}:${port}`)),
    )
    process.env.OIDC_REDIRECT_URI = `${origin}/callback`
    return origin
  },
  async '@fastify/oauth2'() {
    const app = Fastify()
    app.register(fastifyOauth2, {
      name: 'login',
      scope: ['openid'],
      credentials: {
        client: { id: 'app', secret: 'secret' },
        auth: { tokenHost: issuer, tokenPath: '/token', authorizeHost: issuer, authorizePath: '/authorize' },
      },
      startRedirectPath: '/',
      callbackUri: `http://${host}/callback`,
      pkce: 'S256',
      cookie: { secure: false },
    })
    app.get('/callback', async (request) => {
      await app.login.getAccessTokenFromAuthorizationCodeFlow(request)
      return 'signed in'
    })
    return app.listen({ port: 0, host })
  },
  grant() {
    const app = express()
    app.use(session({ secret: 'secret', resave: false, saveUninitialized: true }))
    app.get('/', (_req, res) => res.redirect('/connect/login'))
    const login = { oauth: 2, authorize_url: `${issuer}/authorize`, access_url: `${issuer}/token`, callback: '/done' }
    const options = { key: 'app', secret: 'secret', scope: ['openid'], state: true, nonce: true, pkce: true }
    app.use(require('grant').express()({ defaults: { origin: `http://${host}` }, login: { ...login, ...options } }))
    app.get('/done', (req, res) => res.status(req.query.error ? 500 : 200).send(req.query.error ?? 'signed in'))
    return listen(app)
  },
}

// A browser that keeps cookies, and follows the redirects of the app.
class Browser {
  cookies = new Map()

  async open(url) {
    const cookie = [...this.cookies].map((pair) => pair.join('=')).join('; ')
    const response = await fetch(url, { redirect: 'manual', headers: { cookie } })
    for (const line of response.headers.getSetCookie()) {
      const [name, ...value] = line.split(';')[0].split('=')
      if (/max-age=0|expires=thu, 01 jan 1970/i.test(line)) this.cookies.delete(name)
      else this.cookies.set(name, value.join('='))
    }
    const location = response.headers.get('location')
    const next = location && new URL(location, url)
    if (!next || next.href.startsWith(issuer)) return { next, response }
    return this.open(next.href)
  }
}
for (const [name, start] of Object.entries(starts)) {
  const origin = await start()
  const browser = new Browser()
  const begin = async () => {
    const { searchParams } = (await browser.open(`${origin}/`)).next
    const state = searchParams.get('state')
    return new URLSearchParams({ code: searchParams.get('nonce') ?? 'code', state, iss: issuer })
  }
  const callback = name === 'grant' ? '/connect/login/callback' : '/callback'
  const finish = async (query) => {
    const { response } = await browser.open(`${origin}${callback}?${query}`)
    return response.ok ? 'succeeds' : `fails (${(await response.text()).slice(0, 70)})`
  }
  const tabs = [await begin(), await begin()]
  const [first, second] = [await finish(tabs[0]), await finish(tabs[1])]
  console.log(`${name}: the first tab ${first}, the second ${second}`)
  assert.match(first, /^fails/)
  assert.match(second, ['@fastify/oauth2', 'grant'].includes(name) ? /^succeeds/ : /^fails/)
}
process.exit()
END
node seen.mjs
