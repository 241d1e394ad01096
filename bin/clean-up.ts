// `npm run clean-up`: deletes rows that expired more than a week ago. Run it daily.
import { exitWhenPrinted, hasArguments } from './exit'
import { prepareLocally, readEnvFiles } from './local'

const usage = 'npm run clean-up   deletes rows that expired more than a week ago, and prints how many'

async function run(): Promise<void> {
  if (hasArguments(usage)) return
  readEnvFiles(process.env.NODE_ENV === 'production')
  const release = await prepareLocally({ port: 3000, purpose: 'command', report: console.error })
  try {
    const { deleteExpiredRows } = await import('../lib/database/clean-up')
    for (const [table, count] of Object.entries(await deleteExpiredRows())) console.log(`${table}: ${count} deleted`)
  } finally {
    await release()
  }
}

run().then(
  () => exitWhenPrinted(Number(process.exitCode ?? 0)),
  (error: Error) => {
    console.error(error.message)
    exitWhenPrinted(1)
  },
)
