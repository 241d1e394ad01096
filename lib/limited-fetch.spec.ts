import { once } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'
import { expect, test } from 'vitest'
import { fetchLimited } from './limited-fetch'

const maxBytes = 1_000
const ok = 'HTTP/1.1 200 OK\r\n'
const hint = 'HTTP/1.1 103 Early Hints\r\n\r\n'

/** What a service writes, whether it then ends the connection, and what becomes of the request. */
const services: Record<string, [written: string, isEnd: boolean, outcome: RegExp]> = {
  'a response': [`${ok}Content-Length: 2\r\n\r\nhi`, false, /^200 hi$/],
  'a response until the end of the connection': [`${ok}\r\nhi`, true, /^200 hi$/],
  'a response without a body': ['HTTP/1.1 204 No Content\r\n\r\n', true, /^204 $/],
  'as many bytes as are read': [`${ok}\r\n${'x'.repeat(maxBytes)}`, true, /^200 x+$/],
  'a redirect': ['HTTP/1.1 302 Found\r\nLocation: /other\r\nContent-Length: 0\r\n\r\n', false, /^302 $/],
  'a response of one byte more': [`${ok}\r\n${'x'.repeat(maxBytes + 1)}`, true, /^ResponseRejected: .* too large/],
  'a compressed response': [`${ok}Content-Encoding: gzip\r\n\r\nhi`, true, /^ResponseRejected: .* compressed/],
  'a part of a response without a length': [`${ok}\r\nhi`, false, /^TimeoutError/],
  'a part of a response in chunks, and ends': [
    `${ok}Transfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n`,
    true,
    /^Error: aborted$/,
  ],
  'a part of a response, and ends': [`${ok}Content-Length: 3\r\n\r\nhi`, true, /^Error: aborted$/],
  'a part of a response': [`${ok}Content-Length: 3\r\n\r\nhi`, false, /^TimeoutError/],
  nothing: ['', false, /^TimeoutError/],
  'another protocol': [
    'HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n',
    false,
    /^TimeoutError/,
  ],
  'ten early hints before a response': [`${hint.repeat(10)}${ok}Content-Length: 2\r\n\r\nhi`, false, /^200 hi$/],
  'more early hints': [hint.repeat(11), false, /^ResponseRejected: .* too large/],
  'an unknown status': ['HTTP/1.1 999 Odd\r\nContent-Length: 0\r\n\r\n', false, /^RangeError/],
  'what is not HTTP': ['hello\r\n', true, /^Error: Parse Error/],
}

for (const keepAlive of [false, true])
  test(`the connection is ${keepAlive ? 'kept' : 'closed after the response, and what comes then is not read'}`, async () => {
    let [connections, closed] = [0, 0]
    const server = createServer((socket) => {
      connections++
      socket.on('error', () => {})
      socket.on('close', () => closed++)
      socket.on('data', () => socket.write(`${ok}Content-Length: 2\r\n\r\nhi`))
    }).listen(0, '127.0.0.1')
    await once(server, 'listening')
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`
    for (let index = 0; index < 2; index++) {
      const response = await fetchLimited(
        url,
        { signal: AbortSignal.timeout(20_000), ...(keepAlive && { keepAlive }) },
        maxBytes,
      )
      expect(await response.text()).toBe('hi')
      await new Promise((resolve) => setTimeout(resolve, 50)) // until the connection is free
    }
    if (!keepAlive) await expect.poll(() => closed).toBe(2)
    expect([connections, closed]).toEqual(keepAlive ? [1, 0] : [2, 2])
    server.close()
  })

for (const [what, [written, isEnd, outcome]] of Object.entries(services)) {
  test(`a service that sends ${what}`, async () => {
    const isTimeout = outcome.test('TimeoutError')
    const paths: string[] = []
    const server = createServer((socket) => {
      socket.on('error', () => {})
      socket.on('data', (request) => {
        paths.push(String(request).split(' ')[1]!)
        socket.write(written)
        if (isEnd) socket.end()
      })
    }).listen(0, '127.0.0.1')
    await once(server, 'listening')
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/path`
    const result = await fetchLimited(url, { signal: AbortSignal.timeout(isTimeout ? 500 : 20_000) }, maxBytes).then(
      async (response) => `${response.status} ${await response.text()}`,
      (error) => `${error.name}: ${error.message}`,
    )
    server.close()
    expect(result).toMatch(outcome)
    if (!isTimeout) expect(paths).toEqual(['/path'])
  })
}
