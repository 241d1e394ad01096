import { exchangePath, expect, type TestServer, test } from '../support/fixtures'
import { allFeatures } from '../support/servers/settings'

// The fixture `serverWith`.

test.describe.configure({ mode: 'serial' })

let ofFile: TestServer
let ofTest: TestServer
test.beforeAll(async ({ serverWith }) => {
  ofFile = await serverWith({ LOG_LEVEL: 'info' })
})

test('returns the running server with equal settings', async ({ serverWith, url }) => {
  const all = await serverWith(allFeatures)
  const reversed = Object.fromEntries(Object.entries(allFeatures).reverse())
  expect((await serverWith(reversed)).process).toBe(all.process)
  expect((await serverWith()).url).toBe(url)
  expect(all.url).not.toBe(url)
})

test('shows only the log since the test asked, and posts from one address', async ({
  serverWith,
}) => {
  const server = await serverWith()
  const ask = async () => (await server.post(exchangePath, { code: 'x' })).headers
  const [first, second] = [await ask(), await ask()]
  const remaining = (headers: Headers) => /;r=(\d+)/.exec(headers.get('ratelimit')!)![1]
  expect(Number(remaining(first)) - Number(remaining(second))).toBe(1)
  expect(await server.logged('"sso-exchange"')).toHaveLength(2)

  const later = await serverWith()
  expect(await later.output()).toBe('')
  const id = (await ask()).get('x-request-id')!
  expect(await later.logged('')).toMatchObject([
    { requestId: id, code: expect.any(String) },
  ])
})

test('keeps the server of a file', async ({ serverWith }) => {
  expect((await serverWith({ LOG_LEVEL: 'info' })).process).toBe(ofFile.process)
  ofTest = await serverWith({ LOG_LEVEL: 'info', SESSION_AUDIENCE: 'test' })
  expect(ofTest.process.exitCode).toBeNull()
})

test('has stopped the server of the previous test', () => {
  expect(ofTest.process.exitCode).toBe(0)
  expect(ofFile.process.exitCode).toBeNull()
})
