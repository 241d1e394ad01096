// Applies migrations with Prisma's schema engine as WebAssembly from npm. The Prisma CLI
// would download a binary.
import { execFileSync } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { PrismaPg } from '@prisma/adapter-pg'
import {
  bindMigrationAwareSqlAdapterFactory,
  DriverAdapterError,
} from '@prisma/driver-adapter-utils'
import * as bindings from '@prisma/schema-engine-wasm/schema_engine_bg'
import pg from 'pg'
import { emailDomain } from '../lib/contract/email-address'

const prisma = fileURLToPath(new URL('../prisma', import.meta.url)) // in the production folder, this code is in bin/
const folder = `${prisma}/migrations`
const schema = `${prisma}/schema.prisma`
const connectMs = 10_000
const lockKey = 72707369 // the advisory lock that `prisma migrate deploy` uses
const lockRetryMs = 250
const filters = { externalTables: [], externalEnums: [] }

// Instantiated only once, because the bindings hold views of the first instance's memory.
const engineFile = createRequire(import.meta.url).resolve(
  '@prisma/schema-engine-wasm/schema_engine_bg',
)
const { instance } = await WebAssembly.instantiate(
  readFileSync(engineFile.replace(/\.js$/, '.wasm')),
  {
    './schema_engine_bg.js': bindings as never,
  },
)
bindings.__wbg_set_wasm(instance.exports)
;(instance.exports.__wbindgen_start as () => void)()

/**
 * Applies the pending migrations and returns their names. Passes the progress and the
 * warnings of the migrations to `report`. Waits for a concurrent run.
 * Throws if a migration fails, has failed before, or was edited. Records migrations like
 * `prisma migrate deploy`, which can't create ascii_domains.
 */
export async function applyMigrations(
  url: string,
  report: (progress: string) => void = () => {},
): Promise<string[]> {
  const warnings: string[] = []
  const connection = openConnection(url, (warning) => warnings.push(warning))
  try {
    await lock(connection, report)
    const engine = await startEngine(connection)
    const input = { migrationsList: readMigrations(), filters }
    const { editedMigrationNames } = await engine.diagnoseMigrationHistory({
      ...input,
      optInToShadowDatabase: false,
    })

    const edited = editedMigrationNames.join(', ')
    if (edited)
      throw new Error(`These migrations were edited after they were applied: ${edited}`)

    return (await engine.applyMigrations(input)).appliedMigrationNames
  } catch (error) {
    throw new Error(describe(error as Error & { code?: string }), { cause: error })
  } finally {
    for (const line of countByDomain(warnings)) report(line)
    await connection.end()
  }
}

/**
 * Returns the warnings of migrations, with one line per domain in place of one per user
 * who lost the password.
 */
function countByDomain(warnings: string[]): string[] {
  const counts = new Map<string, number>()
  const others: string[] = []

  for (const warning of warnings) {
    const email = /^(.+@.+) can no longer use a password\./.exec(warning)?.[1]
    if (!email) {
      others.push(warning)
      continue
    }

    const domain = emailDomain(email)
    counts.set(domain, (counts.get(domain) ?? 0) + 1)
  }

  const lines = [...counts].map(
    ([domain, count]) =>
      `${domain}: users who can no longer use a password: ${count}. To allow it: npm run users -- allow-password --domain ${domain}`,
  )

  return [...others, ...lines.sort()]
}

function readMigrations() {
  const names = readdirSync(folder).filter((name) => /^\d{14}_/.test(name))
  const migrationDirectories = names.sort().map((path) => {
    const value = readFileSync(`${folder}/${path}/migration.sql`, 'utf8')
    return {
      path,
      migrationFile: { path: 'migration.sql', content: { tag: 'ok' as const, value } },
    }
  })

  const lockfile = {
    path: 'migration_lock.toml',
    content: readFileSync(`${folder}/migration_lock.toml`, 'utf8'),
  }

  return { baseDir: folder, lockfile, shadowDbInitScript: '', migrationDirectories }
}

/**
 * Waits until no other run is migrating. Polls, because a waiting statement would block
 * CREATE INDEX CONCURRENTLY.
 */
async function lock(
  connection: pg.Pool,
  report: (progress: string) => void,
): Promise<void> {
  for (let reported = false; ; reported = true) {
    const { rows } = await connection.query('SELECT pg_try_advisory_lock($1) AS taken', [
      lockKey,
    ])
    if (rows[0].taken) return
    if (!reported) report('Another run is migrating this database: waiting for it …')
    await sleep(lockRetryMs)
  }
}

/**
 * Returns the error message with the name of the migration and without the engine's stack
 * trace.
 */
function describe({ name, code, message }: Error & { code?: string }): string {
  const migration = message.match(/migration_name="([^"]+)"/)?.[1]
  const text = message
    .replace(/^external connector error\n/, '')
    .replace(/\n +0: .*/s, '')
  if (migration) return `The migration ${migration} failed: ${text.trim()}`

  // the message is empty for a host with several IP addresses
  return text.trim() || code || name
}

/**
 * Returns the SQL for changes in schema.prisma since the last migration. The engine needs
 * any database at `url`.
 */
export async function draftMigration(url: string): Promise<string> {
  const connection = openConnection(url)
  const git = (...parameters: string[]) =>
    execFileSync('git', parameters, { cwd: prisma, encoding: 'utf8' }).trim()
  const describeSchema = (content: string) => ({
    tag: 'schemaDatamodel' as const,
    files: [{ path: schema, content }],
  })

  try {
    const engine = await startEngine(connection)
    const newest = git('log', '-1', '--format=%H', '--', 'migrations')
    const from = describeSchema(git('show', `${newest}:./schema.prisma`))
    const to = describeSchema(readFileSync(schema, 'utf8'))

    const { stdout } = await engine.diff({
      from,
      to,
      script: true,
      exitCode: null,
      filters,
    })

    return stdout?.includes('This is an empty migration') ? '' : (stdout ?? '')
  } finally {
    await connection.end()
  }
}

/**
 * Opens a single connection, because it owns the advisory lock. Removes the statement
 * timeout of the service.
 */
function openConnection(url: string, warn: (line: string) => void = () => {}): pg.Pool {
  const pool = new pg.Pool({
    connectionString: url,
    max: 1,
    connectionTimeoutMillis: connectMs,
    // an idle timeout would close the connection and release the lock
    idleTimeoutMillis: 0,
    keepAlive: true,
    onConnect: async (client) => {
      client.on('notice', ({ severity, message }) => {
        if (severity === 'WARNING') warn(message!) // from a migration
      })
      await client.query('SET statement_timeout = 0')
    },
  })

  // Keeps the connection and its lock after an error. The engine causes an error if the
  // database has no tables.
  pool.query = async (...query: any): Promise<any> => {
    const client = await pool.connect()
    return client.query(...(query as [any])).finally(() => client.release())
  }

  pool.on('error', () => {}) // after the loss of the idle connection, the next query fails

  return pool
}

/**
 * Starts the engine. Replaces `executeScript`, which would split migrations at semicolons
 * and hide error messages.
 */
async function startEngine(pool: pg.Pool): Promise<bindings.SchemaEngine> {
  const options = {
    datamodels: [[schema, readFileSync(schema, 'utf8')]] as [string, string][],
  }
  const factory = new PrismaPg(pool)
  const connect = factory.connect.bind(factory)

  factory.connect = async () => {
    const adapter = await connect()
    adapter.executeScript = (script) => executeScript(pool, script)
    return adapter
  }

  return bindings.SchemaEngine.new(
    options,
    () => {},
    bindMigrationAwareSqlAdapterFactory(factory),
  )
}

/** Executes a migration. Throws DriverAdapterError, which the engine can read. */
async function executeScript(pool: pg.Pool, script: string): Promise<void> {
  if (script.includes('pg_temp.ascii_domains')) await makeAsciiDomains(pool)

  try {
    await pool.query(script)
  } catch (error) {
    const failure = error as pg.DatabaseError
    const { severity = 'N/A', code = 'N/A', message, detail, column, hint } = failure
    throw new DriverAdapterError({
      kind: 'postgres',
      code,
      severity,
      message,
      detail,
      column,
      hint,
      originalCode: code,
      originalMessage: message,
    })
  }
}

/**
 * Creates the table `pg_temp.ascii_domains (domain, ascii)` with the users' domains that
 * are not in ASCII.
 */
async function makeAsciiDomains(pool: pg.Pool): Promise<void> {
  const { rows } = await pool.query(
    `SELECT DISTINCT substring(email FROM '[^@]*$') AS domain FROM users WHERE email ~ '[^ -~]'`,
  )
  const domains: string[] = rows.map(({ domain }) => domain)
  await pool.query(
    'CREATE TEMPORARY TABLE ascii_domains (domain text PRIMARY KEY, ascii text)',
  )
  const parameters = [domains, domains.map(emailDomain)]
  await pool.query(
    'INSERT INTO ascii_domains SELECT * FROM unnest($1::text[], $2::text[])',
    parameters,
  )
}
