import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { connect, createServer } from 'node:net'
import { fileURLToPath } from 'node:url'
import nextEnv from '@next/env'
import { startEmbeddedPostgres } from './embedded-postgres'

export const project = fileURLToPath(new URL('..', import.meta.url))
const folder = `${project}.data/`
const publicUrlFile = `${folder}public-url`

type Needs = { port: number; purpose: 'server' | 'command'; say: (progress: string) => void }

/**
 * Completes `process.env` with what `.env` says and with defaults for a laptop, each only where nothing is set: an embedded PostgreSQL,
 * signing keys made on first use, the in-process limit. Migrates the database, but for a command only the embedded one, which a command does not
 * make either: where the settings of production are missing, it would work on nothing, and say that all is well. Call what it answers to let go.
 */
export async function prepareLocally({ port, purpose, say }: Needs): Promise<() => Promise<void>> {
  mkdirSync(folder, { recursive: true })
  generateClient(say)
  const hasOwn = process.env.NODE_ENV !== 'production' && existsSync(`${folder}postgres`)
  if (purpose === 'command' && !process.env.DATABASE_URL && !hasOwn)
    throw new Error('DATABASE_URL is missing, and there is no database of `npm run dev` here.')
  const embedded = process.env.DATABASE_URL ? null : await startEmbeddedPostgres(`${folder}postgres`, say)
  try {
    process.env.DATABASE_URL ||= embedded?.url
    process.env.SESSION_SIGNING_KEYS ||= await localSigningKeys()
    process.env.PUBLIC_URL ||= `http://localhost:${port}`
    process.env.PASSWORD_BREACH_CHECK ||= 'false' // a laptop may be offline
    if (!process.env.UPSTASH_REDIS_REST_URL && !process.env.KV_REST_API_URL) process.env.RATE_LIMIT ||= 'in-process'
    if (embedded) await migrateDatabase(embedded.url, say)
    else if (purpose === 'server')
      await migrateDatabase(process.env.DIRECT_DATABASE_URL || process.env.DATABASE_URL!, say)
  } catch (error) {
    await embedded?.release()
    throw error
  }
  return async () => {
    const { databasePool } = await import('../lib/database/pool')
    await databasePool().end() // or PostgreSQL would cut it off
    await embedded?.release()
  }
}

/** Reads `.env` and its kin as Next.js does, without overriding what is set. */
export function readEnvFiles(production: boolean): void {
  nextEnv.loadEnvConfig(project, !production, { info: () => {}, error: console.error })
}

/** The port of PORT, or the first free one from 3000 on. Throws where PORT is taken. */
export async function choosePort(): Promise<number> {
  const wanted = Number(process.env.PORT || 0)
  if (wanted && (await isTaken(wanted))) throw new Error(`Port ${wanted} is taken: set PORT to another one.`)
  if (wanted) return wanted
  for (let port = 3000; port < 3100; port++) if (!(await isTaken(port))) return port
  throw new Error('No port from 3000 to 3099 is free: set PORT.')
}

/** Tells other terminals where the server of this project answers. */
export function rememberPublicUrl(): void {
  writeFileSync(publicUrlFile, process.env.PUBLIC_URL!)
}

/** What `rememberPublicUrl` was last told, or undefined. */
export function rememberedPublicUrl(): string | undefined {
  return existsSync(publicUrlFile) ? readFileSync(publicUrlFile, 'utf8') : undefined
}

async function isTaken(port: number): Promise<boolean> {
  const answered = await new Promise<boolean>((resolve) => {
    const socket = connect(port, 'localhost', () => resolve(true)).on('error', () => resolve(false))
    socket.on('connect', () => socket.destroy())
  })
  if (answered) return true
  return new Promise((resolve) => {
    const server = createServer()
      .on('error', () => resolve(true))
      .listen(port, () => server.close(() => resolve(false)))
  })
}

/** Prisma's client is made from the schema, not kept in git. A deployment has it, and does without the CLI. */
function generateClient(say: Needs['say']): void {
  const [schema, client] = [`${project}prisma/schema.prisma`, `${project}prisma/client/client.ts`]
  const cli = `${project}node_modules/prisma-cli/build/index.js`
  if (existsSync(client) && (statSync(client).mtimeMs > statSync(schema).mtimeMs || !existsSync(cli))) return
  say('Making the database client …')
  try {
    const parameters = ['generate', '--config', `${project}prisma/config.ts`]
    execFileSync(process.execPath, [cli, ...parameters], { stdio: 'pipe', cwd: project })
  } catch (error) {
    const { stdout, stderr } = error as { stdout?: Buffer; stderr?: Buffer }
    throw new Error(`prisma generate failed:\n${stdout ?? ''}${stderr ?? ''}`)
  }
}

async function localSigningKeys(): Promise<string> {
  const file = `${folder}signing-keys.json`
  if (!existsSync(file)) {
    const { newSigningKeys } = await import('../lib/settings/signing-keys')
    writeFileSync(file, newSigningKeys(), { mode: 0o600, flag: 'wx' })
  }
  return readFileSync(file, 'utf8')
}

async function migrateDatabase(url: string, say: Needs['say']): Promise<void> {
  const { applyMigrations } = await import('../prisma/migrate') // here, because it loads an engine
  const applied = await applyMigrations(url, say)
  if (applied.length > 0) say(`Migrated the database: ${applied.join(', ')}`)
}
