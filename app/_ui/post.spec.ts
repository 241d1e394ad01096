import { expect, test } from 'vitest'
import { readOutcome } from './post'

const sentId = '7f3c1f0a-58a1-4f53-9f25-3d1a0c2b9e11'
const outcomeFor = (body: unknown, init?: ResponseInit) => {
  const text = typeof body === 'string' ? body : JSON.stringify(body)
  return readOutcome({
    requestId: sentId,
    response: Promise.resolve(new Response(text, init)),
  })
}

test('after a 429 without our JSON, such as from a firewall, the page waits before a retry', async () => {
  for (const body of ['<h1>Slow down</h1>', '', '{}', 'null'])
    expect(
      await outcomeFor(body, { status: 429, headers: { 'Retry-After': '30' } }),
    ).toEqual({
      kind: 'limited',
      waitSeconds: 30,
      requestId: sentId,
    })
})

test('after a response without our JSON, except 429, the outcome is unknown', async () => {
  for (const [status, body] of [
    [504, '<h1>Gateway timeout</h1>'],
    [200, '{"ok":'],
    [200, 'null'],
  ] as const)
    expect((await outcomeFor(body, { status })).kind, body).toBe('unknown')
})

test('without a Retry-After header in seconds, the page waits five seconds', async () => {
  for (const headers of [
    {},
    { 'Retry-After': 'Wed, 21 Oct 2026 07:28:00 GMT' },
    { 'Retry-After': '0' },
  ]) {
    const init = { headers: headers as Record<string, string> }
    expect(
      await outcomeFor({ code: 'SERVICE_UNAVAILABLE' }, { status: 503, ...init }),
    ).toMatchObject({
      kind: 'unavailable',
      waitSeconds: 5,
    })
    expect(await outcomeFor('', { status: 429, ...init })).toMatchObject({
      kind: 'limited',
      waitSeconds: 5,
    })
  }
})

test('the request ID is from the body, otherwise from the header, otherwise the one that was sent', async () => {
  const headers = { 'X-Request-Id': 'of-the-header' }
  const failed = { code: 'INTERNAL_ERROR' }
  const references = [
    await outcomeFor({ ...failed, requestId: 'of-the-body' }, { status: 500, headers }),
    await outcomeFor(failed, { status: 500, headers }),
    await outcomeFor('<h1>Bad gateway</h1>', { status: 502, headers }),
    await outcomeFor('<h1>Bad gateway</h1>', { status: 502 }),
    await readOutcome({
      requestId: sentId,
      response: Promise.reject(new TypeError('Failed to fetch')),
    }),
  ]
  expect(references.map(({ kind, requestId }) => [kind, requestId])).toEqual([
    ['failed', 'of-the-body'],
    ['failed', 'of-the-header'],
    ['unknown', 'of-the-header'],
    ['unknown', sentId],
    ['unknown', sentId],
  ])
})
