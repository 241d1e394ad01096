import { randomUUID } from 'node:crypto'
import { createRemoteJWKSet, jwtVerify } from 'jose'
import * as routes from '../../lib/contract/routes'
import { signJwt } from '../../lib/crypto/token'
import { env } from '../../lib/settings/env'
import {
  addClient,
  authorize,
  type ClientCode,
  claimsOf,
  clientCode,
  dashboards,
  exchangeClientCode,
  type Form,
  isLive,
  newRequest,
  openDashboard,
  renewTokens,
  requestTokens,
  secretOf,
  tokensOf,
} from '../support/browsers/dashboard'
import { signInByCode } from '../support/databases/account'
import { documentedFetch } from '../support/documents/documented'
import { exchangePath, expect, newCode, test } from '../support/fixtures'
import { keepSecret, newAddress } from '../support/secrets'
import { fewRequests } from '../support/servers/settings'

const invalidGrant = { status: 400, body: { error: 'invalid_grant' } }
const invalidClient = { status: 401, body: { error: 'invalid_client' } }
const invalidRequest = { status: 400, body: { error: 'invalid_request' } }

const basic = (slug: string, secret = secretOf(slug)) => ({
  Authorization: `Basic ${Buffer.from(`${slug}:${secret}`).toString('base64')}`,
})

test('a code gives an access token, a refresh token, and an ID token with the nonce', async ({
  signedIn: browser,
  user,
  url,
}) => {
  const { query, nonce, codeVerifier } = newRequest()
  const location = (await authorize(url, query, browser)).headers.get('location')!
  const code = keepSecret(new URL(location).searchParams.get('code')!)
  const issued = { slug: 'app', code, codeVerifier, redirectUri: dashboards.app }
  const { status, headers, body } = await exchangeClientCode(url, issued)

  expect(status).toBe(200)
  expect(body).toMatchObject({
    token_type: 'Bearer',
    expires_in: 43_200,
    scope: 'openid email profile',
  })
  expect([headers.get('cache-control'), headers.get('pragma')]).toEqual([
    'no-store',
    'no-cache',
  ])

  const idTokens = createRemoteJWKSet(new URL(url + routes.getIdTokenKeys.path))
  const idToken = await jwtVerify(body.id_token, idTokens, {
    issuer: url,
    audience: 'app',
    algorithms: ['RS256'],
  })
  const sessions = createRemoteJWKSet(new URL(url + routes.getSigningKeys.path))
  const access = await jwtVerify(body.access_token, sessions, {
    issuer: url,
    audience: 'dashboard',
    algorithms: ['ES256'],
  })
  const { sid, iat, exp, auth_time } = access.payload
  const common = { iss: url, sub: user.id, sid, iat, exp, auth_time, email: user.email }
  expect(access.payload).toEqual({
    ...common,
    aud: 'dashboard',
    jti: expect.any(String),
    client_id: 'app',
  })
  expect(idToken.payload).toEqual({
    ...common,
    aud: 'app',
    email_verified: true,
    preferred_username: user.email,
    nonce,
  })
  await expect(jwtVerify(body.id_token, sessions)).rejects.toThrow()

  const renewed = await renewTokens(url, body.refresh_token)
  expect(renewed.status).toBe(200)
  const { nonce: none, ...claims } = claimsOf(renewed.body.id_token)
  expect(none).toBeUndefined() // OpenID Connect Core §12.2
  expect([claims.sid, claims.auth_time, claims.aud]).toEqual([sid, auth_time, 'app'])
})

test('a client sends its secret in the header, encoded or not, or in the form', async ({
  signedIn: browser,
  url,
}) => {
  const percentEncoded = (text: string) =>
    [...Buffer.from(text)].map((byte) => `%${byte.toString(16)}`).join('')
  const ways: [Form, Record<string, string>][] = [
    [{}, {}],
    [{ client_id: null, client_secret: null }, basic('app')],
    [{ client_secret: null }, basic('app')],
    [
      { client_id: null, client_secret: null },
      basic(percentEncoded('app'), percentEncoded(secretOf('app'))),
    ],
    [{ scope: 'openid' }, { Authorization: 'Bearer x' }],
  ]
  for (const [form, headers] of ways) {
    const code = (await clientCode(url, browser))!
    expect((await exchangeClientCode(url, code, form, headers)).status).toBe(200)
  }

  const ofPage = (await clientCode(url, browser, 'page'))!
  const empty = { client_secret: '' } // as some programs send it for a public client
  expect((await exchangeClientCode(url, ofPage, empty)).status).toBe(200)
})

test('a request that the client or the code do not fit changes nothing', async ({
  signedIn: browser,
  url,
  sql,
}) => {
  const code = (await clientCode(url, browser))!
  const [other, ofPage] = [
    (await clientCode(url, browser))!,
    (await clientCode(url, browser, 'page'))!,
  ]
  await sql(`
    INSERT INTO client_secrets (client_id, secret_hash, hint, revoked_at, expires_at)
    SELECT id, sha256(state::bytea), 'xxxx', revoked_at, expires_at
    FROM clients, (VALUES ('revoked', now(), NULL), ('expired', NULL, now())) AS secrets (state, revoked_at, expires_at)
    WHERE slug = 'app'`)

  const cases: [Form, Record<string, unknown>, Record<string, string>?][] = [
    [{ client_secret: secretOf('reports') }, invalidClient],
    [{ client_secret: null }, invalidClient],
    [{ client_secret: 'revoked' }, invalidClient],
    [{ client_secret: 'expired' }, invalidClient],
    [{ client_id: 'nobody' }, invalidClient],
    [{ client_id: 'APP' }, invalidClient],
    [{ client_id: null, client_secret: null }, invalidClient],
    [{ client_id: null, client_secret: null }, invalidClient, basic('app', 'x')],
    [{}, invalidRequest, basic('app')],
    [{ client_secret: null }, invalidRequest, basic('reports')],
    [{ client_id: 'reports', client_secret: secretOf('reports') }, invalidGrant],
    [{ client_id: 'page', client_secret: null }, invalidGrant],
    [{ code_verifier: other.codeVerifier }, invalidGrant],
    [{ code_verifier: null }, invalidGrant],
    [{ redirect_uri: `${dashboards.app}/` }, invalidGrant],
    [{ redirect_uri: dashboards.reports }, invalidGrant],
    [{ redirect_uri: 'a\0b' }, invalidRequest],
    [{ code: null }, invalidRequest],
    [{ code: other.codeVerifier }, invalidGrant],
    [{ grant_type: 'implicit' }, { body: { error: 'unsupported_grant_type' } }],
    [{ grant_type: null }, invalidRequest],
  ]
  for (const [form, expected, headers] of cases)
    expect(
      await exchangeClientCode(url, code, form, headers),
      JSON.stringify(form),
    ).toMatchObject(expected)

  // a secret in the URL would be in logs of proxies, so it is not read
  const query = new URLSearchParams({ client_secret: secretOf('app') })
  const inQuery = await fetch(`${url}${routes.issueTokens.path}?${query}`, {
    method: 'POST',
    headers: { 'X-Forwarded-For': newAddress() },
    body: new URLSearchParams({
      grant_type: 'authorization_code',
      code: code.code,
      client_id: 'app',
    }),
  })
  expect(inQuery.status).toBe(401)

  const secret = { client_secret: secretOf('page') }
  expect(await exchangeClientCode(url, ofPage, secret)).toMatchObject(invalidClient)
  for (const each of [code, ofPage])
    expect((await exchangeClientCode(url, each)).status).toBe(200)
  // the redirect URI may be missing, because the challenge replaces it
  expect((await exchangeClientCode(url, other, { redirect_uri: null })).status).toBe(200)
  await sql(`DELETE FROM client_secrets WHERE hint = 'xxxx'`)
})

test('a code without a challenge needs its redirect URI, and rejects a verifier', async ({
  signedIn: browser,
  url,
}) => {
  const { query, codeVerifier } = newRequest()
  query.delete('code_challenge')
  query.delete('code_challenge_method')
  const location = (await authorize(url, query, browser)).headers.get('location')!
  const code = keepSecret(new URL(location).searchParams.get('code')!)
  const issued = { slug: 'app', code, codeVerifier, redirectUri: dashboards.app }
  const withoutVerifier = { code_verifier: null }

  expect(await exchangeClientCode(url, issued)).toMatchObject(invalidGrant)
  const neither = { ...withoutVerifier, redirect_uri: null }
  expect(await exchangeClientCode(url, issued, neither)).toMatchObject(invalidGrant)
  expect((await exchangeClientCode(url, issued, withoutVerifier)).status).toBe(200)
})

test('codes of the exchange and of clients do not work in each other’s place', async ({
  signedIn: browser,
  user,
  post,
  url,
}) => {
  const ofExchange = await newCode(user)
  const ofClient = (await clientCode(url, browser))!
  const swapped = { ...ofClient, code: ofExchange }
  expect(await exchangeClientCode(url, swapped)).toMatchObject(invalidGrant)
  const { code } = ofClient
  expect((await post(exchangePath, { code })).status).toBe(400)
  expect((await post(exchangePath, { code: ofExchange })).status).toBe(200)
})

test('a replay by its client ends the session after 10 seconds, and any other replay ends nothing', async ({
  signedIn: browser,
  url,
  sql,
}) => {
  const code = (await clientCode(url, browser))!
  const dashboard = tokensOf(await exchangeClientCode(url, code))
  const replay = (changed: Form = {}) => exchangeClientCode(url, code, changed)

  expect(await replay()).toMatchObject(invalidGrant)
  expect(await isLive(url, dashboard)).toBe(true)
  await sql(
    `UPDATE authorization_codes SET used_at = now() - interval '11 seconds' WHERE session_id = $1`,
    [claimsOf(dashboard.token).sid],
  )
  const ofReports = { client_id: 'reports', client_secret: secretOf('reports') }
  for (const other of [ofReports, { code_verifier: 'x' }, { redirect_uri: 'x' }])
    expect(await replay(other)).toMatchObject(invalidGrant)
  expect(await isLive(url, dashboard)).toBe(true)
  expect(await replay()).toMatchObject(invalidGrant)
  expect([await isLive(url, dashboard), await isLive(url, browser)]).toEqual([
    false,
    true,
  ])
})

test('a refresh token works for its own client only, and elsewhere changes nothing', async ({
  signedIn: browser,
  post,
  url,
  sql,
}) => {
  const { refreshToken, token } = await openDashboard(url, browser)
  const stored = () =>
    sql('SELECT generation, rotated_at, revoked_at FROM sessions WHERE id = $1', [
      claimsOf(token).sid,
    ])
  const before = await stored()
  expect(await renewTokens(url, refreshToken, 'reports')).toMatchObject(invalidGrant)
  expect(await renewTokens(url, refreshToken, 'page')).toMatchObject(invalidGrant)
  const form = { grant_type: 'refresh_token', refresh_token: refreshToken }
  const wrong = { ...form, client_secret: 'x' }
  expect(await requestTokens(url, 'app', wrong)).toMatchObject(invalidClient)
  expect((await post(routes.refreshSession.path, { refreshToken })).status).toBe(400)
  expect(await renewTokens(url, browser.refreshToken)).toMatchObject(invalidGrant)
  expect(await stored()).toEqual(before)
  expect((await renewTokens(url, refreshToken)).status).toBe(200)
})

test('reuse of a client’s refresh token ends its session, but not that of the browser', async ({
  signedIn: browser,
  url,
  sql,
}) => {
  const dashboard = await openDashboard(url, browser)
  await sql(
    `UPDATE sessions SET generation = 2, rotated_at = now() - interval '1 minute' WHERE id = $1`,
    [claimsOf(dashboard.token).sid],
  )
  expect(await renewTokens(url, dashboard.refreshToken)).toMatchObject(invalidGrant)
  expect([await isLive(url, dashboard), await isLive(url, browser)]).toEqual([
    false,
    true,
  ])
})

test('a disabled client has no sessions, an enabled one has them again, and a removed one never', async ({
  signedIn: browser,
  url,
  sql,
}) => {
  const slug = `client-${randomUUID()}`
  await addClient(sql, slug, [dashboards.app])
  const dashboard = await openDashboard(url, browser, slug)
  const [code, later] = [
    (await clientCode(url, browser, slug))!,
    (await clientCode(url, browser, slug))!,
  ]
  const renewed = () => renewTokens(url, dashboard.refreshToken, slug)
  const set = (value: string) =>
    sql(`UPDATE clients SET disabled_at = ${value} WHERE slug = $1`, [slug])

  await set('now()')
  expect(await isLive(url, dashboard)).toBe(false)
  expect(await renewed()).toMatchObject(invalidClient)
  expect(await exchangeClientCode(url, code)).toMatchObject(invalidClient)

  await set('NULL')
  expect(await isLive(url, dashboard)).toBe(true)
  expect((await renewed()).status).toBe(200)
  const replacing = tokensOf(await exchangeClientCode(url, code))

  await sql('DELETE FROM clients WHERE slug = $1', [slug])
  expect(await isLive(url, replacing)).toBe(false)
  await addClient(sql, slug, [dashboards.app])
  expect(await isLive(url, replacing)).toBe(false)
  expect(await exchangeClientCode(url, later)).toMatchObject(invalidGrant)
})

test('the tokens of a client with its own lifetime expire earlier', async ({
  signedIn: browser,
  url,
  sql,
}) => {
  await sql(`UPDATE clients SET token_minutes = 5 WHERE slug = 'local'`)
  const { body } = await exchangeClientCode(
    url,
    (await clientCode(url, browser, 'local'))!,
  )
  const renewed = await renewTokens(url, body.refresh_token, 'local')
  await sql(`UPDATE clients SET token_minutes = NULL WHERE slug = 'local'`)
  for (const { access_token, id_token, expires_in } of [body, renewed.body]) {
    expect(expires_in).toBe(300)
    for (const each of [access_token, id_token])
      expect(claimsOf(each).exp - claimsOf(each).iat).toBe(300)
  }
})

test('userinfo describes the user of a live client, and nobody else', async ({
  signedIn: browser,
  user,
  post,
  url,
}) => {
  const dashboard = await openDashboard(url, browser)
  const ask = async (token: string | null, method = 'GET', headers = {}) => {
    const response = await documentedFetch(url + routes.getUserInfo.path, {
      method,
      headers: {
        'X-Forwarded-For': newAddress(),
        ...(token !== null && { Authorization: `Bearer ${token}` }),
        ...headers,
      },
    })
    const { requestId, ...body } = await response.json()
    return [response.status, response.headers.get('www-authenticate'), body.error ?? body]
  }

  const claims = {
    sub: user.id,
    email: user.email,
    email_verified: true,
    preferred_username: user.email,
  }
  for (const method of ['GET', 'POST'])
    expect(await ask(dashboard.token, method)).toEqual([200, null, claims])

  const invalid = [401, 'Bearer error="invalid_token"', 'invalid_token']
  expect(await ask(browser.token)).toEqual(invalid)
  expect(await ask(dashboard.idToken)).toEqual(invalid)
  expect(await ask('x')).toEqual(invalid)
  const Cookie = `session=${dashboard.token}`
  expect(await ask(null, 'GET', { Cookie })).toEqual([401, 'Bearer', 'invalid_token'])
  await post(routes.signOut.path, { refreshToken: dashboard.refreshToken })
  expect(await ask(dashboard.token)).toEqual(invalid)
})

test('a token with the keys of ID tokens or of widgets is no session', async ({
  user,
  post,
  url,
}) => {
  const { idToken, token } = await openDashboard(url, await signInByCode(post, user))
  const { ID_TOKEN_SIGNING_KEYS, WIDGET_SIGNING_KEYS } = env()
  const others = [ID_TOKEN_SIGNING_KEYS!, WIDGET_SIGNING_KEYS!].map((keys) =>
    keepSecret(signJwt('JWT', claimsOf(token), keys)),
  )
  for (const other of [idToken, ...others]) {
    expect(await isLive(url, { token: other })).toBe(false)
    const headers = { Authorization: `Bearer ${other}`, 'X-Forwarded-For': newAddress() }
    expect((await fetch(url + routes.getUserInfo.path, { headers })).status).toBe(401)
  }
})

test('the operations of the account reject the tokens of clients', async ({
  user,
  post,
  url,
}) => {
  const { token } = await openDashboard(url, await signInByCode(post, user))
  for (const way of [
    { Authorization: `Bearer ${token}` },
    { Cookie: `session=${token}` },
  ]) {
    const headers = { ...way, 'X-Forwarded-For': newAddress() }
    const listed = await fetch(url + routes.listSessions.path, { headers })
    expect(listed.status).toBe(401)
    const ended = await post(routes.endSessions.path, { others: true }, headers)
    expect(ended.status).toBe(401)
  }
})

test('pages of a public client can read the answers, and no cookie is read', async ({
  signedIn: browser,
  url,
}) => {
  const Origin = 'https://page.example.com'
  const preflight = await fetch(url + routes.issueTokens.path, {
    method: 'OPTIONS',
    headers: { Origin, 'Access-Control-Request-Method': 'POST' },
  })
  const names = ['access-control-allow-methods', 'access-control-allow-headers']
  expect(names.map((name) => preflight.headers.get(name))).toEqual([
    'POST',
    'Authorization, Content-Type',
  ])

  const sent = {
    Origin,
    'Sec-Fetch-Site': 'cross-site',
    'Sec-Fetch-Mode': 'cors',
    Cookie: `session=${browser.token}; refresh=${browser.refreshToken}`,
  }
  const code = (await clientCode(url, browser, 'page'))!
  const { status, headers } = await exchangeClientCode(url, code, {}, sent)
  expect([status, headers.get('access-control-allow-origin')]).toEqual([200, Origin])
  const again = await exchangeClientCode(url, code, {}, sent)
  expect([again.status, again.headers.get('access-control-allow-origin')]).toEqual([
    400,
    '*',
  ])
})

test('made-up codes use up the codes of one client only, and never its renewals', async ({
  user,
  serverWith,
}) => {
  const { url, post } = await serverWith(fewRequests)
  const browser = await signInByCode(post, user)
  const from = { 'X-Forwarded-For': newAddress() }
  const next = () => clientCode(url, { refreshToken: browser.refreshToken })
  const [first, last] = [(await next())!, (await next())!]
  const dashboard = tokensOf(await exchangeClientCode(url, first, {}, from))
  const madeUp = (slug: string, code: ClientCode = first) =>
    exchangeClientCode(url, { ...code, slug, code: 'made-up' }, {}, from)
  for (let count = 0; count < 3; count++)
    expect(await madeUp('app')).toMatchObject(invalidGrant)

  const { status, body, headers } = await exchangeClientCode(url, last)
  expect([status, body.error]).toEqual([429, 'temporarily_unavailable'])
  expect(Number(headers.get('retry-after'))).toBeGreaterThan(0)
  expect(await madeUp('reports')).toMatchObject(invalidGrant)
  expect((await renewTokens(url, dashboard.refreshToken)).status).toBe(200)

  // wrong secrets and public clients count by address
  const stranger = { 'X-Forwarded-For': newAddress() }
  const guess = () => exchangeClientCode(url, last, { client_secret: 'x' }, stranger)
  for (let count = 0; count < 4; count++)
    expect(await guess()).toMatchObject(invalidClient)
  expect((await guess()).status).toBe(429)
})

test('forms that are not valid get an error of OAuth', async ({ url }) => {
  const send = async (body: BodyInit, type?: string) => {
    const response = await documentedFetch(url + routes.issueTokens.path, {
      method: 'POST',
      body,
      headers: {
        'X-Forwarded-For': newAddress(),
        ...(type && { 'Content-Type': type }),
      },
    })
    return [response.status, (await response.json()).error]
  }
  const form = 'application/x-www-form-urlencoded'
  const fields = (count: number) =>
    Array.from({ length: count }, (_, index) => `${index}=`).join('&')
  expect(await send('{}', 'application/json')).toEqual([415, 'invalid_request'])
  expect(await send('', form)).toEqual([400, 'invalid_request'])
  expect(await send(`a=${'x'.repeat(17_000)}`, form)).toEqual([413, 'invalid_request'])
  expect(await send('grant_type=x&grant_type=x', form)).toEqual([400, 'invalid_request'])
  expect(await send('grant_type=%00', form)).toEqual([400, 'invalid_request'])
  expect(await send(fields(2_500), form)).toEqual([400, 'invalid_request'])
  const surrogate = 'grant_type=refresh_token&client_id=%ED%A0%80&refresh_token=%ED%A0%80'
  expect(await send(surrogate, form)).toEqual([401, 'invalid_client'])
  const wrongMethod = await documentedFetch(url + routes.issueTokens.path)
  expect([wrongMethod.status, (await wrongMethod.json()).error]).toEqual([
    405,
    'invalid_request',
  ])
})
