import { nothingDone } from './database-pool'
import { outcomeUnknownMessage, Refusal } from './errors'

const retryAfterSeconds = 5

/**
 * The refusal for an error that means the database is unreachable, overloaded or too slow (503 with `Retry-After`), or null for any other error.
 * Its message says whether the request may have had its effect: a connection lost in the middle of a statement leaves that open.
 */
export function databaseTrouble(error: unknown): Refusal | null {
  const causes = causesOf(error)
  const is = (pattern: RegExp) => causes.some((cause) => pattern.test(cause))
  if (is(rolledBack) || (is(perhapsDone) && is(marked))) return refusal(error, {})
  if (is(perhapsDone)) {
    return refusal(error, {
      outcome: 'unknown',
      message: outcomeUnknownMessage,
    })
  }
  return null
}

const marked = new RegExp(`^${nothingDone}`)

const rolledBack = new RegExp(
  [
    'ECONNREFUSED|ENOTFOUND|EAI_AGAIN|EHOSTUNREACH|ENETUNREACH',
    'DatabaseNotReachable|TooManyConnections|AuthenticationFailed|DatabaseAccessDenied|DatabaseDoesNotExist|TlsConnectionError',
    '\\bP1000|\\bP1001|\\bP1003|\\bP1010|\\bP1011|\\bP2024|\\bP2037', // Prisma's names for the same
    'timeout exceeded when trying to connect|Connection terminated due to connection timeout', // of the pool
    '\\b57014\\b', // statement_timeout: PostgreSQL gave up and rolled back
    '\\b(25006|40001|40P01|53\\d{3}|55P03|57P0[1345]|58\\d{3}|28\\d{3})\\b', // read-only, deadlock, resources, shutting down or starting
    'TransactionWriteConflict|\\bP2034',
  ].join('|'),
)

// 57P02: another of PostgreSQL's processes crashed, perhaps just after ours had committed
const perhapsDone =
  /\b57P02\b|ECONNRESET|EPIPE|ETIMEDOUT|Connection terminated|Connection ended|Query read timeout|ConnectionClosed|SocketTimeout|\bP1008|\bP1017|\bP1002|Client has encountered a connection error/

function refusal(cause: unknown, details: { outcome?: 'unknown'; message?: string }): Refusal {
  return new Refusal('SERVICE_UNAVAILABLE', { ...details, headers: { 'Retry-After': String(retryAfterSeconds) }, cause })
}

/** The codes, kinds and messages of an error and of what caused it, as Prisma, its adapter and `pg` nest them. */
function causesOf(error: unknown, depth = 0): string[] {
  if (typeof error !== 'object' || error === null || depth > 5) return []
  const { code, kind, originalCode, message, cause, meta } = error as Record<string, unknown>
  const driverError = (meta as { driverAdapterError?: unknown } | undefined)?.driverAdapterError
  const own = [code, kind, originalCode, message].filter((value) => typeof value === 'string')
  return [...own, ...causesOf(cause, depth + 1), ...causesOf(driverError, depth + 1)]
}
