import { randomUUID } from 'node:crypto'
import * as routes from '../../lib/contract/routes'
import { makeRefreshToken } from '../../lib/session/tokens'
import { expireToken } from '../support/browsers/expired-token'
import { openOwnDatabase } from '../support/databases/own-database'
import { exchangePath, expect, newCode, postTo, test } from '../support/fixtures'
import { keepSecret, newAddress } from '../support/secrets'
import { send } from '../support/wire/raw-http'

test('sign-out accepts only POST requests from the same origin', async ({
  url,
  user,
  post,
  sql,
}) => {
  const { body } = await post(exchangePath, { code: await newCode(user) })
  const signOut = (headers: Record<string, string>, method = 'POST') =>
    send(`${url}/sign-out`, {
      method,
      headers: {
        Cookie: `session=${body.token}`,
        'X-Forwarded-For': newAddress(),
        ...headers,
      },
    })
  const alive = () =>
    sql('SELECT 1 FROM sessions WHERE user_id = $1 AND revoked_at IS NULL', [user.id])
  const foreign: Record<string, string>[] = [
    { Origin: 'https://evil.example' },
    { Origin: 'null' },
    { Origin: `${url}.evil.example` },
    { Origin: url.replace('http:', 'https:') },
    { 'Sec-Fetch-Site': 'cross-site' },
    { 'Sec-Fetch-Site': 'same-site', Origin: 'https://other.localhost' },
    { 'Sec-Fetch-Site': 'none' },
    { 'Sec-Fetch-Site': 'cross-site', Origin: url },
  ]
  for (const headers of foreign) {
    const { status, headers: received, text } = await signOut(headers)
    expect(
      [status, JSON.parse(text).code, received['set-cookie']],
      JSON.stringify(headers),
    ).toEqual([403, 'ORIGIN_REJECTED', undefined])
  }
  for (const method of ['GET', 'HEAD', 'PUT', 'DELETE']) {
    const { status, headers } = await signOut(
      { 'Sec-Fetch-Site': 'same-origin', Origin: url },
      method,
    )
    expect([status, headers.allow, headers['set-cookie']], method).toEqual([
      405,
      'POST',
      undefined,
    ])
  }
  expect(await alive()).toHaveLength(1)
  // A page with the referrer policy no-referrer sends this.
  const { status, headers } = await signOut({
    'Sec-Fetch-Site': 'same-origin',
    Origin: 'null',
  })
  expect([status, headers.location]).toEqual([303, '/?signed-out'])
  expect(await alive()).toHaveLength(0)
})

test('without Sec-Fetch-Site, sign-out accepts the Origin of PUBLIC_URL', async ({
  url,
  user,
  post,
  sql,
}) => {
  const { body } = await post(exchangePath, { code: await newCode(user) })
  const { status } = await send(`${url}/sign-out`, {
    method: 'POST',
    headers: { Cookie: `session=${body.token}`, Origin: url },
  })
  expect(status).toBe(303)
  expect(
    await sql('SELECT 1 FROM sessions WHERE user_id = $1 AND revoked_at IS NULL', [
      user.id,
    ]),
  ).toHaveLength(0)
})

test('a form with an expired session cookie ends the session', async ({
  url,
  user,
  post,
  sql,
}) => {
  const { body } = await post(exchangePath, { code: await newCode(user) })
  const { headers } = await send(`${url}/sign-out`, {
    method: 'POST',
    headers: { Cookie: `session=${expireToken(body.token!)}`, Origin: url },
  })
  expect(headers.location).toBe('/?signed-out')
  expect(
    await sql('SELECT 1 FROM sessions WHERE user_id = $1 AND revoked_at IS NULL', [
      user.id,
    ]),
  ).toEqual([])
})

test('a sign-out that could not end the session still deletes the cookies, and logs an error', async ({
  serverWith,
}) => {
  const database = await openOwnDatabase()
  const server = await serverWith({ DATABASE_URL: database.url() })
  await database.sql('ALTER TABLE sessions RENAME TO sessions_gone')
  const refreshToken = keepSecret(
    makeRefreshToken({ sessionId: randomUUID(), generation: 0 }),
  )
  const headers = { Cookie: `refresh=${refreshToken}`, 'X-Forwarded-For': newAddress() }
  const ofPage = await fetch(`${server.url}/sign-out`, {
    method: 'POST',
    headers,
    redirect: 'manual',
  })
  const ofApi = await postTo(server.url + routes.signOut.path, {}, headers)
  await database.drop()
  expect([ofPage.status, ofPage.headers.get('location')]).toEqual([303, '/?signed-out'])
  expect([ofApi.status, ofApi.body.code]).toEqual([500, 'INTERNAL_ERROR'])
  for (const response of [ofPage, ofApi])
    expect(response.headers.getSetCookie()).toEqual(
      ['session', 'refresh'].map(
        (name) => `${name}=; Path=/; Max-Age=0; HttpOnly; SameSite=Lax`,
      ),
    )
  expect(await server.logged('"level":"error"')).toEqual([
    expect.objectContaining({
      route: 'sign-out-page',
      msg: 'a session could not be ended',
      cause: expect.objectContaining({ code: '42P01' }),
    }),
    expect.objectContaining({
      route: 'sign-out',
      status: 500,
      cause: expect.objectContaining({ code: '42P01' }),
    }),
  ])
})
