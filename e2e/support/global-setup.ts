import { execFileSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { appendFileSync, mkdirSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import pg from 'pg'
import { startEmbeddedPostgres } from '../../bin/embedded-postgres'
import { project } from '../../bin/local'
import { newSigningKeys } from '../../lib/settings/signing-keys'
import { applyMigrations } from '../../prisma/migrate'
import { secretsFile } from './fixtures'
import { logFolder, startServer } from './server'
import { findChromium } from './tools'

/**
 * Sets up what all tests share: a browser, an empty database, a production build, and one server.
 */
export default async function setUp(): Promise<() => Promise<void>> {
  const log = (line: string) => console.log(line)
  rmSync(`${project}e2e/results`, { recursive: true, force: true })
  mkdirSync(logFolder, { recursive: true })
  appendFileSync(secretsFile, '')
  process.env.CHROMIUM_PATH = findChromium()

  const embedded = process.env.DATABASE_URL ? null : await startEmbeddedPostgres(`${project}.data/test-postgres`, log)
  const maintenanceUrl = process.env.DATABASE_URL ?? embedded!.url
  const name = `test_${randomBytes(6).toString('hex')}`
  await runSql(maintenanceUrl, `CREATE DATABASE ${name}`)
  const databaseUrl = new URL(maintenanceUrl)
  databaseUrl.pathname = `/${name}`

  Object.assign(process.env, {
    DATABASE_URL: databaseUrl.href,
    DIRECT_DATABASE_URL: '', // overrides .env
    SESSION_SIGNING_KEYS: newSigningKeys(),
    CONNECTION_SECRETS_KEY: randomBytes(32).toString('base64'),
    RATE_LIMIT: 'in-process',
    TRUSTED_PROXIES: '1', // lets every test have its own IP address
    PASSWORD_BREACH_CHECK: 'false', // no test depends on the network
  })
  await applyMigrations(databaseUrl.href)
  if (!process.env.NO_BUILD) {
    log('Building …')
    command('next/dist/bin/next', 'build')
  }
  const server = await startServer(process.env.PORT ? { PORT: process.env.PORT } : {})
  process.env.PUBLIC_URL = server.url

  return async () => {
    await server.stop()
    await runSql(maintenanceUrl, `DROP DATABASE ${name} WITH (FORCE)`)
    await embedded?.release()
    assertNoSecretWasLogged()
  }
}

/** No server may have logged a secret of any test. */
function assertNoSecretWasLogged(): void {
  const secrets = readFileSync(secretsFile, 'utf8').split('\n').filter(Boolean)
  const logs = readdirSync(logFolder).map((file) => ({ file, text: readFileSync(logFolder + file, 'utf8') }))
  const leaks = logs.flatMap(({ file, text }) => secrets.filter((secret) => text.includes(secret)).map(() => file))
  if (logs.length === 0) throw new Error('There are no logs to search for secrets.')
  if (leaks.length > 0) throw new Error(`${leaks.length} secrets were logged, in ${[...new Set(leaks)].join(', ')}`)
  console.log(`None of ${secrets.length} secrets was logged, in ${logs.length} logs.`)
}

function command(program: string, ...parameters: string[]): void {
  try {
    execFileSync(process.execPath, [`${project}node_modules/${program}`, ...parameters], {
      cwd: project,
      stdio: 'pipe',
      env: { ...process.env, NODE_ENV: 'production' },
    })
  } catch (error) {
    const { stdout, stderr } = error as { stdout?: Buffer; stderr?: Buffer }
    throw new Error(`${program} ${parameters.join(' ')} failed:\n${stdout ?? ''}${stderr ?? ''}`)
  }
}

async function runSql(connectionString: string, sql: string): Promise<void> {
  const client = new pg.Client({ connectionString })
  await client.connect()
  await client.query(sql)
  await client.end()
}
