// `npm run mail -- status|retry|test ADDRESS`: manages the outbox of emails.
import { parseEmailAddress } from '../lib/contract/email-address'
import { sendsMail } from '../lib/settings/env'
import { UsageError } from '../lib/usage-error'
import { newProgram, runCommand } from './command-line'
import { prepareCommand, withDatabase } from './dev/local'

prepareCommand()
const { composeTest } = await import('../lib/mail/messages')
const { outboxStatus, retryNow } = await import('../lib/mail/outbox')
const { sendDueMails } = await import('../lib/mail/sender')
const { MailError, sendMail } = await import('../lib/mail/transport')

const adviceOnPasswords = `Microsoft 365 needs smtp://…@smtp.office365.com:587, and SMTP AUTH switched on for the mailbox. Google and others with
two-step verification need an app password. Special characters in SMTP_URL are encoded: %40 for @, %25 for %.`

function requireMail(): void {
  if (!sendsMail()) throw new UsageError('SMTP_URL and MAIL_FROM are not set.')
}

async function status({ json = false }: { json?: boolean }): Promise<void> {
  const kinds = await outboxStatus()
  if (kinds.length === 0 && !json) console.log('No emails in the past day.')

  for (const counts of kinds) {
    const { kind, waiting, tried, sent, gaveUp } = counts
    const text = `${kind}: ${sent} sent, ${waiting} waiting (${tried} of them after an attempt), ${gaveUp} given up`
    console.log(json ? JSON.stringify(counts) : text)
  }
}

async function retry(): Promise<void> {
  requireMail()
  console.error(`Emails that were waiting for another attempt: ${await retryNow()}`)
  console.log(`Tried: ${await sendDueMails()}`)
  await status({})
}

async function test(address: string): Promise<void> {
  const recipient = parseEmailAddress(address)
  if (recipient === null) throw new UsageError(`“${address}” is not an email address.`)

  requireMail()

  try {
    await sendMail(recipient, async () => composeTest())
  } catch (error) {
    // The server's response may quote the address, which the operator gave. So the
    // response is shown, but never logged.
    if (!(error instanceof MailError)) throw error
    const { code = 'Not sent', message } = error.cause
    const problem = `${code}: ${message}`
    throw new Error(code === 'EAUTH' ? `${problem}\n${adviceOnPasswords}` : problem)
  }

  console.log(`The server accepted a test email to ${recipient}.`)
}

const program = newProgram('npm run mail --', 'Manages the outbox of emails.')

program
  .command('status')
  .description('counts the emails of the past day by outcome')
  .option('--json', 'one object per line')
  .action(withDatabase(status))

program
  .command('retry')
  .description('sends emails now, if their next attempt is more than two minutes away')
  .action(withDatabase(retry))

program
  .command('test <address>')
  .description('sends a test email, and prints problems')
  .action(withDatabase(test))

runCommand(program)
