import { execFileSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import {
  existsSync,
  mkdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { fileURLToPath } from 'node:url'
import nextEnv from '@next/env'
import { envFileWarnings, renamedSetting } from '../../lib/settings/env'
import { newSigningKeys } from '../../lib/settings/signing-keys'
import { embeddedPostgresUrl, startEmbeddedPostgres } from './postgres'

export const project = fileURLToPath(new URL('../..', import.meta.url))
const folder = `${project}.data/`
const settingsFile = `${folder}settings.json`

/**
 * Prepares `process.env` and the database for a local server. Returns a function that
 * closes the database.
 */
export async function prepareServer(
  port: number,
  mail: object = {},
): Promise<() => Promise<void>> {
  generateClient()
  Object.assign(process.env, mail)
  const { DATABASE_URL, DIRECT_DATABASE_URL } = process.env
  const embedded = DATABASE_URL
    ? null
    : await startEmbeddedPostgres(`${folder}postgres`, console.log)
  const url = embedded?.url ?? DATABASE_URL!

  try {
    setDefaults(url, port)

    // for commands in other terminals
    writeFileSync(
      settingsFile,
      JSON.stringify({ PUBLIC_URL: process.env.PUBLIC_URL, ...mail }),
    )

    const { applyMigrations } = await import('../../prisma/migrate') // only here, because it loads a WebAssembly engine
    const applied = await applyMigrations(
      (!embedded && DIRECT_DATABASE_URL) || url,
      console.log,
    )

    if (applied.length > 0) console.log(`Migrations applied: ${applied.length}`)
  } catch (error) {
    await embedded?.release()
    throw error
  }

  return async () => {
    rmSync(settingsFile)
    await closePool() // first, because stopping the server would break the connections
    await embedded?.release()
  }
}

/** Completes `process.env` for local development. Existing values are kept. */
function setDefaults(databaseUrl: string, port: number): void {
  mkdirSync(folder, { recursive: true })
  process.env.DATABASE_URL = databaseUrl
  process.env.SESSION_SIGNING_KEYS ||= localKeys('signing-keys.json', newSigningKeys)
  process.env.WIDGET_SIGNING_KEYS ||= localKeys(
    'widget-signing-keys.json',
    newSigningKeys,
  )
  process.env.ID_TOKEN_SIGNING_KEYS ||= localKeys('id-token-signing-keys.json', () =>
    newSigningKeys('RS256'),
  )

  if (!process.env.CONNECTION_SECRETS_KEY)
    process.env.ENCRYPTION_KEY ||= localKeys('connection-secrets-key', () =>
      randomBytes(32).toString('base64'),
    )

  process.env.PUBLIC_URL ||= `http://localhost:${port}`
  process.env.PASSWORD_BREACH_CHECK ||= 'false' // the machine may be offline
  limitInProcess()
}

function limitInProcess(): void {
  const { REDIS_URL, UPSTASH_REDIS_REST_URL, KV_REST_API_URL } = process.env
  if (!REDIS_URL && !UPSTASH_REDIS_REST_URL && !KV_REST_API_URL)
    process.env.RATE_LIMIT ||= 'in-process'
}

async function closePool(): Promise<void> {
  const { databasePool } = await import('../../lib/database/pool')
  await databasePool().end()
}

/** Reads the `.env` files as Next.js does. Variables that are already set are kept. */
export function readEnvFiles(production: boolean): void {
  nextEnv.loadEnvConfig(project, !production, { info: () => {}, error: console.error })
}

/**
 * Generates Prisma's client, unless it is up to date. A production folder contains the
 * client, but not the CLI.
 */
function generateClient(): void {
  const [schema, client] = [
    `${project}prisma/schema.prisma`,
    `${project}prisma/client/client.ts`,
  ]

  const cli = `${project}node_modules/prisma-cli/build/index.js`
  if (
    !existsSync(cli) ||
    (existsSync(client) && statSync(client).mtimeMs > statSync(schema).mtimeMs)
  )
    return

  console.error('Generating the database client …')
  const parameters = [cli, 'generate', '--config', `${project}prisma/config.ts`]

  execFileSync(process.execPath, parameters, {
    stdio: 'pipe',
    encoding: 'utf8',
    cwd: project,
  })
}

/**
 * Prepares a command. Call this before importing modules that read settings or need the
 * generated database client.
 */
export function prepareCommand(): void {
  const find = (path: string) =>
    existsSync(`${project}public${path}`) ? path : undefined
  const logos = {
    mailLogo: find('/brand/logo.png'),
    mailLogoDark: find('/brand/logo-dark.png'),
  }

  // in a build, next.config.mjs lists all files
  process.env.BRAND_FILES = JSON.stringify(logos)
  readEnvFiles(process.env.NODE_ENV === 'production')
  generateClient()
}

/**
 * Returns a function that runs `work` with the database, as the role of the server. In
 * development, uses the database of `npm run dev`.
 */
export function withDatabase<Parameters extends unknown[]>(
  work: (...parameters: Parameters) => Promise<void>,
): (...parameters: Parameters) => Promise<void> {
  return async (...parameters) => {
    prepareDatabase()
    await work(...parameters).finally(closePool)
  }
}

/**
 * Returns a function that runs `work` with the database as its owner, who may write to
 * tables that the role of the server may only read.
 */
export function withDatabaseAsOwner<Parameters extends unknown[]>(
  work: (...parameters: Parameters) => Promise<void>,
): (...parameters: Parameters) => Promise<void> {
  return (...parameters) => {
    const { DIRECT_DATABASE_URL } = process.env
    if (DIRECT_DATABASE_URL) process.env.DATABASE_URL = DIRECT_DATABASE_URL

    return withDatabase(work)(...parameters)
  }
}

/** Completes `process.env` for a command that uses the database. */
function prepareDatabase(): void {
  const renamed = renamedSetting(process.env)
  if (renamed) console.error(renamed)

  for (const { settings, message } of envFileWarnings(process.env))
    console.error(`${settings.join(', ')}: ${message}.`)

  const { NODE_ENV, PORT, DATABASE_URL } = process.env
  if (!PORT && existsSync(settingsFile))
    for (const [name, value] of Object.entries<string>(
      JSON.parse(readFileSync(settingsFile, 'utf8')),
    ))
      process.env[name] ||= value

  if (NODE_ENV === 'production') {
    // required settings that no command uses
    process.env.SESSION_SIGNING_KEYS ||= newSigningKeys()
    process.env.TRUSTED_PROXIES ||= '1'
    limitInProcess()
  } else {
    const url = DATABASE_URL || embeddedPostgresUrl(`${folder}postgres`)
    if (!url)
      throw new Error(
        'No local database is running. Run `npm run dev` in another terminal, or set DATABASE_URL.',
      )
    setDefaults(url, Number(PORT || 3000))
  }
}

/** Returns keys from .data/. Creates them on first use. */
function localKeys(name: string, make: () => string): string {
  const file = folder + name
  if (!existsSync(file)) writeFileSync(file, make(), { mode: 0o600, flag: 'wx' })
  return readFileSync(file, 'utf8')
}
