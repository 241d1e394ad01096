// `npm run issue`: issues the links that normally come from an SSO callback or a reset
// email.
import { lifetimes } from '../lib/contract/lifetimes'
import { UsageError } from '../lib/usage-error'
import { checkAddress, newProgram, recordOperator, runCommand } from './command-line'
import { prepareCommand, withDatabase } from './dev/local'

prepareCommand()
const { createUser, findUserByEmail } = await import('../lib/user/user')
const { issueResetToken } = await import('../lib/password/reset')
const { issueOperatorCode } = await import('../lib/code/issue')
const { currentOrigin } = await import('../lib/event/origin')
const { log } = await import('../lib/log/log')
const { queueOperatorNotice } = await import('../lib/mail/outbox')
const { sendDueMails } = await import('../lib/mail/sender')
const { env, sendsMail } = await import('../lib/settings/env')

const maxHours = lifetimes.session / (60 * 60)

type Flags = { create?: true; json?: true; hours?: string; notify?: true }
type User = NonNullable<Awaited<ReturnType<typeof findUserByEmail>>>
type Issued = { secret: string; expiresAt: Date }

async function printSignInLink(email: string, flags: Flags): Promise<void> {
  const hours = readHours(flags.hours)
  if (flags.notify && !sendsMail())
    throw new UsageError('SMTP_URL and MAIL_FROM are not set.')

  const user = await requireUser(email, flags)
  const operator = currentOrigin().operator ?? ''
  printLink(
    '/sso/callback?code=',
    await issueOperatorCode(user.id, { operator, hours }),
    flags,
  )

  if (!flags.notify) return

  await queueOperatorNotice(user.id, 'en')
  if (flags.json) log.level = 'silent' // the server logs and retries what fails here
  await sendDueMails(30_000)
}

/** Returns null if the option is not given. */
function readHours(text: string | undefined): number | null {
  if (text === undefined) return null

  const hours = Number(text)
  if (!/^\d{1,3}$/.test(text) || hours < 1 || hours > maxHours)
    throw new UsageError(`--hours must be a whole number from 1 to ${maxHours}.`)

  return hours
}

async function printResetLink(email: string, flags: Flags): Promise<void> {
  const user = await requireUser(email, flags)
  if (user.ssoOnly)
    console.error(`${user.email} can only sign in through SSO: the link will not work.`)

  printLink('/reset-password?token=', await issueResetToken(user.id), flags)
}

async function requireUser(email: string, { create }: Flags): Promise<User> {
  checkAddress(email, create ?? false)
  if (create) await createUser(email)

  const user = await findUserByEmail(email)
  if (!user) throw new UsageError(`There is no user ${email}. Add --create to create it.`)

  if (user.disabledAt) console.error(`${user.email} is disabled: the link will not work.`)

  return user
}

function printLink(path: string, { secret, expiresAt }: Issued, { json }: Flags): void {
  const url = env().PUBLIC_URL + path + secret

  if (json) console.log(JSON.stringify({ secret, url, expiresAt }))
  else console.log(`${url}\nWorks once, until ${expiresAt.toISOString()}`)
}

const program = newProgram(
  'npm run issue --',
  'Issues the links that normally come from an SSO callback or a reset email.',
)
recordOperator(program)

const create = ['--create', 'creates the user if needed'] as const
const json = ['--json', 'prints only {"secret","url","expiresAt"}'] as const

program
  .command('sso-code <email>')
  .description('prints a link that signs you in as the user, in a session that is marked')
  .option(...create)
  .option('--hours <number>', `ends the session after 1 to ${maxHours} hours`)
  .option('--notify', 'emails the user that an operator can sign in')
  .option(...json)
  .action(withDatabase(printSignInLink))

program
  .command('reset-token <email>')
  .description('prints a password-reset link')
  .option(...create)
  .option(...json)
  .action(withDatabase(printResetLink))

runCommand(program)
