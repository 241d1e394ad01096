import { afterEach, expect, test } from 'vitest'
import { Prisma } from '../database/prisma'
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

test('adds an event to a statement, and keeps its row count', () => {
  const { text, values } = withEvents(change, 'client_disabled', about)
  const flat = text.replaceAll(/\s+/g, ' ')
  expect(flat).toMatch(/^WITH changed AS \(UPDATE clients .* RETURNING 1 AS one\), /)
  expect(flat).toContain(', client_disabled_event AS ( INSERT INTO events ')
  expect(flat).toMatch(/ FROM changed\) SELECT 1 FROM changed$/)
  expect(values.filter((value) => value !== null)).toEqual([
    'x',
    'client_disabled',
    'user',
    'x',
  ])
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
      expect(values.filter((value) => value !== null)).toEqual([
        'session_ended',
        'provider',
        'the user',
        'the connection',
        'Firefox on Linux',
        '192.0.2.0/24',
        'a request',
      ])
    },
  )

  addToOrigin({ actor: 'provider' }) // outside of a request
  expect(currentOrigin()).toEqual({ actor: 'user' })
})

test('an event of a command has its name and that of the operator', () => {
  setCommandOrigin({ actor: 'operator', command: 'users disable', operator: 'Grace' })
  expect(insertEvents('user_disabled', {}).values.slice(0, 4)).toEqual([
    'user_disabled',
    'operator',
    'Grace',
    'users disable',
  ])
})
