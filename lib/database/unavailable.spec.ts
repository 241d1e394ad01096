import { expect, test } from 'vitest'
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

test('any other error is not about the database', () => {
  expect(asUnavailable(new Error('null value in column'))).toBeNull()
})
