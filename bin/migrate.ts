// `npm run migrate`: applies pending migrations to the database in DIRECT_DATABASE_URL, or in
// DATABASE_URL if that is not set.
import { applyMigrations } from '../prisma/migrate'
import { readEnvFiles } from './local'

async function run(): Promise<void> {
  readEnvFiles(true) // this command is part of a deployment
  const url = process.env.DIRECT_DATABASE_URL || process.env.DATABASE_URL
  if (!url) throw new Error('DATABASE_URL is not set.')
  const applied = await applyMigrations(url, console.error)
  console.log(
    applied.length > 0 ? `Applied:\n${applied.map((name) => `  ${name}`).join('\n')}` : 'No pending migrations.',
  )
}

run().then(
  () => process.exit(0),
  (error: Error) => {
    console.error(`Could not migrate the database.\n${error.message}`)
    process.exit(1)
  },
)
