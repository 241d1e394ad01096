// `npm run migrate`: applies the pending migrations to the database of DIRECT_DATABASE_URL, else of
// DATABASE_URL.
import { applyMigrations } from '../prisma/migrate'
import { readEnvFiles } from './local'

async function run(): Promise<void> {
  readEnvFiles(true) // it runs where a deployment is made
  const url = process.env.DIRECT_DATABASE_URL || process.env.DATABASE_URL
  if (!url) throw new Error('DATABASE_URL is missing: there is no database to migrate.')
  const applied = await applyMigrations(url, console.error)
  console.log(
    applied.length > 0 ? `Applied:\n${applied.map((name) => `  ${name}`).join('\n')}` : 'No migration is pending.',
  )
}

run().then(
  () => process.exit(0),
  (error: Error) => {
    console.error(`The database could not be migrated.\n${error.message}`)
    process.exit(1)
  },
)
