import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { createServer } from 'node:http'
import { connect } from 'node:net'
import * as routes from '../../lib/contract/routes'
import { addWidget } from '../../lib/widget/manage'
import {
  authorize,
  dashboards,
  exchangeClientCode,
  newRequest,
} from '../support/browsers/dashboard'
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
import { listen } from '../support/servers/listen'
import { preload } from '../support/servers/preload'
import { startServer } from '../support/servers/server'

type Attribute = { key: string; value: Record<string, unknown> }
type Batch = {
  resourceSpans: {
    resource: { attributes: Attribute[] }
    scopeSpans: {
      spans: {
        name: string
        traceId: string
        parentSpanId?: string
        attributes: Attribute[]
      }[]
    }[]
  }[]
}

/** Starts an OTLP/HTTP receiver that records what it receives. */
async function startReceiver() {
  const bodies: string[] = []
  const server = createServer(async (request, response) => {
    let body = ''
    for await (const chunk of request) body += chunk
    if (request.url === '/v1/traces') bodies.push(body)
    response.setHeader('Content-Type', 'application/json').end('{}')
  })
  const { url, stop } = await listen(server)
  const received = () => bodies.map((body) => JSON.parse(body) as Batch)
  const spans = () =>
    received().flatMap(({ resourceSpans }) =>
      resourceSpans.flatMap(({ scopeSpans }) =>
        scopeSpans.flatMap((scope) => scope.spans),
      ),
    )
  return { url, bodies, received, spans, stop }
}

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
  const resource = receiver.received()[0]!.resourceSpans[0]!.resource.attributes
  expect(resource).toContainEqual({
    key: 'service.name',
    value: { stringValue: 'authentication-completion' },
  })
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
