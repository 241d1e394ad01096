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

test.each([
  ['57014', 'postgres', undefined],
  ['40P01', 'TransactionWriteConflict', undefined],
  ['57P02', 'postgres', 'unknown'],
  [undefined, 'ConnectionClosed', 'unknown'],
])('reads the code %s of the driver in an error of Prisma', (originalCode, kind, outcome) => {
  const driverAdapterError = Object.assign(new Error('any'), { cause: { kind, originalCode } })
  const error = Object.assign(new Error('Raw query failed.'), { code: 'P2010', meta: { driverAdapterError } })
  expect(asUnavailable(error)).toMatchObject({ code: 'SERVICE_UNAVAILABLE', outcome })
  expect(describeCause(error)).toMatchObject({ code: originalCode ?? kind })
})

test('any other error is not about the database', () => {
  expect(asUnavailable(new Error('null value in column'))).toBeNull()
})
