import * as routes from '../../lib/contract/routes'
import { createScimToken } from '../../lib/scim/manage'
import {
  deactivation,
  errorIn,
  newPerson,
  openDirectory,
  withToken,
} from '../support/clients/directory'
import { expect, type TestServer, test } from '../support/fixtures'
import { keepSecret, newAddress } from '../support/secrets'
import { preload } from '../support/servers/preload'
import { shiftClock } from '../support/servers/server'
import { countOf, sendMany } from '../support/wire/send-many'

const limit = 1_500

let server: TestServer
test.beforeAll(async ({ serverWith }) => {
  server = await serverWith({ SCIM: 'true', ...preload('shifted-clock.mjs') })
})

test('a token has 1,500 requests a minute, and a rejected request can be sent again', async ({
  sql,
}) => {
  const directory = await openDirectory(() => server.url)
  const { connection, domain, send } = directory
  const other = withToken(
    () => server.url,
    keepSecret(await createScimToken(connection, 3_600)),
  )
  const address = { 'X-Forwarded-For': newAddress() }
  const { body } = await send('POST', '/Users', newPerson(domain), address)
  const isActive = async () =>
    (
      await sql('SELECT disabled_at IS NULL AS it FROM users WHERE id = $1', [body.id])
    )[0]!.it

  // up to the last one but one: these requests read only the token
  const url = `${server.url}${routes.scim.path}/ServiceProviderConfig`
  const headers = { ...address, Authorization: `Bearer ${directory.token}` }
  const responses = await sendMany(limit - 2, () => fetch(url, { headers }), 16)
  expect(countOf(responses, 200)).toBe(limit - 2)
  const last = await send('GET', `/Users/${body.id}`, undefined, address)
  expect([last.status, last.headers.get('ratelimit')]).toEqual([
    200,
    expect.stringMatching(/^"scim";r=0;t=\d+$/),
  ])

  const rejected = await send('PATCH', `/Users/${body.id}`, deactivation, address)
  expect(errorIn(rejected)[0]).toBe(429)
  const seconds = Number(rejected.headers.get('retry-after'))
  expect(seconds).toBeGreaterThan(0)
  expect(seconds).toBeLessThanOrEqual(60)
  expect(rejected.headers.get('ratelimit-policy')).toBe(`"scim";q=${limit};w=60`)
  expect(await isActive()).toBe(true)
  const [line] = await server.logged('directory_requests')
  expect(line).toMatchObject({ route: 'scim', status: 429 })

  // neither the other token nor other clients at the same address have lost a request
  expect((await other('GET', '/Users', undefined, address)).status).toBe(200)
  const health = await fetch(server.url + routes.getHealth.path, { headers: address })
  expect(health.headers.get('ratelimit')).toMatch(/^"platform";r=1999;/)

  await shiftClock(server, seconds)
  const again = await send('PATCH', `/Users/${body.id}`, deactivation, address)
  expect([again.status, await isActive()]).toEqual([200, false])
  await shiftClock(server, 0)
})

test('requests without a live token count against the limit of their IP address', async ({
  serverWith,
}) => {
  const few = await serverWith({ SCIM: 'true', RATE_LIMIT_REQUESTS: '3' })
  const directory = await openDirectory(() => few.url)
  const address = { 'X-Forwarded-For': newAddress() }
  const made = withToken(() => few.url, 'made-up')
  for (const status of [401, 401, 401, 429])
    expect(errorIn(await made('GET', '/Users', undefined, address))[0]).toBe(status)
  for (let count = 0; count < 5; count++)
    expect((await directory.send('GET', '/Users', undefined, address)).status).toBe(200)
})
