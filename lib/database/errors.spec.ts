import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { describeCause } from '../log/log'
import { asUnavailable, NothingChanged, readRetrySeconds } from './errors'

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

const ofPostgres = (code?: string, kind = 'postgres', originalMessage = 'any') => {
  const driverAdapterError = Object.assign(new Error('any'), {
    cause: { kind, originalCode: code, originalMessage },
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

const withCode = (code: string, message: string) =>
  Object.assign(new Error(message), { code })

test('an error of a pooler leaves the outcome unknown, unless the pooler never sent the statement', () => {
  const sent = {
    '08P01': ['server conn crashed?', 'query timeout', 'about a query_wait_timeout'],
    XX000: ['unable to read data from DB node 0', 'query_wait_timeout'],
  }
  const notSent = [
    'no more connections allowed (max_client_conn)',
    'client connections exceeded (max_db_client_connections)',
    'pgbouncer cannot connect to server',
    'server login has been failing, try again later (server_login_retry)',
    'server login has been failing, cached error: connect failed (server_login_retry)',
    'server login failed: wrong password type',
    'client_login_timeout (server down)',
    'query_wait_timeout',
    'server shutting down',
  ]
  for (const [code, messages] of Object.entries(sent))
    for (const message of messages) {
      const errors = [withCode(code, message), ofPostgres(code, 'postgres', message)]
      for (const error of errors)
        expect(verdictOf(error), message).toEqual(['SERVICE_UNAVAILABLE', 'unknown'])
      expect(verdictOf(new NothingChanged(errors[0]!))).toEqual([
        'SERVICE_UNAVAILABLE',
        undefined,
      ])
    }
  for (const message of notSent)
    for (const error of [
      withCode('08P01', message),
      ofPostgres('08P01', 'postgres', message),
    ])
      expect(verdictOf(error), message).toEqual(['SERVICE_UNAVAILABLE', undefined])
})

/** The rows of the table in docs/deploy.md, with the code of each cell in backticks. */
function readTable() {
  const document = readFileSync(new URL('../../docs/deploy.md', import.meta.url), 'utf8')
  const [, section] = document.split('### Errors of the database')
  const readCode = (cell: string) =>
    [...cell.matchAll(/`([^`]+)`/g)].map(([, text]) => text!)
  return [...section!.matchAll(/^\| `.*\|$/gm)].map(([line]) => {
    const [, codes, messages, , outcome, seconds] = line
      .split(' | ')
      .flatMap((cell, at) => (at === 0 ? ['', cell] : cell.replace(/ \|$/, '')))
    const named = readCode(messages!)
    return {
      codes: readCode(codes!),
      messages: named.length > 0 ? named : ['any'],
      outcome: outcome === 'unknown' ? 'unknown' : undefined,
      seconds: Number(seconds),
    }
  })
}

test('docs/deploy.md has the outcome and Retry-After of each error of the database', () => {
  const rows = readTable()
  const sqlStates = rows.flatMap(({ codes }) => codes)
  expect(sqlStates).toEqual(expect.arrayContaining(['08P01', 'XX000', '53300', '57P01']))
  for (const { codes, messages, outcome, seconds } of rows)
    for (const code of codes)
      for (const message of messages)
        for (const error of [
          withCode(code, message),
          ofPostgres(code, 'postgres', message),
        ]) {
          expect(verdictOf(error), `${code} ${message}`).toEqual([
            'SERVICE_UNAVAILABLE',
            outcome,
          ])
          expect(readRetrySeconds(error), `${code} ${message}`).toBe(seconds)
        }
})

test('other errors of PgBouncer, and errors without a code, have the usual Retry-After', () => {
  for (const message of ['about server login has been failing', 'server conn crashed?'])
    expect(readRetrySeconds(withCode('08P01', message))).toBe(5)
  expect(readRetrySeconds(new Error('the database did not respond in time'))).toBe(5)
  const refused = withCode('08P01', 'server login has been failing, try again later')
  expect(readRetrySeconds(new NothingChanged(refused))).toBe(15)
})
