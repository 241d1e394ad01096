import { ApiError, outcomeUnknownMessage } from '../contract/errors'
import { NotExecuted } from './not-executed'

const retryAfterSeconds = 5

/**
 * SERVICE_UNAVAILABLE for an error that means that the database is unreachable, overloaded or too slow; null for any other error.
 * It says whether the request may have taken effect: a connection lost in the middle of a statement leaves that open.
 */
export function asUnavailable(error: unknown): ApiError | null {
  const causes = causesOf(error)
  const details = causes.map(({ code, message }) => `${code ?? ''} ${message}`)
  const is = (pattern: RegExp) => details.some((detail) => pattern.test(detail))
  const notExecuted = causes.some((cause) => cause instanceof NotExecuted)
  if (is(rolledBack) || (is(perhapsDone) && notExecuted)) {
    return new ApiError('SERVICE_UNAVAILABLE', { retryAfterSeconds, cause: error })
  }
  if (!is(perhapsDone)) return null
  return new ApiError('SERVICE_UNAVAILABLE', {
    retryAfterSeconds,
    outcome: 'unknown',
    message: outcomeUnknownMessage,
    cause: error,
  })
}

const rolledBack = new RegExp(
  [
    'ECONNREFUSED|ENOTFOUND|EAI_AGAIN|EHOSTUNREACH|ENETUNREACH',
    'timeout exceeded when trying to connect|Connection terminated due to connection timeout', // of the pool
    '\\b57014\\b', // statement_timeout
    // read-only, serialisation, deadlock, resources, locks, shutting down or starting, system errors, authentication
    '\\b(25006|40001|40P01|53\\d{3}|55P03|57P0[1345]|58\\d{3}|28\\d{3})\\b',
  ].join('|'),
)

// 57P02: another process of PostgreSQL crashed, perhaps just after ours had committed.
const perhapsDone =
  /\b57P02\b|ECONNRESET|EPIPE|ETIMEDOUT|Connection terminated|Connection ended|Query read timeout|Client has encountered a connection error/

type Cause = Error & { code?: string }

/** An error with what caused it. */
function causesOf(error: unknown): Cause[] {
  const causes: Cause[] = []
  for (let cause = error; cause instanceof Error && causes.length < 6; cause = cause.cause) causes.push(cause)
  return causes
}
