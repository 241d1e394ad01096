import * as routes from '../../lib/contract/routes'
import {
  claimsOf,
  type Form,
  isLive,
  openDashboard,
  renewTokens,
  secretOf,
} from '../support/browsers/dashboard'
import { expireToken } from '../support/browsers/expired-token'
import { signInByCode, type Tokens } from '../support/databases/account'
import { documentedFetch } from '../support/documents/documented'
import { expect, test } from '../support/fixtures'
import { newAddress } from '../support/secrets'
import { otherValues } from '../support/servers/settings'

/** Revokes a token as a client with its secret. `changed` are other fields of the form. */
async function revoke(
  url: string,
  token: string,
  slug = 'app',
  changed: Form = {},
  headers: Record<string, string> = {},
) {
  const fields = {
    token,
    client_id: slug,
    client_secret: slug === 'page' ? null : secretOf(slug),
    ...changed,
  }
  const present = Object.entries(fields).filter(([, value]) => value !== null)
  const response = await documentedFetch(url + routes.revokeToken.path, {
    method: 'POST',
    headers: { 'X-Forwarded-For': newAddress(), ...headers },
    body: new URLSearchParams(present as [string, string][]),
  })
  const { error } = await response.json()
  return { status: response.status, error, headers: response.headers }
}

/** What a client can revoke its session with. */
const tokens: Record<string, (session: Tokens) => string> = {
  'a refresh token': ({ refreshToken }) => refreshToken,
  'an access token': ({ token }) => token,
  'an access token that has expired': ({ token }) => expireToken(token),
}
for (const [what, choose] of Object.entries(tokens))
  test(`${what} ends the session of its client, and no other`, async ({
    signedIn: browser,
    url,
  }) => {
    const [dashboard, other] = [
      await openDashboard(url, browser),
      await openDashboard(url, browser, 'reports'),
    ]
    const token = choose(dashboard)
    for (let count = 0; count < 2; count++)
      expect(await revoke(url, token)).toMatchObject({ status: 200 })

    expect(await isLive(url, dashboard)).toBe(false)
    expect((await renewTokens(url, dashboard.refreshToken)).status).toBe(400)
    expect(await isLive(url, browser)).toBe(true)
    expect(await isLive(url, other)).toBe(true)

    // the browser is still signed in, so the client gets a new session
    expect(await isLive(url, await openDashboard(url, browser))).toBe(true)
  })

test('a token that is unknown, replaced or no token gets 200, as RFC 7009 demands', async ({
  user,
  post,
  url,
  sql,
}) => {
  const dashboard = await openDashboard(url, await signInByCode(post, user))
  const { body } = await renewTokens(url, dashboard.refreshToken)
  expect(body.refresh_token).toBeTruthy()
  await sql('DELETE FROM sessions WHERE id = $1', [claimsOf(dashboard.token).sid])
  for (const token of ['x', dashboard.idToken, dashboard.refreshToken, dashboard.token])
    expect((await revoke(url, token, 'app', { token_type_hint: 'x' })).status).toBe(200)
})

test('the token of a browser or of another client ends nothing', async ({
  signedIn: browser,
  url,
}) => {
  const dashboard = await openDashboard(url, browser)
  const cases: [string, string][] = [
    [dashboard.refreshToken, 'reports'],
    [dashboard.token, 'page'],
    [browser.refreshToken, 'app'],
    [browser.token, 'app'],
  ]
  for (const [token, slug] of cases)
    expect(await revoke(url, token, slug)).toMatchObject({
      status: 400,
      error: 'invalid_request',
    })
  for (const session of [browser, dashboard])
    expect(await isLive(url, session)).toBe(true)
})

test('a client that does not authenticate ends nothing', async ({ user, post, url }) => {
  const dashboard = await openDashboard(url, await signInByCode(post, user))
  const wrong: Form[] = [
    { client_secret: null },
    { client_secret: secretOf('reports') },
    { client_id: 'unknown' },
    { client_id: null, client_secret: null },
  ]
  for (const changed of wrong)
    expect(await revoke(url, dashboard.token, 'app', changed)).toMatchObject({
      status: 401,
      error: 'invalid_client',
    })
  expect(await revoke(url, 'x', 'app', { token: null })).toMatchObject({
    status: 400,
    error: 'invalid_request',
  })
  expect(await isLive(url, dashboard)).toBe(true)
})

test('a page of a public client can revoke its token, and no cookie is read', async ({
  signedIn: browser,
  url,
}) => {
  const dashboard = await openDashboard(url, browser, 'page')
  const Origin = 'https://page.example.com'
  const { status, headers } = await revoke(
    url,
    dashboard.token,
    'page',
    {},
    {
      Origin,
      'Sec-Fetch-Site': 'cross-site',
      'Sec-Fetch-Mode': 'cors',
      Cookie: `session=${browser.token}; refresh=${browser.refreshToken}`,
    },
  )
  expect([status, headers.get('access-control-allow-origin')]).toEqual([200, Origin])
  expect(await isLive(url, dashboard)).toBe(false)
  expect(await isLive(url, browser)).toBe(true)
})

test('responds with 404 without ID_TOKEN_SIGNING_KEYS', async ({ serverWith }) => {
  const without = await serverWith(otherValues)
  const response = await fetch(without.url + routes.revokeToken.path, { method: 'POST' })
  expect(response.status).toBe(404)
})
