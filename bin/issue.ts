// `npm run issue -- sso-code|reset-token EMAIL`: what the SSO callback and the forgot-password mail do, by hand.
import { parseArgs } from 'node:util'
import { prepareLocally, readEnvFiles, rememberedPublicUrl } from './local'

const usage = `npm run issue -- sso-code EMAIL      a link that signs the person in
npm run issue -- reset-token EMAIL   a link that sets a new password

  --create   make the person where there is none
  --json     print {"secret","url","expiresAt"} and nothing else`

class Usage extends Error {}

async function run(): Promise<void> {
  const { values: flags, positionals } = readArguments()
  const [kind, email, ...rest] = positionals
  if (flags.help) return console.log(usage)
  if ((kind !== 'sso-code' && kind !== 'reset-token') || !email || rest.length) throw new Usage(usage)
  if (!/^[^\s@]+@[^\s@]+$/.test(email)) throw new Usage(`“${email}” is not an e-mail address.`)

  readEnvFiles(process.env.NODE_ENV === 'production')
  if (!process.env.PORT) process.env.PUBLIC_URL ||= rememberedPublicUrl() ?? ''
  const release = await prepareLocally({
    port: Number(process.env.PORT || 3000),
    purpose: 'command',
    say: flags.json ? () => {} : (line) => console.error(line),
  })
  try {
    const { createUser, findUserByEmail } = await import('../lib/user')
    const { resetLink, signInLink } = await import('./links')
    if (flags.create) await createUser(email)
    const user = await findUserByEmail(email)
    if (!user) throw new Usage(`There is no ${email}. Add --create to make the person.`)
    if (user.disabledAt) console.error(`${user.email} is disabled: the link will be refused.`)
    if (user.ssoOnly && kind === 'reset-token')
      console.error(`${user.email} signs in with SSO alone: the link will be refused.`)
    const link = kind === 'sso-code' ? await signInLink(user.id) : await resetLink(user.id)
    console.log(flags.json ? JSON.stringify(link) : `${link.url}\ngood for one use, until ${link.expiresAt}`)
  } finally {
    await release()
  }
}

function readArguments() {
  try {
    return parseArgs({
      allowPositionals: true,
      options: { json: { type: 'boolean' }, create: { type: 'boolean' }, help: { type: 'boolean', short: 'h' } },
    })
  } catch (error) {
    throw new Usage(`${(error as Error).message}\n\n${usage}`)
  }
}

run().then(
  () => process.exit(0),
  (error: Error) => {
    console.error(error.message)
    process.exit(error instanceof Usage ? 2 : 1)
  },
)
