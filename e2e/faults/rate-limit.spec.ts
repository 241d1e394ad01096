import { createHmac } from 'node:crypto'
import { once } from 'node:events'
import { expect, test } from '../support/fixtures'
import { preload } from '../support/preload'
import { newAddress } from '../support/secrets'
import { countOf, sendMany } from '../support/send-many'
import { type Server, startServer } from '../support/server'
import { startUpstash, type Upstash } from '../support/upstash'

const limit = 2_000
const windowSeconds = 15 * 60

let upstash: Upstash
let servers: Server[]
let clockSettings: Record<string, string>
/** The clocks of the servers are one minute into a window, so that no test spans two windows. */
let clockShiftSeconds: number
test.beforeAll(async () => {
  upstash = await startUpstash()
  clockShiftSeconds = 60 - ((Date.now() / 1000) % windowSeconds)
  clockSettings = {
    ...preload('shifted-clock.mjs', 'fast-retries.mjs'),
    CLOCK_SHIFT_SECONDS: String(clockShiftSeconds),
  }
  const settings = { ...upstash.settings, ...clockSettings }
  servers = await Promise.all([startServer(settings), startServer(settings)])
  await sendMany(20, (index) => ask(index, newAddress()), 4) // the first requests may be too slow for the time limit
  await untilRedisIsUsed(...servers)
})
test.afterAll(async () => {
  await Promise.all(servers.map((server) => server.stop()))
  await upstash.stop()
})
test.beforeEach(() => {
  upstash.commands.length = 0
})

const request = ({ url }: Server, address = newAddress()) =>
  fetch(`${url}/api/health`, { headers: { 'X-Forwarded-For': address } })
const ask = (index: number, address: string) => request(servers[index % servers.length]!, address)
const remainingIn = ({ headers }: { headers: Headers }) => Number(headers.get('ratelimit')!.match(/r=(\d+)/)![1])
const secondsIn = ({ headers }: { headers: Headers }) => Number(headers.get('ratelimit')!.match(/;t=(\d+)/)![1])

const countLogged = (server: Server, message: string, from = 0) => server.output().slice(from).split(message).length - 1
const outages = (server: Server, from = 0) => countLogged(server, 'Redis does not answer', from)

/** Sends requests until servers have ended every outage. */
async function untilRedisIsUsed(...those: Server[]): Promise<void> {
  for (const server of those) {
    const isUsed = async () => {
      await (await request(server)).arrayBuffer()
      return countLogged(server, 'Redis answers again') === outages(server)
    }
    await expect.poll(isUsed, { intervals: [50], timeout: 20_000 }).toBe(true)
  }
}

/** The key of an address in Redis: a hash without a secret could be reversed by hashing every IP address. */
async function keyOf(address: string): Promise<string> {
  const secret = upstash.settings.UPSTASH_REDIS_REST_TOKEN!
  const hash = createHmac('sha256', secret).update(address).digest('base64url')
  const keys = (await upstash.redis.keys('*')).filter((key) => key.includes(hash))
  expect(keys).toHaveLength(1)
  return keys[0]!
}

test('two processes share the limit, and reject later requests without a call to Redis', async () => {
  const address = newAddress()
  await ask(0, address)
  const left = 100
  await upstash.redis.incrby(await keyOf(address), limit - 1 - left)
  const responses = await sendMany(left, (index) => ask(index, address), 10)
  expect(countOf(responses, 200)).toBe(left)
  const remaining = responses.map(remainingIn).sort((a, b) => a - b)
  expect(remaining).toEqual(Array.from({ length: left }, (_, index) => index))
  const first = await sendMany(2, (index) => ask(index, address), 1)
  expect(countOf(first, 429)).toBe(2)
  for (const { headers } of first) {
    const seconds = Number(headers.get('retry-after'))
    const inWindow = (Date.now() / 1000 + clockShiftSeconds) % windowSeconds
    expect(Math.abs(seconds - (windowSeconds - inWindow))).toBeLessThan(3)
    expect(headers.get('ratelimit')).toBe(`"platform";r=0;t=${seconds}`)
  }

  const sent = upstash.commands.length
  expect(sent).toBeLessThanOrEqual(1 + left + 2) // one command per request
  expect(countOf(await sendMany(100, (index) => ask(index, address)), 429)).toBe(100)
  expect(upstash.commands.length).toBe(sent)
})

test('counts 3,000 IP addresses in a heap of 64 MB', async () => {
  const small = await startServer({ RATE_LIMIT: 'in-process', NODE_OPTIONS: '--max-old-space-size=64' })
  const responses = await sendMany(3_000, (index) => request(small, `10.0.${index >> 8}.${index & 255}`))
  expect(countOf(responses, 200)).toBe(3_000)
  await small.stop()
})

test('sends no IP addresses to Redis, and its keys expire', async () => {
  const address = newAddress()
  await ask(0, address)
  expect(await upstash.redis.pttl(await keyOf(address))).toBeGreaterThan(0)
  const keys = await upstash.redis.keys('*')
  expect(keys.join() + JSON.stringify(upstash.commands)).not.toContain(address)
  for (const key of keys) expect(await upstash.redis.pttl(key)).toBeGreaterThan(0)
})

for (const [what, begin, end] of [
  ['killed', () => upstash.kill(), () => upstash.restart()],
  ['frozen', async () => upstash.freeze(), async () => upstash.thaw()],
] as const) {
  test(`each process counts on its own, without delays, while Redis is ${what}, and uses it again afterwards`, async () => {
    const address = newAddress()
    const from = servers.map((server) => server.output().length)
    await begin()
    const concurrency = 20
    const responses = await sendMany(400, (index) => ask(index, address), concurrency)
    // Without the fallback, every response would be late. A pause of the machine delays those in flight.
    expect(responses.filter(({ ms }) => ms > 600).length).toBeLessThanOrEqual(2 * concurrency)
    expect(countOf(responses, 200)).toBe(400)
    const remaining = responses.map(remainingIn).sort((a, b) => b - a)
    expect(remaining).toEqual(Array.from({ length: 400 }, (_, index) => limit - 1 - Math.floor(index / 2)))
    expect(servers.map((server, index) => outages(server, from[index]))).toEqual([1, 1])

    await end()
    await untilRedisIsUsed(...servers)
    upstash.commands.length = 0
    await sendMany(10, (index) => ask(index, newAddress()))
    expect(upstash.commands.length).toBeGreaterThanOrEqual(10)
  })
}

test('waits for one call only when Redis is slow and needs the script again', async () => {
  upstash.slowDown(350) // of 400 ms for both calls together
  const scriptsRunBefore: number[] = []
  const responses = await sendMany(20, async (index) => {
    const response = await ask(index, newAddress())
    scriptsRunBefore.push(upstash.scriptsRun())
    return response
  })
  upstash.slowDown(0)
  expect(scriptsRunBefore).toEqual(Array(20).fill(0))
  expect(countOf(responses, 200)).toBe(20)
  await expect.poll(() => upstash.commands.map(([name]) => name?.toLowerCase())).toContain('eval') // the second call
  await untilRedisIsUsed(...servers)
})

const unexpected: Record<string, { begin: () => void; cause: string }> = {
  'a response of 300 KB': { begin: () => upstash.pad(300_000), cause: 'ResponseRejected' },
}
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
])
  unexpected[JSON.stringify(result)] = { begin: () => upstash.respondWith(result), cause: 'TypeError' }

test('an unexpected response of Redis counts as an outage: the process counts', async () => {
  const [server] = servers
  for (const [what, { begin, cause }] of Object.entries(unexpected)) {
    const from = server!.output().length
    const address = newAddress()
    begin()
    for (let count = 1; count <= 3; count++) {
      const response = await request(server!, address)
      expect([response.status, remainingIn(response)], what).toEqual([200, limit - count])
    }
    upstash.respondWith(undefined)
    upstash.pad(0)
    await untilRedisIsUsed(server!)
    expect(outages(server!, from), what).toBe(1)
    expect(server!.output().slice(from), what).toContain(cause)
  }
})

test('uses Redis again, and rejects nobody for longer than a window, after the clock was set back', async () => {
  const inProcess = await startServer({ ...clockSettings, RATE_LIMIT: 'in-process' })
  const [shared] = servers
  const address = newAddress()
  upstash.respondWith([limit + 1, limit])
  expect((await request(shared!, address)).status).toBe(429)
  expect((await request(inProcess, address)).status).toBe(200)
  upstash.respondWith('OK')
  await request(shared!) // begins an outage
  for (const { process } of [shared!, inProcess]) {
    process.send({ clockShiftSeconds: clockShiftSeconds - 120 })
    await once(process, 'message')
  }
  const seconds: number[] = []
  upstash.respondWith([1, limit])
  const statusAndSeconds = async () => {
    for (const server of [shared!, inProcess]) seconds.push(secondsIn(await request(server, address)))
    return (await request(shared!, address)).status
  }
  await untilRedisIsUsed(shared!)
  await expect.poll(statusAndSeconds, { intervals: [50] }).toBe(200)
  upstash.respondWith(undefined)
  expect(Math.max(...seconds)).toBe(windowSeconds)
  await inProcess.stop()
})
