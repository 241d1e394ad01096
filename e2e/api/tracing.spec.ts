import { once } from 'node:events'
import { createServer } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import {
  exchangePath,
  expect,
  keepSecret,
  newAddress,
  newCode,
  newPassword,
  newToken,
  postTo,
  resetPath,
  test,
} from '../support/fixtures'
import { startServer } from '../support/server'

type Attribute = { key: string; value: Record<string, unknown> }
type Batch = {
  resourceSpans: {
    resource: { attributes: Attribute[] }
    scopeSpans: { spans: { name: string; traceId: string; parentSpanId?: string; attributes: Attribute[] }[] }[]
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
  }).listen(0, 'localhost')
  await once(server, 'listening')
  const received = () => bodies.map((body) => JSON.parse(body) as Batch)
  const spans = () =>
    received().flatMap(({ resourceSpans }) =>
      resourceSpans.flatMap(({ scopeSpans }) => scopeSpans.flatMap((scope) => scope.spans)),
    )
  return {
    url: `http://localhost:${(server.address() as AddressInfo).port}`,
    bodies,
    received,
    spans,
    stop: () => server.close(),
  }
}

test('OTEL_EXPORTER_OTLP_ENDPOINT alone enables spans, and they contain no secret', async ({ user }) => {
  const receiver = await startReceiver()
  const server = await startServer({
    OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url,
    OTEL_BSP_SCHEDULE_DELAY: '100',
    PASSWORD_BREACH_CHECK: 'true',
    PASSWORD_BREACH_URL: `${receiver.url}/breaches`,
  })
  const secrets = [
    await newCode(user),
    await newToken(user),
    newPassword(),
    keepSecret('fabricated-code-in-a-url'),
    keepSecret('in-a-path-1'),
  ]
  const [code, token, password, fabricated, inPath] = secrets as [string, string, string, string, string]
  const exchanged = await postTo(server.url + exchangePath, { code })
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
    await (await fetch(server.url + place, { headers: { RSC: place.startsWith('/sso') ? '1' : '0' } })).text()
  const names = () => receiver.spans().map(({ name }) => name)
  await expect.poll(names, { timeout: 10_000 }).toContain('GET /.well-known/jwks.json')
  await server.stop()
  receiver.stop()

  expect(names()).toEqual(
    expect.arrayContaining([`POST ${exchangePath}`, `POST ${resetPath}`, 'GET /sso/callback', 'GET /reset-password']),
  )
  const resource = receiver.received()[0]!.resourceSpans[0]!.resource.attributes
  expect(resource).toContainEqual({ key: 'service.name', value: { stringValue: 'authentication-completion' } })
  const sent = receiver.bodies.join('\n')
  for (const secret of [
    ...secrets,
    exchanged.body.token!,
    exchanged.body.refreshToken!,
    user.email,
    user.id,
    '/range/',
  ])
    expect(sent).not.toContain(secret)
  expect(sent).not.toMatch(/[?&](code|token)=/)
})

test('pending spans are sent before the server exits', async () => {
  const receiver = await startReceiver()
  const server = await startServer({ OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url, OTEL_BSP_SCHEDULE_DELAY: '60000' })
  await fetch(`${server.url}/api/health`)
  await server.stop()
  expect(receiver.spans().map(({ name }) => name)).toContain('GET /api/health')
  receiver.stop()
})

test('they are also sent if a request does not end in time', async () => {
  const receiver = await startReceiver()
  const server = await startServer({
    OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url,
    OTEL_BSP_SCHEDULE_DELAY: '60000',
    OTEL_BSP_EXPORT_TIMEOUT: '20000', // its default is what NODE_OPTIONS hurries
    NODE_OPTIONS: `--import ${new URL('../support/hurried-stop.mjs', import.meta.url).href}`,
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

test('no trace continues one that a client names, nor is left out because the client says so', async () => {
  const receiver = await startReceiver()
  const server = await startServer({ OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url, OTEL_BSP_SCHEDULE_DELAY: '60000' })
  const [trace, span] = ['0af7651916cd43dd8448eb211c80319c', 'b7ad6b7169203331']
  for (const sampled of ['00', '01'])
    await fetch(`${server.url}/api/health`, {
      headers: { traceparent: `00-${trace}-${span}-${sampled}`, tracestate: 'x=text-of-a-client', baggage: 'x=y' },
    })
  await server.stop()
  receiver.stop()
  expect(receiver.spans().filter(({ name }) => name === 'GET /api/health')).toHaveLength(2)
  expect(receiver.spans().filter(({ traceId, parentSpanId }) => traceId === trace || parentSpanId === span)).toEqual([])
  expect(receiver.bodies.join()).not.toContain('text-of-a-client')
})

// Next.js keeps the context in which it handles a request. In that of another request, it would keep
// that one, and the one before, and so on, until the process has no memory left.
test('no request is handled in the context of another: neither one that waits for its turn nor a pipelined one', async () => {
  const receiver = await startReceiver()
  const server = await startServer({ OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url, OTEL_BSP_SCHEDULE_DELAY: '60000' })
  const { hostname, port } = new URL(server.url)
  const clients = 12
  const pipelined = ['/', '/', '/', '/api/health', '/api/health', '/']
  await Promise.all(
    Array.from({ length: clients }, async () => {
      const socket = connect(Number(port), hostname)
      const headers = `Host: x\r\nX-Forwarded-For: ${newAddress()}\r\n`
      const last = pipelined.length - 1
      socket.write(
        pipelined
          .map((path, index) => `GET ${path} HTTP/1.1\r\n${headers}${index < last ? '' : 'Connection: close\r\n'}\r\n`)
          .join(''),
      )
      await once(socket.resume(), 'close')
    }),
  )
  await server.stop()
  receiver.stop()
  const requests = receiver
    .spans()
    .filter(({ attributes }) => attributes.some(({ value }) => value.stringValue === 'BaseServer.handleRequest'))
  expect(requests.length).toBeGreaterThanOrEqual(clients * pipelined.length)
  expect(requests.filter(({ parentSpanId }) => parentSpanId).length).toBe(0)
  expect(new Set(requests.map(({ traceId }) => traceId)).size).toBe(requests.length)
})

test('OTEL_SERVICE_NAME sets the name; an unreachable receiver has no effect on requests', async ({ user }) => {
  const receiver = await startReceiver()
  const named = await startServer({
    OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url,
    OTEL_BSP_SCHEDULE_DELAY: '100',
    OTEL_SERVICE_NAME: 'login',
  })
  await fetch(`${named.url}/api/health`)
  await expect.poll(() => receiver.bodies.join('\n'), { timeout: 10_000 }).toContain('{"stringValue":"login"}')
  receiver.stop()
  expect((await postTo(named.url + exchangePath, { code: await newCode(user) })).status).toBe(200)
  await named.stop()
  expect(named.process.exitCode).toBe(0)
})
