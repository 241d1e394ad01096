type Wrapped = { meta?: { driverAdapterError?: { cause: { kind: string; originalCode?: string } } } }

/**
 * Returns the code of an error: PostgreSQL's SQLSTATE or the one of Node.js, also if Prisma wrapped
 * the error. Prisma's own code otherwise.
 */
export function errorCode(error: Error & { code?: unknown }): string | undefined {
  const driverError = (error as Wrapped).meta?.driverAdapterError?.cause
  const code = driverError ? (driverError.originalCode ?? driverError.kind) : error.code
  return typeof code === 'string' ? code : undefined
}
