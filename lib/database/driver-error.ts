// Messages of `pg` and its pool that have no code. They quote no values.
const reasons = new RegExp(
  `^(${[
    'timeout exceeded when trying to connect|Query read timeout|Connection terminated.*',
    'Client (was closed|has encountered a connection error) and is not queryable',
    'The server does not support SSL connections|There was an error establishing an SSL connection|SASL: [^"]*',
  ].join('|')})$`,
)

type Wrapped = { meta?: { driverAdapterError?: { cause: { kind: string; originalCode?: string } } } }

/** Returns PostgreSQL’s SQLSTATE or the code of Node.js, even if Prisma wrapped the error, or else Prisma’s code. */
export function errorCode(error: Error & { code?: unknown }): string | undefined {
  const driverError = (error as Wrapped).meta?.driverAdapterError?.cause
  const code = driverError ? (driverError.originalCode ?? driverError.kind) : error.code
  return typeof code === 'string' ? code : undefined
}

/** Returns the message of an error of the driver that has no code. */
export function errorReason({ message }: Error): string | undefined {
  return reasons.test(message) ? message : undefined
}
