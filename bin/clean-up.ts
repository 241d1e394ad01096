// `npm run clean-up`: deletes rows that expired more than a week ago, and logs certificates that end soon. Run it daily.
import { runCommand } from './command-line'
import { prepareLocally, readEnvFiles } from './local'

async function cleanUp(): Promise<void> {
  readEnvFiles(process.env.NODE_ENV === 'production')
  const release = await prepareLocally({ port: 3000, purpose: 'command', report: console.error })
  try {
    const { deleteExpiredRows } = await import('../lib/database/clean-up')
    const { logExpiringCertificates } = await import('../lib/sso/certificate-warnings')
    for (const [table, count] of Object.entries(await deleteExpiredRows())) console.log(`${table}: ${count} deleted`)
    await logExpiringCertificates()
  } finally {
    await release()
  }
}

runCommand({
  usage: 'npm run clean-up   deletes rows that expired more than a week ago, and prints how many',
  options: {},
  commands: { '': { run: cleanUp } },
})
