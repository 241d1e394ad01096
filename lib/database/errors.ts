import { ApiError, outcomeUnknownMessage, retrySeconds } from '../contract/errors'
import { driverMessage, errorCode } from '../log/error-code'

/**
 * A database error that certainly changed nothing: no statement was sent, or the
 * transaction was never committed.
 */
export class NothingChanged extends Error {
  constructor(cause: Error) {
    super(cause.message, { cause })
    this.name = 'NothingChanged'
  }

  /** For the `catch` of a statement that has no effect without a later statement. */
  static rethrow(cause: Error): never {
    throw cause.name === 'NothingChanged' ? cause : new NothingChanged(cause)
  }
}

/** For how long PgBouncer refuses statements after a failed login (`server_login_retry`). */
const loginRetrySeconds = 15

/**
 * Returns SERVICE_UNAVAILABLE if the database is unreachable, overloaded or too slow;
 * null for any other error. docs/deploy.md has a table of the errors.
 */
export function asUnavailable(error: unknown): ApiError | null {
  const causes = listCauses(error)
  const details = causes.map(
    (cause) => `${errorCode(cause) ?? ''} ${driverMessage(cause) ?? cause.message}`,
  )
  const is = (pattern: RegExp) => details.some((detail) => pattern.test(detail))
  if (!is(rolledBack) && !is(maybeCommitted)) return null

  // By name, because the bundles of pages and routes share one pool, but have two classes
  // of this name.
  const nothingChanged =
    is(rolledBack) || causes.some(({ name }) => name === 'NothingChanged')
  const unknown = { outcome: 'unknown', message: outcomeUnknownMessage } as const

  return new ApiError('SERVICE_UNAVAILABLE', {
    ...(!nothingChanged && unknown),
    ...(is(loginFailed) && { retryAfterSeconds: loginRetrySeconds }),
    cause: error,
  })
}

/** Returns the seconds for the header `Retry-After` of a page in place of another. */
export function readRetrySeconds(error: unknown): number {
  return asUnavailable(error)?.details.retryAfterSeconds ?? retrySeconds
}

const compile = (...patterns: string[]) => new RegExp(patterns.join('|'))
// from PgBouncer: it tries to reach the server only every `server_login_retry`
const loginFailed =
  /^08P01 (server login has been failing|server login failed:|pgbouncer cannot connect to server)/
const rolledBack = compile(
  'ECONNREFUSED|ENOTFOUND|EAI_AGAIN|EHOSTUNREACH|ENETUNREACH',
  'timeout exceeded when trying to connect|Connection terminated due to connection timeout', // from the pool
  '\\bP2028\\b', // from Prisma: the transaction did not start in time, or ended before COMMIT was sent
  '\\b57014\\b', // statement_timeout
  // read-only, idle in transaction, serialization, deadlock, resources, locks, shutdown,
  // start-up, system, login
  '\\b(25006|25P03|40001|40P01|53\\d{3}|55P03|57P0[1345]|58\\d{3}|28[0P]\\d{2})\\b',
  // from PgBouncer, before it passes a statement on. pgpool-II has such messages only for
  // clients that connect, so that they are NothingChanged.
  '^08P01 (no more connections allowed|client connections exceeded)', // too many clients
  loginFailed.source,
  '^08P01 client_login_timeout', // unreachable
  '^08P01 (query_wait_timeout|client_idle_timeout|server shutting down)$',
)
// 57P02: another PostgreSQL process crashed, perhaps just after this one committed.
const maybeCommitted = compile(
  '\\b57P02\\b|ECONNRESET|EPIPE|ETIMEDOUT',
  'ConnectionClosed|SocketTimeout', // Prisma's names for ECONNRESET and ETIMEDOUT
  'Connection terminated|Connection ended|Query read timeout|Client has encountered a connection error', // from pg
  // from PgBouncer and pgpool-II, if the connection to the server breaks. An internal error
  // of PostgreSQL is XX000 too: it rolls back, but looks the same.
  '^(08P01|XX000) ',
)

function listCauses(error: unknown): Error[] {
  const causes: Error[] = []
  for (
    let cause = error;
    cause instanceof Error && causes.length < 6;
    cause = cause.cause
  )
    causes.push(cause)

  return causes
}
