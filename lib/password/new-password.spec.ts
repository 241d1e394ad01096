import { createHash } from 'node:crypto'
import { createServer, type ServerResponse } from 'node:http'
import { gzipSync } from 'node:zlib'
import { afterAll, beforeAll, beforeEach, expect, test, vi } from 'vitest'
import { listen } from '../../e2e/support/servers/listen'
import { log } from '../log/log'
import { env } from '../settings/env'
import { isBreached } from './new-password'

const breached = 'lantern 0c1d2e3f meadow'
const digest = createHash('sha1').update(breached).digest('hex').toUpperCase()
const known = `0018A45C4D1DEF81644B54AB7F969B88D65:0\r\n${digest.slice(5)}:42\r\n011053FD0102E94D6AE2F8B83D76FAF94F6:1`

type Respond = (response: ServerResponse) => void
const responds: Respond = (response) => void response.end(known)

let respond: Respond
let requests: { path: string; padding: unknown }[]
const api = createServer((request, response) => {
  requests.push({ path: request.url!, padding: request.headers['add-padding'] })
  respond(response)
})
const warn = vi.spyOn(log, 'warn')

let skippedMs = 0
const now = performance.now.bind(performance)
vi.spyOn(performance, 'now').mockImplementation(() => now() + skippedMs)

let stop: () => Promise<void>
beforeAll(async () => {
  const listening = await listen(api)
  stop = listening.stop
  Object.assign(env(), {
    PASSWORD_BREACH_CHECK: true,
    PASSWORD_BREACH_URL: listening.url,
  })
})
afterAll(async () => {
  await stop()
  vi.restoreAllMocks()
  Object.assign(env(), { PASSWORD_BREACH_CHECK: false })
})
beforeEach(() => {
  requests = []
  warn.mockClear()
  skippedMs += 60_000 // ends the pause that an earlier test caused
})

test('the request asks the API to pad its response, and a padding line does not count as a breach', async () => {
  respond = responds
  expect(await isBreached(breached)).toBe(true)
  respond = (response) =>
    void response.end(`${digest.slice(5)}:0\r\n${known.split('\r\n')[0]}`)
  expect(await isBreached(breached)).toBe(false)
  const request = { path: `/range/${digest.slice(0, 5)}`, padding: 'true' }
  expect(requests).toEqual([request, request])
})

const failing: Record<string, Respond> = {
  fails: (response) => void response.writeHead(503).end(),
  'sends only a part': (response) =>
    void response.writeHead(206).end(known.split('\r\n')[0]),
  'sends an HTML page': (response) =>
    void response.end('<!doctype html><title>Log in</title>'),
  hangs: () => {},
  'sends too many bytes': (response) => void response.end(`${known}\r\n`.repeat(10_000)), // 1.1 MB
  'compresses its response': (response) =>
    void response.setHeader('Content-Encoding', 'gzip').end(gzipSync(known)),
  redirects: (response) =>
    void response.writeHead(307, { Location: '/range/elsewhere' }).end(),
  'closes the connection during its response': (response) =>
    void response.write(known, () => response.destroy()),
  'is slow': (response) => void setTimeout(() => response.end(known), 1_100),
}
for (const [how, respondBadly] of Object.entries(failing)) {
  test(`an API that ${how} is skipped for 30 seconds and then used again, and the pause is logged once`, async () => {
    respond = respondBadly
    expect(await isBreached(breached)).toBe(how === 'is slow')
    respond = responds
    for (const pausedMs of [0, 29_000]) {
      skippedMs += pausedMs
      expect(await isBreached(breached)).toBe(false)
    }
    expect(requests).toHaveLength(1)
    skippedMs += 1_000
    expect(await isBreached(breached)).toBe(true)
    expect(warn.mock.calls.map(([, text]) => text)).toEqual([
      'the breached-password check is slow or fails: passwords pass without it for 30 s',
    ])
  })
}
