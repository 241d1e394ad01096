// `npm run dev` and, with --production, `npm run demo`: starts everything locally, without any setup.
import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { lifetimes } from '../lib/contract/lifetimes'
import { inUnits } from '../lib/page/relative-time'
import { isLoopback } from '../lib/settings/env'
import { prepareServer, project, readEnvFiles } from './local'
import { startDashboard, startWidget } from './local-examples'
import { startLocalProvider } from './local-provider'
import { startMailbox } from './mailbox'
import { choosePort } from './ports'

const demoEmail = 'ada@example.com'
const people = [
  { id: 'ada', name: 'Ada Lovelace', email: demoEmail },
  { id: 'grace', name: 'Grace Hopper', email: 'grace@example.com' },
]
const localSlug = 'local'
const production = process.argv.includes('--production')
const { log } = console

async function run(): Promise<number> {
  readEnvFiles(production)
  const port = await choosePort()
  const release = await prepareServer(port)
  let disconnect = async () => {}
  try {
    const mailbox = process.env.SMTP_URL ? null : await startMailbox()
    if (mailbox) Object.assign(process.env, { SMTP_URL: mailbox.smtpUrl, MAIL_FROM: 'login@example.com' })
    process.env.PASSWORD_SIGN_IN ||= 'true' // so that users can sign in with a new password
    process.env.SECOND_FACTOR ||= process.env.PASSWORD_SIGN_IN
    const { DATABASE_URL, PUBLIC_URL } = process.env
    // Elsewhere, others could be using the database or the app.
    const isLocal = [DATABASE_URL, PUBLIC_URL].every((url) => isLoopback(new URL(url!).hostname))
    const dashboardUrl = isLocal ? await startDashboard(port) : undefined
    if (production) build()
    if (isLocal) disconnect = await connectLocalProvider()
    const widget = isLocal ? await startWidget() : undefined
    const hints = [
      mailbox && `Forgot your password? ${PUBLIC_URL}/forgot-password\n  The mails arrive at ${mailbox.url}`,
      !production && `Every page in every state: ${PUBLIC_URL}/preview`,
      widget && `A widget on a page of a customer: ${widget.approved}`,
      widget && `  and on one whose origin is rejected: ${widget.rejected}`,
      `Sign in as ${people.map(({ name }) => name).join(' or ')}, with one click:\n  ${PUBLIC_URL}/sign-in`,
      isLocal && (await addFactorUser()),
      dashboardUrl && `  or from a dashboard on another site: ${dashboardUrl}`,
    ]
    return await serve(port, hints.filter(Boolean).join('\n'))
  } finally {
    await disconnect()
    await release()
  }
}

/** Gives a user a password and an authenticator app, the same at every start. Returns how to sign in. */
async function addFactorUser(): Promise<string> {
  // not a user of the demo provider: a user with a second factor is not linked by email
  const [email, password, secret] = ['joan@example.net', 'lantern otter meadow', 'GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ']
  const { hashNewPassword } = await import('../lib/password/hash')
  const { totpUri } = await import('../lib/second-factor/codes')
  const { encrypt } = await import('../lib/second-factor/encryption')
  const { prisma } = await import('../lib/database/prisma')
  const { createUser, findUserByEmail } = await import('../lib/user')
  await createUser(email)
  const { id } = (await findUserByEmail(email))!
  const factor = { encryptedSecret: await encrypt(secret, `totp ${id}`), lastStep: 0 }
  const secondFactor = { upsert: { create: factor, update: factor } }
  const passwordHash = await hashNewPassword(password, [])
  await prisma().user.update({ where: { id }, data: { passwordHash, secondFactorAt: new Date(), secondFactor } })
  return `  or as ${email}, with the password “${password}” and an authenticator app:\n  ${await totpUri(secret, email)}`
}

/** Starts an identity provider and adds a connection to it. Returns a function that removes the connection. */
async function connectLocalProvider(): Promise<() => Promise<void>> {
  const { ssoUrl } = await import('../lib/sso/urls')
  const { addConnection, listConnections, removeConnection } = await import('../lib/sso/manage')
  const remove = async () => {
    for (const connection of await listConnections(localSlug)) await removeConnection(connection)
  }
  const redirectUris = [ssoUrl(localSlug, 'callback')]
  const { issuer, clientId, clientSecret } = await startLocalProvider({ redirectUris, people })
  await remove()
  await addConnection({
    slug: localSlug,
    name: 'the local identity provider',
    settings: { kind: 'oidc', issuer, clientId },
    secrets: { clientSecret },
    domains: ['example.com'],
    provision: true,
    listed: true,
    allowPasswords: true, // the demo user has a reset link
  })
  return remove
}

function build(): void {
  log('Building …')
  const parameters = ['--import', 'tsx', 'bin/build.ts']
  execFileSync(process.execPath, parameters, { stdio: ['ignore', 'ignore', 'inherit'], cwd: project })
}

/** Runs the server until it exits or is stopped. Returns its exit code. */
async function serve(port: number, hints: string): Promise<number> {
  log('Starting the server …')
  const program = production ? ['.next/standalone/bin/server.js'] : ['--import', 'tsx', 'bin/server.ts', '--dev']
  const server = spawn(process.execPath, program, {
    cwd: project,
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
    // The links sign anybody in, so by default they work on this machine only.
    env: { ...process.env, PORT: String(port), HOST: process.env.HOST || '127.0.0.1' },
  })
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => server.kill('SIGINT'))
  server.once('message', () => printLinks(hints).catch(printError))
  const [code] = await once(server, 'exit')
  return code ?? 0
}

async function printLinks(hints: string): Promise<void> {
  // In development, a page is compiled at its first request. That must not use up the lifetime of the code.
  for (const path of ['/', '/sso/callback', '/reset-password', '/api/auth/sso/exchange', '/api/auth/reset-password'])
    await fetch(`${process.env.PUBLIC_URL}${path}`)
  const { issueLink } = await import('./links')
  const { createUser, findUserByEmail } = await import('../lib/user')
  await createUser(demoEmail)
  const { id } = (await findUserByEmail(demoEmail))!
  const links = async () => {
    const [code, token] = [await issueLink('sso-code', id), await issueLink('reset-token', id)]
    log(`\nLinks for ${demoEmail}, each works once:`)
    log(`  sign in (valid ${inUnits(lifetimes.code, 'en')})\n    ${code.url}`)
    log(`  set a password (valid ${inUnits(lifetimes.resetToken, 'en')})\n    ${token.url}`)
    log(process.stdin.isTTY ? '\nPress Enter for two new links, Ctrl-C to stop.' : '\nPress Ctrl-C to stop.')
  }
  log(`\n${hints}`)
  await links()
  if (process.stdin.isTTY) process.stdin.on('data', () => links().catch(printError))
}

function printError({ message }: Error): void {
  console.error(message)
}

process.exit(
  await run().catch((error: Error) => {
    printError(error)
    return 1
  }),
)
