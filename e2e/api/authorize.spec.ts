import * as routes from '../../lib/contract/routes'
import { nextDestination } from '../../lib/http/next-path'
import {
  authorize,
  claimsOf,
  clientCode,
  clientOf,
  dashboards,
  exchangeClientCode,
  newRequest,
  openDashboard,
  renewTokens,
  tokensOf,
} from '../support/browsers/dashboard'
import { signInByCode, type Tokens } from '../support/databases/account'
import {
  exchangePath,
  expect,
  newCode,
  newUsers,
  type Post,
  postTo,
  test,
} from '../support/fixtures'
import { keepSecret, newAddress } from '../support/secrets'
import { otherValues, unreachableDatabase } from '../support/servers/settings'
import { send } from '../support/wire/raw-http'

const rejected = { status: 400, body: { error: 'invalid_grant' } }

/**
 * Returns for each session whether it is live. Introspection and a refresh must agree.
 */
function live(url: string, ...sessions: Tokens[]): Promise<boolean[]> {
  return Promise.all(
    sessions.map(async ({ token, refreshToken }) => {
      const headers = {
        Authorization: `Bearer ${token}`,
        'X-Forwarded-For': newAddress(),
      }
      const found =
        (await fetch(url + routes.getSession.path, { headers })).status === 200
      const slug = clientOf(token)
      const { status } = slug
        ? await renewTokens(url, refreshToken, slug)
        : await postTo(url + routes.refreshSession.path, { refreshToken }, headers)
      expect(status === 200).toBe(found)
      return found
    }),
  )
}

test('sends a signed-in browser to the callback, with a code', async ({
  signedIn: browser,
  user,
  post,
  url,
  sql,
}) => {
  const { query, state, codeVerifier } = newRequest()
  const response = await authorize(url, query, browser)
  expect(response.status).toBe(303)
  expect(response.headers.get('referrer-policy')).toBe('no-referrer')
  const callback = new URL(response.headers.get('location')!)
  const { code, ...others } = Object.fromEntries(callback.searchParams)
  expect(others).toEqual({ state, iss: url })
  expect(callback.origin + callback.pathname).toBe(dashboards.app)

  // The token endpoint ignores the cookies of another user, so that session stays live.
  const stranger = await signInByCode(post, (await newUsers(sql, 1))[0]!)
  const Cookie = `session=${stranger.token}; refresh=${stranger.refreshToken}`
  const issued = {
    slug: 'app',
    code: keepSecret(code!),
    codeVerifier,
    redirectUri: dashboards.app,
  }
  const exchanged = await exchangeClientCode(url, issued, {}, { Cookie })
  expect([exchanged.status, exchanged.headers.getSetCookie()]).toEqual([200, []])
  const dashboard = tokensOf(exchanged)
  const { sub, email, connection, sid, client_id } = claimsOf(dashboard.token)
  expect([sub, email, connection, client_id]).toEqual([
    user.id,
    user.email,
    undefined,
    'app',
  ])
  expect(sid).not.toBe(claimsOf(browser.token).sid)
  expect(await live(url, browser, dashboard, stranger)).toEqual([true, true, true])
  const [row] = await sql(
    `SELECT child.method, child.expires_at = parent.expires_at AND child.renewable_until = parent.expires_at AS ends
     FROM sessions AS child JOIN sessions AS parent ON parent.id = child.parent_id WHERE child.id = $1`,
    [sid],
  )
  expect(row).toEqual({ method: 'code', ends: true })
})

test('copies the method and the time of the sign-in to the dashboard’s session', async ({
  signedIn: browser,
  user,
  url,
  sql,
}) => {
  for (const [hours, amr] of [
    [2, ['pwd', 'otp', 'mfa']],
    [1, null],
  ] as const) {
    const earlier = `UPDATE sessions SET authenticated_at = created_at - make_interval(hours => $2), amr = $3 WHERE user_id = $1`
    await sql(earlier, [user.id, hours, amr])
    const opened = await openDashboard(url, browser)
    const renewed = tokensOf(await renewTokens(url, opened.refreshToken))
    const auth_time = claimsOf(browser.token).iat - hours * 3_600
    for (const { token, idToken } of [opened, renewed])
      for (const each of [token, idToken])
        expect(claimsOf(each)).toMatchObject({ auth_time, ...(amr && { amr }) })
    expect('amr' in claimsOf(opened.token)).toBe(amr !== null)
  }
})

test('returns the state unchanged, and preserves the query of the callback URL', async ({
  signedIn: browser,
  url,
}) => {
  const states = [
    '',
    'a b+c%2Bd&e=f',
    '{"returnTo":"/a#b"}',
    "a'b*(c)!~\\\0",
    'é🙂',
    'x'.repeat(2_000),
    '+'.repeat(1_000),
  ]
  for (const state of [...states, null]) {
    const { query } = newRequest('reports')
    if (state === null) query.delete('state')
    else query.set('state', state)
    const location = (await authorize(url, query, browser)).headers.get('location')!
    expect(location.startsWith(`${dashboards.reports}&code=`)).toBe(true)
    const sent = /&state=([^&]*)/.exec(location)?.[1] ?? null
    expect(sent && decodeURIComponent(sent), 'for those who decode no plus sign').toBe(
      state,
    )
    expect(new URL(location).searchParams.get('state')).toBe(state)
  }
})

test('redirects a browser without a session to the sign-in page, with the request as `next`', async ({
  url,
}) => {
  for (const state of ['short', '%2B'.repeat(1_000)]) {
    const { query } = newRequest()
    query.delete('state')
    const wanted = `${routes.authorize.path}?${query}&state=${state}`
    const location = (await authorize(url, `${query}&state=${state}`)).headers.get(
      'location',
    )!
    const page = new URL(location, url)
    expect([page.pathname, page.searchParams.get('next')]).toEqual(['/sign-in', wanted])
    expect(nextDestination(wanted, url, '/')).toBe(wanted)
    expect(
      (await fetch(page, { headers: { 'X-Forwarded-For': newAddress() } })).status,
    ).toBe(200)
  }
})

/** Cookies that cannot renew a session of a browser. */
const unusable: Record<string, (browser: Tokens, other: Tokens) => Partial<Tokens>> = {
  'a live JWT alone': ({ token }) => ({ token }),
  'a live JWT and an outdated refresh token': (browser) => browser,
  'a live JWT and the refresh token of a session that has ended': ({ token }, other) => ({
    token,
    refreshToken: other.refreshToken,
  }),
  'a live JWT and a fabricated refresh token': ({ token, refreshToken }) => ({
    token,
    refreshToken: keepSecret(refreshToken.replace(/.{4}$/, 'AAAA')),
  }),
}
for (const [what, cookiesOf] of Object.entries(unusable)) {
  test(`with ${what}, issues no code, and asks the user to sign in`, async ({
    user,
    post,
    url,
    sql,
  }) => {
    const [browser, other] = [
      await signInByCode(post, user),
      await signInByCode(post, user),
    ]
    await post(routes.signOut.path, { refreshToken: other.refreshToken })
    if (what.includes('outdated'))
      await sql(
        `UPDATE sessions SET generation = 2, rotated_at = now() - interval '1 hour' WHERE id = $1`,
        [claimsOf(browser.token).sid],
      )
    const cookies = cookiesOf(browser, other)
    const { query } = newRequest()
    const location = (await authorize(url, query, cookies)).headers.get('location')!
    const next = encodeURIComponent(`${routes.authorize.path}?${query}`)
    expect(location).toBe(`/sign-in?another&next=${next}`)
    expect(
      await sql('SELECT 1 FROM authorization_codes WHERE parent_id = $1', [
        claimsOf(browser.token).sid,
      ]),
    ).toEqual([])

    const headers = {
      Cookie: `session=${cookies.token}; refresh=${cookies.refreshToken ?? ''}`,
      'X-Forwarded-For': newAddress(),
    }
    const open = async (path: string) => (await fetch(url + path, { headers })).text()
    expect(await open('/sign-in')).toContain('You’re signed in') // the JWT is live
    expect(await open(location)).not.toContain('You’re signed in')
  })
}

test('makes the provider ask who signs in only if the browser was signed in', async ({
  user,
  post,
  url,
}) => {
  const { token } = await signInByCode(post, user)
  const cases = [
    ['', []],
    [`session=${token}`, [expect.stringMatching(/^ask=ask-account\.;/)]],
    [`session=${token}; ask=ask-login.`, []], // the stricter question after a sign-out stays
  ] as const
  for (const [Cookie, expected] of cases) {
    const headers = { Cookie, 'X-Forwarded-For': newAddress() }
    const response = await fetch(`${url}/sign-in?another`, { headers })
    const cookies = response.headers.getSetCookie()
    expect(
      cookies.filter((cookie) => cookie.startsWith('ask=')),
      Cookie,
    ).toEqual(expected)
  }
})

test('never redirects to a URL that is not registered', async ({
  signedIn: browser,
  url,
}) => {
  const { app, reports } = dashboards
  const lookAlikes = [
    ...['/', '?a=b', '#', '#x', '%2f', ' '].map((end) => app + end),
    ...[
      'http://app.example.com/callback',
      'https://app.example.com:443/callback',
      'https://APP.example.com/callback',
    ],
    ...[
      'https://app.example.com/Callback',
      'https://x.app.example.com/callback',
      'https://app.example.com/',
    ],
    ...[
      'https://app.example.com@evil.example/callback',
      'https://evil.example/?https://app.example.com/callback',
    ],
    ...[
      'javascript:alert(1)',
      '//app.example.com/callback',
      '/callback',
      `${url}/`,
      `${app},${reports}`,
      reports, // of another client
      '',
    ],
  ]
  const requests = lookAlikes.map((redirectUri) =>
    newRequest('app', redirectUri).query.toString(),
  )
  const valid = newRequest().query
  requests.push(`${valid}&redirect_uri=${encodeURIComponent(reports)}`) // two redirect URIs
  const withoutUri = newRequest().query
  withoutUri.delete('redirect_uri')
  const longState = newRequest().query
  longState.set('state', 'x'.repeat(2_001))
  const encodedState = newRequest().query // too long as `next` of the sign-in page
  encodedState.set('state', 'é'.repeat(1_300))
  for (const query of [...requests, withoutUri, longState, encodedState]) {
    const response = await authorize(url, String(query), browser)
    expect([response.status, response.headers.get('location')], String(query)).toEqual([
      400,
      null,
    ])
    expect(response.headers.get('content-security-policy')).toMatch(
      /^default-src 'none'; script-src 'nonce-/,
    )
    expect(await response.text()).toContain('<h1>This sign-in can’t start</h1>')
  }
})

test('accepts only top-level browser navigations', async ({ user, post, url }) => {
  const { refreshToken } = await signInByCode(post, user)
  const statuses = {
    'navigate document same-origin': 303,
    'navigate document cross-site': 303,
    'cors empty same-origin': 400,
    'no-cors image same-site': 400,
    'navigate iframe same-origin': 400,
    'navigate iframe cross-site': 403,
  }
  for (const [metadata, status] of Object.entries(statuses)) {
    const [mode, destination, site] = metadata.split(' ')
    const sent = {
      'Sec-Fetch-Mode': mode!,
      'Sec-Fetch-Dest': destination!,
      'Sec-Fetch-Site': site!,
    }
    const headers = {
      ...sent,
      Cookie: `refresh=${refreshToken}`,
      'X-Forwarded-For': newAddress(),
    }
    const response = await send(`${url}${routes.authorize.path}?${newRequest().query}`, {
      headers,
    })
    expect([response.status, response.headers.location !== undefined], metadata).toEqual([
      status,
      status === 303,
    ])
  }
})

const codesOf = `SELECT 1 FROM authorization_codes WHERE parent_id = (SELECT id FROM sessions WHERE user_id = $1)`
/** Changes of a valid request, and the error that the client gets. Null: left out. */
const invalidRequests: [changes: Record<string, string | null>, error: string][] = [
  [{ code_challenge: null }, 'invalid_request'],
  [{ code_challenge: '' }, 'invalid_request'],
  [{ code_challenge: 'x'.repeat(42) }, 'invalid_request'],
  [{ code_challenge: `${'x'.repeat(42)}+` }, 'invalid_request'],
  [{ code_challenge_method: null }, 'invalid_request'],
  [{ code_challenge_method: 'plain' }, 'invalid_request'],
  [{ code_challenge_method: 's256' }, 'invalid_request'],
  [{ code_challenge: null, code_challenge_method: null, nonce: null }, 'invalid_request'],
  [{ code_challenge: null, code_challenge_method: null, nonce: '' }, 'invalid_request'],
  [{ nonce: 'x'.repeat(501) }, 'invalid_request'],
  [{ nonce: 'a\0b' }, 'invalid_request'],
  [{ response_type: null }, 'unsupported_response_type'],
  [{ response_type: 'code id_token' }, 'unsupported_response_type'],
  [{ response_mode: 'form_post' }, 'invalid_request'],
  [{ scope: null }, 'invalid_scope'],
  [{ scope: 'email openidx' }, 'invalid_scope'],
  [{ prompt: 'none login' }, 'invalid_request'],
  [{ prompt: 'create' }, 'invalid_request'],
  [{ max_age: '-1' }, 'invalid_request'],
  [{ max_age: '1h' }, 'invalid_request'],
  [{ since: '1e3' }, 'invalid_request'],
  [{ since: String(Date.now() + 86_400_000) }, 'invalid_request'],
  [{ request: 'x' }, 'request_not_supported'],
  [{ request_uri: 'https://app.example.com/r' }, 'request_uri_not_supported'],
  [{ registration: '{}' }, 'registration_not_supported'],
]
test('an invalid request of a client gets its error, and no code', async ({
  signedIn: browser,
  user,
  url,
  sql,
}) => {
  for (const [changes, error] of invalidRequests) {
    const { query, state } = newRequest()
    for (const [name, value] of Object.entries(changes)) {
      if (value === null) query.delete(name)
      else query.set(name, value)
    }
    const location = (await authorize(url, query, browser)).headers.get('location')!
    const sent = Object.fromEntries(new URL(location).searchParams)
    expect(sent, JSON.stringify(changes)).toEqual({
      error,
      error_description: expect.stringMatching(/^[\x20-\x21\x23-\x5B\x5D-\x7E]+$/),
      iss: url,
      state,
    })
  }
  const once = [
    'state',
    'nonce',
    'scope',
    'code_challenge',
    'response_type',
    'login_hint',
  ]
  for (const name of once) {
    const repeated = `${newRequest().query}&${name}=x&${name}=x`
    const location = (await authorize(url, repeated, browser)).headers.get('location')!
    expect(new URL(location).searchParams.get('error'), name).toBe('invalid_request')
  }
  expect(await sql(codesOf, [user.id])).toEqual([])
})

test('a client uses PKCE, a nonce, or both, but a public client must use PKCE', async ({
  signedIn: browser,
  url,
}) => {
  const errorOf = async (slug: string, left: string[]) => {
    const { query } = newRequest(slug)
    for (const name of left) query.delete(name)
    const location = (await authorize(url, query, browser)).headers.get('location')!
    return new URL(location).searchParams.get('error')
  }
  const challenge = ['code_challenge', 'code_challenge_method']
  expect(await errorOf('app', challenge)).toBeNull()
  expect(await errorOf('app', ['nonce', 'state'])).toBeNull()
  expect(await errorOf('page', ['nonce'])).toBeNull()
  expect(await errorOf('page', challenge)).toBe('invalid_request')
})

test('ignores parameters that it does not know, and other scopes', async ({
  signedIn: browser,
  url,
}) => {
  const { query } = newRequest()
  query.set('scope', 'openid profile email offline_access groups')
  for (const name of ['ui_locales', 'display', 'acr_values', 'claims', 'resource'])
    query.set(name, 'x')
  const location = (await authorize(url, query, browser)).headers.get('location')!
  expect(new URL(location).searchParams.has('code')).toBe(true)
})

test('with prompt=none, a client gets a code or login_required, and the user no page', async ({
  signedIn: browser,
  url,
}) => {
  const { query, state } = newRequest()
  query.set('prompt', 'none')
  const answer = async (cookies: Partial<Tokens>) => {
    const location = (await authorize(url, query, cookies)).headers.get('location')!
    return Object.fromEntries(new URL(location).searchParams)
  }
  expect(Object.keys(await answer(browser))).toEqual(['code', 'iss', 'state'])
  for (const cookies of [{}, { token: browser.token }])
    expect(await answer(cookies)).toEqual({ error: 'login_required', iss: url, state })
})

test('a POST is repeated as a GET, which carries the cookies', async ({
  signedIn: browser,
  url,
}) => {
  const { query } = newRequest()
  const form = 'application/x-www-form-urlencoded'
  const sendForm = (body: URLSearchParams | string, type = form) =>
    send(url + routes.authorize.path, {
      method: 'POST',
      body: `${body}`,
      headers: {
        'X-Forwarded-For': newAddress(),
        'Sec-Fetch-Site': 'cross-site',
        'Sec-Fetch-Mode': 'navigate',
        'Sec-Fetch-Dest': 'document',
        'Content-Type': type,
      },
    })
  const response = await sendForm(query)
  expect(response.status).toBe(303)
  const location = response.headers.location!
  expect(location).toBe(`${routes.authorize.path}?${query}`)
  const repeated = await authorize(url, location.split('?')[1]!, browser)
  expect(repeated.headers.get('location')).toMatch(
    /^https:\/\/app\.example\.com\/callback\?code=/,
  )

  expect((await sendForm('{}', 'application/json')).status).toBe(400)
  expect((await sendForm(`state=${'x'.repeat(17_000)}`)).status).toBe(400)
})

test('a disabled or unknown client gets no redirect', async ({
  signedIn: browser,
  url,
  sql,
}) => {
  const refused = async (query: string) => {
    const response = await authorize(url, query, browser)
    const page = await response.text()
    expect(page).toContain('<h1>This sign-in can’t start</h1>')
    return [response.status, response.headers.get('location')]
  }
  const { query } = newRequest('reports')
  for (const id of ['', 'nobody', 'REPORTS', 'reports\0', 'app']) {
    const changed = new URLSearchParams(query)
    changed.set('client_id', id)
    expect(await refused(`${changed}`), id).toEqual([400, null])
  }
  expect(await refused(`${query}&client_id=reports`)).toEqual([400, null])

  await sql(`UPDATE clients SET disabled_at = now() WHERE slug = 'reports'`)
  expect(await refused(`${query}`)).toEqual([400, null])
  await sql(`UPDATE clients SET disabled_at = NULL WHERE slug = 'reports'`)
})

test('a dashboard session replaces the old one of the same dashboard and browser', async ({
  user,
  post,
  url,
  sql,
}) => {
  const [browser, otherBrowser] = [
    await signInByCode(post, user),
    await signInByCode(post, user),
  ]
  const first = await openDashboard(url, browser)
  const reports = await openDashboard(url, browser, 'reports')
  const elsewhere = await openDashboard(url, otherBrowser)
  const second = await openDashboard(url, browser)
  expect(await live(url, browser, first, reports, elsewhere, second)).toEqual([
    true,
    false,
    true,
    true,
    true,
  ])
  // A dashboard session can't start another dashboard session.
  expect(await clientCode(url, second)).toBeNull()
  expect(
    await sql('SELECT 1 FROM sessions WHERE user_id = $1 AND parent_id IS NOT NULL', [
      user.id,
    ]),
  ).toHaveLength(3)
})

/** Ways to end a browser's session and its dashboard sessions. */
const endings: Record<
  string,
  (post: Post, sessions: { browser: Tokens; dashboard: Tokens }) => ReturnType<Post>
> = {
  'a sign-out of the browser': (post, { browser }) =>
    post(
      routes.signOut.path,
      {},
      { Cookie: `session=${browser.token}; refresh=${browser.refreshToken}` },
    ),
  'a sign-out with the refresh token of a dashboard': (
    post,
    { dashboard: { refreshToken } },
  ) => post(routes.signOut.path, { refreshToken }),
  'a sign-out with the JWT of a dashboard': (post, { dashboard }) =>
    post(routes.signOut.path, {}, { Authorization: `Bearer ${dashboard.token}` }),
  'another sign-in of the browser': async (post, { browser }) =>
    post(
      exchangePath,
      { code: await newCode({ id: claimsOf(browser.token).sub, email: '' }) },
      { Cookie: `session=${browser.token}` },
    ),
}
for (const [what, end] of Object.entries(endings)) {
  test(`${what} ends the browser’s session and its dashboard sessions`, async ({
    user,
    post,
    url,
  }) => {
    const [browser, other] = [
      await signInByCode(post, user),
      await signInByCode(post, user),
    ]
    const dashboard = await openDashboard(url, browser)
    const reports = await openDashboard(url, browser, 'reports')
    const unused = await clientCode(url, browser)
    expect((await end(post, { browser, dashboard })).status).toBe(200)
    expect(await live(url, browser, dashboard, reports, other)).toEqual([
      false,
      false,
      false,
      true,
    ])
    expect(await exchangeClientCode(url, unused!)).toMatchObject(rejected)
    expect(await clientCode(url, browser)).toBeNull()
  })
}

test('accepts the refresh cookie alone if the browser’s session can be renewed', async ({
  signedIn: browser,
  user,
  url,
  sql,
}) => {
  const unused = await clientCode(url, browser)
  const dashboard = await openDashboard(url, browser)
  expect(await clientCode(url, { refreshToken: browser.refreshToken })).not.toBeNull()
  const change = (columns: string) =>
    sql(`UPDATE sessions SET ${columns} WHERE id = $1`, [claimsOf(browser.token).sid])
  await change(`renewable_until = now() + interval '1 hour'`)
  const limited = await openDashboard(url, browser)
  const ends =
    'SELECT renewable_until = (SELECT min(renewable_until) FROM sessions WHERE user_id = $2) AS ends FROM sessions WHERE id = $1'
  expect(await sql(ends, [claimsOf(limited.token).sid, user.id])).toEqual([
    { ends: true },
  ])
  await change('renewable_until = now()')
  expect(await clientCode(url, browser)).toBeNull()
  await change('renewable_until = NULL, expires_at = now()')
  expect(await clientCode(url, browser)).toBeNull()
  expect(await exchangeClientCode(url, unused!)).toMatchObject(rejected)
  expect(await live(url, browser, dashboard, limited)).toEqual([false, false, false])
})

test('without the database, the user gets a page that can be reloaded', async ({
  serverWith,
}) => {
  const broken = await serverWith(unreachableDatabase)
  const response = await authorize(broken.url, newRequest().query)
  expect([response.status, response.headers.get('retry-after')]).toEqual([503, '5'])
  expect(await response.text()).toContain('<h1>This page isn’t available right now</h1>')
  expect(await broken.output()).toContain('a client could not be read')
})

test('responds with 404 without ID_TOKEN_SIGNING_KEYS', async ({ serverWith }) => {
  const without = await serverWith(otherValues)
  expect((await authorize(without.url, newRequest().query)).status).toBe(404)
})

test('stores only hashes of the code and of the verifier', async ({
  signedIn: browser,
  url,
  sql,
}) => {
  const { code, codeVerifier } = (await clientCode(url, browser))!
  const [row] = await sql(
    'SELECT authorization_codes::text AS text FROM authorization_codes WHERE parent_id = $1',
    [claimsOf(browser.token).sid],
  )
  for (const secret of [code, codeVerifier]) expect(row!.text).not.toContain(secret)
})
