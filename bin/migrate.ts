import { parseMigrationUrl } from '../lib/settings/env'
import { applyMigrations } from '../prisma/migrate'
import { newProgram, runCommand } from './command-line'
import { readEnvFiles } from './dev/local'

async function migrate(): Promise<void> {
  readEnvFiles(true) // this command is part of a deployment
  try {
    const url = parseMigrationUrl(process.env)
    const applied = await applyMigrations(url, console.error)
    console.log(
      applied.length > 0
        ? ['Applied:', ...applied].join('\n  ')
        : 'No pending migrations.',
    )
  } catch (cause) {
    throw new Error(`Could not migrate the database.\n${(cause as Error).message}`, {
      cause,
    })
  }
}

runCommand(
  newProgram(
    'npm run migrate',
    'Applies pending migrations to DIRECT_DATABASE_URL, else DATABASE_URL.',
  ).action(migrate),
)
