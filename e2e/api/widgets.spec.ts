import { createPublicKey, randomUUID } from 'node:crypto'
import jwt from 'jsonwebtoken'
import * as routes from '../../lib/contract/routes'
import { newSigningKeys } from '../../lib/settings/signing-keys'
import {
  addOrigin,
  addWidget,
  listWidgets,
  removeOrigin,
  revokeTokens,
  rotateToken,
  setDisabled,
} from '../../lib/widget/manage'
import { documentedFetch } from '../support/documents/documented'
import { exchangePath, expect, newCode, postTo, test } from '../support/fixtures'
import { keepSecret, newAddress } from '../support/secrets'
import { shiftClock, startServer } from '../support/servers/server'
import { fewRequests, otherValues, shiftedClock } from '../support/servers/settings'
import { send } from '../support/wire/raw-http'

const path = routes.startWidgetSession.path
const approved = 'https://www.example.com'

async function newWidget(...origins: string[]) {
  const slug = `w-${randomUUID()}`
  const token = keepSecret(
    await addWidget(slug, slug, origins.length > 0 ? origins : [approved]),
  )
  const [widget] = await listWidgets(slug)
  return { ...widget!, token }
}

/** Requests a widget JWT as a page of this origin does. */
function ask(
  base: string,
  token: unknown,
  origin: string | null = approved,
  headers: Record<string, string> = {},
) {
  const sent = {
    'X-Forwarded-For': newAddress(),
    ...(origin !== null && { Origin: origin }),
    ...headers,
  }
  return postTo(base + path, { widgetToken: token }, sent)
}

test('a page of an approved origin gets a JWT that only widget APIs accept', async ({
  url,
  user,
  post,
}) => {
  const {
    token: widgetToken,
    id,
    slug,
  } = await newWidget('https://other.example.com', approved)
  const { status, headers, body } = await ask(url, widgetToken)
  expect([status, Object.keys(body)]).toEqual([200, ['ok', 'token', 'expiresAt']])
  expect(headers.get('access-control-allow-origin')).toBe(approved)
  expect(headers.get('access-control-expose-headers')).toBe(
    'X-Request-Id, Retry-After, RateLimit, RateLimit-Policy',
  )
  expect(headers.get('vary')!.split(', ')).toContain('Origin')
  for (const name of ['access-control-allow-credentials', 'set-cookie'])
    expect(headers.get(name)).toBeNull()

  const keyOf = async (documents: string) => {
    const response = await documentedFetch(url + documents, {
      headers: { 'Sec-Fetch-Site': 'cross-site' },
    })
    const { keys } = (await response.json()) as { keys: { kid: string }[] }
    return (token: string) => {
      const { header } = jwt.decode(token, { complete: true })!
      // as a verifier that ignores `kid` would
      const found = keys.find(({ kid }) => kid === header.kid) ?? keys[0]!
      return createPublicKey({ key: found, format: 'jwk' })
    }
  }
  const [widgetKey, sessionKey] = [
    await keyOf(routes.getWidgetKeys.path),
    await keyOf(routes.getSigningKeys.path),
  ]
  const token = body.token!
  const claims = jwt.verify(token, widgetKey(token), {
    issuer: `${url}/widget`,
    audience: 'widget',
  }) as jwt.JwtPayload
  expect(jwt.decode(token, { complete: true })!.header.typ).toBe('widget+jwt')
  const { iat, exp, ...others } = claims
  expect(others).toEqual({
    iss: `${url}/widget`,
    aud: 'widget',
    sub: id,
    widget: slug,
    origin: approved,
  })
  expect([exp! - iat!, new Date(exp! * 1_000).toISOString()]).toEqual([
    900,
    body.expiresAt,
  ])

  // A library that checks only signature and issuer distinguishes widget and session
  // JWTs. So do our routes.
  const { token: session } = (await post(exchangePath, { code: await newCode(user) }))
    .body
  expect(() => jwt.verify(token, sessionKey(token), { issuer: url })).toThrow(
    'invalid signature',
  )
  expect(() =>
    jwt.verify(session!, widgetKey(session!), { issuer: `${url}/widget` }),
  ).toThrow('invalid signature')
  expect(() => jwt.verify(token, widgetKey(token), { issuer: url })).toThrow(
    'jwt issuer invalid',
  )
  for (const [name, value] of [
    ['Authorization', `Bearer ${token}`],
    ['Cookie', `session=${token}`],
  ] as const) {
    const headers = { [name]: value, 'X-Forwarded-For': newAddress() }
    expect(
      (await documentedFetch(url + routes.getSession.path, { headers })).status,
    ).toBe(401)
  }
  for (const value of [session, token])
    expect((await ask(url, value)).body.code).toBe('WIDGET_TOKEN_INVALID')
})

test('rejects every origin that is not exactly one of the approved origins', async ({
  url,
}) => {
  const widget = await newWidget(
    approved,
    'https://xn--bcher-kva.example',
    'http://localhost:8080',
  )
  for (const origin of widget.origins)
    expect((await ask(url, widget.token, origin)).status, origin).toBe(200)
  const hosts =
    'www.example.com.evil.example evilwww.example.com example.com x.www.example.com www.example.com:8443'
  const spellings =
    'www.example.com:443 WWW.example.com www.example.com. www.example.com/ b%C3%BCcher.example'
  const lookAlikes = [
    ...`${hosts} ${spellings} b\u00fccher.example localhost:8080`
      .split(' ')
      .map((host) => `https://${host}`),
    ...[
      'http://www.example.com',
      'http://localhost:8081',
      'http://127.0.0.1:8080',
      'file://',
      'chrome-extension://x',
    ],
    ...[
      `${approved}, ${approved}`,
      `${approved} ${approved}`,
      `x${approved}`,
      `https://${'a'.repeat(10_000)}.example`,
    ],
    ...['null', '*', ''],
  ]
  for (const origin of [null, ...lookAlikes]) {
    const { status, body, headers } = await ask(url, widget.token, origin, {
      Referer: `${approved}/`,
    })
    expect(
      [status, body.code, headers.get('access-control-allow-origin')],
      String(origin).slice(0, 80),
    ).toEqual([403, 'ORIGIN_REJECTED', '*'])
  }
  const inBody = { widgetToken: widget.token, origin: approved }
  expect(
    (await postTo(url + path, inBody, { 'X-Forwarded-For': newAddress() })).status,
  ).toBe(403)
  const other = await newWidget()
  expect((await ask(url, other.token, 'http://localhost:8080')).status).toBe(403) // an origin of the first widget
})

test('sends the same response for an unknown, revoked or expired token and a disabled widget', async ({
  url,
  sql,
}) => {
  const [revoked, expired, disabled] = [
    await newWidget(),
    await newWidget(),
    await newWidget(),
  ]
  for (const { token } of [revoked, expired, disabled])
    expect((await ask(url, token)).status).toBe(200)
  expect(await revokeTokens(revoked, revoked.token.slice(-4))).toBe(1)
  await sql('UPDATE widget_tokens SET expires_at = now() WHERE widget_id = $1', [
    expired.id,
  ])
  await setDisabled(disabled, true)
  const tokens = [
    `wgt_${'x'.repeat(43)}`,
    '',
    'x'.repeat(10_000),
    revoked.token.slice(4),
    revoked.token.toUpperCase(),
  ]
  const bodies = new Set<string>()
  for (const token of [...tokens, revoked.token, expired.token, disabled.token]) {
    const { status, body, headers } = await ask(url, token, approved, {
      'X-Request-Id': 'the-same-for-all',
    })
    expect([status, headers.get('access-control-allow-origin')]).toEqual([400, '*'])
    bodies.add(JSON.stringify(body))
  }
  expect([...bodies]).toHaveLength(1)
  expect([...bodies][0]).toContain('WIDGET_TOKEN_INVALID')
  expect((await ask(url, 1)).body.code).toBe('VALIDATION_ERROR')
  await setDisabled(disabled, false)
  expect((await ask(url, disabled.token)).status).toBe(200)
})

test('processes with different clocks apply rotations, revocations and origins immediately', async ({
  serverWith,
  url,
  sql,
}) => {
  const shifted = await serverWith(shiftedClock)
  await shiftClock(shifted, 10_800)
  const widget = await newWidget()
  const expectStatuses = async (token: string, status: number, origin = approved) => {
    for (const base of [url, shifted.url])
      expect((await ask(base, token, origin)).status).toBe(status)
  }
  const second = keepSecret(await rotateToken(widget, 3_600))
  await expectStatuses(widget.token, 200)
  await sql(
    `UPDATE widget_tokens SET expires_at = expires_at - interval '1 hour' WHERE widget_id = $1`,
    [widget.id],
  )
  await expectStatuses(widget.token, 400)
  await expectStatuses(second, 200)
  const third = keepSecret(await rotateToken(widget, 0))
  await expectStatuses(second, 400)
  await addOrigin(widget, 'https://new.example.com')
  await expectStatuses(third, 200, 'https://new.example.com')
  await removeOrigin(widget, 'https://new.example.com')
  await expectStatuses(third, 403, 'https://new.example.com')
  const { iat, exp } = jwt.decode(
    (await ask(shifted.url, third)).body.token!,
  ) as jwt.JwtPayload
  const [{ now } = { now: 0 }] = await sql('SELECT extract(epoch FROM now())::int AS now')
  expect([Math.abs(iat! - now) < 60, exp! - iat!]).toEqual([true, 900])
  expect(await revokeTokens(widget, third.slice(-4))).toBe(1)
  await expectStatuses(third, 400)
  const stored = await sql(
    'SELECT widget_tokens::text AS row FROM widget_tokens WHERE widget_id = $1',
    [widget.id],
  )
  for (const token of [widget.token, second, third]) {
    expect(JSON.stringify(stored)).not.toContain(token)
    expect(JSON.stringify(stored)).not.toContain(
      Buffer.from(token.slice(4), 'base64url').toString('hex'),
    )
  }
})

test('responds to preflight requests and to pages of every site, with a separate rate limit', async ({
  serverWith,
  url,
}) => {
  const limited = await serverWith(fewRequests)
  const { token } = await newWidget()
  const address = newAddress()
  const metadata = { 'Sec-Fetch-Site': 'cross-site', 'Sec-Fetch-Mode': 'cors' }
  const ofPage = { 'X-Forwarded-For': address, Origin: approved, ...metadata }
  const post = () =>
    send(limited.url + path, {
      method: 'POST',
      headers: {
        ...ofPage,
        'Sec-Fetch-Dest': 'empty',
        'Content-Type': 'application/json',
      },
      body: JSON.stringify({ widgetToken: token }),
    })
  const preflight = await send(limited.url + path, {
    method: 'OPTIONS',
    headers: {
      ...ofPage,
      'Access-Control-Request-Method': 'POST',
      'Access-Control-Request-Headers': 'content-type',
    },
  })
  expect([preflight.status, preflight.text]).toEqual([204, ''])
  expect(preflight.headers).toMatchObject({
    'access-control-allow-origin': '*',
    'access-control-allow-methods': 'POST',
    'access-control-allow-headers': 'Authorization, Content-Type',
    'access-control-max-age': '7200',
    'cache-control': 'no-store',
  })
  const statuses: number[] = []
  for (let count = 0; count < 5; count++) statuses.push((await post()).status)
  expect(statuses).toEqual([200, 200, 200, 200, 429])
  const retryAfter = expect.stringMatching(/^\d+$/)
  expect((await post()).headers).toMatchObject({
    'access-control-allow-origin': '*',
    'retry-after': retryAfter,
  })
  const health = await documentedFetch(limited.url + routes.getHealth.path, {
    headers: { 'X-Forwarded-For': address },
  })
  expect(health.headers.get('ratelimit')).toContain('r=3;')
  expect(
    (await send(limited.url + path, { headers: { 'X-Forwarded-For': newAddress() } }))
      .headers.allow,
  ).toBe('POST, OPTIONS')
  expect(
    (await send(`${url}${path}/`, { method: 'OPTIONS', headers: ofPage })).status,
    'no redirect',
  ).toBe(204)
  const lines = await limited.logged('"route":"widget-session"')
  expect(lines).toHaveLength(7)
  expect(JSON.stringify(lines)).not.toContain(approved)
})

test('the endpoint requires WIDGET_SIGNING_KEYS, none of which is in SESSION_SIGNING_KEYS', async ({
  serverWith,
}) => {
  const off = await serverWith(otherValues)
  const { token } = await newWidget()
  expect((await ask(off.url, token)).status).toBe(404)
  for (const [method, path] of [
    ['OPTIONS', routes.startWidgetSession.path],
    ['GET', routes.getWidgetKeys.path],
  ] as const)
    expect(
      (
        await send(off.url + path, {
          method,
          headers: { 'X-Forwarded-For': newAddress() },
        })
      ).status,
    ).toBe(404)
  const SESSION_SIGNING_KEYS = newSigningKeys()
  await expect(
    startServer({ SESSION_SIGNING_KEYS, WIDGET_SIGNING_KEYS: SESSION_SIGNING_KEYS }),
  ).rejects.toThrow('WIDGET_SIGNING_KEYS must not have a key of SESSION_SIGNING_KEYS')
})
