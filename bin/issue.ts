// `npm run issue`: issues by hand the links that the SSO callback and the reset email contain in production.
import { UsageError } from '../lib/usage-error'
import { checkAddress, runCommand } from './command-line'
import { prepareCommand, withDatabase } from './local'

prepareCommand()
const { createUser, findUserByEmail } = await import('../lib/user')
const { resetLink, codeLink } = await import('./links')

const usage = `npm run issue -- sso-code EMAIL      prints a sign-in link
npm run issue -- reset-token EMAIL   prints a password-reset link

  --create   create the user if needed
  --json     print only {"secret","url","expiresAt"}`

type Kind = 'sso-code' | 'reset-token'

type Flags = { create?: boolean; json?: boolean }

async function issue(kind: Kind, { create = false, json }: Flags, email: string): Promise<void> {
  checkAddress(email, create)
  if (create) await createUser(email)
  const user = await findUserByEmail(email)
  if (!user) throw new UsageError(`There is no user ${email}. Add --create to create it.`)
  if (user.disabledAt) console.error(`${user.email} is disabled: the link will not work.`)
  if (user.ssoOnly && kind === 'reset-token')
    console.error(`${user.email} can only sign in through SSO: the link will not work.`)
  const link = kind === 'sso-code' ? await codeLink(user.id) : await resetLink(user.id)
  console.log(json ? JSON.stringify(link) : `${link.url}\nWorks once, until ${link.expiresAt}`)
}

const command = (kind: Kind) => ({
  parameters: ['EMAIL'],
  flags: ['create' as const, 'json' as const],
  run: (flags: Flags, email: string) => issue(kind, flags, email),
})
runCommand({
  usage,
  options: { json: { type: 'boolean' }, create: { type: 'boolean' } },
  within: withDatabase,
  commands: { 'sso-code': command('sso-code'), 'reset-token': command('reset-token') },
})
