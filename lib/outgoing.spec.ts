import dns from 'node:dns'
import { once } from 'node:events'
import net, { type AddressInfo, createServer, type Server } from 'node:net'
import { getGlobalDispatcher, setGlobalDispatcher } from 'undici'
import { afterEach, expect, test, vi } from 'vitest'
import { startConnectProxy } from '../e2e/support/wire/connect-proxy'
import { fetchBounded } from './outgoing'
import { env } from './settings/env'

const maxBytes = 1_000
const ok = 'HTTP/1.1 200 OK\r\n'
const hi = `${ok}Content-Length: 2\r\n\r\nhi`

let server: Server | undefined
afterEach(() => {
  vi.restoreAllMocks()
  vi.unstubAllEnvs()
  server?.close()
})

/**
 * Starts a service that responds to each request with the same text. Returns its port.
 */
async function startService(
  written: string,
  isEnd = false,
  requests: string[] = [],
): Promise<number> {
  server = createServer((socket) => {
    socket.on('error', () => {})
    socket.on('data', (request) => {
      requests.push(String(request))
      socket.write(written)
      if (isEnd) socket.end()
    })
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  return (server.address() as AddressInfo).port
}

const read = async (response: Promise<Response>) =>
  response.then(
    async (response) => `${response.status} ${await response.text()}`,
    (error) => `${error.name}: ${error.message}`,
  )

/**
 * What a service writes, whether it then ends the connection, and the outcome of the
 * request.
 */
const services: Record<string, [written: string, isEnd: boolean, outcome: RegExp]> = {
  'a response': [hi, false, /^200 hi$/],
  'a response until the end of the connection': [`${ok}\r\nhi`, true, /^200 hi$/],
  'a response without a body': ['HTTP/1.1 204 No Content\r\n\r\n', true, /^204 $/],
  'a response of the largest size': [
    `${ok}\r\n${'x'.repeat(maxBytes)}`,
    true,
    /^200 x+$/,
  ],
  'a redirect': [
    'HTTP/1.1 302 Found\r\nLocation: /other\r\nContent-Length: 0\r\n\r\n',
    false,
    /^302 $/,
  ],
  'one byte too many': [
    `${ok}\r\n${'x'.repeat(maxBytes + 1)}`,
    true,
    /^ResponseRejected: .* too large/,
  ],
  'bytes without end': [
    `${ok}\r\n${'x'.repeat(maxBytes + 1)}`,
    false,
    /^ResponseRejected: .* too large/,
  ],
  'a compressed response': [
    `${ok}Content-Encoding: gzip\r\n\r\nhi`,
    true,
    /^ResponseRejected: .* compressed/,
  ],
  'part of a response without a length': [`${ok}\r\nhi`, false, /^TimeoutError/],
  'the first of several chunks, then disconnects': [
    `${ok}Transfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n`,
    true,
    /other side closed$/,
  ],
  'part of a response, then disconnects': [
    `${ok}Content-Length: 3\r\n\r\nhi`,
    true,
    /other side closed$/,
  ],
  'part of a response': [`${ok}Content-Length: 3\r\n\r\nhi`, false, /^TimeoutError/],
  nothing: ['', false, /^TimeoutError/],
  'another protocol': [
    'HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n',
    false,
    /bad upgrade$/,
  ],
  'early hints before a response': [
    `HTTP/1.1 103 Early Hints\r\n\r\n${hi}`,
    false,
    /^200 hi$/,
  ],
  'an unknown status': [
    'HTTP/1.1 999 Odd\r\nContent-Length: 0\r\n\r\n',
    false,
    /^RangeError/,
  ],
  'what is not HTTP': ['hello\r\n', true, /^HTTPParserError/],
}

for (const [what, [written, isEnd, outcome]] of Object.entries(services)) {
  test(`a service that sends ${what}: ${outcome}`, async () => {
    const isTimeout = outcome.test('TimeoutError')
    const requests: string[] = []
    const port = await startService(written, isEnd, requests)
    const signal = AbortSignal.timeout(isTimeout ? 500 : 20_000)
    expect(
      await read(fetchBounded(`http://127.0.0.1:${port}/path`, { signal }, maxBytes)),
    ).toMatch(outcome)
    expect(requests).toEqual([
      expect.stringMatching(/^GET \/path HTTP\/1.1\r\n.*accept-encoding: identity\r\n/s),
    ])
  })
}

test('concurrent requests share one lookup of a host name, and connecting to an address may take two seconds', async () => {
  const port = await startService(hi)
  const addresses = [{ address: '127.0.0.1', family: 4 }]
  let answer = () => {}
  const answered = new Promise((resolve) => {
    answer = () => resolve(addresses)
  })
  const lookUp = vi.spyOn(dns.promises, 'lookup').mockReturnValue(answered as never)
  const connect = vi.spyOn(net, 'connect')
  const signal = AbortSignal.timeout(20_000)
  const send = (name: string) =>
    read(fetchBounded(`http://${name}.example:${port}/`, { signal }, maxBytes))
  const responses = ['slow', 'slow', 'slow', 'other'].map(send)
  await expect.poll(() => connect.mock.calls.length).toBe(4)
  expect(lookUp.mock.calls.map(([name]) => name)).toEqual([
    'slow.example',
    'other.example',
  ])
  answer()
  expect(await Promise.all(responses)).toEqual(Array(4).fill('200 hi'))
  expect(connect.mock.lastCall).toEqual([
    expect.objectContaining({
      autoSelectFamily: true,
      autoSelectFamilyAttemptTimeout: 2_000,
    }),
  ])
  lookUp.mockRejectedValueOnce(new Error('no such host'))
  expect([await send('new'), await send('new')]).toEqual([
    'Error: no such host',
    '200 hi',
  ])
})

test('sends its own requests and those of `fetch` through HTTP_PROXY, except to hosts in NO_PROXY', async () => {
  const proxy = await startConnectProxy()
  const port = await startService(hi)
  vi.stubEnv('HTTP_PROXY', proxy.url)
  vi.stubEnv('NO_PROXY', '127.0.0.1')
  const direct = getGlobalDispatcher()
  const another = './outgoing?another' // another instance of the module, which has sent no request yet
  const { fetchBounded, useProxyForFetch } = (await import(
    another
  )) as typeof import('./outgoing')
  await useProxyForFetch()
  const signal = AbortSignal.timeout(20_000)
  const send = (url: string) => fetchBounded(url, { signal }, maxBytes)
  for (const [name, request] of Object.entries({ fetch, send })) {
    expect(await read(request(`http://127.0.0.1:${port}/`))).toBe('200 hi')
    expect(await read(request(`http://${name}.example:${port}/`))).toBe('200 hi')
  }
  expect(proxy.connected).toEqual([`fetch.example:${port}`, `send.example:${port}`])
  setGlobalDispatcher(direct)
  await proxy.stop()
})

const notPublic = [
  'http://127.0.0.1:PORT/',
  'http://[::1]:PORT/',
  'http://0x7f.1:PORT/',
  'http://2130706433:PORT/',
  'http://[::ffff:127.0.0.1]:PORT/',
  'http://10.0.0.1:PORT/',
  'http://169.254.169.254/latest/',
  'http://192.168.0.1/',
  'http://[fe80::1]/',
  'http://localhost:PORT/',
  'http://name.example:PORT/',
]

for (const url of notPublic)
  test(`sends no request to ${url} if only public addresses are allowed`, async () => {
    const requests: string[] = []
    const port = await startService(hi, false, requests)
    vi.spyOn(dns.promises, 'lookup').mockResolvedValue([
      { address: '127.0.0.1', family: 4 },
      { address: '::1', family: 6 },
    ] as never)
    const at = env()
    const { PUBLIC_URL } = at
    at.PUBLIC_URL = 'https://login.example.com'

    try {
      const options = { signal: AbortSignal.timeout(20_000), publicOnly: true }
      const sent = fetchBounded(url.replace('PORT', String(port)), options, maxBytes)
      expect(await read(sent)).toBe('AddressRejected: The host has no public address.')
    } finally {
      at.PUBLIC_URL = PUBLIC_URL
    }
    expect(requests).toEqual([])
  })

test('looks a name up for each connection, and never uses one that was allowed before', async () => {
  const requests: string[] = []
  const port = await startService(
    `${ok}Content-Length: 2\r\nConnection: close\r\n\r\nhi`,
    true,
    requests,
  )
  const lookUp = vi.spyOn(dns.promises, 'lookup')
  const answer = (address: string) =>
    lookUp.mockResolvedValueOnce([{ address, family: 4 }] as never)
  const send = () => {
    const options = { signal: AbortSignal.timeout(20_000), publicOnly: true }
    return read(fetchBounded(`http://later.example:${port}/`, options, maxBytes))
  }
  answer('127.0.0.1') // allowed, because PUBLIC_URL is on this machine too
  expect(await send()).toBe('200 hi')
  answer('10.0.0.1')
  expect(await send()).toMatch(/^AddressRejected/)
  expect(requests).toHaveLength(1)
})

test('does not reuse a connection of a request without this restriction', async () => {
  const requests: string[] = []
  const port = await startService(hi, false, requests)
  const lookUp = vi.spyOn(dns.promises, 'lookup')
  const send = (publicOnly: boolean) => {
    const options = { signal: AbortSignal.timeout(20_000), publicOnly }
    return read(fetchBounded(`http://reused.example:${port}/`, options, maxBytes))
  }
  lookUp.mockResolvedValueOnce([{ address: '127.0.0.1', family: 4 }] as never)
  expect(await send(false)).toBe('200 hi')
  lookUp.mockResolvedValueOnce([{ address: '192.168.0.1', family: 4 }] as never)
  expect(await send(true)).toMatch(/^AddressRejected/)
  expect(requests).toHaveLength(1)
})
