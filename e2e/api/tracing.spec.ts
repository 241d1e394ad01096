import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { exchange, expect, keepSecret, newCode, newPassword, newToken, post, reset, test } from '../support/fixtures'
import { startServer } from '../support/server'

type Attribute = { key: string; value: Record<string, unknown> }
type Batch = {
  resourceSpans: {
    resource: { attributes: Attribute[] }
    scopeSpans: { spans: { name: string; attributes: Attribute[] }[] }[]
  }[]
}

/** An OTLP/HTTP receiver that keeps what it is sent. */
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

test('OTEL_EXPORTER_OTLP_ENDPOINT alone switches spans on, and no secret stands in them', async ({ person }) => {
  const receiver = await startReceiver()
  const server = await startServer({
    OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url,
    OTEL_BSP_SCHEDULE_DELAY: '100',
    PASSWORD_BREACH_CHECK: 'true',
    PASSWORD_BREACH_URL: `${receiver.url}/breaches`,
  })
  const secrets = [
    await newCode(person),
    await newToken(person),
    newPassword(),
    keepSecret('fabricated-code-in-an-address'),
    keepSecret('in-a-path-1'),
  ]
  const [code, token, password, fabricated, inPath] = secrets as [string, string, string, string, string]
  const exchanged = await post(server.url + exchange, { code })
  expect((await post(server.url + reset, { token, password })).status).toBe(200)
  const places = [
    `/sso/callback?code=${fabricated}`,
    `/reset-password?token=${fabricated}`,
    `/reset-password/?token=${fabricated}`,
    `/nowhere/${inPath}?code=${fabricated}`,
    `/api/${inPath}?token=${fabricated}`,
    `${exchange}?code=${fabricated}`,
    `/.well-known/jwks.json?code=${fabricated}`,
  ]
  for (const place of places)
    await (await fetch(server.url + place, { headers: { RSC: place.startsWith('/sso') ? '1' : '0' } })).text()
  const names = () => receiver.spans().map(({ name }) => name)
  await expect.poll(names, { timeout: 10_000 }).toContain('GET /.well-known/jwks.json')
  await server.stop()
  receiver.stop()

  expect(names()).toEqual(
    expect.arrayContaining([`POST ${exchange}`, `POST ${reset}`, 'GET /sso/callback', 'GET /reset-password']),
  )
  const resource = receiver.received()[0]!.resourceSpans[0]!.resource.attributes
  expect(resource).toContainEqual({ key: 'service.name', value: { stringValue: 'authentication-completion' } })
  const sent = receiver.bodies.join('\n')
  for (const secret of [
    ...secrets,
    exchanged.body.token!,
    exchanged.body.refreshToken!,
    person.email,
    person.id,
    '/range/',
  ])
    expect(sent).not.toContain(secret)
  expect(sent).not.toMatch(/[?&](code|token)=/)
})

test('spans that wait for their batch are sent before a server ends', async () => {
  const receiver = await startReceiver()
  const server = await startServer({ OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url, OTEL_BSP_SCHEDULE_DELAY: '60000' })
  await fetch(`${server.url}/api/health`)
  await server.stop()
  expect(receiver.spans().map(({ name }) => name)).toContain('GET /api/health')
  receiver.stop()
})

test('OTEL_SERVICE_NAME names it; a receiver that is gone disturbs nobody', async ({ person }) => {
  const receiver = await startReceiver()
  const named = await startServer({
    OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url,
    OTEL_BSP_SCHEDULE_DELAY: '100',
    OTEL_SERVICE_NAME: 'login',
  })
  await fetch(`${named.url}/api/health`)
  await expect.poll(() => receiver.bodies.join('\n'), { timeout: 10_000 }).toContain('{"stringValue":"login"}')
  receiver.stop()
  expect((await post(named.url + exchange, { code: await newCode(person) })).status).toBe(200)
  await named.stop()
  expect(named.process.exitCode).toBe(0)
})
