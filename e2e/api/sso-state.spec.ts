import { deflateRawSync } from 'node:zlib'
import { lifetimes } from '../../lib/contract/lifetimes'
import * as routes from '../../lib/contract/routes'
import { newSecret } from '../../lib/crypto/token'
import { endSessions } from '../../lib/session/revoke'
import { env } from '../../lib/settings/env'
import {
  newSigningKeys,
  parseSigningKeys,
  rotateSigningKeys,
} from '../../lib/settings/signing-keys'
import { claimAttempt, startAttempt } from '../../lib/sso/attempt'
import { findConnection } from '../../lib/sso/connection'
import { SamlVisitor } from '../support/browsers/saml-visitor'
import {
  type Answer,
  type Kind,
  kindNames,
  type Sso,
  send,
  testWithSso,
  withState,
} from '../support/browsers/sso-kinds'
import {
  codesOf,
  errorOf,
  expireAttempts,
  logLine,
  Visitor,
} from '../support/browsers/sso-visitor'
import { expect, type Sql, test } from '../support/fixtures'
import { clientSecret } from '../support/providers/oidc-provider'
import { keepSecret } from '../support/secrets'

// Which browser may complete a sign-in, how often and until when, and how a sign-in
// begins again.

let { server, provider, samlProvider, kinds } = {} as Sso
testWithSso((sso) => ({ server, provider, samlProvider, kinds } = sso))

/** Starts a sign-in as a new visitor, and continues until the provider's answer. */
async function begin(kind: Kind, slug: string, next?: string) {
  const visitor = new Visitor(server.url)
  const request = await visitor.start(slug, next)
  const state = request.searchParams.get(kind.state)!
  return { visitor, request, state, answer: await kind.answer(slug, request) }
}
/** Returns the error in the browser, and the check in the log. */
const readOutcome = async (visitor: Visitor, answer: Answer, withCookies?: boolean) => {
  const landing = await visitor.open(answer.path, answer.form, withCookies)
  return [errorOf(landing), (await logLine(visitor, server)).check]
}
const whereConnection =
  'WHERE connection_id = (SELECT id FROM connections WHERE slug = $1)'
const countUnclaimed = async (sql: Sql, slug: string) =>
  (
    await sql(`SELECT 1 FROM sso_attempts ${whereConnection} AND claimed_at IS NULL`, [
      slug,
    ])
  ).length
const startPath = (slug: string, query: string) => `/api/auth/sso/${slug}/start?${query}`

for (const name of kindNames) {
  test(`${name}: a state is rejected for another connection or browser, or if it is unknown, and is not used up`, async ({
    sql,
  }) => {
    const kind = kinds[name]
    const [otherSlug, slug] = [await kind.connect(), await kind.connect()]
    const { visitor, answer } = await begin(kind, slug, '/reports')
    const other = new Visitor(server.url)
    await other.start(slug)
    const unknown = withState(answer, kind.state, keepSecret(newSecret()))
    const elsewhere = { ...answer, path: answer.path.replace(slug, otherSlug) }
    for (const [who, sent, check] of [
      [visitor, unknown, 'state_unknown'],
      [visitor, elsewhere, 'state_connection'],
      // A form on a sibling subdomain sends cookies, so the wrong browser is detected
      // immediately.
      [other, answer, 'state_browser'],
    ] as const)
      expect(await readOutcome(who, sent, true)).toEqual(['attempt_invalid', check])
    expect(await countUnclaimed(sql, slug)).toBe(2)

    const landing = await visitor.open(answer.path, answer.form, true)
    expect([errorOf(landing), landing.searchParams.get('next')]).toEqual([
      null,
      '/reports',
    ])
  })

  test(`${name}: a state is accepted only once, even if it is used concurrently, and expires after 20 minutes`, async ({
    sql,
  }) => {
    const kind = kinds[name]
    const slug = await kind.connect()
    const { visitor, answer } = await begin(kind, slug)
    const late = await begin(kind, slug)
    const landings = await Promise.all(
      Array.from({ length: 20 }, () => send(visitor, answer)),
    )
    expect(landings.filter((landing) => errorOf(landing) === null)).toHaveLength(1)
    expect(await readOutcome(visitor, answer)).toEqual(['attempt_invalid', 'state_used'])
    expect(await codesOf(sql, slug)).toHaveLength(1)

    const expired = await sql(
      `UPDATE sso_attempts SET expires_at = now() WHERE state_hash = sha256($1::bytea)
         AND expires_at = created_at + interval '20 minutes' RETURNING 1`,
      [late.state],
    )
    expect(expired).toHaveLength(1)
    expect(await readOutcome(late.visitor, late.answer)).toEqual([
      'attempt_invalid',
      'state_expired',
    ])
  })

  test(`${name}: a sign-in that began with another issuer of the connection begins again`, async ({
    sql,
  }) => {
    const kind = kinds[name]
    const slug = await kind.connect()
    const { visitor, answer } = await begin(kind, slug, '/reports')
    // as if the connection was moved after the start had read its settings
    await sql(
      `UPDATE sso_attempts SET issuer = 'https://old.example' ${whereConnection}`,
      [slug],
    )
    const landing = await visitor.open(answer.path, answer.form)
    expect(landing.pathname + landing.search).toBe(
      `/api/auth/sso/${slug}/start?next=%2Freports&again`,
    )
    expect((await logLine(visitor, server)).check).toBe('connection_changed')
    expect(await codesOf(sql, slug)).toEqual([])
  })

  test(`${name}: only the browser that began a sign-in can use its code`, async () => {
    const kind = kinds[name]
    const slug = await kind.connect()
    const { visitor, answer } = await begin(kind, slug)
    const another = new Visitor(server.url)
    another.cookies.set('browser', keepSecret(newSecret()))
    // A form on another site sends no cookies, so the wrong browser can deliver it.
    const sender = answer.form ? another : visitor
    const landing = await send(sender, answer)
    expect((await another.exchange(landing)).body.code).toBe('SSO_EXCHANGE_INVALID')
    expect((await visitor.exchange(landing)).status).toBe(200)
  })

  test(`${name}: a sign-in that can’t be continued starts again with the same connection and \`next\`, but only once`, async ({
    sql,
  }) => {
    const kind = kinds[name]
    const slug = await kind.connect()
    const { visitor, answer } = await begin(kind, slug, '/reports')
    const wanted = startPath(slug, 'next=%2Freports&again')
    await expireAttempts(sql, slug)
    const again = await send(visitor, answer)
    expect(again.pathname + again.search).toBe(wanted)
    const second = await visitor.open(wanted)
    expect(second.searchParams.has(kind.state)).toBe(true)

    await expireAttempts(sql, slug)
    await send(visitor, await kind.answer(slug, second))
    const landing = await visitor.open(wanted)
    expect(landing.pathname + landing.search).toBe(
      '/sso/callback?error=attempt_invalid&next=%2Freports',
    )
    expect((await logLine(visitor, server)).check).toBe('again')
    const third = await visitor.open(wanted)
    expect(third.searchParams.has(kind.state), 'after the page').toBe(true)

    // A successful sign-in deletes the cookie that marks a restart.
    expect(errorOf(await send(visitor, await kind.answer(slug, third)))).toBeNull()
    const fourth = await visitor.open(wanted)
    expect(fourth.searchParams.has(kind.state), 'after a sign-in').toBe(true)
  })

  test(`${name}: stores no secret of a sign-in or of a connection in plain text`, async ({
    sql,
  }) => {
    const kind = kinds[name]
    const slug = await kind.connect()
    const { visitor, request, state } = await begin(kind, slug)
    const [row] = await sql(
      `SELECT sso_attempts::text AS attempt, connections::text AS connection FROM sso_attempts
       JOIN connections ON connections.id = connection_id WHERE slug = $1`,
      [slug],
    )
    const nonce = request.searchParams.get('nonce') ?? []
    const forms = (text: string) => [
      text,
      Buffer.from(text).toString('hex'),
      Buffer.from(text, 'base64url').toString('hex'),
    ]
    for (const secret of [state, visitor.cookies.get('browser')!].concat(nonce))
      for (const form of forms(secret)) expect(row!.attempt).not.toContain(form)
    const [, line] = samlProvider.settings.privateKey.split('\n')
    for (const form of [...forms(clientSecret), ...forms(line!)])
      expect(row!.connection).not.toContain(form)
  })
}

test('rejects a missing or malformed state, and asks the provider nothing', async () => {
  const kind = kinds['OpenID Connect']
  const { visitor, answer } = await begin(kind, await kind.connect())
  provider.requests.length = 0
  for (const [state, check] of [
    [null, 'state_missing'],
    ['', 'state_missing'],
    ['née\u0000☂', 'state_unknown'],
  ] as const)
    expect(await readOutcome(visitor, withState(answer, 'state', state))).toEqual([
      'attempt_invalid',
      check,
    ])
  const failed = { path: `${answer.path.split('?')[0]}?state=x&error=Call+555` }
  expect(await readOutcome(visitor, failed)).toEqual(['attempt_invalid', 'state_unknown'])
  expect(provider.requests).toEqual([])
})

/** The known errors of a provider: the error and the title of our page. */
const providerErrors: Record<string, [error: string, title: string]> = {
  access_denied: ['access_denied', 'You weren’t signed in'],
  login_required: ['login_required', 'Sign in to your organization again'],
  temporarily_unavailable: [
    'temporarily_unavailable',
    'Sign-in at your organization isn’t available',
  ],
  server_error: ['server_error', 'Sign-in at your organization had a problem'],
  invalid_request: ['other', 'Your organization’s sign-in service didn’t sign you in'],
  invalid_scope: ['other', 'Your organization’s sign-in service didn’t sign you in'],
}
for (const [code, [error, title]] of Object.entries(providerErrors))
  test(`names the error ${code} of the provider with no, an unknown and a used state, and starts no sign-in`, async ({
    sql,
  }) => {
    const kind = kinds['OpenID Connect']
    const slug = await kind.connect()
    const { visitor, answer, state: used } = await begin(kind, slug, '/reports')
    await send(visitor, answer)
    await visitor.start(slug)
    const [attempts] = await sql(`SELECT count(*) FROM sso_attempts ${whereConnection}`, [
      slug,
    ])
    for (const state of [null, keepSecret(newSecret()), used])
      for (const browser of [visitor, new Visitor(server.url)]) {
        const query = new URLSearchParams({ error: code, error_description: 'Call 555' })
        if (state) query.set('state', state)
        const landing = await browser.open(`/api/auth/sso/${slug}/callback?${query}`)
        expect(landing.pathname + landing.search).toBe(`/sso/callback?error=${error}`)
        expect(await logLine(browser, server)).toMatchObject({
          check: `provider_${code}`,
          connection: slug,
        })
        const page = await browser.request(landing.pathname + landing.search)
        expect(await page.text()).toContain(`>${title}</h1>`)
      }
    expect(
      await sql(`SELECT count(*) FROM sso_attempts ${whereConnection}`, [slug]),
    ).toEqual([attempts])
    expect(await countUnclaimed(sql, slug)).toBe(1)
  })

const logoutXml = (name: string) =>
  `<?xml version="1.0" encoding="UTF-8"?>\n<samlp:${name} xmlns:samlp="urn:oasis:names:tc:SAML:2.0:protocol" xmlns:saml="urn:oasis:names:tc:SAML:2.0:assertion" ID="_b7c1" Version="2.0" IssueInstant="2026-11-28T12:00:00Z"><saml:Issuer>https://idp.example.com/</saml:Issuer>${'<saml:NameID>x</saml:NameID>'.repeat(200)}</samlp:${name}>`
const logoutMessages = {
  'a logout request': ['SAMLRequest', logoutXml('LogoutRequest')],
  'a logout response': ['SAMLResponse', logoutXml('LogoutResponse')],
  'a request that is no XML': ['SAMLRequest', 'x'],
} as const
for (const [what, [parameter, xml]] of Object.entries(logoutMessages))
  test(`SAML: ${what} at the ACS starts no sign-in, and ends no session`, async ({
    sql,
  }) => {
    const kind = kinds.SAML
    const slug = await kind.connect()
    const { visitor, answer } = await begin(kind, slug)
    const { body } = await visitor.exchange(await send(visitor, answer))
    visitor.cookies.set('session', body.token!)
    const pending = await visitor.start(slug)
    const state = pending.searchParams.get('RelayState')!
    const attempts = `SELECT count(*) FROM sso_attempts ${whereConnection}`
    const before = await sql(attempts, [slug])
    const path = `/api/auth/sso/${slug}/acs`

    for (const relayState of [undefined, '/reports', state, keepSecret(newSecret())])
      for (const method of ['POST', 'GET']) {
        const bytes = method === 'GET' ? deflateRawSync(xml) : Buffer.from(xml)
        const fields = new URLSearchParams({ [parameter]: bytes.toString('base64') })
        if (relayState) fields.set('RelayState', relayState)
        const response =
          method === 'GET'
            ? await visitor.request(`${path}?${fields}`)
            : await visitor.request(path, fields)
        expect(response.status).toBe(200)
        const html = await response.text()
        expect(html).toContain('>You weren’t signed out of ')
        expect(html).toContain('<form method="post" action="/sign-out">')
        expect(response.headers.getSetCookie()).toEqual([])
        expect(await logLine(visitor, server)).toMatchObject({
          route: 'sso-acs',
          check: 'saml_logout',
          connection: slug,
        })
      }

    expect(await sql(attempts, [slug])).toEqual(before)
    expect(await countUnclaimed(sql, slug)).toBe(1)
    const session = await visitor.request(routes.getSession.path)
    expect(session.status).toBe(200)
    const landing = await send(visitor, await kind.answer(slug, pending))
    expect(errorOf(landing), 'of the sign-in that had begun').toBeNull()
  })

test('the ACS accepts no other messages by GET, and no logout messages of unknown connections', async () => {
  const slug = await kinds.SAML.connect()
  const visitor = new Visitor(server.url)
  const response = deflateRawSync('<samlp:Response/>').toString('base64')
  for (const query of [
    '',
    `SAMLResponse=${encodeURIComponent(response)}`,
    'RelayState=/',
  ])
    expect((await visitor.request(`/api/auth/sso/${slug}/acs?${query}`)).status).toBe(405)
  const elsewhere = await visitor.open('/api/auth/sso/unknown/acs?SAMLRequest=x')
  expect(errorOf(elsewhere)).toBe('connection_unavailable')
})

test('another browser does not learn the destination of a sign-in', async () => {
  const kind = kinds['OpenID Connect']
  const { answer } = await begin(kind, await kind.connect(), '/reports')
  const landing = await send(new Visitor(server.url), answer)
  expect(landing.search).toBe('?again')
})

test('a state is valid after a rotation of the signing key, until the old key is removed', async () => {
  const { json: published } = rotateSigningKeys(process.env.SESSION_SIGNING_KEYS!)
  const { json: rotated } = rotateSigningKeys(published)
  const connection = (await findConnection(await kinds.SAML.connect()))!
  const connectionId = connection.id
  const browser = newSecret()
  const { SESSION_SIGNING_KEYS: current } = env()
  try {
    for (const [keys, check] of [
      [rotated, undefined],
      [newSigningKeys(), 'state_key'],
    ] as const) {
      env().SESSION_SIGNING_KEYS = current
      const started = await startAttempt(connection, browser, null)
      env().SESSION_SIGNING_KEYS = parseSigningKeys(keys)
      const claiming = claimAttempt({ state: started.state, connectionId, browser })
      if (check) await expect(claiming).rejects.toMatchObject({ check })
      else expect(await claiming).toMatchObject(started)
    }
  } finally {
    env().SESSION_SIGNING_KEYS = current
  }
})

test('each sign-in extends the lifetime of the browser cookie, and does not change its value', async () => {
  const kind = kinds['OpenID Connect']
  const slug = await kind.connect()
  const visitor = new Visitor(server.url)
  const first = await visitor.start(slug)
  const cookie = visitor.cookies.get('browser')
  const second = await visitor.start(slug)
  expect(visitor.cookies.get('browser')).toBe(cookie)
  for (const request of [second, first]) {
    const { headers } = await visitor.request((await kind.answer(slug, request)).path)
    expect(headers.getSetCookie()).toEqual([
      `browser=${cookie}; Path=/; Max-Age=${lifetimes.browser}; HttpOnly; SameSite=Lax`,
    ])
    expect(headers.get('referrer-policy'), 'of a URL with a code').toBe('no-referrer')
    const landing = new URL(headers.get('location')!, server.url)
    keepSecret(landing.searchParams.get('code')!)
    expect((await visitor.exchange(landing)).status).toBe(200)
  }
})

test('an expired sign-in continues with a live session, for example after Back or from a bookmark', async () => {
  const kind = kinds['OpenID Connect']
  const slug = await kind.connect()
  const { visitor, answer } = await begin(kind, slug)
  const { body } = await visitor.exchange(await send(visitor, answer))
  const follow = async (cookies: Record<string, string>, from: string) => {
    const same = new Visitor(server.url)
    const browser = visitor.cookies.get('browser')!
    for (const [name, value] of Object.entries({ browser, ...cookies }))
      same.cookies.set(name, value)
    const { pathname, search } = await same.open(from)
    return same.open(pathname + search)
  }
  const bookmark = `/api/auth/sso/${slug}/callback?code=x`
  const [session, refresh] = [body.token!, body.refreshToken!]
  for (const from of [answer.path, bookmark])
    for (const cookies of [{ session }, { refresh }])
      expect((await follow(cookies, from)).href).toBe(`${server.url}/`)
  const same = new Visitor(server.url)
  same.cookies.set('session', session)
  expect((await same.open(startPath(slug, 'next=%2Freports&again'))).href).toBe(
    `${server.url}/reports`,
  )
  const { sid } = JSON.parse(Buffer.from(session.split('.')[1]!, 'base64url').toString())
  await endSessions([sid])
  expect((await follow({ session }, answer.path)).origin, 'an ended session').toBe(
    provider.issuer,
  )
})

test('a sign-in stops with an error in a browser that stores no cookies', async () => {
  const kind = kinds['OpenID Connect']
  const slug = await kind.connect()
  const { visitor: forgetful, answer } = await begin(kind, slug)
  let url = new URL(answer.path, server.url)
  for (const next of [
    startPath(slug, 'again'),
    startPath(slug, 'again=new'),
    '/sso/callback?error=attempt_invalid',
  ]) {
    forgetful.cookies.clear()
    url = await forgetful.open(url.pathname + url.search)
    expect(url.pathname + url.search).toBe(next)
  }
})

test('redirects an unsolicited response to a new sign-in without reading it, but not in a loop', async ({
  sql,
}) => {
  const visitor = new SamlVisitor(server.url)
  const slug = await kinds.SAML.connect()
  const post = (relayState?: string) => {
    const unsolicited = new URLSearchParams({
      SAMLResponse: '<not-even-base64>',
      ...(relayState && { RelayState: relayState }),
    })
    return visitor.open(`/api/auth/sso/${slug}/acs`, unsolicited)
  }
  for (const relayState of [undefined, 'https://evil.example/reports', 'x'.repeat(44)]) {
    const start = await post(relayState)
    expect(start.pathname + start.search).toBe(startPath(slug, 'unsolicited'))
    expect(await logLine(visitor, server)).toMatchObject({
      status: 303,
      check: 'unsolicited',
      connection: slug,
    })
    const { host } = await visitor.open(start.pathname + start.search)
    expect(host).toBe('idp.example')
  }
  const again = startPath(slug, 'unsolicited')
  const circle = await visitor.open(again)
  expect([errorOf(circle), (await logLine(visitor, server)).check]).toEqual([
    'response_invalid',
    'unsolicited_loop',
  ])
  expect(await countUnclaimed(sql, slug)).toBe(3)

  // The loop check ignores sign-ins that the user starts, and sign-ins of other browsers.
  // It ends after a minute.
  expect((await new Visitor(server.url).open(again)).host).toBe('idp.example')
  const begun = await visitor.begin(slug)
  await sql(
    `UPDATE sso_attempts SET created_at = now() - interval '1 minute' ${whereConnection}`,
    [slug],
  )
  expect((await visitor.open(again)).host).toBe('idp.example')
  expect(
    errorOf(await send(visitor, await kinds.SAML.answer(slug, begun.url))),
  ).toBeNull()
})

test('the start of a sign-in deletes some SSO attempts that expired long ago', async ({
  sql,
}) => {
  const slug = await kinds['OpenID Connect'].connect()
  const old = (minutes: number) =>
    sql(
      `INSERT INTO sso_attempts (state_hash, connection_id, browser_hash, kid, expires_at)
       SELECT sha256(gen_random_uuid()::text::bytea), id, sha256('old'), 'x', now() - make_interval(mins => $2)
       FROM connections, generate_series(1, 6) WHERE slug = $1`,
      [slug, minutes],
    )
  await old(50)
  await old(100_000) // older than those of other tests
  const leftAfterStart = async () => {
    await new Visitor(server.url).start(slug) // also deletes attempts of earlier tests
    return sql(
      `SELECT count(*)::int AS left FROM sso_attempts ${whereConnection} AND browser_hash = sha256('old')`,
      [slug],
    )
  }
  // the attempts that expired within the last hour
  await expect.poll(leftAfterStart).toEqual([{ left: 6 }])
})
