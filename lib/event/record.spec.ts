import { afterEach, expect, test } from 'vitest'
import { Prisma } from '../database/prisma'
import { currentRequestId, withRequestId } from '../log/request-context'
import { env } from '../settings/env'
import { addToOrigin, currentOrigin, setCommandOrigin, withOrigin } from './origin'
import { insertEvents, recordEvents, recordIssued, withEvents } from './record'

const days = env().EVENTS_DAYS
const globals = globalThis as { commandOrigin?: unknown }
afterEach(() => {
  env().EVENTS_DAYS = days
  delete globals.commandOrigin
})

const change = Prisma.sql`UPDATE clients SET disabled_at = now() WHERE id = ${'x'}`
const about = { clientId: 'x' }
const present = (values: unknown[]) => values.filter((value) => value !== null)

test('adds an event to a statement, and keeps its row count', () => {
  const { text, values } = withEvents(change, 'client_disabled', about)
  const flat = text.replaceAll(/\s+/g, ' ')
  expect(flat).toMatch(/^WITH changed AS \(UPDATE clients .* RETURNING 1 AS one\), /)
  expect(flat).toContain(', client_disabled_event AS ( INSERT INTO events ')
  expect(flat).toMatch(
    / FROM \(SELECT 'client_disabled'::text,.* FROM changed\) AS recorded\) SELECT 1 FROM changed$/,
  )
  expect(present(values)).toEqual(['x', 'user', 'x'])
})

test('one INSERT writes several events, with the columns and parameters that they need', () => {
  const ended = { userId: Prisma.sql`user_id`, sessionId: Prisma.sql`id` }
  const began = { userId: Prisma.sql`id`, sessionId: 'new', method: Prisma.sql`method` }
  const recorded = recordEvents('session_ended', ended, Prisma.sql`FROM revoked`, [
    { kind: 'signed_in', about: began, from: Prisma.sql`FROM claimed` },
  ])
  const flat = recorded.text.replaceAll(/\s+/g, ' ')
  expect(flat.match(/INSERT/g)).toHaveLength(1)
  expect(flat).toContain(
    '(device, network, request_id, kind, actor, user_id, session_id, method, connection_id, client_id)',
  )
  expect(flat).toMatch(
    /'session_ended'::text, .*, user_id, id, NULL::text, .* FROM revoked UNION ALL SELECT 'signed_in'::text, .*, id, \$\d+::uuid, method, .* FROM claimed/,
  )
  expect(present(recorded.values)).toEqual(['user', 'user', 'new'])
})

test('with EVENTS_DAYS=0, leaves every statement as it is, and loses no context', () => {
  env().EVENTS_DAYS = 0
  expect(withEvents(change, 'client_disabled', about)).toBe(change)
  expect(recordIssued('reset_link_issued', change, 'x')).toBe(change)
  expect(recordEvents('client_disabled', about)).toBe(Prisma.empty)
  withOrigin(
    () => {
      throw new Error('the origin is not read')
    },
    () => expect(currentOrigin()).toEqual({ actor: 'user' }),
  )
})

test('the text of a statement depends neither on the values nor on the origin', () => {
  const insert = (clientId: string) => insertEvents('client_disabled', { clientId }).text
  const origin = { actor: 'directory', connectionId: 'y', device: 'Edge' } as const
  expect(
    withOrigin(
      () => ({ ...origin }),
      () => insert('y'),
    ),
  ).toBe(insert('x'))
})

test('an event has the origin of its request, which a route completes, after asynchronous work too', async () => {
  const origin = {
    actor: 'user',
    device: 'Firefox on Linux',
    network: '192.0.2.0/24',
    requestId: 'a request',
  } as const

  await withOrigin(
    () => ({ ...origin }),
    async () => {
      addToOrigin({ actor: 'provider', connectionId: 'the connection' })
      await new Promise(setImmediate)
      const { values } = insertEvents('session_ended', { userId: 'the user' })
      expect(present(values)).toEqual([
        'Firefox on Linux',
        '192.0.2.0/24',
        'a request',
        'provider',
        'the user',
        'the connection',
      ])
    },
  )

  addToOrigin({ actor: 'provider' }) // outside of a request
  expect(currentOrigin()).toEqual({ actor: 'user' })
})

test('log lines of a request with an origin still have its ID', () => {
  const readId = () => withOrigin(() => ({ actor: 'user' }), currentRequestId)
  expect(withRequestId('a request', readId)).toBe('a request')
})

test('an event of a command has its name and that of the operator', () => {
  setCommandOrigin({ actor: 'operator', command: 'users disable', operator: 'Grace' })
  expect(present(insertEvents('user_disabled', {}).values)).toEqual([
    'operator',
    'Grace',
    'users disable',
  ])
})
