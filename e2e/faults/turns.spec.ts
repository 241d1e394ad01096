import { once } from 'node:events'
import { existsSync, readdirSync } from 'node:fs'
import { get as httpGet } from 'node:http'
import { connect, type Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import { newSecret } from '../../lib/secret'
import { exchangePath, expect, newAddress, test } from '../support/fixtures'
import { openOwnDatabase } from '../support/own-database'
import { type Server, startServer } from '../support/server'

// Tests that no turn of bin/server/admission.mjs outlasts the client that took it.

const portOf = (server: Server) => Number(new URL(server.url).port)
const descriptors = ({ process: { pid } }: Server) => (existsSync('/proc') ? readdirSync(`/proc/${pid}/fd`).length : 0)
/** Requests a path on a connection of its own, and returns the status. */
async function fetched(server: Server, path: string, address: string): Promise<number> {
  const request = httpGet(server.url + path, { agent: false, headers: { 'X-Forwarded-For': address } })
  const [response] = await once(request, 'response')
  await once(response.resume(), 'close')
  return response.statusCode
}

function open(server: Server, bytes: string): Socket {
  const socket = connect({ port: portOf(server), host: '127.0.0.1', allowHalfOpen: true })
  socket.on('error', () => {})
  socket.resume()
  socket.write(bytes)
  return socket
}

const get = (path: string, address: string) => `GET ${path} HTTP/1.1\r\nHost: x\r\nX-Forwarded-For: ${address}\r\n\r\n`
const post = (path: string, address: string) =>
  `POST ${path} HTTP/1.1\r\nHost: x\r\nX-Forwarded-For: ${address}\r\n` +
  'Content-Type: application/json\r\nContent-Length: 2\r\n\r\n{}'

function exchange(path: string, address: string): string {
  const body = JSON.stringify({ code: newSecret() })
  return post(path, address).replace('Length: 2', `Length: ${body.length}`).replace('{}', body)
}

for (const [path, request] of [
  ['/icon.svg', get],
  ['/robots.txt', get],
  ['/', get],
  ['/nothing', get],
  ['/api/health', get],
  ['/api/auth/session', get],
  ['/api/auth/refresh', post],
  [exchangePath, post],
] as const) {
  test(`abandoned requests for ${path} leave no turn behind`, async () => {
    const server = await startServer()
    const networks = Array.from({ length: 8 }, newAddress)
    for (let count = 0; count < 40; count++) await fetched(server, path, newAddress())
    // One by one, at every moment of a response.
    for (let count = 0; count < 8 * 60; count++) {
      const socket = open(server, request(path, networks[count % 8]!))
      await once(socket, 'connect')
      await sleep((count % 16) / 4)
      socket.resetAndDestroy()
      await sleep(2)
    }
    expect(await fetched(server, '/', newAddress())).toBe(200)
    for (const address of networks.slice(0, 2)) {
      const pages = await Promise.all(Array.from({ length: 12 }, () => fetched(server, '/', address)))
      const reads = await Promise.all(Array.from({ length: 40 }, () => fetched(server, '/api/health', address)))
      expect([...pages, ...reads].every((status) => status === 200)).toBe(true)
    }
    await expect.poll(() => descriptors(server)).toBeLessThan(60)
    await server.stop()
  })
}

for (const [what, path, request, turnsOfNetwork] of [
  ['a page', `/reset-password?token=${newSecret()}`, get, 8],
  ['a route', '/api/auth/sso/acme/start', get, 16],
  ['an operation', exchangePath, exchange, 16],
] as const) {
  test(`${what} whose client has gone keeps its turn while the work for it goes on, for a second`, async () => {
    const database = await openOwnDatabase()
    const server = await startServer({ DATABASE_URL: database.url(), DATABASE_POOL_SIZE: '40' })
    for (let count = 0; count < 20; count++) await fetched(server, path, newAddress())
    const inProgress = async () =>
      (
        await database.sql("SELECT 1 FROM pg_stat_activity WHERE datname = $1 AND wait_event_type = 'Lock'", [
          database.name,
        ])
      ).length
    const address = newAddress()
    const visit = () => Array.from({ length: 20 }, () => open(server, request(path, address)))
    const holder = new pg.Client({ connectionString: database.url() })
    await holder.connect()
    await holder.query('BEGIN; LOCK TABLE reset_tokens, connections, exchange_codes')
    const abandoned = visit()
    await expect.poll(inProgress).toBe(turnsOfNetwork)
    const leftAt = performance.now()
    for (const socket of abandoned) socket.resetAndDestroy()
    const others = visit()
    const counts: number[] = []
    while (performance.now() < leftAt + 700) counts.push(await inProgress())
    await holder.end()
    for (const socket of others) socket.resetAndDestroy()
    expect(counts.length).toBeGreaterThan(1)
    expect(Math.max(...counts)).toBe(turnsOfNetwork)
    await server.stop()
    await database.drop()
  })
}

for (const tail of ['X', 'GET / HTTP/1.1\r\na b: c', `GET / HTTP/1.1\r\na: ${'b'.repeat(17_000)}`]) {
  test(`malformed bytes behind a page do not hold its turn: ${tail.slice(0, 30).trim()}`, async () => {
    const server = await startServer()
    for (let count = 0; count < 20; count++) await fetched(server, '/', newAddress())
    const before = descriptors(server)
    const sockets = Array.from({ length: 8 }, newAddress).flatMap((address) =>
      Array.from({ length: 8 }, () => open(server, `${get('/', address)}${tail}\r\n\r\n`)),
    )
    await Promise.all(sockets.map((socket) => once(socket, 'connect')))
    // the clients keep their half of the connection: the server has not yet closed its own
    expect(await fetched(server, '/', newAddress())).toBe(200)
    if (existsSync('/proc')) expect(descriptors(server) - before).toBeGreaterThan(32)
    await expect.poll(() => descriptors(server) - before).toBeLessThan(16)
    for (const socket of sockets) socket.destroy()
    await server.stop()
  })
}
