import { randomUUID } from 'node:crypto'
import { createServer } from 'node:http'
import { createRemoteJWKSet, jwtVerify } from 'jose'
import { findClient } from '../../lib/client/client'
import { sendNotices } from '../../lib/client/logout-notices'
import * as routes from '../../lib/contract/routes'
import { endSessions } from '../../lib/session/revoke'
import { disableUser } from '../../lib/user/user'
import {
  addClient,
  claimsOf,
  dashboards,
  openDashboard,
  renewTokens,
  requestTokens,
  secretOf,
} from '../support/browsers/dashboard'
import { signInByCode, type Tokens } from '../support/databases/account'
import {
  expect,
  newPassword,
  newToken,
  type Post,
  resetPath,
  type Sql,
  test,
  type User,
} from '../support/fixtures'
import { keepSecret, newAddress } from '../support/secrets'
import { listen } from '../support/servers/listen'

/** A client whose server keeps what it is sent, and responds with `status`. */
async function newListener(sql: Sql) {
  const received: { type: string; token: string }[] = []
  const listener = { slug: `client-${randomUUID()}`, received, status: 200 }
  const server = await listen(
    createServer(async (request, response) => {
      let body = ''
      for await (const chunk of request) body += chunk
      const type = `${request.method} ${request.headers['content-type']}`
      const token = keepSecret(new URLSearchParams(body).get('logout_token')!)
      received.push({ type, token })
      response.writeHead(listener.status, { Location: '/elsewhere' }).end()
    }),
  )
  await addClient(sql, listener.slug, [dashboards.app])
  await sql('UPDATE clients SET backchannel_logout_uri = $2 WHERE slug = $1', [
    listener.slug,
    `${server.url}/logout`,
  ])

  return { ...server, listener }
}

const noticesOf = (sql: Sql, slug: string) =>
  sql(
    `SELECT attempts, round(extract(epoch FROM due_at - now()) / 60)::int AS minutes FROM logout_notices
     WHERE client_id = (SELECT id FROM clients WHERE slug = $1)`,
    [slug],
  )

type Scene = {
  url: string
  post: Post
  user: User
  browser: Tokens
  child: Tokens
  sql: Sql
}

/** Ways to end the session of a browser. Each tells its clients. */
const endings: Record<string, (scene: Scene) => Promise<unknown>> = {
  'a sign-out': ({ post, browser }) =>
    post(routes.signOut.path, { refreshToken: browser.refreshToken }),
  'a sign-out of the page': ({ url, browser }) =>
    fetch(url + routes.signOutOfPages.path, {
      method: 'POST',
      headers: { Cookie: `session=${browser.token}`, 'X-Forwarded-For': newAddress() },
    }),
  'a sign-out of another client': async ({ url, browser }) => {
    const { idToken } = await openDashboard(url, browser, 'app')
    const headers = { 'X-Forwarded-For': newAddress() }
    await fetch(`${url}${routes.signOutForClient.path}?id_token_hint=${idToken}`, {
      headers,
    })
  },
  'the end of a listed session': async ({ post, user, browser }) => {
    const { token } = await signInByCode(post, user)
    const headers = { Authorization: `Bearer ${token}` }
    await post(
      routes.endSessions.path,
      { sessionId: claimsOf(browser.token).sid },
      headers,
    )
  },
  'a reset': async ({ post, user }) =>
    post(resetPath, { token: await newToken(user), password: newPassword() }),
  'another sign-in in the browser': async ({ post, user, browser }) => {
    await signInByCode(post, user, { Cookie: `refresh=${browser.refreshToken}` })
    await sendNotices() // as the timer of a server
  },
  'disabling the user': async ({ user }) => {
    await disableUser(user.id)
    await sendNotices()
  },
  'reuse of the refresh token': async ({ post, sql, browser }) => {
    await sql('UPDATE sessions SET generation = 2 WHERE id = $1', [
      claimsOf(browser.token).sid,
    ])
    await post(routes.refreshSession.path, { refreshToken: browser.refreshToken })
    await sendNotices()
  },
}
for (const [what, end] of Object.entries(endings))
  test(`after ${what}, the client gets a logout token of its session`, async ({
    signedIn: browser,
    url,
    post,
    user,
    sql,
  }) => {
    const { listener, stop } = await newListener(sql)
    const child = await openDashboard(url, browser, listener.slug)
    await end({ url, post, user, browser, child, sql })

    await expect.poll(() => listener.received.length).toBe(1)
    const [{ type, token }] = listener.received as [{ type: string; token: string }]
    expect(type).toBe('POST application/x-www-form-urlencoded')
    const keys = createRemoteJWKSet(new URL(url + routes.getIdTokenKeys.path))
    const { payload } = await jwtVerify(token, keys, {
      issuer: url,
      audience: listener.slug,
      algorithms: ['RS256'],
      typ: 'logout+jwt',
    })
    expect(payload).toEqual({
      iss: url,
      aud: listener.slug,
      iat: expect.any(Number),
      exp: payload.iat! + 120,
      jti: expect.any(String),
      sid: claimsOf(child.token).sid,
      events: { 'http://schemas.openid.net/event/backchannel-logout': {} },
    })
    await expect.poll(() => noticesOf(sql, listener.slug)).toEqual([])
    await stop()
  })

test('a client that does not accept the token gets it again, four times at most', async ({
  signedIn: browser,
  url,
  sql,
}) => {
  const { listener, stop } = await newListener(sql)
  await openDashboard(url, browser, listener.slug)
  listener.status = 307 // not followed
  await endSessions([claimsOf(browser.token).sid])
  for (const [index, minutes] of [1, 10, 60, null].entries()) {
    await sql('UPDATE logout_notices SET due_at = now() WHERE client_id = $1', [
      (await findClient(listener.slug))!.id,
    ])
    await sendNotices()
    const left = minutes === null ? [] : [{ attempts: index + 1, minutes }]
    await expect.poll(() => noticesOf(sql, listener.slug)).toEqual(left)
    listener.status = 500
  }
  expect(listener.received).toHaveLength(4)
  expect(new Set(listener.received.map(({ token }) => claimsOf(token).jti)).size).toBe(4)
  await stop()
})

test('there is no notice for a session that is over, or a client that does not want it', async ({
  url,
  post,
  user,
  sql,
}) => {
  const { listener, stop } = await newListener(sql)
  const end = (browser: Tokens) => endSessions([claimsOf(browser.token).sid])
  const open = async () => {
    const browser = await signInByCode(post, user)
    return { browser, child: await openDashboard(url, browser, listener.slug) }
  }
  const countNotices = async () => (await noticesOf(sql, listener.slug)).length

  // the client has ended its session
  const { browser, child } = await open()
  const form = { token: child.refreshToken }
  await requestTokens(url, listener.slug, { ...form, grant_type: 'x' }) // changes nothing
  await fetch(url + routes.revokeToken.path, {
    method: 'POST',
    headers: { 'X-Forwarded-For': newAddress() },
    body: new URLSearchParams({
      ...form,
      client_id: listener.slug,
      client_secret: secretOf(listener.slug),
    }),
  })
  await end(browser)
  expect(await countNotices()).toBe(0)

  // its session has expired
  const expired = await open()
  await sql('UPDATE sessions SET expires_at = now() WHERE id = $1', [
    claimsOf(expired.child.token).sid,
  ])
  await end(expired.browser)
  expect(await countNotices()).toBe(0)

  // the client is disabled
  const disabled = await open()
  await sql('UPDATE clients SET disabled_at = now() WHERE slug = $1', [listener.slug])
  await end(disabled.browser)
  expect(await countNotices()).toBe(0)

  // it has no URI
  await sql(
    'UPDATE clients SET disabled_at = NULL, backchannel_logout_uri = NULL WHERE slug = $1',
    [listener.slug],
  )
  await end((await open()).browser)
  expect(await countNotices()).toBe(0)
  expect(listener.received).toEqual([])
  await stop()
})

test('a logout token is no session and no ID token', async ({
  signedIn: browser,
  url,
  post,
  sql,
}) => {
  const { listener, stop } = await newListener(sql)
  const child = await openDashboard(url, browser, listener.slug)
  await post(routes.signOut.path, { refreshToken: browser.refreshToken })
  await expect.poll(() => listener.received.length).toBe(1)
  const { token } = listener.received[0]!
  for (const path of [routes.getUserInfo.path, routes.getSession.path]) {
    const headers = { Authorization: `Bearer ${token}`, 'X-Forwarded-For': newAddress() }
    expect((await fetch(url + path, { headers })).status).toBe(401)
  }
  expect((await renewTokens(url, child.refreshToken, listener.slug)).status).toBe(400)
  await stop()
})
