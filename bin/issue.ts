// `npm run issue -- sso-code|reset-token EMAIL`: issues by hand the links that the SSO callback and
// the forgot-password e-mail issue in production.
import { parseEmailAddress } from '../lib/contract/email-address'
import { UsageError } from '../lib/usage-error'
import { runCommand } from './command-line'
import { prepareLocally, readEnvFiles, rememberedPublicUrl } from './local'

const usage = `npm run issue -- sso-code EMAIL      prints a sign-in link
npm run issue -- reset-token EMAIL   prints a password-reset link

  --create   create the user if needed
  --json     print only {"secret","url","expiresAt"}`

async function issue(
  kind: 'sso-code' | 'reset-token',
  email: string,
  flags: { create?: boolean; json?: boolean },
): Promise<void> {
  if (flags.create ? !parseEmailAddress(email) : !/^[^\s\p{C}@]+@[^\s\p{C}@]+$/u.test(email))
    throw new UsageError('That is not an e-mail address, like ada@example.com.')

  readEnvFiles(process.env.NODE_ENV === 'production')
  if (!process.env.PORT) process.env.PUBLIC_URL ||= rememberedPublicUrl() ?? ''
  const release = await prepareLocally({
    port: Number(process.env.PORT || 3000),
    purpose: 'command',
    report: flags.json ? () => {} : (line) => console.error(line),
  })
  try {
    const { createUser, findUserByEmail } = await import('../lib/user')
    const { resetLink, codeLink } = await import('./links')
    if (flags.create) await createUser(email)
    const user = await findUserByEmail(email)
    if (!user) throw new UsageError(`There is no user ${email}. Add --create to create it.`)
    if (user.disabledAt) console.error(`${user.email} is disabled: the link will not work.`)
    if (user.ssoOnly && kind === 'reset-token')
      console.error(`${user.email} can only sign in through SSO: the link will not work.`)
    const link = kind === 'sso-code' ? await codeLink(user.id) : await resetLink(user.id)
    console.log(flags.json ? JSON.stringify(link) : `${link.url}\nWorks once, until ${link.expiresAt}`)
  } finally {
    await release()
  }
}

const command = (kind: 'sso-code' | 'reset-token') => ({
  parameters: ['EMAIL'],
  flags: ['create' as const, 'json' as const],
  run: (flags: { create?: boolean; json?: boolean }, email: string) => issue(kind, email, flags),
})
runCommand({
  usage,
  options: { json: { type: 'boolean' }, create: { type: 'boolean' } },
  commands: { 'sso-code': command('sso-code'), 'reset-token': command('reset-token') },
})
