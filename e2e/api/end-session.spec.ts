import { createHmac, createPublicKey } from 'node:crypto'
import * as routes from '../../lib/contract/routes'
import { signJwt } from '../../lib/crypto/token'
import { env } from '../../lib/settings/env'
import {
  addClient,
  claimsOf,
  isLive,
  openDashboard,
  renewTokens,
  signedOutUri,
} from '../support/browsers/dashboard'
import { expireIdToken } from '../support/browsers/expired-token'
import { signInByCode, type Tokens } from '../support/databases/account'
import { cookiesOf, expect, newUsers, test } from '../support/fixtures'
import { keepSecret, newAddress } from '../support/secrets'
import { otherValues, unreachableDatabase } from '../support/servers/settings'
import { send } from '../support/wire/raw-http'

const path = routes.signOutForClient.path
const question = '<h1>Do you want to sign out?</h1>'

type Parameters = Record<string, string> | string

/**
 * Opens the endpoint as a browser with the cookies of a session does, after a link or a
 * form of another site, or of `site`.
 */
async function endSession(
  url: string,
  parameters: Parameters,
  browser: Tokens | null,
  { form = false, site = 'cross-site' } = {},
) {
  const encoded = `${new URLSearchParams(parameters)}`
  const response = await send(url + path + (form ? '' : `?${encoded}`), {
    method: form ? 'POST' : 'GET',
    headers: {
      'X-Forwarded-For': newAddress(),
      'Sec-Fetch-Site': site,
      'Sec-Fetch-Mode': 'navigate',
      'Sec-Fetch-Dest': 'document',
      ...(browser && {
        Cookie: `session=${browser.token}; refresh=${browser.refreshToken}`,
      }),
      ...(form && { 'Content-Type': 'application/x-www-form-urlencoded' }),
    },
    ...(form && { body: encoded }),
  })
  const { location = null, 'content-security-policy': policy } = response.headers
  const headers = new Headers()
  for (const cookie of response.headers['set-cookie'] ?? [])
    headers.append('Set-Cookie', cookie)

  return {
    status: response.status,
    location,
    policy,
    cookies: cookiesOf({ headers }),
    html: response.text,
  }
}

const ofApp = {
  client_id: 'app',
  post_logout_redirect_uri: signedOutUri('app'),
  state: 'a b&c',
}
const atApp = `${signedOutUri('app')}&state=a%20b%26c`

test('the ID token of a live session signs the browser and its clients out, without a question', async ({
  user,
  post,
  url,
}) => {
  const { client_id, ...registered } = ofApp
  const cases: [(idToken: string) => Parameters, string][] = [
    [(idToken) => ({ id_token_hint: idToken, ...registered }), atApp],
    [(idToken) => ({ id_token_hint: expireIdToken(idToken), ...ofApp }), atApp],
    [(idToken) => ({ id_token_hint: idToken }), '/?signed-out'],
  ]
  for (const [parameters, location] of cases) {
    const browser = await signInByCode(post, user)
    const [dashboard, other] = [
      await openDashboard(url, browser),
      await openDashboard(url, browser, 'reports'),
    ]
    const ended = await endSession(url, parameters(dashboard.idToken), browser)
    expect([ended.status, ended.location]).toEqual([303, location])
    expect(ended.cookies).toMatchObject({ session: '', refresh: '' })
    expect(ended.cookies.ask).toMatch(/^ask-login/)
    for (const session of [browser, dashboard, other])
      expect(await isLive(url, session)).toBe(false)
  }
})

test('the server of a client can end a session, without cookies', async ({
  user,
  post,
  url,
}) => {
  const [browser, elsewhere] = [
    await signInByCode(post, user),
    await signInByCode(post, user),
  ]
  const { idToken } = await openDashboard(url, browser)
  const { status } = await endSession(url, { id_token_hint: idToken }, null)
  expect(status).toBe(303)
  expect(await isLive(url, browser)).toBe(false)
  expect(await isLive(url, elsewhere)).toBe(true)
})

test('a POST of a client is repeated as a GET, which carries the cookies', async ({
  signedIn: browser,
  url,
}) => {
  const { idToken } = await openDashboard(url, browser)
  const parameters = { ...ofApp, id_token_hint: idToken }
  const { status, location } = await endSession(url, parameters, null, { form: true })
  expect(status).toBe(303)
  const { pathname, search } = new URL(location!, url)
  expect(pathname).toBe(path)
  expect(Object.fromEntries(new URLSearchParams(search))).toEqual(parameters)
  expect(await isLive(url, browser)).toBe(true)

  const ended = await endSession(url, search, browser)
  expect(ended.location).toBe(atApp)
  expect(await isLive(url, browser)).toBe(false)
})

test('without an ID token, the user is asked, and only a form of this site confirms', async ({
  signedIn: browser,
  user,
  url,
}) => {
  const dashboard = await openDashboard(url, browser)
  for (const parameters of [ofApp, {}, { confirmed: 'true' }]) {
    const asked = await endSession(url, parameters, browser)
    expect([asked.status, asked.location, asked.cookies]).toEqual([200, null, {}])
    expect(asked.html).toContain(question)
    expect(asked.html).toContain(user.email)
    const hasTarget = 'client_id' in parameters
    expect(asked.policy).toContain(
      hasTarget ? `form-action 'self' https://app.example.com;` : `form-action 'self';`,
    )
  }

  const confirmed = { ...ofApp, confirmed: 'true' }
  for (const site of ['cross-site', 'same-site', 'none']) {
    const sent = { form: true, site }
    const { location } = await endSession(url, confirmed, browser, sent)
    expect(location, site).toMatch(new RegExp(`^${path}\\?`))
    const asked = await endSession(url, location!.split('?')[1]!, browser)
    expect(asked.html).toContain(question)
  }
  expect(await isLive(url, browser)).toBe(true)

  const site = 'same-origin'
  const ended = await endSession(url, confirmed, browser, { form: true, site })
  expect([ended.status, ended.location]).toEqual([303, atApp])
  expect(ended.cookies).toMatchObject({ session: '', refresh: '' })
  expect(await isLive(url, browser)).toBe(false)
  expect((await renewTokens(url, dashboard.refreshToken)).status).toBe(400)

  // nobody is signed in: there is nothing to ask
  expect(await endSession(url, ofApp, browser)).toMatchObject({
    status: 303,
    location: atApp,
  })
})

test('the ID token of another session ends that session, and the user is asked', async ({
  signedIn: browser,
  user,
  post,
  url,
  sql,
}) => {
  const elsewhere = await signInByCode(post, (await newUsers(sql, 1))[0]!)
  const { idToken } = await openDashboard(url, elsewhere)
  const { status, html, cookies } = await endSession(
    url,
    { id_token_hint: idToken },
    browser,
  )
  expect([status, cookies]).toEqual([200, {}])
  expect(html).toContain(user.email)
  expect(await isLive(url, browser)).toBe(true)
  expect(await isLive(url, elsewhere)).toBe(false)
})

/** Parameters that lead to no client, by its ID token. */
const foreign: Record<string, Parameters | ((idToken: string) => Parameters)> = {
  'a URI that is not registered': {
    ...ofApp,
    post_logout_redirect_uri: 'https://app.example.com/',
  },
  'a URI of another client': {
    ...ofApp,
    post_logout_redirect_uri: signedOutUri('reports'),
  },
  'a redirect URI': {
    ...ofApp,
    post_logout_redirect_uri: 'https://app.example.com/callback',
  },
  'a URI without a client': { post_logout_redirect_uri: signedOutUri('app') },
  'an unknown client': { ...ofApp, client_id: 'unknown' },
  'a malformed client ID': { ...ofApp, client_id: "a' b\0" },
  'a host without a scheme': { ...ofApp, post_logout_redirect_uri: '//app.example.com/' },
  'a script': { ...ofApp, post_logout_redirect_uri: 'javascript:alert(1)' },
  'two URIs': `${new URLSearchParams(ofApp)}&post_logout_redirect_uri=https://evil.example/`,
  'a client that is not that of the ID token': (idToken) => ({
    ...ofApp,
    id_token_hint: idToken,
    client_id: 'reports',
    post_logout_redirect_uri: signedOutUri('reports'),
  }),
  'a fabricated ID token': { ...ofApp, id_token_hint: 'a.b.c' },
}
test('never redirects to a URL that is not registered, and ends on our own page', async ({
  signedIn: browser,
  url,
}) => {
  const { idToken } = await openDashboard(url, browser)
  for (const [what, given] of Object.entries(foreign)) {
    const parameters = typeof given === 'function' ? given(idToken) : given
    const asked = await endSession(url, parameters, browser)
    expect([asked.status, asked.html.includes('post_logout')], what).toEqual([200, false])
    expect(asked.policy).toContain(`form-action 'self';`)
    const done = await endSession(url, parameters, null)
    expect([done.status, done.location], what).toEqual([303, '/?signed-out'])
  }
  expect(await isLive(url, browser)).toBe(true)
})

test('a disabled client gets no redirect', async ({ url, sql }) => {
  await addClient(sql, 'retired', ['https://retired.example.com/'])
  await sql(`UPDATE clients SET disabled_at = now() WHERE slug = 'retired'`)
  const parameters = {
    client_id: 'retired',
    post_logout_redirect_uri: 'https://retired.example.com/signed-out?by=user',
  }
  expect((await endSession(url, parameters, null)).location).toBe('/?signed-out')
})

/** Tokens that are no ID token of this service. */
const fabricated: Record<string, (session: Tokens & { idToken: string }) => string> = {
  'signed with the keys of sessions': ({ idToken }) =>
    signJwt('JWT', claimsOf(idToken), env().SESSION_SIGNING_KEYS),
  'of another type': ({ idToken }) =>
    signJwt('logout+jwt', claimsOf(idToken), env().ID_TOKEN_SIGNING_KEYS!),
  'of another issuer': ({ idToken }) =>
    signJwt(
      'JWT',
      { ...claimsOf(idToken), iss: 'https://other.example' },
      env().ID_TOKEN_SIGNING_KEYS!,
    ),
  'an access token': ({ token }) => token,
  'without a signature': ({ idToken }) =>
    `${encode({ alg: 'none', typ: 'JWT' })}.${idToken.split('.')[1]}.`,
  'HS256 with the public key': ({ idToken }) => {
    const { kid, privateKey } = env().ID_TOKEN_SIGNING_KEYS!
    const key = createPublicKey(privateKey).export({ type: 'spki', format: 'pem' })
    const input = `${encode({ alg: 'HS256', typ: 'JWT', kid })}.${idToken.split('.')[1]}`
    return `${input}.${createHmac('sha256', key).update(input).digest('base64url')}`
  },
  'with changed claims': ({ idToken }) =>
    idToken.replace(/\.(.*)\./, (_, claims) => {
      const changed = { ...JSON.parse(Buffer.from(claims, 'base64url').toString()) }
      return `.${encode({ ...changed, aud: 'reports' })}.`
    }),
}
const encode = (part: object) => Buffer.from(JSON.stringify(part)).toString('base64url')
test('a token that is no ID token of this service ends nothing', async ({
  signedIn: browser,
  url,
}) => {
  const dashboard = await openDashboard(url, browser)
  for (const [what, fabricate] of Object.entries(fabricated)) {
    const parameters = { id_token_hint: keepSecret(fabricate(dashboard)), ...ofApp }
    const asked = await endSession(url, parameters, browser)
    expect([asked.status, asked.html.includes(question)], what).toEqual([200, true])
    expect((await endSession(url, parameters, null)).location).toBe('/?signed-out')
  }
  expect(await isLive(url, browser)).toBe(true)
  expect(await isLive(url, dashboard)).toBe(true)
})

test('pages of other sites can neither embed nor read the endpoint', async ({
  signedIn: browser,
  url,
}) => {
  const { idToken } = await openDashboard(url, browser)
  for (const destination of ['iframe', 'image']) {
    const { status, headers } = await send(`${url}${path}?id_token_hint=${idToken}`, {
      headers: {
        'X-Forwarded-For': newAddress(),
        Origin: 'https://app.example.com',
        'Sec-Fetch-Site': 'cross-site',
        'Sec-Fetch-Mode': destination === 'iframe' ? 'navigate' : 'no-cors',
        'Sec-Fetch-Dest': destination,
      },
    })
    expect([status, headers['access-control-allow-origin']]).toEqual([403, undefined])
  }
  expect(await isLive(url, browser)).toBe(true)
})

test('without the database, the user can repeat the sign-out, and keeps the cookies', async ({
  signedIn: browser,
  serverWith,
  url,
}) => {
  const { idToken } = await openDashboard(url, browser)
  const broken = await serverWith(unreachableDatabase)
  const { status, html, cookies } = await endSession(
    broken.url,
    { id_token_hint: idToken },
    browser,
  )
  expect([status, cookies]).toEqual([503, {}])
  expect(html).toContain('<h1>This page isn’t available right now</h1>')
  expect(await broken.output()).toContain('a session could not be ended')
})

test('responds with 404 without ID_TOKEN_SIGNING_KEYS', async ({ serverWith }) => {
  const without = await serverWith(otherValues)
  expect((await endSession(without.url, {}, null)).status).toBe(404)
})
