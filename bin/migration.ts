// `npm run migration`: writes a migration for the changes of the schema since the newest
// committed one. Works offline.
import { mkdirSync, writeFileSync } from 'node:fs'
import { UsageError } from '../lib/usage-error'
import { draftMigration } from '../prisma/migrate'
import { runCommand } from './command-line'
import { project } from './dev/local'
import { startEmbeddedPostgres } from './dev/postgres'

const usage = `npm run migration -- NAME   writes prisma/migrations/…_NAME/migration.sql from schema.prisma.
NAME may contain lower-case letters, digits and underscores, for example add_connections.`

async function draft(name: string): Promise<void> {
  if (!/^[a-z0-9_]+$/.test(name)) throw new UsageError(usage)

  // Any PostgreSQL server works. Without DATABASE_URL, starts the embedded server of the
  // tests, which needs no network.
  const { DATABASE_URL } = process.env
  const embedded = DATABASE_URL
    ? null
    : await startEmbeddedPostgres(`${project}.data/test-postgres`, console.error)
  const sql = await draftMigration(DATABASE_URL || embedded!.url).finally(() =>
    embedded?.release(),
  )
  const unchanged =
    'prisma/schema.prisma has not changed since the newest committed migration. Nothing was written.'
  if (!sql) return console.log(unchanged)

  const folder = `prisma/migrations/${new Date().toISOString().replaceAll(/\D/g, '').slice(0, 14)}_${name}`
  mkdirSync(project + folder)
  writeFileSync(`${project}${folder}/migration.sql`, sql)
  console.log(
    `Wrote ${folder}/migration.sql. Add what Prisma can't generate (checks, data), then run npm run migrate.`,
  )
}

runCommand({ usage, commands: { NAME: draft } })
