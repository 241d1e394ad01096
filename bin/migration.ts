// `npm run migration`: writes a migration for the changes of the schema since the newest
// committed one. Works offline.
import { mkdirSync, writeFileSync } from 'node:fs'
import { UsageError } from '../lib/usage-error'
import { draftMigration } from '../prisma/migrate'
import { newProgram, runCommand } from './command-line'
import { project } from './dev/local'
import { startEmbeddedPostgres } from './dev/postgres'

const form = 'lower-case letters, digits and underscores, such as add_connections'

async function draft(name: string): Promise<void> {
  if (!/^[a-z0-9_]+$/.test(name))
    throw new UsageError(`“${name}” is not a name: use ${form}.`)

  const sql = await draftSql()
  if (!sql)
    return console.log(
      'prisma/schema.prisma has not changed since the newest committed migration. Nothing was written.',
    )

  const time = new Date().toISOString().replaceAll(/\D/g, '').slice(0, 14)
  const folder = `prisma/migrations/${time}_${name}`
  mkdirSync(project + folder)
  writeFileSync(`${project}${folder}/migration.sql`, sql)
  console.log(
    `Wrote ${folder}/migration.sql. Add what Prisma can't generate (checks, data), then run npm run migrate.`,
  )
}

/**
 * Any PostgreSQL server works. Without DATABASE_URL, starts the embedded server of the
 * tests, which needs no network.
 */
async function draftSql(): Promise<string> {
  const { DATABASE_URL } = process.env
  if (DATABASE_URL) return draftMigration(DATABASE_URL)

  const embedded = await startEmbeddedPostgres(
    `${project}.data/test-postgres`,
    console.error,
  )
  try {
    return await draftMigration(embedded.url)
  } finally {
    await embedded.release()
  }
}

runCommand(
  newProgram(
    'npm run migration --',
    'Writes prisma/migrations/…_<name>/migration.sql from schema.prisma.',
  )
    .argument('<name>', form)
    .action(draft),
)
