import { ApiError, outcomeUnknownMessage } from '../contract/errors'
import { errorCode } from './driver-error'

/** Returns SERVICE_UNAVAILABLE if the database is unreachable, overloaded or too slow; null for any other error. */
export function asUnavailable(error: unknown): ApiError | null {
  const causes = causesOf(error)
  const details = causes.map((cause) => `${errorCode(cause) ?? ''} ${cause.message}`)
  const is = (pattern: RegExp) => details.some((detail) => pattern.test(detail))
  if (!is(rolledBack) && !is(maybeCommitted)) return null
  // By name: pages and routes are separate bundles with a class each, and share one pool.
  const nothingChanged = is(rolledBack) || causes.some(({ name }) => name === 'NothingChanged')
  const unknown = { outcome: 'unknown', message: outcomeUnknownMessage } as const
  return new ApiError('SERVICE_UNAVAILABLE', { ...(!nothingChanged && unknown), cause: error })
}

const rolledBack = new RegExp(
  [
    'ECONNREFUSED|ENOTFOUND|EAI_AGAIN|EHOSTUNREACH|ENETUNREACH',
    'timeout exceeded when trying to connect|Connection terminated due to connection timeout', // from the pool
    '\\bP2028\\b', // from Prisma: the transaction did not start in time, or ended before COMMIT
    '\\b57014\\b', // statement_timeout
    // read-only, idle in transaction, serialization, deadlock, resources, locks, shutdown, start-up, system, login
    '\\b(25006|25P03|40001|40P01|53\\d{3}|55P03|57P0[1345]|58\\d{3}|28\\d{3})\\b',
  ].join('|'),
)

// 57P02: another PostgreSQL process crashed, perhaps just after this one committed.
const maybeCommitted = new RegExp(
  [
    '\\b57P02\\b|ECONNRESET|EPIPE|ETIMEDOUT',
    'ConnectionClosed|SocketTimeout', // Prisma's words for ECONNRESET and ETIMEDOUT
    'Connection terminated|Connection ended|Query read timeout|Client has encountered a connection error', // of pg
  ].join('|'),
)

function causesOf(error: unknown): Error[] {
  const causes: Error[] = []
  for (let cause = error; cause instanceof Error && causes.length < 6; cause = cause.cause) causes.push(cause)
  return causes
}
