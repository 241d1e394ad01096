import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { project } from '../../bin/dev/local'
import * as routes from '../../lib/contract/routes'
import { connect } from '../support/databases/connection'
import { newPasswordUser } from '../support/databases/password-user'
import {
  exchangePath,
  expect,
  newCode,
  newPassword,
  postTo,
  test,
} from '../support/fixtures'
import { startProvider } from '../support/providers/oidc-provider'
import { keepSecret, newAddress } from '../support/secrets'
import { startReceiver } from '../support/servers/otlp'
import { preload } from '../support/servers/preload'
import { findValue, readMetrics } from '../support/servers/prometheus'
import { freePort, startServer } from '../support/servers/server'
import { allFeatures } from '../support/servers/settings'

const { version } = JSON.parse(readFileSync(`${project}package.json`, 'utf8'))

/** Settings for a server that serves its metrics. `url`: where. */
async function metricsOnFreePort() {
  const METRICS_PORT = String(await freePort())
  return { url: `http://127.0.0.1:${METRICS_PORT}/metrics`, settings: { METRICS_PORT } }
}

test('counts requests by route and status, and sign-ins by method, connection and result', async ({
  serverWith,
  user,
  sql,
}) => {
  const { url, settings } = await metricsOnFreePort()
  const server = await serverWith({ ...allFeatures, ...settings })
  const address = newAddress()
  const headers = { 'X-Forwarded-For': address, 'User-Agent': 'agent-of-a-client' }
  const get = async (path: string) =>
    (await fetch(server.url + path, { headers, redirect: 'manual' })).status

  const { email, password } = await newPasswordUser(sql)
  const signIn = (body: object) => postTo(server.url + routes.signIn.path, body, headers)
  expect((await signIn({ email, password })).status).toBe(200)
  for (let count = 0; count < 3; count++)
    expect((await signIn({ email, password: newPassword() })).status).toBe(400)
  const code = await newCode(user)
  expect((await postTo(server.url + exchangePath, { code }, headers)).status).toBe(200)
  expect((await postTo(server.url + exchangePath, { code }, headers)).status).toBe(400)

  const inPath = 'text-of-a-client'
  const statuses = [
    await get(`/sign-in?next=/${inPath}`),
    await get(`/sign-in?next=/${inPath}`),
    await get(`/${inPath}`),
    await get(`/api/${inPath}`),
    await get(`/api/auth/sso/${inPath}/callback?state=${inPath}`),
    await get('/icon.svg'),
    await get('/%ff'),
  ]
  expect(statuses).toEqual([200, 200, 404, 404, 303, 200, 400])

  const expected = [
    [1, 'auth_requests_total', { route: 'sign-in', status: '200' }],
    [3, 'auth_requests_total', { route: 'sign-in', status: '400' }],
    [1, 'auth_requests_total', { route: 'sso-exchange', status: '200' }],
    [1, 'auth_requests_total', { route: 'sso-exchange', status: '400' }],
    [0, 'auth_requests_total', { route: 'sso-exchange', status: '500' }],
    [2, 'auth_requests_total', { route: '/sign-in', status: '200' }],
    [2, 'auth_requests_total', { route: 'unknown', status: '404' }],
    [1, 'auth_requests_total', { route: 'unknown', status: '400' }],
    [1, 'auth_requests_total', { route: 'file', status: '200' }],
    [1, 'auth_requests_total', { route: 'sso-callback', status: '303' }],
    [4, 'auth_request_duration_seconds_count', { route: 'sign-in' }],
    [1, 'auth_sign_ins_total', { method: 'password', result: 'success' }],
    [3, 'auth_sign_ins_total', { method: 'password', result: 'SIGN_IN_INVALID' }],
    [1, 'auth_sign_ins_total', { method: 'code', result: 'success' }],
    [1, 'auth_sign_ins_total', { method: 'code', result: 'SSO_EXCHANGE_INVALID' }],
    [1, 'auth_sign_ins_total', { method: 'oidc', result: 'connection' }],
  ] as const
  // a request is counted after its response has ended
  await expect
    .poll(async () => {
      const metrics = await readMetrics(url)
      return expected.map(([, name, labels]) => findValue(metrics, name, labels))
    })
    .toEqual(expected.map(([value]) => value))

  const served = await (await fetch(url)).text()
  for (const text of [inPath, address, 'agent-of-a-client', email, user.id, user.email])
    expect(served).not.toContain(text)
  expect(served).not.toMatch(/\b10\.\d+\.\d+\.\d+|@|[0-9a-f]{8}-[0-9a-f]{4}-/)
})

test('counts a sign-in through a provider by its connection', async ({ serverWith }) => {
  const provider = await startProvider()
  const { url, settings } = await metricsOnFreePort()
  const server = await serverWith(settings)
  const slug = await connect(provider)
  const path = `/api/auth/sso/${slug}/callback?state=${keepSecret('fabricated-state')}`
  await server.fetch(path, { redirect: 'manual' })
  provider.stop()

  const labels = { method: 'oidc', connection: slug, result: 'state_unknown' }
  await expect
    .poll(async () => findValue(await readMetrics(url), 'auth_sign_ins_total', labels))
    .toBe(1)
})

test('shows the state of the process and of the database', async ({
  serverWith,
  sql,
}) => {
  const { url, settings } = await metricsOnFreePort()
  const server = await serverWith({
    ...allFeatures,
    SMTP_URL: 'smtp://127.0.0.1:9', // sends nothing
    DATABASE_POOL_SIZE: '2',
    ...settings,
    ...preload('cheap-hash.mjs', 'faster-timers.mjs'), // no timer looks at the outbox
  })
  await fetch(`${server.url}/api/health/ready`)
  const read = async (name: string, labels = {}) =>
    findValue(await readMetrics(url), name, labels)

  expect(await read('auth_version_info', { version })).toBe(1)
  expect(await read('auth_migrations_pending')).toBe(0)
  expect(await read('auth_password_hashes', { state: 'running' })).toBe(0)
  expect(await read('auth_password_hashes', { state: 'waiting' })).toBe(0)
  expect(await read('auth_rate_limit_fallback')).toBeUndefined() // RATE_LIMIT=in-process
  expect(await read('auth_database_connections', { state: 'waiting' })).toBe(0)

  const waiting = (await read('auth_outbox_mails'))!
  const { id } = await newPasswordUser(sql)
  await sql(
    `INSERT INTO mails (kind, user_id, language, requested_at, due_at)
     VALUES ('password-changed', $1, 'en', now() - interval '2 hours', now() + interval '1 hour')`,
    [id],
  )
  expect(await read('auth_outbox_mails')).toBe(waiting + 1)
  expect(await read('auth_outbox_age_seconds')).toBeGreaterThanOrEqual(7_200)
  await sql('DELETE FROM mails WHERE user_id = $1', [id])
})

test('serves the metrics on loopback only, and nothing else on that port', async ({
  serverWith,
}) => {
  const { url, settings } = await metricsOnFreePort()
  const server = await serverWith(settings)
  await fetch(`${server.url}/api/health`)
  const get = (from: string) => fetch(from).then(({ status }) => status)
  expect(await get(url)).toBe(200)
  expect(await get(url.replace('/metrics', '/api/health'))).toBe(404)
  await expect(get(url.replace('127.0.0.1', '127.0.0.2'))).rejects.toThrow('fetch failed')
  expect(await get(`${server.url}/metrics`)).toBe(404)
})

test('serves requests if METRICS_PORT is in use or the receiver refuses metrics, and logs it', async () => {
  const port = await freePort()
  const other = createServer().listen(port, '127.0.0.1')
  await once(other, 'listening')
  const server = await startServer({
    METRICS_PORT: String(port),
    OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:9',
    OTEL_METRIC_EXPORT_INTERVAL: '50',
  })
  expect((await fetch(`${server.url}/api/health`)).status).toBe(200)
  await expect.poll(() => server.output()).toContain('metrics could not be exported')
  await server.stop()
  other.close()

  expect(server.logged('metrics could not be served')).toMatchObject([
    { level: 'error', cause: { code: 'EADDRINUSE' } },
  ])
  expect(server.logged('metrics could not be exported')).toHaveLength(1)
})

test('exports the metrics as OTLP before the server exits, unless only spans are wanted', async ({
  user,
}) => {
  const receiver = await startReceiver()
  const settings = { OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url }
  const server = await startServer(settings)
  const code = await newCode(user)
  expect((await postTo(server.url + exchangePath, { code })).status).toBe(200)
  await server.stop()

  const attributes = (labels: Record<string, string>) =>
    Object.entries(labels).map(([key, value]) => ({ key, value: { stringValue: value } }))
  const exchange = { route: 'sso-exchange', status: '200' }
  expect(receiver.points('auth_requests')).toContainEqual(
    expect.objectContaining({ attributes: attributes(exchange), asDouble: 1 }),
  )
  expect(receiver.points('auth_request_duration_seconds')).toContainEqual(
    expect.objectContaining({
      attributes: attributes({ route: 'sso-exchange' }),
      count: 1,
    }),
  )
  expect(receiver.points('auth_migrations_pending')).toMatchObject([{ asDouble: 0 }])
  expect(receiver.spans().length).toBeGreaterThan(0)
  expect(receiver.problems).toEqual([])
  for (const text of [user.id, user.email, code])
    expect(receiver.bodies.some((body) => body.includes(text))).toBe(false)

  const count = receiver.points('auth_requests').length
  expect(count).toBeGreaterThan(0)
  const withoutMetrics = await startServer({ ...settings, OTEL_METRICS_EXPORTER: 'none' })
  const before = receiver.bodies.length
  await fetch(`${withoutMetrics.url}/api/health`, {
    headers: { 'X-Request-Id': randomUUID() },
  })
  await withoutMetrics.stop()
  await receiver.stop()
  const later = receiver.bodies.slice(before)
  expect(later.length).toBeGreaterThan(0)
  expect(later.join()).not.toContain('resourceMetrics')
})
