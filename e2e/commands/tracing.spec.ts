import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { connect } from 'node:net'
import { project } from '../../bin/dev/local'
import * as routes from '../../lib/contract/routes'
import { addWidget } from '../../lib/widget/manage'
import {
  authorize,
  dashboards,
  exchangeClientCode,
  newRequest,
} from '../support/browsers/dashboard'
import { newPasswordUser } from '../support/databases/password-user'
import {
  exchangePath,
  expect,
  newCode,
  newPassword,
  newToken,
  postTo,
  resetPath,
  test,
} from '../support/fixtures'
import { keepSecret, newAddress } from '../support/secrets'
import { findProblems, startReceiver } from '../support/servers/otlp'
import { preload } from '../support/servers/preload'
import { startServer } from '../support/servers/server'

const { version } = JSON.parse(readFileSync(`${project}package.json`, 'utf8'))

/** Starts a receiver, and a server that sends spans to it after `delayMs`. */
async function startTraced(delayMs: number, settings: Record<string, string> = {}) {
  const receiver = await startReceiver()
  const server = await startServer({
    OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url,
    OTEL_BSP_SCHEDULE_DELAY: String(delayMs),
    PASSWORD_BREACH_URL: `${receiver.url}/breaches`,
    ...settings,
  })
  return { receiver, server }
}

test('sends spans without secrets, and serves requests even if the receiver is unreachable', async ({
  user,
}) => {
  const { receiver, server } = await startTraced(100, { PASSWORD_BREACH_CHECK: 'true' })
  const [code, token, password] = [
    await newCode(user),
    await newToken(user),
    newPassword(),
  ]
  const [fabricated, inPath] = [
    keepSecret('fabricated-code-in-a-url'),
    keepSecret('in-a-path-1'),
  ]
  const exchanged = await postTo(server.url + exchangePath, { code })
  const origin = 'https://www.example.com'
  const widgetToken = keepSecret(await addWidget(`w-${randomUUID()}`, 'Widget', [origin]))
  const widget = await postTo(
    server.url + routes.startWidgetSession.path,
    { widgetToken },
    { Origin: origin },
  )
  const { query, codeVerifier, state } = newRequest()
  const ofDashboard = await authorize(server.url, query, exchanged.body)
  const dashboardCode = new URL(ofDashboard.headers.get('location')!).searchParams.get(
    'code',
  )!
  const issued = {
    slug: 'app',
    code: dashboardCode,
    codeVerifier,
    redirectUri: dashboards.app,
  }
  expect((await exchangeClientCode(server.url, issued)).status).toBe(200)
  const ofFeatures = [
    widgetToken,
    widget.body.token,
    keepSecret(dashboardCode),
    codeVerifier,
    state,
  ]
  expect((await postTo(server.url + resetPath, { token, password })).status).toBe(200)
  const places = [
    `/sso/callback?code=${fabricated}`,
    `/reset-password?token=${fabricated}`,
    `/reset-password/?token=${fabricated}`,
    `/nowhere/${inPath}?code=${fabricated}`,
    `/api/${inPath}?token=${fabricated}`,
    `${exchangePath}?code=${fabricated}`,
    `/.well-known/jwks.json?code=${fabricated}`,
  ]
  for (const place of places)
    await (
      await fetch(server.url + place, {
        headers: { RSC: place.startsWith('/sso') ? '1' : '0' },
      })
    ).text()
  const names = () => receiver.spans().map(({ name }) => name)
  await expect.poll(names, { timeout: 10_000 }).toContain('GET /.well-known/jwks.json')
  receiver.stop()
  expect(
    (await postTo(server.url + exchangePath, { code: await newCode(user) })).status,
  ).toBe(200)
  await server.stop()
  expect(server.process.exitCode).toBe(0)

  expect(names()).toEqual(
    expect.arrayContaining([
      `POST ${exchangePath}`,
      `POST ${resetPath}`,
      'GET /sso/callback',
      'GET /reset-password',
    ]),
  )
  for (const [key, value] of [
    ['service.name', 'authentication-completion'],
    ['service.version', version],
  ])
    expect(receiver.resources()[0]).toContainEqual({ key, value: { stringValue: value } })
  expect(receiver.problems).toEqual([])
  const sent = receiver.bodies.join('\n')
  const { token: jwt, refreshToken } = exchanged.body
  const ofUser = [code, token, password, jwt, refreshToken, user.email, user.id]
  for (const text of [...ofUser, fabricated, inPath, '/range/', ...ofFeatures])
    expect(sent).not.toContain(text!)
  expect(sent).not.toMatch(/[?&](code|token)=/)
})

test('sends pending spans before the server exits, even if a request does not end in time', async () => {
  const { receiver, server } = await startTraced(60_000, {
    OTEL_BSP_EXPORT_TIMEOUT: '9000', // under 10 s, so faster-timers.mjs does not shorten it
    ...preload('faster-timers.mjs'),
    FASTER_TIMERS: '100', // the server waits 0.3 s for requests in progress
  })
  await fetch(`${server.url}/api/health`)
  const stuck = connect(Number(new URL(server.url).port), 'localhost')
  const head = `POST ${exchangePath} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 20\r\n`
  stuck.on('error', () => {}).write(`${head}Expect: 100-continue\r\n\r\n{`)
  await once(stuck, 'data') // the request is in progress
  const closed = once(stuck, 'close')
  await server.stop()
  await closed
  expect(receiver.spans().map(({ name }) => name)).toContain('GET /api/health')
  receiver.stop()
})

// Next.js stores the context in which it handles a request. If that were the context of
// another request, each context would reference the previous one, and the memory would
// never be freed.
test('starts a new trace for each request, outside the context of other requests and of the client', async () => {
  const { receiver, server } = await startTraced(60_000, { OTEL_SERVICE_NAME: 'login' })
  const [trace, span] = ['0af7651916cd43dd8448eb211c80319c', 'b7ad6b7169203331']
  for (const sampled of ['00', '01'])
    await fetch(`${server.url}/api/health`, {
      headers: {
        traceparent: `00-${trace}-${span}-${sampled}`,
        tracestate: 'x=text-of-a-client',
        baggage: 'x=y',
      },
    })
  const { hostname, port } = new URL(server.url)
  const clients = 12
  const pipelined = ['/', '/', '/', '/api/health', '/api/health', '/']
  await Promise.all(
    Array.from({ length: clients }, async () => {
      const socket = connect(Number(port), hostname)
      const headers = `Host: x\r\nX-Forwarded-For: ${newAddress()}\r\n`
      const head = (path: string) => `GET ${path} HTTP/1.1\r\n${headers}`
      socket.write(`${pipelined.map(head).join('\r\n')}Connection: close\r\n\r\n`)
      await once(socket.resume(), 'close')
    }),
  )
  await server.stop()
  receiver.stop()
  expect(receiver.problems).toEqual([])
  const requests = receiver
    .spans()
    .filter(({ attributes }) =>
      attributes.some(({ value }) => value.stringValue === 'BaseServer.handleRequest'),
    )
  expect(requests.length).toBeGreaterThanOrEqual(2 + clients * pipelined.length)
  expect(requests.filter(({ parentSpanId }) => parentSpanId).length).toBe(0)
  expect(new Set(requests.map(({ traceId }) => traceId)).size).toBe(requests.length)
  expect(
    receiver
      .spans()
      .filter(({ traceId, parentSpanId }) => traceId === trace || parentSpanId === span),
  ).toEqual([])
  expect(receiver.bodies.join()).not.toContain('text-of-a-client')
  expect(receiver.bodies.join()).toContain('{"stringValue":"login"}')
})

test('a request has spans of the database and of bcrypt, and the ID of its trace in its log lines', async ({
  sql,
}) => {
  const { receiver, server } = await startTraced(60_000, { PASSWORD_SIGN_IN: 'true' })
  const { email, password } = await newPasswordUser(sql)
  const ids = [randomUUID(), randomUUID(), randomUUID()]
  const send = (index: number, path: string, body: object) =>
    postTo(server.url + path, body, {
      'X-Request-Id': ids[index]!,
      'X-Forwarded-For': newAddress(),
    })
  const [signedIn, reset] = await Promise.all([
    send(0, routes.signIn.path, { email, password }),
    send(1, resetPath, { token: 'fabricated', password: newPassword() }),
    send(2, routes.signIn.path, { email, password: newPassword() }),
  ])
  expect([signedIn.status, reset.status]).toEqual([200, 400])
  const ofPage = { Accept: 'text/html', 'X-Request-Id': 'long-url-of-a-page' }
  await fetch(`${server.url}/${'x'.repeat(9_000)}`, { headers: ofPage })
  await server.stop()
  receiver.stop()

  const spansOf = (id: string) => {
    const lines = server.logged(id)
    expect(lines.map(({ traceId }) => traceId)).toEqual([expect.any(String)])
    const spans = receiver.spans().filter(({ traceId }) => traceId === lines[0]!.traceId)
    return spans.filter(({ name }) => /^(database|bcrypt)$/.test(name))
  }
  const namesOf = (id: string) => spansOf(id).map(({ name }) => name)
  expect(namesOf(ids[0]!)).toEqual(expect.arrayContaining(['database', 'bcrypt']))
  expect(namesOf(ids[1]!)).toContain('database')
  expect(namesOf(ids[1]!)).not.toContain('bcrypt') // the token is checked first
  expect(namesOf(ids[2]!)).toContain('bcrypt')

  expect(server.logged(ofPage['X-Request-Id'])).toMatchObject([
    { route: 'page', status: 414, traceId: expect.stringMatching(/^[0-9a-f]{32}$/) },
  ])

  const attributes = ids.flatMap(spansOf).flatMap((span) => span.attributes)
  expect(new Set(attributes.map(({ key }) => key))).toEqual(
    new Set(['db.system.name', 'db.operation.name']),
  )
  expect(ids.flatMap(spansOf).filter(({ parentSpanId }) => !parentSpanId)).toEqual([])
  const statement = /SELECT .*FROM|\bpassword_hash\b/
  expect(receiver.bodies.some((body) => statement.test(body))).toBe(false)
})

test('the check of the receiver finds what the definitions of OTLP do not have', () => {
  const trace = (span: object) => ({
    resourceSpans: [{ scopeSpans: [{ spans: [span] }] }],
  })
  const metric = (point: object) => ({
    resourceMetrics: [
      { scopeMetrics: [{ metrics: [{ name: 'x', gauge: { dataPoints: [point] } }] }] },
    ],
  })
  const span = { traceId: 'a'.repeat(32), spanId: 'b'.repeat(16), name: 'x', kind: 1 }
  const traces = (changes: object) =>
    findProblems('/v1/traces', trace({ ...span, ...changes }))
  const metrics = (changes: object) =>
    findProblems('/v1/metrics', metric({ asInt: 7, timeUnixNano: '1', ...changes }))

  expect([...traces({}), ...metrics({})]).toEqual([])
  for (const changes of [
    { text: 'x' },
    { name: 7 },
    { kind: 'x' },
    { traceId: 'z'.repeat(32) },
    { spanId: 'b'.repeat(32) },
    { attributes: [{ key: 'x', value: { text: 'x' } }] },
    { attributes: { key: 'x' } },
  ])
    expect(traces(changes), JSON.stringify(changes)).not.toEqual([])
  for (const changes of [{ asInt: 'x' }, { asText: 'x' }, { timeUnixNano: 'now' }])
    expect(metrics(changes), JSON.stringify(changes)).not.toEqual([])
})
