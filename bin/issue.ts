// `npm run issue`: issues by hand the links that the SSO callback and the reset email contain in production.
import { UsageError } from '../lib/usage-error'
import { checkAddress, runCommand } from './command-line'
import type { LinkKind } from './links'
import { prepareCommand, withDatabase } from './local'

prepareCommand()
const { createUser, findUserByEmail } = await import('../lib/user')
const { issueLink } = await import('./links')

const usage = `npm run issue -- sso-code EMAIL      prints a sign-in link
npm run issue -- reset-token EMAIL   prints a password-reset link

  --create   create the user if needed
  --json     print only {"secret","url","expiresAt"}`

const command = (kind: LinkKind) => ({
  parameters: ['EMAIL'],
  flags: ['create', 'json'],
  run: async ({ create = false, json }: { create?: boolean; json?: boolean }, email: string) => {
    checkAddress(email, create)
    if (create) await createUser(email)
    const user = await findUserByEmail(email)
    if (!user) throw new UsageError(`There is no user ${email}. Add --create to create it.`)
    if (user.disabledAt) console.error(`${user.email} is disabled: the link will not work.`)
    if (user.ssoOnly && kind === 'reset-token')
      console.error(`${user.email} can only sign in through SSO: the link will not work.`)
    const link = await issueLink(kind, user.id)
    console.log(json ? JSON.stringify(link) : `${link.url}\nWorks once, until ${link.expiresAt}`)
  },
})
runCommand({
  usage,
  options: { json: { type: 'boolean' }, create: { type: 'boolean' } },
  within: withDatabase,
  commands: { 'sso-code': command('sso-code'), 'reset-token': command('reset-token') },
})
