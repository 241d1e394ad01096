import { expect, test } from 'vitest'
import { describeCause } from '../log'
import { asUnavailable } from './unavailable'

const lost = new Error('Connection terminated unexpectedly')

test('a lost connection leaves the outcome unknown', () => {
  expect(asUnavailable(lost)).toMatchObject({ code: 'SERVICE_UNAVAILABLE', outcome: 'unknown' })
})

test('changed nothing if the pool lost it while connecting, also if another bundle opened the pool', () => {
  class OfAnotherBundle extends Error {
    override name = 'NotExecuted'
  }
  const error = new OfAnotherBundle(lost.message, { cause: lost })
  expect(asUnavailable(error)).toMatchObject({ code: 'SERVICE_UNAVAILABLE', outcome: undefined })
})

const ofPostgres = (code?: string, kind = 'postgres') => {
  const driverAdapterError = Object.assign(new Error('any'), { cause: { kind, originalCode: code } })
  return Object.assign(new Error('Raw query failed.'), { code: 'P2010', meta: { driverAdapterError } })
}

test('reads the code of PostgreSQL in an error of Prisma: whether it rolled back', () => {
  // read-only, idle, serialization, deadlock, time-out, lock, resources, shutdown, system, authentication
  const codes = '25006 25P03 40001 40P01 57014 55P03 53300 53100 57P01 57P03 58030 28000'
  for (const code of codes.split(' '))
    expect(asUnavailable(ofPostgres(code)), code).toMatchObject({ code: 'SERVICE_UNAVAILABLE', outcome: undefined })
  // another process crashed, perhaps after this one committed; the connection was reset
  for (const error of [ofPostgres('57P02'), ofPostgres(undefined, 'ConnectionClosed')])
    expect(asUnavailable(error)).toMatchObject({ code: 'SERVICE_UNAVAILABLE', outcome: 'unknown' })
  for (const code of ['23514', '40002', 'XX000']) expect(asUnavailable(ofPostgres(code)), code).toBeNull()
  expect(describeCause(ofPostgres('23514')).code).toBe('23514')
})

test('any other error is not about the database', () => {
  expect(asUnavailable(new Error('null value in column'))).toBeNull()
})
