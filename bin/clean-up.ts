// `npm run clean-up`: deletes old rows, and logs certificates that expire soon. Run it
// daily.
import { newProgram, runCommand } from './command-line'
import { prepareCommand, withDatabase } from './dev/local'

prepareCommand()
const { deleteExpiredRows } = await import('../lib/database/clean-up')
const { log } = await import('../lib/log/log')
const { logExpiringCertificates } = await import('../lib/sso/manage/certificate-warnings')

async function cleanUp(): Promise<void> {
  const deleted = await deleteExpiredRows()
  for (const [table, count] of Object.entries(deleted))
    console.log(`${table}: ${count} deleted`)
  log.info({ deleted }, 'expired rows were deleted') // for an alert if it is missing
  await logExpiringCertificates()
}

runCommand(
  newProgram(
    'npm run clean-up',
    'Deletes expired rows (docs/operate.md), and prints how many.',
  ).action(withDatabase(cleanUp)),
)
