import { execFileSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import nextEnv from '@next/env'
import { renamedSetting } from '../lib/settings/env'
import { newSigningKeys } from '../lib/settings/signing-keys'
import { embeddedPostgresUrl, startEmbeddedPostgres } from './embedded-postgres'

export const project = fileURLToPath(new URL('..', import.meta.url))
const folder = `${project}.data/`
const publicUrlFile = `${folder}public-url`

type Embedded = Awaited<ReturnType<typeof startEmbeddedPostgres>>
type Report = (progress: string) => void
type Needs = { port: number; purpose: 'server' | 'command'; report: Report }

/**
 * Completes `process.env` for local development. For the server, starts the embedded PostgreSQL and migrates it. A
 * command uses the one that runs; with NODE_ENV=production, only the settings. Returns what releases the database.
 */
export async function prepareLocally(needs: Needs): Promise<() => Promise<void>> {
  generateClient(needs.report)
  const isInProduction = process.env.NODE_ENV === 'production' && needs.purpose === 'command'
  const renamed = needs.purpose === 'command' && renamedSetting(process.env)
  if (renamed) needs.report(renamed)
  const embedded = isInProduction ? null : await prepareDatabase(needs)
  if (isInProduction) {
    // what no command uses
    process.env.SESSION_SIGNING_KEYS ||= newSigningKeys()
    process.env.TRUSTED_PROXIES ||= '1'
  }
  const { REDIS_URL, UPSTASH_REDIS_REST_URL, KV_REST_API_URL } = process.env
  if (!REDIS_URL && !UPSTASH_REDIS_REST_URL && !KV_REST_API_URL) process.env.RATE_LIMIT ||= 'in-process'
  return async () => {
    const { databasePool } = await import('../lib/database/pool')
    await databasePool().end() // before the server stops, which would break its connections
    await embedded?.release()
  }
}

async function prepareDatabase({ port, purpose, report }: Needs): Promise<Embedded | null> {
  mkdirSync(folder, { recursive: true })
  const isEmbedded = !process.env.DATABASE_URL
  const embedded = isEmbedded && purpose === 'server' ? await startEmbeddedPostgres(`${folder}postgres`, report) : null
  const url = process.env.DATABASE_URL || embedded?.url || embeddedPostgresUrl(`${folder}postgres`)
  if (!url) throw new Error('No local database is running. Run `npm run dev` in another terminal, or set DATABASE_URL.')
  try {
    process.env.DATABASE_URL = url
    process.env.SESSION_SIGNING_KEYS ||= localKeys('signing-keys.json', newSigningKeys)
    process.env.WIDGET_SIGNING_KEYS ||= localKeys('widget-signing-keys.json', newSigningKeys)
    if (!process.env.CONNECTION_SECRETS_KEY)
      process.env.ENCRYPTION_KEY ||= localKeys('connection-secrets-key', () => randomBytes(32).toString('base64'))
    process.env.PUBLIC_URL ||= `http://localhost:${port}`
    process.env.PASSWORD_BREACH_CHECK ||= 'false' // the machine may be offline
    if (purpose === 'command') return embedded
    const { applyMigrations } = await import('../prisma/migrate') // imported here because it loads a WebAssembly engine
    const applied = await applyMigrations((!isEmbedded && process.env.DIRECT_DATABASE_URL) || url, report)
    if (applied.length > 0) report(`Migrated the database: ${applied.join(', ')}`)
    return embedded
  } catch (error) {
    await embedded?.release()
    throw error
  }
}

/** Reads the `.env` files as Next.js does. Variables that are already set are kept. */
export function readEnvFiles(production: boolean): void {
  nextEnv.loadEnvConfig(project, !production, { info: () => {}, error: console.error })
}

/** Saves the URL of the running server, for commands in other terminals. */
export function rememberPublicUrl(): void {
  writeFileSync(publicUrlFile, process.env.PUBLIC_URL!)
}

/** The URL that `rememberPublicUrl` last saved, or an empty string. */
function rememberedPublicUrl(): string {
  return existsSync(publicUrlFile) ? readFileSync(publicUrlFile, 'utf8') : ''
}

/** Prisma's client is generated, not committed. A production folder includes it, but not the CLI. */
function generateClient(report: Report): void {
  const [schema, client] = [`${project}prisma/schema.prisma`, `${project}prisma/client/client.ts`]
  const cli = `${project}node_modules/prisma-cli/build/index.js`
  if (!existsSync(cli) || (existsSync(client) && statSync(client).mtimeMs > statSync(schema).mtimeMs)) return
  report('Generating the database client …')
  try {
    const parameters = ['generate', '--config', `${project}prisma/config.ts`]
    execFileSync(process.execPath, [cli, ...parameters], { stdio: 'pipe', cwd: project })
  } catch (error) {
    const { stdout, stderr } = error as { stdout?: Buffer; stderr?: Buffer }
    throw new Error(`prisma generate failed:\n${stdout ?? ''}${stderr ?? ''}`)
  }
}

/** Call it in a command before the import of what reads settings, or needs the generated client of the database. */
export function prepareCommand(): void {
  readEnvFiles(process.env.NODE_ENV === 'production')
  generateClient(console.error)
}

/** Runs `work` of a command with the database, as the role of the server. */
export async function withDatabase(work: () => Promise<void>): Promise<void> {
  if (!process.env.PORT) process.env.PUBLIC_URL ||= rememberedPublicUrl()
  const port = Number(process.env.PORT || 3000)
  const release = await prepareLocally({ port, purpose: 'command', report: console.error })
  await work().finally(release)
}

/** Runs `work` of a command with the database, as the role that may change what the serving role may only read. */
export function withDatabaseAsOwner(work: () => Promise<void>): Promise<void> {
  if (process.env.DIRECT_DATABASE_URL) process.env.DATABASE_URL = process.env.DIRECT_DATABASE_URL
  return withDatabase(work)
}

/** Returns keys that are made on first use, and kept in .data/. */
function localKeys(name: string, make: () => string): string {
  const file = folder + name
  if (!existsSync(file)) writeFileSync(file, make(), { mode: 0o600, flag: 'wx' })
  return readFileSync(file, 'utf8')
}
