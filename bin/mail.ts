// `npm run mail -- status|retry|test ADDRESS`: looks after the outbox of e-mails.
import { parseEmailAddress } from '../lib/contract/email-address'
import { prepareLocally, readEnvFiles } from './local'

const usage = `npm run mail -- status         counts the mails of the past day by what became of them
npm run mail -- retry          sends what waits, without waiting for its next attempt if that is minutes away
npm run mail -- test ADDRESS   sends a test mail, and explains what fails`

class UsageError extends Error {}

async function run([command, address, ...rest]: string[]): Promise<void> {
  if (command === '--help' || command === '-h') return console.log(usage)
  const isComplete = command === 'test' ? address !== undefined : address === undefined
  if (!command || !['status', 'retry', 'test'].includes(command) || !isComplete || rest.length > 0)
    throw new UsageError(usage)
  const recipient = address === undefined ? null : parseEmailAddress(address)
  if (command === 'test' && recipient === null) throw new UsageError(`“${address}” is not an e-mail address.`)

  readEnvFiles(process.env.NODE_ENV === 'production')
  const release = await prepareLocally({ port: 3000, purpose: 'command', report: console.error })
  try {
    const { sendsMail } = await import('../lib/settings/env')
    if (command !== 'status' && !sendsMail()) throw new UsageError('SMTP_URL and MAIL_FROM are not set.')
    if (command === 'status') await status()
    else if (command === 'retry') await retry()
    else await test(recipient!)
  } finally {
    await release()
  }
}

async function status(): Promise<void> {
  const { outboxStatus } = await import('../lib/mail/outbox')
  const kinds = await outboxStatus()
  if (kinds.length === 0) console.log('No mails in the past day.')
  for (const { kind, waiting, tried, sent, gaveUp } of kinds)
    console.log(`${kind}: ${sent} sent, ${waiting} waiting (${tried} of them after an attempt), ${gaveUp} given up`)
}

async function retry(): Promise<void> {
  const { retryNow } = await import('../lib/mail/outbox')
  const { sendDueMails } = await import('../lib/mail/sender')
  console.error(`${await retryNow()} mails were waiting for another attempt.`)
  console.log(`Tried: ${await sendDueMails()}`)
  await status()
}

async function test(recipient: string): Promise<void> {
  const { composeTest } = await import('../lib/mail/messages')
  const { MailError, sendMail } = await import('../lib/mail/transport')
  try {
    await sendMail(recipient, async () => composeTest())
  } catch (error) {
    // Here, unlike in the log, the server's own words may be shown: the operator gave the address.
    if (!(error instanceof MailError)) throw error
    const { code, cause } = error
    throw new Error(`${code ?? 'Not sent'}: ${cause instanceof Error ? cause.message : error.message}`)
  }
  console.log(`The server accepted a test mail to ${recipient}.`)
}

run(process.argv.slice(2)).then(
  () => process.exit(0),
  (error: Error) => {
    console.error(error.message)
    process.exit(error instanceof UsageError ? 2 : 1)
  },
)
