// `npm run migrate`: applies pending migrations to the database in DIRECT_DATABASE_URL, or in
// DATABASE_URL if that is not set.
import { applyMigrations } from '../prisma/migrate'
import { exitWhenPrinted, hasArguments } from './exit'
import { readEnvFiles } from './local'

const usage = 'npm run migrate   applies pending migrations to DIRECT_DATABASE_URL, else DATABASE_URL'

async function run(): Promise<void> {
  if (hasArguments(usage)) return
  readEnvFiles(true) // this command is part of a deployment
  const url = process.env.DIRECT_DATABASE_URL || process.env.DATABASE_URL
  if (!url) throw new Error('DATABASE_URL is not set.')
  const applied = await applyMigrations(url, console.error)
  console.log(
    applied.length > 0 ? `Applied:\n${applied.map((name) => `  ${name}`).join('\n')}` : 'No pending migrations.',
  )
}

run().then(
  () => exitWhenPrinted(Number(process.exitCode ?? 0)),
  (error: Error) => {
    console.error(`Could not migrate the database.\n${error.message}`)
    exitWhenPrinted(1)
  },
)
