import { exchange, expect, newAddress, reset, test } from './fixtures'
import { countOf, flood } from './flood'
import { startServer } from './server'

const limit = 2_000

test('2,000 requests of one address pass, over all /api routes together, and the next is refused', async ({ url, post }) => {
  const address = newAddress()
  const headers = { 'X-Forwarded-For': address }
  const paths = ['/api/health', '/api/nothing', exchange, reset]
  const answers = await flood(limit, (index) => fetch(url + paths[index % paths.length], { headers }))
  expect(countOf(answers, 429)).toBe(0)
  const remaining = answers.map((answer) => Number(answer.headers.get('ratelimit')!.match(/r=(\d+)/)![1])).sort((a, b) => a - b)
  expect(remaining).toEqual(Array.from({ length: limit }, (_, index) => index))

  const refused = await post(exchange, { code: 'x' }, headers)
  expect([refused.status, refused.body]).toEqual([
    429,
    { ok: false, code: 'RATE_LIMITED', message: expect.any(String), requestId: expect.any(String) },
  ])
  const seconds = Number(refused.headers.get('retry-after'))
  expect(Number.isInteger(seconds) && seconds > 0 && seconds <= 900).toBe(true)
  expect(refused.headers.get('ratelimit')).toBe(`"platform";r=0;t=${seconds}`)
  expect(refused.headers.get('cache-control')).toBe('no-store')

  expect((await fetch(`${url}/api/health`, { headers: { 'X-Forwarded-For': newAddress() } })).status).toBe(200)
})

test('without a proxy in front, forged X-Forwarded-For headers are one client: the socket', async () => {
  const server = await startServer({ TRUSTED_PROXIES: '0' })
  const answers = await flood(limit + 50, () =>
    fetch(`${server.url}/api/health`, { headers: { 'X-Forwarded-For': newAddress(), 'X-Real-IP': newAddress(), Forwarded: `for=${newAddress()}` } }),
  )
  await server.stop()
  expect(countOf(answers, 429)).toBe(50)
})

test('behind one proxy, the entry that the proxy appended counts, whatever stands left of it', async ({ url }) => {
  const address = newAddress()
  const answers = await flood(limit + 50, () =>
    fetch(`${url}/api/health`, { headers: { 'X-Forwarded-For': `${newAddress()}, ${newAddress()}, ${address}` } }),
  )
  expect(countOf(answers, 429)).toBe(50)
})
