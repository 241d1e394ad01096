import { EventEmitter, once } from 'node:events'
import pino from 'pino'
import { expect, test, vi } from 'vitest'
import { describeCause, log } from './log'
import { withoutRequestId, withRequestId } from './request-context'

/** Returns what `act` logs, as lines of the real log. */
async function logged(act: () => unknown): Promise<Record<string, unknown>[]> {
  const lines: string[] = []
  const streamSymbol = pino.symbols.streamSym as unknown as string
  const logger = log as unknown as Record<string, { write: (line: string) => void }>
  const stream = logger[streamSymbol]!
  const { write } = stream
  const { level } = log

  try {
    log.level = 'info'
    stream.write = (line) => lines.push(line)
    await act()
  } finally {
    stream.write = write
    log.level = level
  }

  return lines.map((line) => JSON.parse(line))
}

test('each line has the ID of the request in which it is written, also later and concurrently', async () => {
  const emitter = new EventEmitter()
  const work = async (name: string) => {
    await once(emitter, 'go')
    log.warn({ name }, 'late')
  }
  const lines = await logged(async () => {
    log.warn('outside')
    const both = ['one', 'two'].map((name) =>
      withRequestId(`request-${name}`, () => work(name)),
    )
    withRequestId('request-three', () =>
      log.error({ requestId: 'its own', route: 'x' }, 'of the route'),
    )
    emitter.emit('go')
    await Promise.all(both)
  })
  expect(lines.map(({ requestId, msg, name }) => [requestId, msg, name])).toEqual([
    [undefined, 'outside', undefined],
    ['its own', 'of the route', undefined],
    ['request-one', 'late', 'one'],
    ['request-two', 'late', 'two'],
  ])
})

test('the lines of a request have the ID of its trace', async () => {
  const readTraceId = () => 'a-trace'
  vi.stubGlobal('tracing', { readTraceId })
  const lines = await logged(() => {
    withRequestId('a-request', () => log.warn('of the request'))
    log.warn('outside')
  })
  vi.unstubAllGlobals()
  expect(lines.map(({ requestId, traceId }) => [requestId, traceId])).toEqual([
    ['a-request', 'a-trace'],
    [undefined, undefined],
  ])
})

test('a line about something that serves several requests has no ID', async () => {
  const lines = await logged(() =>
    withRequestId('the-first-request', () => {
      const connection = new EventEmitter()
      connection.on('error', () => withoutRequestId(() => log.warn('lost')))
      connection.emit('error')
      log.warn('of the request')
    }),
  )
  expect(lines.map(({ requestId }) => requestId)).toEqual([
    undefined,
    'the-first-request',
  ])
})

test('the description of an error contains its stack frames, but no part of its message', () => {
  const { at, ...rest } = describeCause(
    new TypeError('quoted\n    at a secret (file.js:1:1)\n    at another secret'),
  )
  expect(rest).toEqual({ name: 'TypeError' })
  expect(at).toContain('log.spec.ts')
  expect(at).not.toContain('secret')
})

test('the description of an error contains its message only if the message is on the list for the database driver', () => {
  for (const message of [
    'Query read timeout',
    'The server does not support SSL connections',
  ])
    expect(describeCause(new Error(message)).reason).toBe(message)
  for (const message of [
    'Query read timeout of secret',
    'SASL: server returned error: "secret"',
    'secret',
  ])
    expect(describeCause(new Error(message)).reason).toBeUndefined()
})

test('the description of an error contains no part of a message that was changed later', () => {
  const error = new Error('first')
  error.message = 'second\n    at a secret (file.js:1:1)'
  expect(describeCause(error).at).toContain('log.spec.ts')
  expect(describeCause(error).at).not.toContain('secret')
})

test('the description of a lost prepared statement names the setting for poolers', () => {
  for (const code of ['26000', '42P05'])
    expect(describeCause(Object.assign(new Error('quoted'), { code })).reason).toContain(
      'DATABASE_POOLED=true',
    )
})
