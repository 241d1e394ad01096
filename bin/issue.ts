// `npm run issue`: issues the links that normally come from an SSO callback or a reset
// email.
import { UsageError } from '../lib/usage-error'
import { checkAddress, runCommand } from './command-line'
import { prepareCommand, withDatabase } from './dev/local'

prepareCommand()
const { createUser, findUserByEmail } = await import('../lib/user/user')
const { issueResetToken } = await import('../lib/password/reset')
const { issueSsoCode } = await import('../lib/code/issue')
const { env } = await import('../lib/settings/env')

const usage = `npm run issue -- sso-code EMAIL      prints a sign-in link
npm run issue -- reset-token EMAIL   prints a password-reset link

  --create   create the user if needed
  --json     print only {"secret","url","expiresAt"}`

const command =
  (path: string, issue: typeof issueSsoCode) =>
  async (email: string, { create = false, json = false }) => {
    checkAddress(email, create)
    if (create) await createUser(email)

    const user = await findUserByEmail(email)
    if (!user)
      throw new UsageError(`There is no user ${email}. Add --create to create it.`)
    if (user.disabledAt)
      console.error(`${user.email} is disabled: the link will not work.`)
    if (user.ssoOnly && issue === issueResetToken)
      console.error(`${user.email} can only sign in through SSO: the link will not work.`)

    const { secret, expiresAt } = await issue(user.id)
    const url = env().PUBLIC_URL + path + secret

    console.log(
      json
        ? JSON.stringify({ secret, url, expiresAt })
        : `${url}\nWorks once, until ${expiresAt.toISOString()}`,
    )
  }
runCommand({
  usage,
  within: withDatabase,
  commands: {
    'sso-code EMAIL --create --json': command('/sso/callback?code=', issueSsoCode),
    'reset-token EMAIL --create --json': command(
      '/reset-password?token=',
      issueResetToken,
    ),
  },
})
