// `npm run issue`: issues the links that normally come from an SSO callback or a reset
// email.
import { UsageError } from '../lib/usage-error'
import { checkAddress, newProgram, runCommand } from './command-line'
import { prepareCommand, withDatabase } from './dev/local'

prepareCommand()
const { createUser, findUserByEmail } = await import('../lib/user/user')
const { issueResetToken } = await import('../lib/password/reset')
const { issueSsoCode } = await import('../lib/code/issue')
const { env } = await import('../lib/settings/env')

type Kind = { path: string; issue: typeof issueSsoCode }
type Flags = { create?: true; json?: true }

const ssoCode: Kind = { path: '/sso/callback?code=', issue: issueSsoCode }
const resetToken: Kind = { path: '/reset-password?token=', issue: issueResetToken }

async function printLink(kind: Kind, email: string, flags: Flags): Promise<void> {
  checkAddress(email, flags.create ?? false)
  if (flags.create) await createUser(email)

  const user = await findUserByEmail(email)
  if (!user) throw new UsageError(`There is no user ${email}. Add --create to create it.`)

  if (user.disabledAt) console.error(`${user.email} is disabled: the link will not work.`)
  if (user.ssoOnly && kind === resetToken)
    console.error(`${user.email} can only sign in through SSO: the link will not work.`)

  const { secret, expiresAt } = await kind.issue(user.id)
  const url = env().PUBLIC_URL + kind.path + secret

  if (flags.json) console.log(JSON.stringify({ secret, url, expiresAt }))
  else console.log(`${url}\nWorks once, until ${expiresAt.toISOString()}`)
}

const program = newProgram(
  'npm run issue --',
  'Issues the links that normally come from an SSO callback or a reset email.',
)

for (const [name, description, kind] of [
  ['sso-code', 'prints a sign-in link', ssoCode],
  ['reset-token', 'prints a password-reset link', resetToken],
] as const)
  program
    .command(`${name} <email>`)
    .description(description)
    .option('--create', 'creates the user if needed')
    .option('--json', 'prints only {"secret","url","expiresAt"}')
    .action(withDatabase((email: string, flags: Flags) => printLink(kind, email, flags)))

runCommand(program)
