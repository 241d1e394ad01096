/** Messages of `pg` and its pool that have no code. They quote no values. */
export const loggableMessages = new RegExp(
  [
    '^(timeout exceeded when trying to connect|Query read timeout|Connection terminated.*)$',
    '^Client (was closed|has encountered a connection error) and is not queryable$',
    '^(The server does not support SSL connections|There was an error establishing an SSL connection|SASL: [^"]*)$',
  ].join('|'),
)

const poolerRemedy =
  'the pooler loses prepared statements: set DATABASE_POOLED=true, and remove DATABASE_PREPARED_STATEMENTS'

/** What an operator must do, by the SQLSTATE of an error that only poolers cause. */
export const poolerRemedies: Record<string, string> = {
  '26000': poolerRemedy, // the statement does not exist
  '42P05': poolerRemedy, // the statement exists already
}

type Wrapped = {
  meta?: {
    driverAdapterError?: {
      cause: { kind: string; originalCode?: string; originalMessage?: string }
    }
  }
}

/** Returns the message of an error that a Prisma error wraps. */
export function driverMessage(error: Error): string | undefined {
  return (error as Wrapped).meta?.driverAdapterError?.cause.originalMessage
}

/**
 * Returns PostgreSQL’s SQLSTATE or Node.js’s code, which a Prisma error may wrap.
 * Otherwise, Prisma’s code.
 */
export function errorCode(error: Error & { code?: unknown }): string | undefined {
  const driverError = (error as Wrapped).meta?.driverAdapterError?.cause
  const code = driverError ? (driverError.originalCode ?? driverError.kind) : error.code
  return typeof code === 'string' ? code : undefined
}
