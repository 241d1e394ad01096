import { randomBytes } from 'node:crypto'
import { mkdirSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import pg from 'pg'
import { project } from '../../bin/dev/local'
import { startEmbeddedPostgres } from '../../bin/dev/postgres'
import { newSigningKeys } from '../../lib/settings/signing-keys'
import { applyMigrations } from '../../prisma/migrate'
import { addClients } from './browsers/dashboard'
import { otherTimeZone, urlOf } from './databases/own-database'
import { secretsFolder } from './secrets'
import { build } from './servers/build'
import { freePort, logFolder } from './servers/server'
import { findChromium } from './servers/tools'

/**
 * Sets up the browser and the production build, and an empty database and the URL of a
 * server for each worker.
 */
export default async function setUp(
  { workers } = { workers: 1 },
): Promise<() => Promise<void>> {
  const log = (line: string) => console.log(line)
  rmSync(`${project}e2e/results`, { recursive: true, force: true })
  mkdirSync(logFolder, { recursive: true })
  mkdirSync(secretsFolder)
  process.env.CHROMIUM_PATH = findChromium()

  const embedded = process.env.DATABASE_URL
    ? null
    : await startEmbeddedPostgres(`${project}.data/test-postgres`, log)
  const maintenanceUrl = process.env.DATABASE_URL ?? embedded!.url
  const name = `test_${randomBytes(6).toString('hex')}`
  const template = `${name}_template`
  await runSql(maintenanceUrl, `CREATE DATABASE ${template}`)
  await applyMigrations(urlOf(maintenanceUrl, template))
  await addClients((text, values) =>
    runSql(urlOf(maintenanceUrl, template), text, values),
  )
  const databases = Array.from({ length: workers }, (_, index) => `${name}_${index}`)
  for (const each of databases) {
    await runSql(maintenanceUrl, `CREATE DATABASE ${each} TEMPLATE ${template}`)
    await runSql(
      maintenanceUrl,
      `ALTER DATABASE ${each} SET timezone = '${otherTimeZone}'`,
    )
  }

  Object.assign(process.env, {
    TEMPLATE_DATABASE: template,
    TZ: 'America/St_Johns', // UTC−3:30, so that a time that is converted through a local time zone is wrong
    DIRECT_DATABASE_URL: '', // overrides the value in .env
    SESSION_SIGNING_KEYS: newSigningKeys(),
    WIDGET_SIGNING_KEYS: newSigningKeys(),
    ID_TOKEN_SIGNING_KEYS: newSigningKeys('RS256'),
    ENCRYPTION_KEY: randomBytes(32).toString('base64'),
    RATE_LIMIT: 'in-process',
    TRUSTED_PROXIES: '1', // so that every test can have its own IP address
    PASSWORD_BREACH_CHECK: 'false', // so that no test depends on the internet
  })
  if (!process.env.NO_BUILD) await build()
  const settings: Record<string, string>[] = []
  for (const each of databases)
    settings.push({
      DATABASE_URL: urlOf(maintenanceUrl, each),
      PUBLIC_URL: `http://localhost:${await freePort()}`,
    })
  Object.assign(process.env, settings[0], {
    SETTINGS_OF_WORKERS: JSON.stringify(settings),
  })

  return async () => {
    for (const each of [...databases, template])
      await runSql(maintenanceUrl, `DROP DATABASE ${each} WITH (FORCE)`)
    await embedded?.release()
    assertNoSecretWasLogged()
    assertEachRejectionHasCheck()
  }
}

const startLength = 12

/**
 * Returns the secrets that occur in a text. Reads it only once, because there are many
 * secrets and megabytes of logs.
 */
function occurring(secrets: string[], text: string): string[] {
  const byStart = new Map<string, string[]>()
  for (const secret of secrets) {
    const start = secret.slice(0, startLength)
    byStart.set(start, [...(byStart.get(start) ?? []), secret])
  }
  const found = new Set(
    secrets.filter((secret) => secret.length < startLength && text.includes(secret)),
  )
  for (let at = 0; at < text.length; at++)
    for (const secret of byStart.get(text.slice(at, at + startLength)) ?? [])
      if (text.startsWith(secret, at)) found.add(secret)
  return [...found]
}

/** Throws if a server has logged a secret of any test. */
function assertNoSecretWasLogged(): void {
  const read = (folder: string) =>
    readdirSync(folder).map((file) => ({
      file,
      lines: readFileSync(folder + file, 'utf8').split('\n'),
    }))
  const secrets = read(secretsFolder).flatMap(({ lines }) => lines.filter(Boolean))
  const logs = read(logFolder)
  if (logs.length === 0) throw new Error('There are no logs to search for secrets.')
  const text = logs.map(({ lines }) => lines.join('\n')).join('\n')
  const logged = occurring(secrets, text)
  const leaks = logs.flatMap(({ file, lines }) =>
    lines
      .filter((line) => logged.some((secret) => line.includes(secret)))
      .map((line) => `${file}: ${line}`),
  )
  if (logged.length > 0)
    throw new Error(`${logged.length} secrets were logged:\n${leaks.join('\n')}`)
  console.log(`None of ${secrets.length} secrets was logged, in ${logs.length} logs.`)
}

/** Throws if the line of a rejected request lacks the reason. */
function assertEachRejectionHasCheck(): void {
  const lines = readdirSync(logFolder).flatMap((file) =>
    readFileSync(logFolder + file, 'utf8').split('\n'),
  )
  const without = lines.filter(
    (line) => /^\{.*"status":4\d\d,/.test(line) && !line.includes('"check":"'),
  )
  if (without.length > 0)
    throw new Error(`Rejected requests without a check:\n${without.join('\n')}`)
}

async function runSql(
  connectionString: string,
  sql: string,
  values?: unknown[],
): Promise<Record<string, any>[]> {
  const client = new pg.Client({ connectionString })
  await client.connect()
  const { rows } = await client.query(sql, values)
  await client.end()
  return rows
}
