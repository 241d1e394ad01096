import { readdirSync, readFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { openConnection, startEngine } from './engine.mjs'

/** In the production folder, this code is in bin. */
const here = (path: string) => fileURLToPath(new URL(`../prisma/${path}`, import.meta.url))
const folder = here('migrations')
const lockKey = 72707369 // the advisory lock of Prisma's own `migrate deploy`
const lockRetryMs = 250

type Connection = ReturnType<typeof openConnection>

/**
 * Applies the pending migrations and returns their names. Concurrent runs wait for each other.
 * Throws if the database is unreachable, if a migration fails or has failed before, or if an
 * applied one was edited. Keeps the same records as `prisma migrate deploy`, so both can be used on
 * one database.
 */
export async function applyMigrations(url: string, report: (progress: string) => void = () => {}): Promise<string[]> {
  const connection = openConnection(url)
  try {
    await lock(connection, report)
    const engine = await startEngine(connection, [here('schema.prisma')])
    const migrationsList = readMigrations()
    const filters = { externalTables: [], externalEnums: [] }
    const { editedMigrationNames: edited } = await engine.diagnoseMigrationHistory({
      migrationsList,
      filters,
      optInToShadowDatabase: false,
    })
    if (edited.length > 0) throw new Error(`These migrations were edited after they were applied: ${edited.join(', ')}`)
    return (await engine.applyMigrations({ migrationsList, filters })).appliedMigrationNames
  } catch (error) {
    throw new Error(describe(error as Error & { code?: string }), { cause: error })
  } finally {
    await connection.end()
  }
}

/** The migrations in the engine's format, oldest first. */
function readMigrations() {
  const names = readdirSync(folder, { withFileTypes: true }).filter((entry) => entry.isDirectory())
  const migrationDirectories = names
    .map(({ name }) => name)
    .sort()
    .map((path) => {
      const value = readFileSync(`${folder}/${path}/migration.sql`, 'utf8')
      return { path, migrationFile: { path: 'migration.sql', content: { tag: 'ok' as const, value } } }
    })
  const lockfile = { path: 'migration_lock.toml', content: readFileSync(`${folder}/migration_lock.toml`, 'utf8') }
  return { baseDir: folder, lockfile, shadowDbInitScript: '', migrationDirectories }
}

/**
 * Waits until no other run is migrating the database. The engine takes the same lock, but only
 * after it has read the history, where a migration in progress looks like a failed one. Polls,
 * because a statement that waits for the lock would block a `CREATE INDEX CONCURRENTLY` of the run
 * that holds it. The lock is released when the connection closes.
 */
async function lock(connection: Connection, report: (progress: string) => void): Promise<void> {
  for (let reported = false; ; reported = true) {
    const { rows } = await connection.query('SELECT pg_try_advisory_lock($1) AS taken', [lockKey])
    if (rows[0].taken) return
    if (!reported) report('Another run is migrating this database: waiting for it …')
    await sleep(lockRetryMs)
  }
}

/** The error message with the name of the migration, but without the engine's stack trace. */
function describe({ name, code, message }: Error & { code?: string }): string {
  const migration = message.match(/migration_name="([^"]+)"/)?.[1]
  const text = message.replace(/^external connector error\n/, '').replace(/\n +0: .*/s, '')
  if (migration) return `The migration ${migration} failed: ${text.trim()}`
  return text.trim() || code || name // for a host with several IP addresses, the message is empty
}
