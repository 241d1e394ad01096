import { createHmac } from 'node:crypto'
import { expect, newAddress, test } from '../support/fixtures'
import { countOf, flood } from '../support/flood'
import { type Server, startServer } from '../support/server'
import { startUpstash, type Upstash } from '../support/upstash'

const limit = 2_000
const windowMs = 15 * 60_000

test.describe.configure({ mode: 'serial' })

let upstash: Upstash
let servers: Server[]
test.beforeAll(async () => {
  upstash = await startUpstash()
  servers = await Promise.all([startServer(upstash.settings), startServer(upstash.settings)])
  // Warms up the servers and loads the script into Redis. A slow first request may make a server
  // skip Redis for 2 s.
  for (let round = 0; round < 3; round++) {
    await flood(20, (index) => ask(index, newAddress()), 4)
    await new Promise((resolve) => setTimeout(resolve, 2_100))
  }
})
test.afterAll(async () => {
  await Promise.all(servers.map((server) => server.stop()))
  await upstash.stop()
})
test.beforeEach(() => {
  upstash.commands.length = 0
})

const ask = (index: number, address: string) =>
  fetch(`${servers[index % servers.length]!.url}/api/health`, { headers: { 'X-Forwarded-For': address } })

/**
 * Waits for the next 15-minute window if the current one ends soon, so that a test does not span
 * two.
 */
async function farFromTheWindowsEnd(): Promise<void> {
  const leftMs = windowMs - (Date.now() % windowMs)
  if (leftMs > 150_000) return
  test.setTimeout(test.info().timeout + leftMs)
  await new Promise((resolve) => setTimeout(resolve, leftMs + 100))
}

/**
 * Uses up the limit of a new address. Starts over if Redis was too slow for a moment, as then the
 * processes counted on their own.
 */
async function useUpTheLimit(): Promise<{ address: string; responses: Awaited<ReturnType<typeof flood>> }> {
  for (;;) {
    await farFromTheWindowsEnd()
    upstash.commands.length = 0
    const from = servers.map((server) => server.output().length)
    const address = newAddress()
    const responses = await flood(limit, (index) => ask(index, address), 20)
    if (!servers.some((server, index) => server.output().slice(from[index]).includes('Redis does not answer')))
      return { address, responses }
    await new Promise((resolve) => setTimeout(resolve, 2_100))
  }
}

test('two processes share 2,000 requests; both reject the next one, later without a call to Redis', async () => {
  const { address, responses } = await useUpTheLimit()
  expect(countOf(responses, 200)).toBe(limit)
  const remaining = responses
    .map(({ headers }) => Number(headers.get('ratelimit')!.match(/r=(\d+)/)![1]))
    .sort((a, b) => a - b)
  expect(remaining).toEqual(Array.from({ length: limit }, (_, index) => index))
  const first = await flood(2, (index) => ask(index, address), 1)
  expect(countOf(first, 429)).toBe(2)
  for (const { headers } of first) {
    const seconds = Number(headers.get('retry-after'))
    expect(Math.abs(seconds - (windowMs - (Date.now() % windowMs)) / 1000)).toBeLessThan(3)
    expect(headers.get('ratelimit')).toBe(`"platform";r=0;t=${seconds}`)
  }

  const asked = upstash.commands.length
  expect(asked).toBeLessThanOrEqual(limit + 2 + 2 * 50) // one command per request, and some to load the script
  expect(countOf(await flood(200, (index) => ask(index, address)), 429)).toBe(200)
  expect(upstash.commands.length).toBe(asked)
})

test('40,000 requests with different forged X-Forwarded-For headers count as one client', async () => {
  await farFromTheWindowsEnd()
  // in-process, because a pause of Redis would begin a second count
  const direct = await startServer({ RATE_LIMIT: 'in-process', TRUSTED_PROXIES: '0' })
  const responses = await flood(20 * limit, (index) =>
    fetch(`${direct.url}/api/health`, {
      headers: { 'X-Forwarded-For': `10.${index >> 16}.${(index >> 8) & 255}.${index & 255}` },
    }),
  )
  await direct.stop()
  expect(countOf(responses, 200)).toBe(limit)
  expect(countOf(responses, 429)).toBe(19 * limit)
})

test('counting 10,000 IP addresses needs little memory', async () => {
  const small = await startServer({
    RATE_LIMIT: 'in-process',
    TRUSTED_PROXIES: '1',
    NODE_OPTIONS: '--max-old-space-size=64',
  })
  const responses = await flood(10_000, (index) =>
    fetch(`${small.url}/api/health`, { headers: { 'X-Forwarded-For': `10.0.${index >> 8}.${index & 255}` } }),
  )
  expect(countOf(responses, 200)).toBe(10_000)
  await small.stop()
})

test('Redis receives no IP addresses, and its keys expire with the window', async () => {
  const address = newAddress()
  await ask(0, address)
  const keys = await upstash.redis.keys('*')
  expect(keys.length).toBeGreaterThan(0)
  expect(keys.join() + JSON.stringify(upstash.commands)).not.toContain(address)
  // A hash without a key could be reversed by hashing every IP address.
  const secret = upstash.settings.UPSTASH_REDIS_REST_TOKEN!
  const keyed = createHmac('sha256', secret).update(address).digest('base64url')
  expect(keys.filter((key) => key.includes(keyed))).toHaveLength(1)
  for (const key of keys) expect(await upstash.redis.pttl(key)).toBeGreaterThan(0)
})

for (const [what, begin, end] of [
  ['killed', () => upstash.kill(), () => upstash.restart()],
  ['frozen', async () => upstash.freeze(), async () => upstash.thaw()],
] as const) {
  test(`with Redis ${what}: no response is delayed or a 5xx, each process keeps its own limit, and Redis is used again afterwards`, async () => {
    await farFromTheWindowsEnd()
    const address = newAddress()
    const quiet = () => servers.map((server) => server.output().length)
    const from = quiet()
    const logged = (message: string) =>
      servers.map((server, index) => server.output().slice(from[index]).split(message).length - 1)

    await begin()
    const atOnce = 20
    const responses = await flood(2 * limit + 100, (index) => ask(index, address), atOnce)
    // Without the fallback, every response would be late. A pause of the machine delays those in flight.
    expect(responses.filter(({ ms }) => ms > 600).length).toBeLessThanOrEqual(2 * atOnce)
    expect(countOf(responses, 200)).toBe(2 * limit)
    expect(countOf(responses, 429)).toBe(100)
    expect(logged('Redis does not answer')).toEqual([1, 1])

    await end()
    await expect
      .poll(
        async () => {
          await flood(2, (index) => ask(index, newAddress()))
          return logged('Redis answers again')
        },
        { timeout: 20_000 },
      )
      .toEqual([1, 1])
    upstash.commands.length = 0
    await flood(10, (index) => ask(index, newAddress()))
    expect(upstash.commands.length).toBeGreaterThanOrEqual(10)
  })
}

test('if Redis is slow and needs the script again, no response waits for both calls', async () => {
  upstash.slowDown(350) // of 400 ms for both calls together
  const scriptsRunBefore: number[] = []
  const responses = await flood(20, async (index) => {
    const response = await ask(index, newAddress())
    scriptsRunBefore.push(upstash.scriptsRun())
    return response
  })
  upstash.slowDown(0)
  expect(scriptsRunBefore).toEqual(Array(20).fill(0))
  expect(countOf(responses, 200)).toBe(20)
  await expect.poll(() => upstash.commands.map(([name]) => name?.toLowerCase())).toContain('eval') // the second call had been sent
})

test('an unexpected result from Redis counts as an outage: the process counts, and no client is locked out', async () => {
  for (const result of [
    'OK',
    ['a', 'b'],
    [1],
    [1, 1],
    [-5, limit],
    [1.5, limit],
    null,
    7,
    { used: 1 },
    [Number.MAX_VALUE, limit],
  ]) {
    const server = await startServer(upstash.settings)
    const address = newAddress()
    const request = () => fetch(`${server.url}/api/health`, { headers: { 'X-Forwarded-For': address } })
    await farFromTheWindowsEnd()
    upstash.respondWith(result)
    for (let count = 1; count <= 3; count++) {
      const { status, headers } = await request()
      expect([status, headers.get('ratelimit')], JSON.stringify(result)).toEqual([
        200,
        expect.stringMatching(new RegExp(`;r=${limit - count};t=\\d+$`)),
      ])
    }
    upstash.respondWith(undefined)
    const outputAfterRequest = async () => {
      await request()
      return server.output()
    }
    await expect.poll(outputAfterRequest, { timeout: 20_000 }).toContain('Redis answers again')
    expect(server.output().split('Redis does not answer').length - 1).toBe(1)
    await server.stop()
  }
})

test('Redis is used again also if the clock is set back meanwhile', async () => {
  const server = await startServer({
    ...upstash.settings,
    CLOCK_RUNS_BACK: '1',
    NODE_OPTIONS: `--import ${new URL('../support/shifted-clock.mjs', import.meta.url).href}`,
  })
  const outputAfterRequest = async () => {
    await fetch(`${server.url}/api/health`, { headers: { 'X-Forwarded-For': newAddress() } })
    return server.output()
  }
  upstash.respondWith('OK')
  await expect.poll(outputAfterRequest).toContain('Redis does not answer')
  upstash.respondWith(undefined)
  await expect.poll(outputAfterRequest, { timeout: 20_000 }).toContain('Redis answers again')
  await server.stop()
})

test('a clock that is set back makes nobody wait for more than a window', async () => {
  const bucketStart = Math.floor(Date.now() / windowMs) * windowMs
  const settings = {
    CLOCK_RUNS_BACK: '1',
    CLOCK_SHIFT_SECONDS: String((bucketStart - Date.now()) / 1000 + 10), // the window begins ten seconds later, backwards
    NODE_OPTIONS: `--import ${new URL('../support/shifted-clock.mjs', import.meta.url).href}`,
  }
  const redisServer = await startServer({ ...upstash.settings, ...settings })
  const inProcess = await startServer({ RATE_LIMIT: 'in-process', ...settings })
  const address = newAddress()
  const request = async (server: Server) => {
    const response = await fetch(`${server.url}/api/health`, { headers: { 'X-Forwarded-For': address } })
    return [response.status, Number(response.headers.get('ratelimit')!.match(/;t=(\d+)/)![1])] as const
  }
  upstash.respondWith([limit + 1, limit])
  expect((await request(redisServer))[0]).toBe(429)
  expect((await request(inProcess))[0]).toBe(200)
  upstash.respondWith([1, limit])
  const seen: number[] = []
  await expect
    .poll(
      async () => {
        const [status, seconds] = await request(redisServer)
        seen.push(seconds, (await request(inProcess))[1])
        return status
      },
      { timeout: 30_000 },
    )
    .toBe(200)
  upstash.respondWith(undefined)
  expect(Math.max(...seen)).toBe(windowMs / 1000)
  await Promise.all([redisServer.stop(), inProcess.stop()])
})

test('a response of Redis that is larger than counts are is an outage too, before it is read', async () => {
  const server = await startServer(upstash.settings)
  const address = newAddress()
  const request = () => fetch(`${server.url}/api/health`, { headers: { 'X-Forwarded-For': address } })
  await farFromTheWindowsEnd()
  expect((await request()).status).toBe(200)
  upstash.pad(300_000)
  const responses = [await request(), await request()]
  expect(responses.map(({ status }) => status)).toEqual([200, 200])
  expect(server.output()).toContain('Redis does not answer')
  expect(server.output()).toContain('ResponseRejected')
  upstash.pad(0)
  await server.stop()
})
