import { createHmac } from 'node:crypto'
import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { parseSigningKeys } from '../../lib/settings/signing-keys'
import { expect, test } from '../support/fixtures'
import { keepSecret, newAddress } from '../support/secrets'
import { preload } from '../support/servers/preload'
import { startRedis, type TestRedis } from '../support/servers/redis'
import { type Server, startServer } from '../support/servers/server'
import { startUpstash, type Upstash } from '../support/servers/upstash'
import { countOf, sendMany } from '../support/wire/send-many'

const limit = 200
const windowSeconds = 15 * 60

let redis: TestRedis
let servers: Server[]
let serverSettings: Record<string, string>
/**
 * The servers' clocks are set to one minute after the start of a window, so that no test
 * spans two windows.
 */
let clockShiftSeconds: number

async function startAll(started: TestRedis): Promise<void> {
  redis = started
  clockShiftSeconds = 60 - ((Date.now() / 1000) % windowSeconds)
  serverSettings = {
    ...preload('shifted-clock.mjs', 'fast-retries.mjs'),
    CLOCK_SHIFT_SECONDS: String(clockShiftSeconds),
    RATE_LIMIT_REQUESTS: String(limit),
  }
  const settings = { ...serverSettings, ...redis.settings }
  servers = await Promise.all([startServer(settings), startServer(settings)])
  // the first requests may exceed the time limit for Redis
  await sendMany(20, (index) => ask(index, newAddress()), 4)
  await untilRedisIsUsed(...servers)
}

const request = ({ url }: Pick<Server, 'url'>, address = newAddress()) =>
  fetch(`${url}/api/health`, { headers: { 'X-Forwarded-For': address } })
const ask = (index: number, address: string) =>
  request(servers[index % servers.length]!, address)
const remainingIn = ({ headers }: { headers: Headers }) =>
  Number(headers.get('ratelimit')!.match(/r=(\d+)/)![1])
const secondsIn = ({ headers }: { headers: Headers }) =>
  Number(headers.get('ratelimit')!.match(/;t=(\d+)/)![1])

/** Returns the reasons of the outages that a server logged. */
const outages = ({ output }: Server, from = 0) =>
  output()
    .slice(from)
    .match(/"reason":"[^"]+/g) ?? []

/** Sends requests until the servers have logged the end of every outage. */
async function untilRedisIsUsed(...those: Server[]): Promise<void> {
  for (const server of those) {
    const isUsed = async () => {
      await (await request(server)).arrayBuffer()
      return (
        server.output().split('Redis is available again').length - 1 ===
        outages(server).length
      )
    }
    await expect.poll(isUsed, { intervals: [50], timeout: 20_000 }).toBe(true)
  }
}

/**
 * Returns the key of an IP address in Redis, an HMAC. A plain hash could be reversed by
 * hashing every IP address.
 */
async function keyOf(address: string): Promise<string> {
  const { rateLimitKey } = parseSigningKeys(process.env.SESSION_SIGNING_KEYS!)
  const hash = createHmac('sha256', rateLimitKey).update(address).digest('base64url')
  const keys = (await redis.client.keys('*')).filter((key) => key.includes(hash))
  expect(keys).toHaveLength(1)
  return keys[0]!
}

for (const [name, start] of Object.entries({
  'plain Redis': startRedis,
  Upstash: startUpstash,
}))
  test.describe(name, () => {
    test.beforeAll(async () => startAll(await start()))
    test.afterAll(async () => {
      await Promise.all(servers.map((server) => server.stop()))
      await redis.stop()
    })

    test('two processes share the limit, and Redis stores no IP addresses and only keys that expire', async () => {
      const address = newAddress()
      const startedAt = Date.now()
      const responses = await sendMany(limit, (index) => ask(index, address), 10)
      expect(countOf(responses, 200)).toBe(limit)
      const remaining = responses.map(remainingIn).sort((a, b) => a - b)
      expect(remaining).toEqual(Array.from({ length: limit }, (_, index) => index))
      for (const { status, headers } of await sendMany(
        20,
        (index) => ask(index, address),
        1,
      )) {
        const seconds = Number(headers.get('retry-after'))
        const inWindow =
          name === 'Upstash'
            ? Date.now() / 1000 + clockShiftSeconds
            : (Date.now() - startedAt) / 1000
        expect([status, headers.get('ratelimit')]).toEqual([
          429,
          `"platform";r=0;t=${seconds}`,
        ])
        expect(
          Math.abs(windowSeconds - (inWindow % windowSeconds) - seconds),
        ).toBeLessThan(3)
      }
      const keys = await redis.client.keys('*')
      expect(keys).toContain(await keyOf(address))
      expect(keys.join()).not.toContain(address)
      for (const key of keys) expect(await redis.client.pttl(key)).toBeGreaterThan(0)
    })

    for (const [what, begin, end, reason] of [
      [
        'killed',
        () => redis.kill(),
        () => redis.restart(),
        /REFUSED|closed|too slow|writeable|max retries/,
      ],
      [
        'frozen',
        async () => redis.freeze(),
        async () => redis.thaw(),
        /too slow|timed out/,
      ],
    ] as const)
      test(`while Redis is ${what}, each process counts on its own without delays, and afterwards uses Redis again`, async () => {
        const address = newAddress()
        const from = servers.map((server) => server.output().length)
        await begin()
        const responses = await sendMany(limit, (index) => ask(index, address), 10)
        // Only the first requests wait 400 ms for Redis. A pause of the machine can delay
        // others.
        expect(responses.filter(({ ms }) => ms > 350).length).toBeLessThanOrEqual(30)
        expect(countOf(responses, 200)).toBe(limit)
        const remaining = responses.map(remainingIn).sort((a, b) => b - a)
        expect(remaining).toEqual(
          Array.from({ length: limit }, (_, index) => limit - 1 - Math.floor(index / 2)),
        )
        for (const [index, server] of servers.entries())
          expect(outages(server, from[index])).toEqual([expect.stringMatching(reason)])

        await end()
        await untilRedisIsUsed(...servers)
        const used = newAddress()
        const counted = (await sendMany(10, (index) => ask(index, used), 1)).map(
          remainingIn,
        )
        expect(counted).toEqual(
          Array.from({ length: 10 }, (_, index) => limit - 1 - index),
        )
      })

    test('treats an error of Redis as an outage, and logs its message', async () => {
      const [server] = servers
      const from = server!.output().length
      const address = newAddress()
      await request(server!, address)
      await redis.client.set(await keyOf(address), 'text', 'EX', 60)
      for (const count of [1, 2])
        expect(remainingIn(await request(server!, address))).toBe(limit - count)
      await untilRedisIsUsed(server!)
      expect(outages(server!, from)).toEqual([
        expect.stringMatching(/ERR value is not an integer or out of range/),
      ])
    })

    test('if Redis rejects the credentials, the log contains the reason, but not the command', async () => {
      const settings = { ...redis.settings }
      if (settings.REDIS_URL)
        settings.REDIS_URL = settings.REDIS_URL.replace(/:[^:]+@/, ':x@')
      else settings.UPSTASH_REDIS_REST_TOKEN = 'x'
      const server = await startServer(settings)
      for (const count of [1, 2])
        expect(remainingIn(await request(server, '10.0.0.1'))).toBe(2_000 - count)
      expect(outages(server)).toEqual([
        expect.stringMatching(/: (Unauthorized|WRONGPASS invalid username[^,]+)$/),
      ])
      await server.stop()
    })

    if (name === 'plain Redis') return
    const upstash = () => redis as Upstash

    test('if the URL has a password, which `fetch` does not allow, the log does not quote the URL', async () => {
      const password = keepSecret('a-password-in-the-url-of-upstash')
      const UPSTASH_REDIS_REST_URL = redis.settings.UPSTASH_REDIS_REST_URL!.replace(
        '//',
        `//user:${password}@`,
      )
      const server = await startServer({ ...redis.settings, UPSTASH_REDIS_REST_URL })
      await request(server)
      await server.stop()
      expect(outages(server)).toEqual([expect.stringContaining('includes credentials')])
      expect(server.output()).not.toContain(password)
    })

    test('sends one command per request, and no command for requests above the limit', async () => {
      const address = newAddress()
      upstash().commands.length = 0
      expect(countOf(await sendMany(limit + 1, () => ask(0, address)), 429)).toBe(1)
      expect(upstash().commands.length).toBe(limit + 1)
      expect(JSON.stringify(upstash().commands)).not.toContain(address)
      expect(countOf(await sendMany(20, () => ask(0, address)), 429)).toBe(20)
      expect(upstash().commands.length).toBe(limit + 1)
    })

    test('waits for only one call if Redis is slow and does not have the script', async () => {
      upstash().slowDown(350) // the time limit of both calls together is 400 ms
      const responses = await sendMany(20, (index) => ask(index, newAddress()))
      expect(upstash().scriptsRun()).toBe(0)
      upstash().slowDown(0)
      expect(countOf(responses, 200)).toBe(20)
      await expect
        .poll(() => upstash().commands.map(([name]) => name?.toLowerCase()))
        .toContain('eval') // the second call
      await untilRedisIsUsed(...servers)
    })

    test('treats a result that is not a count as an outage, and counts in the process', async () => {
      const [server] = servers
      for (const result of [
        'OK',
        ['a', 'b'],
        [1],
        [-5, limit],
        [1.5, limit],
        null,
        7,
        { used: 1 },
      ]) {
        const what = JSON.stringify(result)
        const from = server!.output().length
        const address = newAddress()
        upstash().respondWith(result)
        for (let count = 1; count <= 3; count++) {
          const response = await request(server!, address)
          expect([response.status, remainingIn(response)], what).toEqual([
            200,
            limit - count,
          ])
        }
        upstash().respondWith(undefined)
        await untilRedisIsUsed(server!)
        expect(outages(server!, from), what).toEqual([
          expect.stringContaining('TypeError'),
        ])
        expect((await request(server!, address)).status, what).toBe(200)
      }
    })

    test('after the clock was set back, uses Redis again and rejects no client for longer than a window', async () => {
      const inProcess = await startServer({ ...serverSettings, RATE_LIMIT: 'in-process' })
      const [shared, failing] = servers
      const address = newAddress()
      upstash().respondWith([limit + 1, limit])
      expect((await request(shared!, address)).status).toBe(429)
      expect((await request(inProcess, address)).status).toBe(200)
      upstash().respondWith('OK')
      await request(failing!) // begins an outage
      for (const { process } of [shared!, failing!, inProcess]) {
        process.send({ clockShiftSeconds: clockShiftSeconds - 120 })
        await once(process, 'message')
      }
      upstash().respondWith([1, limit])
      const responses = await sendMany(
        3,
        (index) => request([shared!, shared!, inProcess][index]!, address),
        1,
      )
      expect(responses.map(({ status }) => status)).toEqual([429, 200, 200])
      expect(Math.max(...responses.map(secondsIn))).toBe(windowSeconds)
      await untilRedisIsUsed(failing!)
      upstash().respondWith(undefined)
      await inProcess.stop()
    })
  })

test('connects to Redis again after a connection was lost without being closed', async () => {
  const plain = await startRedis()
  const sockets: Socket[] = []
  const relay = createServer((socket) => {
    const toRedis = connect(plain.client.options.port!, '127.0.0.1').on('error', () => {})
    sockets.push(socket.on('error', () => {}))
    socket.pipe(toRedis).pipe(socket)
  }).listen(0)
  const url = Object.assign(new URL(plain.settings.REDIS_URL!), {
    port: (relay.address() as AddressInfo).port,
  })
  const server = await startServer({
    ...plain.settings,
    ...preload('fast-retries.mjs'),
    REDIS_URL: url.href,
  })
  await untilRedisIsUsed(server)
  for (const socket of sockets) socket.unpipe().pause()
  await request(server)
  expect(outages(server).at(-1)).toMatch(/too slow|timed out/)
  await untilRedisIsUsed(server)
  await Promise.all([server.stop(), plain.stop()])
  relay.close()
})

test('connects to Redis again after a failover made it a read-only replica', async () => {
  const [old, promoted] = [await startRedis(), await startRedis()]
  const { password } = old.client.options
  await promoted.client.config('SET', 'requirepass', password!)
  let port = old.client.options.port!
  const relay = createServer((socket) => {
    const toRedis = connect(port, '127.0.0.1').on('error', () => {})
    socket
      .on('error', () => {})
      .pipe(toRedis)
      .pipe(socket)
  }).listen(0)
  const url = Object.assign(new URL(old.settings.REDIS_URL!), {
    port: (relay.address() as AddressInfo).port,
  })
  const server = await startServer({
    ...old.settings,
    ...preload('fast-retries.mjs'),
    REDIS_URL: url.href,
  })
  await untilRedisIsUsed(server)

  port = promoted.client.options.port!
  await old.client.replicaof('127.0.0.1', 1) // without a primary, it writes no file
  await request(server)
  expect(outages(server).at(-1)).toMatch(/READONLY|too slow|timed out/)
  await untilRedisIsUsed(server)
  expect(await promoted.client.keys('platform-limit:*')).not.toEqual([])

  await Promise.all([server.stop(), old.stop(), promoted.stop()])
  relay.close()
})

test('counts 3,000 IP addresses in a heap of 64 MB', async ({ serverWith }) => {
  const small = await serverWith({
    RATE_LIMIT: 'in-process',
    NODE_OPTIONS: '--max-old-space-size=64',
  })
  const responses = await sendMany(3_000, (index) =>
    request(small, `10.0.${index >> 8}.${index & 255}`),
  )
  expect(countOf(responses, 200)).toBe(3_000)
})
