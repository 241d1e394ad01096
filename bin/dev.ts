// `npm run dev` and, with --production, `npm run demo`: starts everything locally, without any setup.
import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { lifetimes } from '../lib/contract/lifetimes'
import { inUnits } from '../lib/page/relative-time'
import { isLoopback } from '../lib/settings/env'
import { prepareLocally, project, readEnvFiles, rememberPublicUrl } from './local'
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
  const release = await prepareLocally({ port, purpose: 'server', report: log })
  const mailbox = process.env.SMTP_URL ? null : await startMailbox()
  try {
    if (mailbox) Object.assign(process.env, { SMTP_URL: mailbox.smtpUrl, MAIL_FROM: 'login@example.com' })
    process.env.PASSWORD_SIGN_IN ||= 'true' // so that the new password is of use
    rememberPublicUrl()
    const dashboardUrl = isLocal() ? await startDashboard(port) : undefined
    if (production) build()
    const disconnect = await connectLocalProvider()
    const widget = isLocal() ? await startWidget() : undefined
    try {
      return await serve(port, [dashboardUrl, mailbox?.url, widget?.approved, widget?.rejected])
    } finally {
      await disconnect()
    }
  } finally {
    mailbox?.stop()
    await release()
  }
}

/** Whether the database and the app are on this machine. Elsewhere, others could be using them. */
function isLocal(): boolean {
  return [process.env.DATABASE_URL, process.env.PUBLIC_URL].every((url) => isLoopback(new URL(url!).hostname))
}

/** Starts an identity provider and adds a connection to it. Returns a function that removes both. */
async function connectLocalProvider(): Promise<() => Promise<void>> {
  if (!isLocal()) return async () => {}
  const { ssoUrl } = await import('../lib/sso/urls')
  const { addConnection, listConnections, removeConnection } = await import('../lib/sso/manage')
  const remove = async () => {
    for (const connection of await listConnections(localSlug)) await removeConnection(connection)
  }
  const redirectUris = [ssoUrl(localSlug, 'callback')]
  const { issuer, clientId, clientSecret, stop } = await startLocalProvider({ redirectUris, people })
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
  return async () => {
    await remove()
    await stop()
  }
}

function build(): void {
  log('Building …')
  execFileSync(process.execPath, ['--import', 'tsx', 'bin/build.ts'], {
    stdio: ['ignore', 'ignore', 'inherit'],
    cwd: project,
  })
}

/** Runs the server until it exits or is stopped. Returns its exit code. */
async function serve(port: number, urls: (string | undefined)[]): Promise<number> {
  log('Starting the server …')
  const program = production ? ['.next/standalone/bin/server.js'] : ['--import', 'tsx', 'bin/server.ts', '--dev']
  const server = spawn(process.execPath, program, {
    cwd: project,
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
    // The links sign anybody in, so other machines get none by default.
    env: { ...process.env, PORT: String(port), HOST: process.env.HOST || '127.0.0.1' },
  })
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => server.kill('SIGINT'))
  const exited = once(server, 'exit')
  server.once('message', () => void printLinks(urls).catch((error: Error) => console.error(error.message)))
  const [code] = await exited
  return code ?? 0
}

async function printLinks(urls: (string | undefined)[]): Promise<void> {
  const [dashboardUrl, mailboxUrl, approvedUrl, rejectedUrl] = urls
  const { PUBLIC_URL } = process.env
  // In development, a page is compiled at its first request. That must not use up the lifetime of the code.
  for (const path of ['/', '/sso/callback', '/reset-password', '/api/auth/sso/exchange', '/api/auth/reset-password'])
    await fetch(`${PUBLIC_URL}${path}`)
  const { issueLinks } = await import('./links')
  if (mailboxUrl) log(`\nForgot your password? ${PUBLIC_URL}/forgot-password\n  The mails arrive at ${mailboxUrl}`)
  if (!production) log(`\nEvery page in every state: ${PUBLIC_URL}/preview`)
  if (approvedUrl)
    log(`\nA widget on a page of a customer: ${approvedUrl}\n  and on one whose origin is rejected: ${rejectedUrl}`)
  const links = async () => {
    const { signIn, reset } = await issueLinks(demoEmail)
    log(`\nLinks for ${demoEmail}, each works once:`)
    log(`  sign in (valid ${inUnits(lifetimes.code, 'en')})\n    ${signIn.url}`)
    log(`  set a password (valid ${inUnits(lifetimes.resetToken, 'en')})\n    ${reset.url}`)
    log(process.stdin.isTTY ? '\nPress Enter for two new links, Ctrl-C to stop.' : '\nPress Ctrl-C to stop.')
  }
  log(`\nSign in as ${people.map(({ name }) => name).join(' or ')}, with one click:\n  ${PUBLIC_URL}/sign-in`)
  if (dashboardUrl) log(`  or from a dashboard on another site: ${dashboardUrl}`)
  await links()
  if (process.stdin.isTTY)
    process.stdin.on('data', () => void links().catch((error: Error) => console.error(error.message)))
}

run().then(
  (code) => process.exit(code),
  (error: Error) => {
    console.error(error.message)
    process.exit(1)
  },
)
