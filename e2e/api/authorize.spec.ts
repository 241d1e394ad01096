import * as routes from '../../lib/contract/routes'
import { hashSecret } from '../../lib/crypto/token'
import { nextDestination } from '../../lib/http/next-path'
import {
  authorize,
  dashboardCode,
  dashboards,
  newRequest,
} from '../support/browsers/dashboard'
import {
  exchangePath,
  expect,
  newCode,
  newUsers,
  type Post,
  postTo,
  test,
  type User,
} from '../support/fixtures'
import { keepSecret, newAddress } from '../support/secrets'
import { otherValues, unreachableDatabase } from '../support/servers/settings'
import { send } from '../support/wire/raw-http'

const claimsOf = (token: string) =>
  JSON.parse(Buffer.from(token.split('.')[1]!, 'base64url').toString())
const rejected = { status: 400, body: { code: 'SSO_EXCHANGE_INVALID' } }

type Tokens = { token: string; refreshToken: string }

async function signIn(post: Post, user: User): Promise<Tokens> {
  return (await post(exchangePath, { code: await newCode(user) })).body as Tokens
}

/**
 * Opens a dashboard in a signed-in browser. Returns the tokens that the dashboard's
 * server receives.
 */
async function openDashboard(
  post: Post,
  url: string,
  browser: Tokens,
  redirectUri?: string,
): Promise<Tokens> {
  const { status, body } = await post(
    exchangePath,
    await dashboardCode(url, browser, redirectUri),
  )
  expect(status).toBe(200)
  return body as Tokens
}

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
      const { status } = await postTo(
        url + routes.refreshSession.path,
        { refreshToken },
        headers,
      )
      expect(status === 200).toBe(found)
      return found
    }),
  )
}

test('sends a signed-in browser to the callback, with a code', async ({
  user,
  post,
  url,
  sql,
}) => {
  const browser = await signIn(post, user)
  const { query, state, codeVerifier } = newRequest()
  const response = await authorize(url, query, browser)
  expect(response.status).toBe(303)
  expect(response.headers.get('referrer-policy')).toBe('no-referrer')
  const callback = new URL(response.headers.get('location')!)
  const { code, ...others } = Object.fromEntries(callback.searchParams)
  expect(others).toEqual({ state, iss: url })
  expect(callback.origin + callback.pathname).toBe(dashboards.app)

  // The exchange ignores the cookies of another user, so the session of that user stays
  // live.
  const stranger = await signIn(post, (await newUsers(sql, 1))[0]!)
  const Cookie = `session=${stranger.token}; refresh=${stranger.refreshToken}`
  const { status, body, headers } = await post(
    exchangePath,
    { code: keepSecret(code!), codeVerifier },
    { Cookie },
  )
  expect([status, headers.getSetCookie()]).toEqual([200, []])
  expect(Object.keys(body)).toEqual(['ok', 'token', 'refreshToken'])
  const { sub, email, connection, sid } = claimsOf(body.token!)
  expect([sub, email, connection]).toEqual([user.id, user.email, undefined])
  expect(sid).not.toBe(claimsOf(browser.token).sid)
  expect(await live(url, browser, body as Tokens, stranger)).toEqual([true, true, true])
  const [row] = await sql(
    `SELECT child.method, child.expires_at = parent.expires_at AND child.renewable_until = parent.expires_at AS ends
     FROM sessions AS child JOIN sessions AS parent ON parent.id = child.parent_id WHERE child.id = $1`,
    [sid],
  )
  expect(row).toEqual({ method: 'code', ends: true })
})

test('copies the method and the time of the sign-in to the dashboard’s session', async ({
  user,
  post,
  url,
  sql,
}) => {
  const browser = await signIn(post, user)
  for (const [hours, amr] of [
    [2, ['pwd', 'otp', 'mfa']],
    [1, null],
  ] as const) {
    const earlier = `UPDATE sessions SET authenticated_at = created_at - make_interval(hours => $2), amr = $3 WHERE user_id = $1`
    await sql(earlier, [user.id, hours, amr])
    const opened = await openDashboard(post, url, browser)
    const renewed = (
      await post(routes.refreshSession.path, { refreshToken: opened.refreshToken })
    ).body as Tokens
    const auth_time = claimsOf(browser.token).iat - hours * 3_600
    for (const { token } of [opened, renewed])
      expect(claimsOf(token)).toMatchObject({ auth_time, ...(amr && { amr }) })
    expect('amr' in claimsOf(opened.token)).toBe(amr !== null)
  }
})

test('returns the state unchanged, and preserves the query of the callback URL', async ({
  user,
  post,
  url,
}) => {
  const browser = await signIn(post, user)
  const states = [
    '',
    'a b+c%2Bd&e=f',
    '{"returnTo":"/a#b"}',
    "a'b*(c)!~\\\0",
    'é🙂',
    'x'.repeat(1_000),
    '+'.repeat(1_000),
  ]
  for (const state of [...states, null]) {
    const { query } = newRequest(dashboards.reports)
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
    const [browser, other] = [await signIn(post, user), await signIn(post, user)]
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
      await sql('SELECT 1 FROM exchange_codes WHERE parent_id = $1', [
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
  const { token } = await signIn(post, user)
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

test('never redirects to a URL that is not registered', async ({ user, post, url }) => {
  const browser = await signIn(post, user)
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
      '',
    ],
  ]
  const requests = lookAlikes.map((redirectUri) =>
    newRequest(redirectUri).query.toString(),
  )
  const valid = newRequest().query
  requests.push(`${valid}&redirect_uri=${encodeURIComponent(reports)}`) // two redirect URIs
  const withoutUri = newRequest().query
  withoutUri.delete('redirect_uri')
  const longState = newRequest().query
  longState.set('state', 'x'.repeat(1_001))
  const encodedState = newRequest().query // too long as `next` of the sign-in page
  encodedState.set('state', 'é'.repeat(900))
  for (const query of [...requests, withoutUri, longState, encodedState]) {
    const response = await authorize(url, String(query), browser)
    expect([response.status, response.headers.get('location')], String(query)).toEqual([
      400,
      null,
    ])
    expect(response.headers.get('content-security-policy')).toMatch(
      /^default-src 'none'; style-src 'nonce-/,
    )
    expect(await response.text()).toContain('<h1>This sign-in can’t start</h1>')
  }
})

test('accepts only top-level browser navigations', async ({ user, post, url }) => {
  const { refreshToken } = await signIn(post, user)
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

test('redirects with an error if the challenge is missing, plain or malformed', async ({
  user,
  post,
  url,
  sql,
}) => {
  const browser = await signIn(post, user)
  const changes: [string, string | null][] = [
    ['code_challenge', null],
    ['code_challenge', ''],
    ['code_challenge', 'x'.repeat(42)],
    ['code_challenge', `${'x'.repeat(42)}+`],
    ['code_challenge_method', null],
    ['code_challenge_method', 'plain'],
    ['code_challenge_method', 's256'],
  ]
  for (const [name, value] of changes) {
    const { query, state } = newRequest()
    if (value === null) query.delete(name)
    else query.set(name, value)
    const location = new URL(
      (await authorize(url, query, browser)).headers.get('location')!,
    )
    const expected = { error: 'invalid_request', iss: url, state }
    expect(Object.fromEntries(location.searchParams), `${name}=${value}`).toEqual(
      expected,
    )
  }
  const { query } = newRequest()
  const twice = new URL(
    (await authorize(url, `${query}&code_challenge=x`, browser)).headers.get('location')!,
  )
  expect(twice.searchParams.get('error')).toBe('invalid_request')
  expect(
    await sql('SELECT 1 FROM exchange_codes WHERE user_id = $1 AND used_at IS NULL', [
      user.id,
    ]),
  ).toEqual([])
})

test('accepts a code only with the verifier that matches its challenge', async ({
  serverWith,
  user,
  post,
  url,
}) => {
  const server = await serverWith()
  const browser = await signIn(post, user)
  const [own, other] = [
    (await dashboardCode(url, browser))!,
    (await dashboardCode(url, browser))!,
  ]
  const exchange = (body: object, headers = {}) =>
    server.post(exchangePath, body, headers)
  const Cookie = `session=${browser.token}; refresh=${browser.refreshToken}`
  for (const codeVerifier of [
    other.codeVerifier,
    undefined,
    '',
    own.code,
    own.codeVerifier.slice(1),
  ])
    expect(await exchange({ code: own.code, codeVerifier }, { Cookie })).toMatchObject(
      rejected,
    )
  const invalid = await exchange({ code: own.code, codeVerifier: 1 })
  expect([invalid.body.code, invalid.body.issues![0]!.path]).toEqual([
    'VALIDATION_ERROR',
    ['codeVerifier'],
  ])
  // RFC 9700 §4.8.2: a verifier must not be accepted for a code that was issued without a
  // challenge
  const plain = await newCode(user)
  expect(await exchange({ code: plain, codeVerifier: own.codeVerifier })).toMatchObject(
    rejected,
  )
  expect((await exchange({ code: plain })).status).toBe(200)

  const dashboard = (await exchange(own)).body as Tokens
  expect(await live(url, browser, dashboard)).toEqual([true, true])
  // Reuse of a code with a wrong verifier changes nothing. With the right verifier, it
  // ends the session.
  expect(
    await exchange({ code: own.code, codeVerifier: other.codeVerifier }),
  ).toMatchObject(rejected)
  expect(await exchange({ code: own.code }, { Cookie })).toMatchObject(rejected)
  expect(await live(url, browser, dashboard)).toEqual([true, true])
  const held = { Cookie: `session=${dashboard.token}` } // for a code without a challenge, this cookie allows a repeat
  expect(await exchange(own, held)).toMatchObject(rejected)
  expect(await live(url, browser, dashboard)).toEqual([true, false])

  const warnings = (await server.output()).match(/"msg":"an exchange code was [^"]+"/g)!
  const unverified =
    '"msg":"an exchange code was presented without its verifier: nothing was changed"'
  const reused = '"msg":"an exchange code was reused: its session was revoked"'
  expect(warnings).toEqual([...Array(8).fill(unverified), reused])
})

test('a dashboard session replaces the old one of the same dashboard and browser', async ({
  user,
  post,
  url,
  sql,
}) => {
  const [browser, otherBrowser] = [await signIn(post, user), await signIn(post, user)]
  const first = await openDashboard(post, url, browser)
  const reports = await openDashboard(post, url, browser, dashboards.reports)
  const elsewhere = await openDashboard(post, url, otherBrowser)
  const second = await openDashboard(post, url, browser)
  expect(await live(url, browser, first, reports, elsewhere, second)).toEqual([
    true,
    false,
    true,
    true,
    true,
  ])
  // A dashboard session can't start another dashboard session.
  expect(await dashboardCode(url, second)).toBeNull()
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
    const [browser, other] = [await signIn(post, user), await signIn(post, user)]
    const dashboard = await openDashboard(post, url, browser)
    const reports = await openDashboard(post, url, browser, dashboards.reports)
    const unused = await dashboardCode(url, browser)
    expect((await end(post, { browser, dashboard })).status).toBe(200)
    expect(await live(url, browser, dashboard, reports, other)).toEqual([
      false,
      false,
      false,
      true,
    ])
    expect(await post(exchangePath, unused)).toMatchObject(rejected)
    expect(await dashboardCode(url, browser)).toBeNull()
  })
}

test('accepts the refresh cookie alone if the browser’s session can be renewed', async ({
  user,
  post,
  url,
  sql,
}) => {
  const browser = await signIn(post, user)
  const unused = await dashboardCode(url, browser)
  const dashboard = await openDashboard(post, url, browser)
  expect(await dashboardCode(url, { refreshToken: browser.refreshToken })).not.toBeNull()
  const change = (columns: string) =>
    sql(`UPDATE sessions SET ${columns} WHERE id = $1`, [claimsOf(browser.token).sid])
  await change(`renewable_until = now() + interval '1 hour'`)
  const limited = await openDashboard(post, url, browser)
  const ends =
    'SELECT renewable_until = (SELECT min(renewable_until) FROM sessions WHERE user_id = $2) AS ends FROM sessions WHERE id = $1'
  expect(await sql(ends, [claimsOf(limited.token).sid, user.id])).toEqual([
    { ends: true },
  ])
  await change('renewable_until = now()')
  expect(await dashboardCode(url, browser)).toBeNull()
  await change('renewable_until = NULL, expires_at = now()')
  expect(await dashboardCode(url, browser)).toBeNull()
  expect(await post(exchangePath, unused)).toMatchObject(rejected)
  expect(await live(url, browser, dashboard, limited)).toEqual([false, false, false])
})

test('reports an unavailable database, and sends 404 without DASHBOARD_CALLBACK_URLS', async ({
  serverWith,
  user,
  post,
}) => {
  const browser = await signIn(post, user)
  const broken = await serverWith(unreachableDatabase)
  const { query, state } = newRequest()
  const response = await authorize(broken.url, query, browser)
  const { searchParams } = new URL(response.headers.get('location')!)
  expect(Object.fromEntries(searchParams)).toEqual({
    error: 'temporarily_unavailable',
    iss: broken.url,
    state,
  })
  expect(await broken.output()).toContain('a dashboard could not get a code')

  const without = await serverWith(otherValues)
  expect((await authorize(without.url, query, browser)).status).toBe(404)
})

test('stores only hashes of the code and of the verifier', async ({
  user,
  post,
  url,
  sql,
}) => {
  const browser = await signIn(post, user)
  const { code, codeVerifier } = (await dashboardCode(url, browser))!
  const [row] = await sql(
    'SELECT code_hash, code_challenge, exchange_codes::text AS text FROM exchange_codes WHERE parent_id = $1',
    [claimsOf(browser.token).sid],
  )
  expect(row).toMatchObject({
    code_hash: Buffer.from(hashSecret(code)),
    code_challenge: Buffer.from(hashSecret(codeVerifier)),
  })
  for (const secret of [code, codeVerifier]) expect(row!.text).not.toContain(secret)
})
