/** The parameters of a URL that `pg` understands, and one of Prisma's. */
const known = new Set(
  [
    ['host', 'port', 'user', 'password', 'application_name', 'fallback_application_name', 'client_encoding'],
    ['ssl', 'sslmode', 'sslcert', 'sslkey', 'sslrootcert', 'sslnegotiation', 'uselibpqcompat'],
    ['statement_timeout', 'lock_timeout', 'idle_in_transaction_session_timeout', 'query_timeout'],
    ['pgbouncer'],
  ].flat(),
)

/** Returns why a URL of PostgreSQL is not accepted, or null. */
export function databaseUrlProblem(url: string): string | null {
  const parameters = parametersOf(url)
  if (parameters.has('schema')) return 'must not have the parameter schema: the tables are in the schema public'
  if (parameters.has('options'))
    return 'must not have the parameter options: give the settings to the role (deploy/database.sql)'
  return null
}

/** Whether a URL has Prisma's parameter for a pooler in transaction mode. */
export function isPooled(url: string | undefined): boolean {
  return parametersOf(url).get('pgbouncer') === 'true'
}

/** Returns the names of the parameters of a URL that have no effect. */
export function ignoredParameters(url: string | undefined): string[] {
  return [...new Set(parametersOf(url).keys())].filter((name) => !known.has(name))
}

function parametersOf(url: string | undefined): URLSearchParams {
  return url && URL.canParse(url) ? new URL(url).searchParams : new URLSearchParams()
}
