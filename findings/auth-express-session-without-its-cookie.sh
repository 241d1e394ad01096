#!/usr/bin/env bash
# One would expect: `getSession(request, config)` of @auth/express, which Auth.js documents
# for protecting pages, does what a request for /auth/session does, and hands on the cookie
# that the callback `jwt` has changed.
# Seen: @auth/express 0.12.3 with @auth/core 0.41.3 runs the callback, returns the session,
# and drops the new cookie. A request for /auth/session sets it.
# Where it matters: a provider that rotates refresh tokens (RFC 9700 §4.14.2). The callback
# renews, the new refresh token is lost with the cookie, and the next page presents the old
# one, which the provider takes for a theft and ends the session. Call `Auth` of @auth/core
# with a request for /auth/session, and append its Set-Cookie to your own response.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm init -y >/dev/null
npm install --silent --no-audit --no-fund --ignore-scripts \
  @auth/express@0.12.3 @auth/core@0.41.3 express@5.3.0

cat >seen.mjs <<'END'
import assert from 'node:assert'
import { once } from 'node:events'
import { encode } from '@auth/core/jwt'
import { ExpressAuth, getSession } from '@auth/express'
import express from 'express'

const secret = 'a secret of this script, which signs nothing else'
let renewals = 0
const config = {
  basePath: '/auth',
  secret,
  trustHost: true,
  providers: [],
  callbacks: {
    jwt: ({ token }) => ({ ...token, refreshToken: `token ${++renewals}` }),
  },
}

const app = express()
app.use('/auth', ExpressAuth(config))
app.get('/page', async (request, response) => {
  response.json(await getSession(request, config))
})
const server = app.listen(0, '127.0.0.1')
await once(server, 'listening')
const url = `http://127.0.0.1:${server.address().port}`

const name = 'authjs.session-token'
const token = { sub: 'ada', name: 'Ada', refreshToken: 'token 0' }
const cookie = `${name}=${await encode({ secret, salt: name, token })}`
const open = async (path) => {
  const response = await fetch(url + path, { headers: { cookie } })
  const { user } = await response.json()
  const sets = response.headers.getSetCookie().filter((each) => each.startsWith(name))
  return { user: user.name, cookies: sets.length }
}

const page = await open('/page')
console.log('getSession:', page, 'renewals:', renewals)
assert.deepEqual(page, { user: 'Ada', cookies: 0 })
assert.equal(renewals, 1)

const endpoint = await open('/auth/session')
console.log('/auth/session:', endpoint, 'renewals:', renewals)
assert.deepEqual(endpoint, { user: 'Ada', cookies: 1 })
assert.equal(renewals, 2)
server.close()
END
node seen.mjs
