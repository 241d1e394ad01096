import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { cpSync, existsSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs'
import { Agent, get, type IncomingMessage } from 'node:http'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { Worker } from 'node:worker_threads'
import { project } from '../../bin/local'
import { eventLoopDuring, withEventLoopProbe } from '../support/event-loop'
import { exchangePath, expect, newAddress, test } from '../support/fixtures'
import { flood } from '../support/flood'
import { newSamlProvider } from '../support/saml-provider'
import { connectSaml } from '../support/saml-visitor'
import { freePort, type Server, serverFiles, startServer } from '../support/server'

// Tests how much one client without an account can affect all others.

const portOf = (server: Server) => Number(new URL(server.url).port)
const residentMegabytes = ({ process: { pid } }: Server) =>
  Number(execFileSync('ps', ['-o', 'rss=', '-p', String(pid)])) / 1024
/** The CPU time that the process has used, in milliseconds; on Linux, in ticks of 10 ms. */
function cpuMs({ process: { pid } }: Server): number {
  if (process.platform !== 'linux') {
    const [seconds = 0, minutes = 0] = String(execFileSync('ps', ['-o', 'cputime=', '-p', String(pid)]))
      .trim()
      .split(':')
      .reverse()
      .map(Number)
    return (minutes * 60 + seconds) * 1000
  }
  const [user, system] = readFileSync(`/proc/${pid}/stat`, 'latin1').split(' ').slice(13, 15).map(Number)
  return (user! + system!) * 10
}
const descriptors = ({ process: { pid } }: Server) => (existsSync('/proc') ? readdirSync(`/proc/${pid}/fd`).length : 0)
const health = (server: Server, address = newAddress()) =>
  fetch(`${server.url}/api/health`, { headers: { 'X-Forwarded-For': address } })
const median = (values: number[]) => values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)]!

async function readWhole(response: Response): Promise<Response> {
  await response.arrayBuffer()
  return response
}

function open(server: Server, sent?: string): Socket {
  const socket = connect(portOf(server), '127.0.0.1')
  socket.on('error', () => {}) // the server may close it at any time
  socket.resume()
  if (sent) socket.write(sent)
  return socket
}

const closing = (path: string, address: string) =>
  `GET ${path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\nX-Forwarded-For: ${address}\r\n\r\n`

test('upgrade requests do not leak sockets: 900 of them with a limit of 1,024 open files', async () => {
  const server = await startServer({}, { openFiles: 1_024 })
  await health(server)
  const before = descriptors(server)
  for (const path of ['/nothing', '/', '/api/health']) {
    const upgrade = `GET ${path} HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: eHh4eHh4eHh4eHh4eHh4eA==\r\n\r\n`
    const sockets = Array.from({ length: 300 }, () => open(server, upgrade))
    for (const socket of sockets) if (!socket.closed) await once(socket, 'close')
  }
  expect((await health(server)).status).toBe(200)
  await expect.poll(() => descriptors(server)).toBeLessThanOrEqual(before + 5)
  await server.stop()
})

test('connections are limited per network, so that 1,000 from one network leave room for others', async () => {
  const server = await startServer({ TRUSTED_PROXIES: '0' }, { openFiles: 1_024 })
  const sockets: Socket[] = []
  for (let batch = 0; batch < 4; batch++) {
    sockets.push(...Array.from({ length: 250 }, () => open(server, 'GET /api/health HTTP/1.1\r\nHost: x\r\n')))
    await sleep(1_100) // so that the limit of new connections in a second is not the one that counts
  }
  await expect.poll(() => sockets.filter(({ closed }) => closed).length).toBeGreaterThanOrEqual(1_000 - 256)
  expect(sockets.filter(({ closed }) => !closed).length).toBeGreaterThan(200)
  const other = get({
    host: '127.0.0.1',
    localAddress: '127.0.0.2',
    port: portOf(server),
    path: '/api/health',
    agent: false,
  })
  expect((await once(other, 'response'))[0].statusCode).toBe(200)
  for (const socket of sockets) socket.destroy()
  await expect.poll(async () => (await fetch(`${server.url}/api/health`).catch(() => null))?.status).toBe(200)
  await server.stop()
  expect(server.output()).toContain('too many connections from one network')
})

test('connections are limited per site, so that the networks of one owner leave room for others', async () => {
  const server = await startServer({ TRUSTED_PROXIES: '0' }, { openFiles: 1_024 })
  const opened = (localAddress: string) => {
    const socket = connect({ port: portOf(server), host: '127.0.0.1', localAddress }).on('error', () => {})
    return socket.resume()
  }
  const sockets: Socket[] = []
  for (let batch = 0; batch < 4; batch++) {
    sockets.push(...Array.from({ length: 250 }, (_, index) => opened(`127.0.7.${1 + (index % 5)}`)))
    await sleep(1_100)
  }
  await expect.poll(() => sockets.filter(({ closed }) => closed).length).toBeGreaterThanOrEqual(1_000 - 384)
  expect(sockets.filter(({ closed }) => !closed).length).toBeGreaterThan(300)
  const other = opened('127.0.8.1')
  other.write(closing('/api/health', ''))
  expect(String((await once(other, 'data'))[0])).toMatch(/^HTTP\/1\.1 200 /)
  for (const socket of sockets) socket.destroy()
  await server.stop()
  expect(server.output()).toContain('too many connections from one network')
})

test.describe('beside clients that open connections without pause', () => {
  let server: Server
  let bare: { port: number; stop: () => void }
  test.beforeAll(async () => {
    server = await startServer({ TRUSTED_PROXIES: '0' })
    const port = await freePort()
    const handler = `(_request, response) => response.writeHead(404).end('Not found.')`
    const child = spawn(process.execPath, ['-e', `require('http').createServer(${handler}).listen(${port})`])
    bare = { port, stop: () => child.kill() }
    await expect.poll(() => visit(port).catch(() => false)).toBe(true)
  })
  test.afterAll(async () => {
    bare.stop()
    await server.stop()
  })
  let visits = 0
  const visit = async (port: number) => {
    const socket = connect({ port, host: '127.0.0.1', localAddress: `127.0.9.${visits++ % 100}` })
    socket.write('GET /_next/nothing HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n')
    expect(String((await once(socket, 'data'))[0])).toMatch(/^HTTP\/1\.1 404 /)
    return true
  }
  /** The median wait of a new connection, and how many responses the clients got in how many seconds. */
  const waitBeside = async (port: number, clients: object) => {
    const answered = new Int32Array(new SharedArrayBuffer(4))
    const workerData = { port, answered, ...clients }
    const load = new Worker(new URL('../support/connection-load.mjs', import.meta.url), { workerData })
    await sleep(1_000)
    const startedAt = performance.now()
    const waits: number[] = []
    while (performance.now() - startedAt < 3_000) {
      const visitedAt = performance.now()
      await visit(port)
      waits.push(performance.now() - visitedAt)
      await sleep(20)
    }
    await load.terminate()
    const seconds = 1 + (performance.now() - startedAt) / 1_000
    await visit(port) // the queue is empty again
    return { wait: median(waits), answers: answered[0]!, seconds }
  }
  const addresses = { one: ['127.0.6.1'], site: Array.from({ length: 8 }, (_, index) => `127.0.8.${index}`) }
  const request = (path: string, more = '') => `${path} HTTP/1.1\r\nHost: x\r\n${more}\r\n`

  for (const [who, first, perSecond] of [
    ['one', 256, 32],
    ['site', 1_024, 128],
  ] as const) {
    test(`new connections of ${who} are limited, and those of others wait less than at a bare server`, async () => {
      const clients = { addresses: addresses[who], once: 250 * addresses[who].length, request: request('PUT /x') }
      const waits: { own: number; bare: number }[] = []
      for (let round = 0; round < 5; round++) {
        await sleep(2_100) // for a second with few connections
        const { wait, answers, seconds } = await waitBeside(portOf(server), clients)
        waits.push({ own: wait, bare: (await waitBeside(bare.port, clients)).wait })
        expect(answers).toBeLessThanOrEqual(first + perSecond * (seconds + 1))
      }
      const ratios = waits.map(({ own, bare }) => (own / bare).toFixed(2))
      console.log(`${who}: the wait beside that at a bare server: ${ratios.join(', ')}`)
      const sum = (server: 'own' | 'bare') => waits.reduce((total, wait) => total + wait[server], 0)
      expect(sum('own') / sum('bare')).toBeLessThan(1)
      expect(server.output()).toContain('too many new connections from one network')
    })
  }

  test('files of clients that keep 140 connections busy delay new ones no more than at a bare server', async () => {
    const clients = { addresses: addresses.one, kept: 140, request: request('GET /_x') }
    const ratios: number[] = []
    for (let round = 0; round < 3; round++) {
      const { wait } = await waitBeside(portOf(server), clients)
      ratios.push(wait / (await waitBeside(bare.port, clients)).wait)
    }
    console.log(`the wait beside that at a bare server: ${ratios.map((ratio) => ratio.toFixed(2)).join(', ')}`)
    expect(median(ratios)).toBeLessThan(1.2)
  })

  test('clients that keep connections busy, and clients that open and close them, do not add up', async () => {
    const both = { addresses: addresses.one, closed: 60, kept: 140, request: request('GET /_x') }
    const ratios: number[] = []
    for (let round = 0; round < 3; round++) {
      const alone = [
        await waitBeside(portOf(server), { ...both, kept: 0 }),
        await waitBeside(portOf(server), { ...both, closed: 0 }),
      ]
      const { wait } = await waitBeside(portOf(server), both)
      ratios.push(wait / Math.max(...alone.map(({ wait }) => wait)))
    }
    console.log(`the wait beside that with either alone: ${ratios.map((ratio) => ratio.toFixed(1)).join(', ')}`)
    expect(median(ratios)).toBeLessThan(5)
  })
})

test('long lists and cookies cost a file no more than any long header', async () => {
  const server = await startServer()
  const cost = async (header: string) => {
    const request = `GET /_next/nothing HTTP/1.1\r\nHost: x\r\n${header}\r\n\r\n`
    const before = cpuMs(server)
    await Promise.all(
      Array.from({ length: 16 }, async () => {
        const socket = open(server)
        for (let count = 0; count < 100; count++) {
          socket.write(request)
          await once(socket, 'data')
        }
        socket.destroy()
      }),
    )
    return cpuMs(server) - before
  }
  const headers = [
    `X-Y: ${'z'.repeat(15_000)}`,
    `X-Forwarded-For: ${','.repeat(15_000)}`,
    `Cookie: ${'session=; '.repeat(1_500)}`,
  ]
  for (const header of headers) await cost(header) // compiles
  const costs = headers.map((): number[] => [])
  for (let round = 0; round < 5; round++)
    for (const [index, header] of headers.entries()) costs[index]!.push(await cost(header))
  const [any, list, cookies] = costs.map(median)
  console.log(`CPU time of 1,600 requests: ${any} ms with a long header, ${list} with a list, ${cookies} with cookies`)
  expect(list! / any!).toBeLessThan(1.4)
  expect(cookies! / any!).toBeLessThan(1.4)
  await server.stop()
})

test('700 connections may wait to be accepted', async () => {
  const ofSystem = '/proc/sys/net/core/somaxconn'
  const count = Math.min(700, existsSync(ofSystem) ? Number(readFileSync(ofSystem)) : 128) // as many as the system allows
  const server = await startServer()
  server.process.kill('SIGSTOP')
  const sockets = Array.from({ length: count }, () => open(server))
  await expect.poll(() => sockets.filter(({ connecting }) => !connecting).length).toBe(count)
  server.process.kill('SIGCONT')
  for (const socket of sockets) socket.destroy()
  await server.stop()
})

test('behind a proxy, connections are limited per process', async () => {
  const server = await startServer({ TRUSTED_PROXIES: '1' }, { openFiles: 512 })
  const sockets = Array.from({ length: 600 }, () => open(server))
  await expect.poll(() => sockets.filter(({ closed }) => closed).length).toBeGreaterThanOrEqual(600 - 384)
  await expect.poll(() => descriptors(server)).toBeLessThan(512)
  for (const socket of sockets) socket.destroy()
  await expect.poll(async () => (await health(server).catch(() => null))?.status).toBe(200)
  await server.stop()
})

test('pipelined requests are handled one after another, in order', async () => {
  const server = await startServer()
  const request = (path: string, more = '') =>
    `GET ${path} HTTP/1.1\r\nHost: x\r\nX-Forwarded-For: ${newAddress()}\r\n${more}\r\n`
  const paths = Array.from({ length: 14 }, (_, index) => (index % 2 ? '/api/health' : `/nothing-${index}`))
  const socket = open(
    server,
    paths.map((path) => request(path)).join('') + request('/api/health', 'Connection: close\r\n'),
  )
  let received = ''
  socket.on('data', (chunk) => {
    received += chunk
  })
  await once(socket, 'close')
  await server.stop()
  const statuses = [...received.matchAll(/HTTP\/1\.1 (\d+) /g)].map(([, status]) => Number(status))
  expect(statuses).toEqual([...paths.map((path) => (path === '/api/health' ? 200 : 404)), 200])
})

test('40 connections with 400 pipelined requests each use little memory and do not affect other clients', async () => {
  const server = await startServer()
  for (let round = 0; round < 5; round++)
    await (await fetch(`${server.url}/openapi.json`, { headers: { 'X-Forwarded-For': newAddress() } })).text()
  const before = residentMegabytes(server)
  const ahead = 'GET /openapi.json HTTP/1.1\r\nHost: x\r\n\r\n'.repeat(400) // small, so that their number counts
  const sockets = Array.from({ length: 40 }, () => open(server, ahead))
  let most = before
  let ended = false
  const watching = (async () => {
    while (!ended) {
      most = Math.max(most, residentMegabytes(server))
      await sleep(20)
    }
  })()
  for (let round = 0; round < 20; round++) expect((await health(server)).status).toBe(200)
  for (const socket of sockets) if (!socket.closed) await once(socket, 'close')
  ended = true
  await watching
  expect(most - before).toBeLessThan(200)
  await expect.poll(() => residentMegabytes(server) - before, { timeout: 30_000 }).toBeLessThan(100)
  await server.stop()
  expect(server.output()).toContain('too many pipelined requests')
})

test('requests with 16 KiB of headers together wait on one connection, and no more', async () => {
  const server = await startServer()
  const request = `GET /api/health HTTP/1.1\r\nHost: x\r\nX-Forwarded-For: ${newAddress()}\r\nCookie: ${'x'.repeat(5_000)}\r\n\r\n`
  const responsesTo = async (count: number) => {
    const socket = open(server, request.repeat(count) + request.replace('Cookie: ', 'Connection: close\r\nCookie: '))
    let received = ''
    socket.on('data', (chunk) => {
      received += chunk
    })
    await once(socket, 'close')
    return received.split('HTTP/1.1 200').length - 1
  }
  expect(await responsesTo(3)).toBe(4)
  expect(await responsesTo(4)).toBe(0)
  await server.stop()
  expect(server.output()).toContain('too many pipelined requests')
})

test('2,000 requests with thousands of headers, behind slow bodies, use little memory', async () => {
  const server = await startServer()
  const address = newAddress()
  const request = (line: string, ...more: string[]) =>
    `${[line, 'Host: x', `X-Forwarded-For: ${address}`, ...more].join('\r\n')}\r\n\r\n`
  const post = (bytes: number) =>
    request(`POST ${exchangePath} HTTP/1.1`, 'Content-Type: application/json', `Content-Length: ${bytes}`)
  const names = Array.from({ length: 1_950 }, (_, index) => `x${index.toString(36).padStart(3, '0')}:`)
  const heavy = request('GET / HTTP/1.1', ...names)
  await fetch(`${server.url}/`)
  const before = residentMegabytes(server)
  const slow = Array.from({ length: 32 }, () => open(server, `${post(100)}{`))
  await sleep(300)
  const waiting = Array.from({ length: 2_000 }, () => open(server, `${post(2)}{}${heavy}`))
  for (let used = -1; cpuMs(server) > used + 20; await sleep(1_000)) used = cpuMs(server)
  const growth = residentMegabytes(server) - before
  console.log(`memory grew by ${Math.round(growth)} MB`)
  expect(growth).toBeLessThan(150)
  expect((await health(server)).status).toBe(200)
  for (const socket of [...slow, ...waiting]) socket.destroy()
  await server.stop()
})

for (const [requests, chunks] of [
  [1, 16_000],
  [16, 4_000],
] as const) {
  test(`pipelined requests with bodies of small chunks, ${requests} on a connection, use little memory`, async () => {
    const server = await startServer()
    const address = newAddress()
    const post = (more: string) =>
      `POST ${exchangePath} HTTP/1.1\r\nHost: x\r\nX-Forwarded-For: ${address}\r\nContent-Type: application/json\r\n${more}\r\n\r\n`
    const heavy = `${post('Transfer-Encoding: chunked')}${'1\r\nx\r\n'.repeat(chunks)}0\r\n\r\n`
    const ahead = `${post('Content-Length: 2')}{}` // waits for its turn
    await fetch(`${server.url}/`)
    const before = residentMegabytes(server)
    const slow = Array.from({ length: 32 }, () => open(server, `${post('Content-Length: 100')}{`))
    await sleep(300)
    const waiting = Array.from({ length: 200 }, () => open(server, ahead + heavy.repeat(requests)))
    for (let used = -1; cpuMs(server) > used + 20; await sleep(1_000)) used = cpuMs(server)
    const growth = residentMegabytes(server) - before
    console.log(`memory grew by ${Math.round(growth)} MB`)
    expect(growth).toBeLessThan(200)
    expect((await health(server)).status).toBe(200)
    for (const socket of [...slow, ...waiting]) socket.destroy()
    await server.stop()
  })
}

test('one request with a body waits on a connection, and no more', async () => {
  const server = await startServer()
  const address = newAddress()
  const head = (line: string, ...more: string[]) =>
    `${[`${line} HTTP/1.1`, 'Host: x', `X-Forwarded-For: ${address}`, ...more].join('\r\n')}\r\n\r\n`
  const post = (...more: string[]) => head(`POST ${exchangePath}`, 'Content-Type: application/json', ...more)
  const plain = `${post('Content-Length: 2')}{}`
  const chunked = `${post('Transfer-Encoding: chunked')}2\r\n{}\r\n0\r\n\r\n`
  const get = head('GET /api/health')
  const last = head('GET /api/health', 'Connection: close')
  const responsesTo = async (...requests: string[]) => {
    const socket = open(server, requests.join(''))
    let received = ''
    socket.on('data', (chunk) => {
      received += chunk
    })
    await once(socket, 'close')
    return received.match(/HTTP\/1\.1 \d+/g)?.length ?? 0
  }
  const slow = Array.from({ length: 16 }, () => open(server, `${post('Content-Length: 100')}{`))
  await sleep(300)
  // Each first post waits for a turn of its network.
  const waiting = [responsesTo(plain, plain, last), responsesTo(plain, chunked, get, last)]
  for (const requests of [
    [plain, plain, plain],
    [plain, chunked, chunked],
    [plain, get, plain],
  ])
    expect(await responsesTo(...requests, last)).toBe(0)
  for (const socket of slow) socket.destroy()
  expect(await Promise.all(waiting)).toEqual([3, 4])
  await server.stop()
  expect(server.output()).toContain('too many pipelined requests')
})

test('requests pipelined after a closing one do not leak turns', async () => {
  const server = await startServer()
  const address = newAddress()
  const head = (line: string, ...more: string[]) =>
    `${[line, 'Host: x', `X-Forwarded-For: ${address}`, ...more].join('\r\n')}\r\n\r\n`
  const page = head('GET / HTTP/1.1')
  const exchanged = head(`POST ${exchangePath} HTTP/1.1`, 'Content-Type: application/json', 'Content-Length: 2').concat(
    '{}',
  )
  const closing = {
    'a page with Connection: close': head('GET / HTTP/1.1', 'Connection: close'),
    'a body that a page rejects': head('POST / HTTP/1.1', 'Content-Length: 1').concat('x'),
    'a body that a route rejects': head(
      `POST ${exchangePath} HTTP/1.1`,
      'Content-Type: application/json',
      'Content-Length: 17000',
    ).concat('x'.repeat(17_000)),
    'no Host, which Node rejects': `${page}GET / HTTP/1.1\r\n\r\n`,
    'an Expect that Node rejects': page + head('GET / HTTP/1.1', 'Expect: x'),
    'an aborted page': page,
  }
  for (const [what, first] of Object.entries(closing)) {
    for (const behind of [page, exchanged, head('GET /api/health HTTP/1.1')]) {
      // More connections than a network has turns. Each is closed by the server or, after a while,
      // by the client.
      for (let count = 0; count < 3; count++) {
        const sockets = Array.from({ length: 14 }, () => open(server, first + behind))
        await Promise.race([Promise.all(sockets.map((socket) => once(socket, 'close'))), sleep(700)])
        for (const socket of sockets) socket.destroy()
      }
    }
    for (const path of ['/', '/api/health']) {
      const response = await fetch(server.url + path, {
        headers: { 'X-Forwarded-For': address },
        signal: AbortSignal.timeout(20_000),
      })
      expect([response.status, path], what).toEqual([200, path])
    }
  }
  await server.stop()
})

test.describe('no request costs much more than an ordinary one', () => {
  const count = 25
  const hostile: Record<string, { path: string; headers?: Record<string, string>; ordinary: string }> = {
    'many parameters, of a page': { path: `/?${'a&'.repeat(7_000)}`, ordinary: '/' },
    'many parameters, of a route': { path: `/api/health?${'a&'.repeat(7_000)}`, ordinary: '/' },
    'as many parameters as are accepted': { path: `/?${'a&'.repeat(31)}`, ordinary: '/' },
    'a long Accept-Encoding': { path: '/', headers: { 'Accept-Encoding': 'gzip;q=0.1,'.repeat(1_300) }, ordinary: '/' },
    'a long parameter': { path: `/?${'a'.repeat(2_000)}`, ordinary: '/' },
    'a long User-Agent, to a page': { path: '/', headers: { 'User-Agent': 'x'.repeat(15_000) }, ordinary: '/' },
    'a long User-Agent, to a route': {
      path: '/api/health',
      headers: { 'User-Agent': 'x'.repeat(15_000) },
      ordinary: '/',
    },
    'a long Accept-Language': { path: '/', headers: { 'Accept-Language': `a${' '.repeat(15_000)}b` }, ordinary: '/' },
    'a long Accept-Language of many': {
      path: '/',
      headers: { 'Accept-Language': 'a;q=0.1,'.repeat(1_800) },
      ordinary: '/',
    },
    'the largest script': { path: 'largest script', headers: { 'Accept-Encoding': 'gzip' }, ordinary: '/' },
  }
  test('by CPU time', async () => {
    const server = await startServer()
    const folder = `${project}.next/static/chunks/`
    const chunks = readdirSync(folder).filter((name) => name.endsWith('.js'))
    const largest = chunks.toSorted((a, b) => statSync(folder + b).size - statSync(folder + a).size)[0]
    const cost = async (path: string, headers: Record<string, string> = {}) => {
      const before = cpuMs(server)
      for (let index = 0; index < count; index++) {
        const address = { 'X-Forwarded-For': newAddress() }
        await (await fetch(server.url + path, { headers: { ...headers, ...address } })).arrayBuffer()
      }
      return (cpuMs(server) - before) / count
    }
    for (const path of ['/', '/api/health']) await cost(path) // warm-up
    for (const [what, { path, headers, ordinary }] of Object.entries(hostile)) {
      const real = path === 'largest script' ? `/_next/static/chunks/${largest}` : path
      const ratios: number[] = []
      for (let round = 0; round < 3; round++)
        ratios.push((await cost(real, headers)) / Math.max(2, await cost(ordinary)))
      expect(median(ratios), what).toBeLessThan(4)
    }

    const body = JSON.stringify({ code: 'x'.repeat(15_000) })
    const exchangeOf = async (send: (head: string) => string) => {
      const before = cpuMs(server)
      for (let index = 0; index < count; index++) {
        const head = `POST ${exchangePath} HTTP/1.1\r\nHost: x\r\nX-Forwarded-For: ${newAddress()}\r\nContent-Type: application/json\r\nConnection: close\r\n`
        const socket = open(server, send(head))
        await once(socket, 'close')
      }
      return (cpuMs(server) - before) / count
    }
    const pieces = (head: string) =>
      `${head}Transfer-Encoding: chunked\r\n\r\n${[...body].map((piece) => `1\r\n${piece}\r\n`).join('')}0\r\n\r\n`
    await exchangeOf(pieces)
    const ratios: number[] = []
    for (let round = 0; round < 3; round++) ratios.push((await exchangeOf(pieces)) / Math.max(2, await cost('/')))
    expect(median(ratios), 'a body in chunks of one byte').toBeLessThan(4)
    await server.stop()
  })
})

test('over the limit, thousands of cookies cost little more than none', async () => {
  const server = await startServer()
  const address = { 'X-Forwarded-For': newAddress() }
  await flood(2_000, () => fetch(`${server.url}/api/health`, { headers: address }))
  const cost = async (headers: Record<string, string>) => {
    const before = cpuMs(server)
    for (let index = 0; index < 300; index++) {
      const response = await fetch(`${server.url}/`, { headers: { ...address, ...headers } })
      expect(response.status).toBe(429)
      await response.arrayBuffer()
    }
    return cpuMs(server) - before
  }
  const cookies = Array.from({ length: 2_500 }, (_, index) => `${index.toString(36)}=`).join(';')
  await cost({})
  const ratios: number[] = []
  for (let round = 0; round < 5; round++) ratios.push((await cost({ Cookie: cookies })) / (await cost({})))
  console.log(`cost with cookies ÷ without: ${ratios.map((ratio) => ratio.toFixed(1)).join(', ')}`)
  expect(median(ratios)).toBeLessThan(1.6)
  await server.stop()
})

test('the connection closes if no route reads the body, and the response says so', async () => {
  const server = await startServer()
  for (const path of ['/api/nothing', '/api/health', '/']) {
    const socket = open(server, `POST ${path} HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nx\r\n`)
    const closed = once(socket, 'close')
    const [response] = await once(socket, 'data')
    expect(String(response)).toMatch(/^HTTP\/1\.1 (404|405|413) [\s\S]*\r\nConnection: close\r\n/i)
    await closed
  }
  const json = 'Content-Type: application/json\r\nContent-Length: 2\r\n\r\n{}'
  const read = open(server, `POST ${exchangePath} HTTP/1.1\r\nHost: x\r\n${json}`)
  expect(String((await once(read, 'data'))[0])).toMatch(/^HTTP\/1\.1 400 [\s\S]*\r\nConnection: keep-alive\r\n/i)
  read.destroy()
  await server.stop()
})

test('an unfinished body that a route cancels leaves neither an exception nor a descriptor', async () => {
  const server = await startServer()
  await health(server)
  const before = descriptors(server)
  const head = `POST ${exchangePath} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n`
  const bodies = { large: `5000\r\n${'x'.repeat(0x5000)}\r\n`, 'in pieces': '1\r\nx\r\n'.repeat(300) }
  for (const [what, body] of Object.entries(bodies)) {
    for (let count = 0; count < 5; count++) {
      const socket = open(server, head + body)
      const closed = once(socket, 'close')
      expect(String((await once(socket, 'data'))[0]), what).toMatch(/^HTTP\/1\.1 413 /)
      await closed
    }
    for (let count = 0; count < 40; count++) {
      const socket = open(server, head + body)
      await sleep(count % 8)
      socket.destroy()
    }
  }
  await expect.poll(() => descriptors(server)).toBeLessThanOrEqual(before + 5)
  await server.stop()
  expect(server.output()).not.toMatch(/TypeError|uncaught/i)
})

test('pages whose clients leave early keep no more memory than those that are read', async () => {
  const growthOf = async (isRead: boolean) => {
    const server = await startServer()
    const visit = (index: number) =>
      new Promise<void>((resolve) => {
        const socket = open(server)
        socket.on('close', () => resolve())
        socket.write(closing('/', `10.9.${index % 100}.1`).replace(/\r\n$/, 'Accept-Encoding: br\r\n\r\n'))
        if (!isRead) socket.once('data', () => socket.resetAndDestroy())
      })
    const visitMany = async (count: number) => {
      for (let index = 0; index < count; index += 8)
        await Promise.all(Array.from({ length: 8 }, (_, other) => visit(index + other)))
    }
    await visitMany(400)
    const before = residentMegabytes(server)
    await visitMany(2_000)
    const growth = residentMegabytes(server) - before
    await server.stop()
    return growth
  }
  const [read, left] = [await growthOf(true), await growthOf(false)]
  console.log(`memory grew by ${left.toFixed()} MB; with clients that read, by ${read.toFixed()} MB`)
  expect(left).toBeLessThan(Math.max(read, 0) + 100)
})

test('pages that no client reads end their turns', async () => {
  const server = await startServer()
  const address = newAddress()
  const folder = `${project}.next/static/chunks/`
  const [script, scriptBytes] = readdirSync(folder)
    .map((name) => [name, statSync(folder + name).size] as const)
    .filter(([name, bytes]) => name.endsWith('.js') && bytes < 64 * 1024)
    .toSorted(([, a], [, b]) => b - a)[0]!
  const html = await (await fetch(`${server.url}/`)).text()
  const pages = Math.ceil((2 * scriptBytes) / html.length) + 8
  const capacity = await unreadCapacity()
  const request = (path: string) => `GET ${path} HTTP/1.1\r\nHost: x\r\nX-Forwarded-For: ${address}\r\n\r\n`
  // Files fill what the system accepts for a client that does not read; the next pages no longer fit.
  const stuck = Array.from({ length: 8 }, async () => {
    const socket = connect(portOf(server), '127.0.0.1')
    socket.on('error', () => {})
    await once(socket, 'connect')
    for (let filled = 0; filled < capacity - 2 * scriptBytes; filled += scriptBytes) {
      socket.write(request(`/_next/static/chunks/${script}`))
      await sleep(30)
    }
    for (let sent = 0; sent < pages; sent++) {
      socket.write(request('/'))
      await sleep(60)
    }
    return socket
  })
  const sockets = await Promise.all(stuck)
  for (let before = -1; cpuMs(server) > before; await sleep(500)) before = cpuMs(server)
  const response = await fetch(`${server.url}/`, {
    headers: { 'X-Forwarded-For': address },
    signal: AbortSignal.timeout(20_000),
  })
  expect(response.status).toBe(200)
  for (const socket of sockets) socket.destroy()
  await server.stop()
})

/** The number of bytes that the system accepts for a connection whose client reads nothing. */
async function unreadCapacity(): Promise<number> {
  const listener = createServer().listen(0, '127.0.0.1')
  await once(listener, 'listening')
  const client = connect((listener.address() as AddressInfo).port, '127.0.0.1').pause()
  const [accepted] = (await once(listener, 'connection')) as [Socket]
  const piece = Buffer.alloc(16 * 1024)
  let taken = 0
  while (accepted.writableLength === 0) {
    accepted.write(piece)
    await sleep(1)
    taken = accepted.bytesWritten - accepted.writableLength
  }
  client.destroy()
  accepted.destroy()
  listener.close()
  return taken
}

test('forms whose bodies never arrive hold no turns of pages', async () => {
  const server = await startServer({ SMTP_URL: 'smtp://localhost:1', MAIL_FROM: 'login@example.com' })
  await readWhole(await fetch(server.url)) // the first page takes longer
  const addresses = Array.from({ length: 8 }, newAddress)
  let ended = 0
  const sockets = Array.from({ length: 64 }, (_, index) =>
    open(
      server,
      [
        'POST /forgot-password/send HTTP/1.1',
        'Host: x',
        `X-Forwarded-For: ${addresses[index % 8]}`,
        'Content-Type: application/x-www-form-urlencoded',
        'Content-Length: 20',
        '',
        'email=',
      ].join('\r\n'),
    ).once('data', () => ended++),
  )
  await sleep(3_000) // until they would hold all turns: three of those begin in 100 ms
  const page = await fetch(server.url, { headers: { 'X-Forwarded-For': newAddress() } })
  expect(page.status).toBe(200)
  expect(ended).toBe(0) // the page did not wait for the end of one
  for (const socket of sockets) socket.destroy()
  await server.stop()
})

test('clients that do not read their responses do not block others', async () => {
  const server = await startServer()
  const html = await (await fetch(`${server.url}/`)).text()
  const script = html.match(/\/_next\/static\/[^"]+\.js/)![0]
  const sockets: Socket[] = []
  for (let network = 0; network < 12; network++) {
    const address = newAddress()
    for (let index = 0; index < 12; index++) {
      const path = index % 2 ? '/' : script
      const socket = connect(portOf(server), '127.0.0.1')
      socket.on('error', () => {})
      socket.write(`GET ${path} HTTP/1.1\r\nHost: x\r\nX-Forwarded-For: ${address}\r\n\r\n`.repeat(4)) // and never read
      sockets.push(socket)
    }
  }
  await sleep(3_000)
  for (const path of ['/', script, '/api/health']) {
    const response = await fetch(server.url + path, {
      headers: { 'X-Forwarded-For': newAddress() },
      signal: AbortSignal.timeout(30_000),
    })
    expect(response.status, path).toBe(200)
    await response.arrayBuffer()
  }
  for (const socket of sockets) socket.destroy()
  await server.stop()
})

test('30 bodies of 9.9 MB to a page are never kept in memory', async () => {
  const server = await startServer()
  await fetch(`${server.url}/`)
  const before = residentMegabytes(server)
  const piece = 'x'.repeat(100_000)
  const upload = async () => {
    const socket = open(
      server,
      `POST / HTTP/1.1\r\nHost: x\r\nX-Forwarded-For: ${newAddress()}\r\nContent-Length: 9900000\r\n\r\n`,
    )
    for (let sent = 0; sent < 99 && !socket.destroyed; sent++)
      if (!socket.write(piece)) await new Promise((resolve) => socket.once('drain', resolve).once('close', resolve))
    if (!socket.closed) await once(socket, 'close')
  }
  let most = before
  const uploads = Promise.all(Array.from({ length: 30 }, upload)).then(() => true)
  while (!(await Promise.race([uploads, sleep(20)]))) most = Math.max(most, residentMegabytes(server))
  expect(most - before).toBeLessThan(100)
  await server.stop()
})

test.describe('forms for a SAML connection', () => {
  let server: Server
  let path: string
  const tooMuch = 'the forms for SAML connections took too much memory'
  const body = `a=${'b'.repeat(340_000)}`
  const post = (address: string, length: number) =>
    `POST ${path} HTTP/1.1\r\nHost: x\r\nX-Forwarded-For: ${address}\r\n` +
    `Content-Type: application/x-www-form-urlencoded\r\nContent-Length: ${length}\r\nConnection: close\r\n\r\n`
  test.beforeEach(async () => {
    server = await startServer()
    path = `/api/auth/sso/${await connectSaml(await newSamlProvider(), server.url)}/acs`
    for (let count = 0; count < 20; count++) await once(open(server, `${post(newAddress(), 3)}a=b`), 'close')
  })
  test.afterEach(() => server.stop())

  const sites: Record<string, [addressOf: (index: number) => string, kept: number]> = {
    'of one owner’s networks': [(index) => `192.0.2.${index % 20}`, 16],
    'of 20 owners': [(index) => `10.${index % 20}.0.1`, 93],
  }
  for (const [whose, [addressOf, kept]] of Object.entries(sites)) {
    test(`640 unfinished large ones ${whose} stay out of memory, and do not keep out others`, async () => {
      const before = residentMegabytes(server)
      let most = before
      const watch = setInterval(() => (most = Math.max(most, residentMegabytes(server))), 50)
      const sockets = Array.from({ length: 640 }, (_, index) =>
        open(server, post(addressOf(index), body.length + 1) + body),
      )
      const unfinished = () => sockets.filter(({ closed }) => !closed).length
      const other = open(server, `${post(newAddress(), 3)}a=b`)
      const [status] = await once(other, 'data')
      // Unfinished forms end after ten seconds.
      await expect.poll(unfinished, { timeout: 8_000 }).toBeLessThanOrEqual(kept)
      const left = unfinished()
      clearInterval(watch)
      for (const socket of sockets) socket.destroy()
      console.log(`640 unfinished forms of 340 KB ${whose}: ${Math.round(most - before)} MB, ${left} kept`)
      expect(String(status)).toMatch(/^HTTP\/1.1 303/)
      expect(left).toBeGreaterThan(0)
      expect(most - before).toBeLessThan(150)
      await expect.poll(() => server.output()).toContain(tooMuch)
    })
  }

  test('too large ones no longer count once they have a response', async () => {
    const address = newAddress()
    const chunk = `${(8_000).toString(16)}\r\n${'b'.repeat(8_000)}\r\n`
    const tooLarge = post(address, 0).replace('Content-Length: 0', 'Transfer-Encoding: chunked') + chunk.repeat(60)
    let left = 600
    const client = async () => {
      while (left-- > 0) await once(open(server, tooLarge), 'close')
    }
    await Promise.all(Array.from({ length: 10 }, client))
    const [status] = await once(open(server, post(address, body.length) + body), 'data')
    expect(String(status)).toMatch(/^HTTP\/1.1 303/)
    expect(server.output()).not.toContain(tooMuch)
  })

  test('what arrives behind an earlier request of its connection counts too', async () => {
    const address = newAddress()
    const keeping = (length: number) => post(address, length).replace('Connection: close\r\n', '')
    const slow = Array.from({ length: 32 }, () => open(server, `${keeping(3)}a=`)) // hold all turns of the network
    await sleep(300)
    const sockets = Array.from({ length: 400 }, () =>
      open(server, `${keeping(3)}a=b${keeping(20_000)}a=${'b'.repeat(15_000)}`),
    )
    await sleep(1_500)
    expect(server.output()).not.toContain(tooMuch)
    for (const socket of slow) socket.destroy()
    await expect.poll(() => server.output()).toContain(tooMuch)
    for (const socket of sockets) socket.destroy()
  })

  test('320 small ones that never end do not keep out others, not even of the same owner', async () => {
    let ended = 0
    const sockets = Array.from({ length: 320 }, (_, index) =>
      open(server, `${post(`192.0.${index % 10}.1`, 50)}SAMLResponse=`).once('close', () => ended++),
    )
    await sleep(500)
    for (const address of ['192.0.2.2', newAddress()]) {
      const [status] = await once(open(server, `${post(address, 3)}a=b`), 'data')
      expect(String(status)).toMatch(/^HTTP\/1.1 303/)
    }
    expect(ended).toBe(0)
    for (const socket of sockets) socket.destroy()
  })
})

test('a new connection does not wait for as many pages as another network has new connections', async () => {
  const server = await startServer()
  const [attacker, victim] = [newAddress(), newAddress()]
  const fetched = (path: string, address: string) => once(open(server, closing(path, address)), 'close')
  for (let count = 0; count < 40; count++) await fetched('/', victim) // compiles
  let pages = 0
  let stopped = false
  const clients = Array.from({ length: 150 }, async () => {
    for (; !stopped; pages++) await fetched('/', attacker)
  })
  await sleep(1_000)
  const ahead: number[] = []
  for (let count = 0; count < 7; count++) {
    const before = pages
    await fetched('/_next/nothing', victim)
    ahead.push(pages - before)
  }
  stopped = true
  await Promise.all(clients)
  await server.stop()
  console.log(`pages ahead of a new connection: ${ahead.join(', ')}`)
  expect(median(ahead)).toBeLessThan(30)
})

test('a new connection does not wait for many routes while others open connections and close them', async () => {
  const server = await startServer()
  for (let count = 0; count < 200; count++) await readWhole(await health(server, newAddress())) // compiles
  const requests = Array.from({ length: 64 }, (_, index) => {
    const headers = `Host: x\r\nX-Forwarded-For: ${newAddress()}\r\n`
    const body = 'Content-Type: application/json\r\nContent-Length: 2\r\n\r\n{}'
    return index % 2
      ? `POST ${exchangePath} HTTP/1.1\r\n${headers}${body}`
      : `GET /api/health HTTP/1.1\r\n${headers}\r\n`
  })
  const counts = new SharedArrayBuffer(4)
  const workerData = { port: portOf(server), requests, comers: 200, counts }
  const load = new Worker(new URL('../support/route-load.mjs', import.meta.url), { workerData })
  const routes = () => Atomics.load(new Int32Array(counts), 0)
  await expect.poll(routes).toBeGreaterThan(1_000)
  const ahead: number[] = []
  for (let count = 0; count < 9; count++) {
    await sleep(50)
    const before = routes()
    await once(open(server, closing('/_next/nothing', newAddress())), 'close')
    ahead.push(routes() - before)
  }
  await load.terminate()
  await server.stop()
  console.log(`routes ahead of a new connection: ${ahead.join(', ')}`)
  expect(median(ahead)).toBeLessThan(150)
})

test('240 kept connections of one client do not get a turn of the event loop for all their requests', async () => {
  const server = await startServer({ TRUSTED_PROXIES: '0', ...withEventLoopProbe })
  const count = 720
  /** The longest turn of the event loop during requests to a route that ends at once, in requests. */
  const longestTurn = async (connections: number, localAddress: string) => {
    const agent = new Agent({ keepAlive: true, maxSockets: connections, localAddress })
    let left = count
    const client = async () => {
      while (left-- > 0) {
        const sent = get({ agent, host: '127.0.0.1', port: portOf(server), path: '/api/health' })
        const [response] = (await once(sent, 'response')) as [IncomingMessage]
        expect(response.statusCode).toBe(200)
        await once(response.resume(), 'end')
      }
    }
    const { longestTurnMs, cpuMs } = await eventLoopDuring(server, () =>
      Promise.all(Array.from({ length: connections }, client)),
    )
    agent.destroy()
    return longestTurnMs / (cpuMs / count)
  }
  await longestTurn(32, '127.0.0.2') // warm-up
  const longest: number[] = []
  for (let round = 0; round < 5; round++) longest.push(await longestTurn(240, `127.0.0.${10 + round}`))
  await server.stop()
  console.log(`requests in the longest turn of the event loop: ${longest.map(Math.round).join(', ')}`)
  expect(median(longest)).toBeLessThan(40)
})

test('files that one client pipelines over 240 connections do not get a turn of the event loop for all of them', async () => {
  const server = await startServer({ TRUSTED_PROXIES: '0', ...withEventLoopProbe })
  const ahead = 16
  const client = async (request: string) => {
    const socket = open(server)
    let responses = 0
    socket.on('data', (data) => {
      responses += String(data).split('HTTP/1.1 ').length - 1
    })
    for (let sent = ahead; sent <= 5 * ahead; sent += ahead) {
      socket.write(request.repeat(ahead))
      while (responses < sent) await once(socket, 'data')
    }
    socket.destroy()
  }
  for (const path of ['/_nothing', '/icon.svg']) {
    const request = `HEAD ${path} HTTP/1.1\r\nHost: x\r\n\r\n`
    await client(request) // warm-up
    const longest: number[] = []
    for (let round = 0; round < 3; round++) {
      await sleep(1_100) // more connections in a second would be refused
      const clients = () => Promise.all(Array.from({ length: 240 }, () => client(request)))
      longest.push((await eventLoopDuring(server, clients)).longestTurnMs)
    }
    console.log(`longest turn of the event loop, in CPU time: ${longest.map(Math.round).join(', ')} ms`)
    expect(median(longest), path).toBeLessThan(60)
  }
  await server.stop()
})

test('a page waits no longer for requests over new connections than for those over kept ones', async () => {
  const server = await startServer()
  for (let count = 0; count < 40; count++) await once(open(server, closing('/', newAddress())), 'close') // compiles
  /** The median number of requests that other clients get served while one page is. */
  const aheadOfPage = async (request: (address: string) => Promise<unknown>) => {
    let served = 0
    let stopped = false
    const clients = Array.from({ length: 12 }, async () => {
      for (const address = newAddress(); !stopped; served++) await request(address)
    })
    await sleep(300)
    const ahead: number[] = []
    for (let count = 0; count < 7; count++) {
      const before = served
      await once(open(server, closing('/', newAddress())), 'close')
      ahead.push(served - before)
    }
    stopped = true
    await Promise.all(clients)
    return median(ahead)
  }
  const kept = await aheadOfPage((address) => health(server, address).then(readWhole))
  const opened = await aheadOfPage((address) => once(open(server, closing('/api/health', address)), 'close'))
  await server.stop()
  console.log(`requests ahead of a page: ${kept} over kept connections, ${opened} over new ones`)
  expect(opened).toBeLessThan(3 * kept)
})

test('the networks of five owners delay a page of another by few of theirs', async () => {
  const server = await startServer()
  for (let count = 0; count < 40; count++) await readWhole(await fetch(server.url)) // compiles
  const page = (address: string) => fetch(server.url, { headers: { 'X-Forwarded-For': address } }).then(readWhole)
  let pages = 0
  let stopped = false
  const clients = Array.from({ length: 320 }, async (_, index) => {
    for (; !stopped; pages++) await page(`192.0.${index % 5}.${index % 8}`)
  })
  await sleep(1_000)
  const ahead: number[] = []
  for (let count = 0; count < 7; count++) {
    const before = pages
    expect((await page(newAddress())).status).toBe(200)
    ahead.push(pages - before)
  }
  stopped = true
  await Promise.all(clients)
  await server.stop()
  console.log(`pages of five owners ahead of one of another: ${ahead.join(', ')}`)
  expect(median(ahead)).toBeLessThan(16)
})

test('pages that one network requests and abandons do not keep out a new connection', async () => {
  const server = await startServer()
  for (let count = 0; count < 20; count++) await once(open(server, closing('/', newAddress())), 'close') // compiles
  /** The CPU time until a new connection gets a response, while another network abandons 1,500 requests. */
  const cost = async (path: string) => {
    const attacker = newAddress()
    let left = 1_500
    const clients = Array.from({ length: 220 }, async () => {
      while (left-- > 0) {
        const socket = open(server, closing(path, attacker))
        await sleep(150)
        socket.destroy()
      }
    })
    await sleep(600)
    const before = cpuMs(server)
    await once(open(server, closing('/api/health', newAddress())), 'data')
    const used = cpuMs(server) - before
    await Promise.all(clients)
    await expect.poll(() => descriptors(server), { timeout: 60_000 }).toBeLessThan(60)
    return used
  }
  const ratios: number[] = []
  for (let round = 0; round < 3; round++) ratios.push((await cost('/')) / Math.max(100, await cost('/_next/nothing')))
  console.log(`abandoned pages ÷ abandoned missing files: ${ratios.map((ratio) => ratio.toFixed(1)).join(', ')}`)
  expect(median(ratios)).toBeLessThan(5)
  await server.stop()
  expect(server.output()).not.toContain('uncaughtException')
})

test('a page waits for few of the requests of one owner, of all kinds and over kept connections', async () => {
  const server = await startServer()
  const page = (address: string) => fetch(`${server.url}/sign-in`, { headers: { 'X-Forwarded-For': address } })
  const html = await (await page(newAddress())).text()
  const script = html.match(/\/_next\/static\/[^"]+\.js/)![0]
  for (let count = 0; count < 60; count++) await readWhole(await page(newAddress())) // compiles
  /** The CPU time until another client gets a page. */
  const cost = async () => {
    const before = cpuMs(server)
    expect((await page(newAddress()).then(readWhole)).status).toBe(200)
    return cpuMs(server) - before
  }
  const quiet: number[] = []
  for (let count = 0; count < 20; count++) quiet.push(await cost())
  const quietMs = quiet.reduce((sum, ms) => sum + ms) / quiet.length
  const addresses: Record<string, () => string> = {
    'within the limit': () => `192.0.2.${Math.floor(Math.random() * 256)}`,
    'above the limit': () => '198.51.100.1',
  }
  for (const [limit, addressOf] of Object.entries(addresses)) {
    const kinds = [
      () => fetch(`${server.url}/sign-in`, { headers: { 'X-Forwarded-For': addressOf() } }),
      () => fetch(`${server.url}/api/auth/session`, { headers: { 'X-Forwarded-For': addressOf() } }),
      () => fetch(`${server.url}${script}`, { headers: { 'X-Forwarded-For': addressOf() } }),
      () =>
        fetch(server.url + exchangePath, {
          method: 'POST',
          headers: { 'Content-Type': 'application/json', 'X-Forwarded-For': addressOf() },
          body: JSON.stringify({ code: 'x'.repeat(43) }),
        }),
    ]
    let served = 0
    let stopped = false
    const clients = Array.from({ length: 192 }, async (_, index) => {
      const counts = index % 4 === 2 ? 0 : 1 // not files: they cost little
      for (; !stopped; served += counts) await readWhole(await kinds[index % 4]!())
    })
    await sleep(limit === 'above the limit' ? 5_000 : 1_000)
    const before = served
    const beside: number[] = []
    for (let count = 0; count < 9; count++) beside.push(await cost())
    const ahead = (served - before) / 9
    stopped = true
    await Promise.all(clients)
    console.log(
      `${limit}: ${median(beside)} ms of CPU time until a page (${quietMs} ms), ${Math.round(ahead)} pages and routes ahead`,
    )
    expect(ahead, limit).toBeLessThan(50)
  }
  await server.stop()
})

test('an exchange waits for few of those of one owner, who has many networks', async () => {
  const server = await startServer()
  const code = JSON.stringify({ code: 'x'.repeat(43) })
  const exchange = (address: string) =>
    fetch(server.url + exchangePath, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json', 'X-Forwarded-For': address },
      body: code,
    }).then(readWhole)
  let served = 0
  let stopped = false
  const clients = Array.from({ length: 256 }, async (_, index) => {
    for (; !stopped; served++) await exchange(`192.0.2.${index % 64}`)
  })
  await sleep(1_500)
  const ahead: number[] = []
  for (let count = 0; count < 9; count++) {
    const before = served
    expect((await exchange(newAddress())).status).toBe(400)
    ahead.push(served - before)
  }
  stopped = true
  await Promise.all(clients)
  await server.stop()
  console.log(`exchanges ahead of one of another owner: ${ahead.join(', ')}`)
  expect(median(ahead)).toBeLessThan(60)
})

test('clients that load pages leave a good part of the time to routes and files of others', async () => {
  const server = await startServer()
  const get = (path: string, from: string) =>
    fetch(server.url + path, { headers: { 'X-Forwarded-For': from } }).then(readWhole)
  for (let count = 0; count < 200; count++) await get(count % 4 ? '/api/auth/session' : '/', newAddress()) // compiles
  /** The number of pages that one client gets while 24 others get 400 responses. */
  const pagesBeside = async (path: string) => {
    const address = newAddress()
    let pages = 0
    let left = 400
    const load = async () => {
      for (; left > 0; pages++) await get('/', address)
    }
    const client = async () => {
      for (const own = newAddress(); left-- > 0; ) await get(path, own)
    }
    const loading = Array.from({ length: 8 }, load)
    await Promise.all(Array.from({ length: 24 }, client))
    await Promise.all(loading)
    return pages
  }
  for (const path of ['/api/auth/session', '/_next/nothing']) {
    const pages: number[] = []
    for (let round = 0; round < 5; round++) pages.push(await pagesBeside(path))
    console.log(`pages beside 400 responses of ${path}: ${pages.join(', ')}`)
    expect(median(pages), path).toBeLessThan(140)
  }
  await server.stop()
})

test('thousands of requests that are reset while they wait lose no turn', async () => {
  const server = await startServer({}, { openFiles: 4_096 })
  const folder = `${project}.next/static/chunks/`
  const largest = readdirSync(folder).toSorted((a, b) => statSync(folder + b).size - statSync(folder + a).size)[0]
  const address = newAddress()
  const file = (name: string) =>
    `GET /_next/static/chunks/${name} HTTP/1.1\r\nHost: x\r\nX-Forwarded-For: ${address}\r\n\r\n`
  const unread = Array.from({ length: 32 }, () => {
    const socket = connect(portOf(server), '127.0.0.1')
    socket.write(file(largest!).repeat(16))
    return socket.on('error', () => {})
  })
  await sleep(500)
  let responses = 0
  const waiting = Array.from({ length: 2_500 }, () => open(server, file('nothing')).once('data', () => responses++))
  await sleep(2_000)
  expect(responses).toBe(0)
  server.process.kill('SIGSTOP') // so that it learns of all of them in one turn of the event loop
  for (const socket of [...waiting, ...unread]) socket.resetAndDestroy()
  await sleep(200)
  server.process.kill('SIGCONT')
  await expect.poll(() => descriptors(server)).toBeLessThan(100)
  // Each of its 32 turns is free.
  const fetchOne = () => fetch(`${server.url}/_next/nothing`, { headers: { 'X-Forwarded-For': address } })
  const next = await Promise.all(Array.from({ length: 32 }, () => fetchOne().then(readWhole)))
  expect(next.map(({ status }) => status)).toEqual(next.map(() => 404))
  await server.stop()
  expect(server.output()).not.toContain('RangeError')
})

test('clients that do not read files keep out no other client of their own site', async () => {
  const server = await startServer({}, { openFiles: 4_096 })
  const folder = `${project}.next/static/chunks/`
  const largest = readdirSync(folder).toSorted((a, b) => statSync(folder + b).size - statSync(folder + a).size)[0]
  const unread = Array.from({ length: 6 * 32 }, (_, index) => {
    const socket = connect(portOf(server), '127.0.0.1')
    const from = `2001:db8:7:${index % 6}::1`
    const request = `GET /_next/static/chunks/${largest} HTTP/1.1\r\nHost: x\r\nX-Forwarded-For: ${from}\r\n\r\n`
    socket.write(request.repeat(16))
    return socket.on('error', () => {})
  })
  for (let before = -1; cpuMs(server) > before; await sleep(500)) before = cpuMs(server) // until no more is sent
  const response = await fetch(`${server.url}/_next/nothing`, { headers: { 'X-Forwarded-For': '2001:db8:7:6::1' } })
  expect(response.status).toBe(404)
  expect(unread.filter(({ closed }) => closed)).toEqual([]) // it did not wait for their end
  for (const socket of unread) socket.resetAndDestroy()
  await server.stop()
})

test('a client with 60 connections delays others no more than one with 6', async () => {
  const server = await startServer()
  /** The median response time for another client while one client loads pages. */
  const waitBeside = async (connections: number) => {
    const [greedy, other] = [newAddress(), newAddress()]
    const waits: number[] = []
    let flooding = true
    const flood = Array.from({ length: connections }, async () => {
      while (flooding)
        expect((await fetch(`${server.url}/`, { headers: { 'X-Forwarded-For': greedy } }).then(readWhole)).status).toBe(
          200,
        )
    })
    for (let count = 0; count < 50; count++) {
      const startedAt = performance.now()
      expect((await health(server, other).then(readWhole)).status).toBe(200)
      waits.push(performance.now() - startedAt)
    }
    flooding = false
    await Promise.all(flood)
    return median(waits)
  }
  await waitBeside(6) // warm-up
  const ratios: number[] = []
  for (let round = 0; round < 3; round++) ratios.push((await waitBeside(60)) / (await waitBeside(6)))
  expect(median(ratios)).toBeLessThan(3) // without the limit, the ratio is at least 4
  await server.stop()
})

test.describe('on SIGTERM', () => {
  /** Milliseconds until the process exits. */
  const untilExit = async (server: Server) => {
    const startedAt = performance.now()
    if (server.process.exitCode === null) await once(server.process, 'exit')
    return performance.now() - startedAt
  }

  test('a request in progress is finished; idle connections do not delay the exit', async () => {
    const [server, idle] = await Promise.all([startServer(), startServer()])
    const unused = open(server)
    const kept = open(server, 'GET /api/health HTTP/1.1\r\nHost: x\r\n\r\n')
    await once(kept, 'data')
    const body = JSON.stringify({ code: 'fabricated' })
    const slow = open(
      server,
      `POST ${exchangePath} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n{`,
    )
    await sleep(300)
    idle.process.kill('SIGTERM')
    const control = await untilExit(idle)

    server.process.kill('SIGTERM')
    await sleep(500)
    expect(server.process.exitCode).toBeNull() // it waits for the request
    slow.write(body.slice(1))
    const [response] = await once(slow, 'data')
    expect(String(response)).toMatch(/^HTTP\/1\.1 400 [\s\S]*connection: close/i)
    // Neither the shutdown time-out of 30 s nor the keep-alive time-out of 75 s.
    expect((await untilExit(server)) - control).toBeLessThan(1_000)
    expect(server.process.exitCode).toBe(0)
    for (const socket of [unused, kept, slow]) socket.destroy()
    await expect(fetch(`http://localhost:${await freePort()}`)).rejects.toThrow()
  })

  test('a request that does not end in 30 seconds is cut off', async () => {
    const server = await startServer({
      NODE_OPTIONS: `--import ${new URL('../support/hurried-stop.mjs', import.meta.url).href}`,
    })
    // Its route would respond after 10 s, long after the hurried 30 s.
    const head = `POST ${exchangePath} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 20\r\n`
    const stuck = open(server, `${head}Expect: 100-continue\r\n\r\n{`)
    let received = ''
    stuck.on('data', (chunk) => {
      received += chunk
    })
    await once(stuck, 'data') // the request is in progress
    server.process.kill('SIGTERM')
    await untilExit(server)
    if (!stuck.closed) await once(stuck, 'close')
    expect(received).toBe('HTTP/1.1 100 Continue\r\n\r\n')
    expect(server.process.exitCode).toBe(0)
  })

  test('callbacks of after() are finished', async () => {
    const folder = `${project}.data/after-app/`
    rmSync(folder, { recursive: true, force: true })
    cpSync(`${project}e2e/support/after-app`, folder, { recursive: true })
    for (const part of [...serverFiles, 'tsconfig.json', 'package.json'])
      cpSync(project + part, folder + part, { recursive: true })
    execFileSync(process.execPath, [`${project}node_modules/next/dist/bin/next`, 'build'], {
      cwd: folder,
      stdio: 'pipe',
    })
    const doneFile = `${folder}done`
    const server = await startServer({ DONE_FILE: doneFile }, { folder })
    expect((await fetch(`${server.url}/later`)).status).toBe(200)
    expect(existsSync(doneFile)).toBe(false)
    await server.stop()
    expect(existsSync(doneFile)).toBe(true)
  })
})
