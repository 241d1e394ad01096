import { expect, test } from 'vitest'
import { describeCause } from '../log'
import { asUnavailable } from './errors'

const lost = new Error('Connection terminated unexpectedly')
const verdictOf = (error: unknown) => [
  asUnavailable(error)?.code,
  asUnavailable(error)?.details.outcome,
]

test('an error while connecting means that nothing was changed, even if the code of another bundle threw the error', () => {
  class OfAnotherBundle extends Error {
    override name = 'NothingChanged'
  }
  const error = new OfAnotherBundle(lost.message, { cause: lost })
  expect(verdictOf(error)).toEqual(['SERVICE_UNAVAILABLE', undefined])
})

const ofPostgres = (code?: string, kind = 'postgres') => {
  const driverAdapterError = Object.assign(new Error('any'), {
    cause: { kind, originalCode: code },
  })
  return Object.assign(new Error('Raw query failed.'), {
    code: 'P2010',
    meta: { driverAdapterError },
  })
}

test('finds the PostgreSQL code in a Prisma error, and decides whether the statement was rolled back', () => {
  // read-only, idle, serialization, deadlock, timeout, lock, resources, shutdown, system,
  // authentication
  const codes = '25006 25P03 40001 40P01 57014 55P03 53300 53100 57P01 57P03 58030 28000'
  for (const code of codes.split(' '))
    expect(verdictOf(ofPostgres(code)), code).toEqual(['SERVICE_UNAVAILABLE', undefined])
  // a lost connection, a crash of another process (perhaps after the commit), and a
  // closed connection
  for (const error of [
    lost,
    ofPostgres('57P02'),
    ofPostgres(undefined, 'ConnectionClosed'),
  ])
    expect(verdictOf(error)).toEqual(['SERVICE_UNAVAILABLE', 'unknown'])
  for (const error of [
    ofPostgres('23514'),
    ofPostgres('40002'),
    new Error('null value in column'),
  ])
    expect(asUnavailable(error), error.message).toBeNull()
  expect(describeCause(ofPostgres('23514')).code).toBe('23514')
})
