// `npm run dev`, and `npm run demo` with --production. Starts everything locally, without
// any setup.
import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { isIP } from 'node:net'
import { createInterface } from 'node:readline'
import { format } from 'node:util'
import { databaseHost, isHttps, parseEnv } from '../../lib/settings/env'
import { isLoopback } from '../../lib/settings/loopback'
import { describeError } from '../command-line'
import { formatLink, type Link, startDashboard, startWidget } from './examples'
import { prepareServer, project, readEnvFiles } from './local'
import { startMailbox } from './mailbox'
import { firstFreePort } from './ports'
import { startLocalProvider } from './provider'
import { createSetupPage, createSignInPages } from './sign-in-pages'

const people = [
  { id: 'ada', name: 'Ada Lovelace', email: 'ada@example.com' },
  { id: 'grace', name: 'Grace Hopper', email: 'grace@example.com' },
  { id: 'eve', name: 'Eve, whose domain has no access', email: 'eve@example.org' },
  { id: 'mary', name: 'Mary, of the setup link', email: 'mary@customer.example' },
]
const setupSlug = 'customer'
const production = process.argv.includes('--production')
const { log } = console

async function run(): Promise<number> {
  readEnvFiles(production)
  const { PORT } = process.env
  const port = await firstFreePort(Number(PORT || 3000), PORT ? 1 : 100)
  const mailbox = process.env.SMTP_URL ? null : await startMailbox()
  const release = await prepareServer(port, mailbox?.settings)
  let isPrivate = false

  try {
    isPrivate = usesOnlyThisMachine()
    process.env.PASSWORD_SIGN_IN ||= 'true' // so that users can sign in with a new password
    process.env.SECOND_FACTOR ||= process.env.PASSWORD_SIGN_IN
    process.env.SETUP_LINKS ||= 'true'
    process.env.PASSKEYS ||= String(
      process.env.PASSWORD_SIGN_IN === 'true' && allowsPasskeys(),
    )
    if (production) build()

    const links = await startParts(port, isPrivate, mailbox?.url)
    return await serve(port, links)
  } finally {
    if (isPrivate) await disconnectLocalProvider()
    await release()
    log('Stopped.')
  }
}

/** Whether browsers allow passkeys at PUBLIC_URL: with TLS, or on localhost. */
function allowsPasskeys(): boolean {
  const { protocol, hostname } = new URL(process.env.PUBLIC_URL!)
  return (
    isIP(hostname) === 0 && (protocol === 'https:' || /(^|\.)localhost$/.test(hostname))
  )
}

/**
 * Other people may use a database or an app that is not on this machine. Throws if a
 * setting is invalid, before the build.
 */
function usesOnlyThisMachine(): boolean {
  const mode = production ? { NODE_ENV: 'production' } : {}
  const { DATABASE_URL, PUBLIC_URL } = parseEnv({ ...process.env, ...mode })
  return isLocalDatabase(DATABASE_URL) && isLoopback(new URL(PUBLIC_URL).hostname)
}

/** Whether a database is on this machine. Sockets of Cloud SQL lead to another one. */
function isLocalDatabase(url: string): boolean {
  const host = databaseHost(url)
  return isLoopback(host) || /^\/(?!cloudsql\/)/.test(host)
}

function build(): void {
  log('Building …')
  execFileSync(process.execPath, ['--import', 'tsx', 'bin/build.ts'], {
    stdio: ['ignore', 'ignore', 'inherit'],
    cwd: project,
  })
}

/**
 * Starts what the server needs or shows, and returns links to it. Unless `isPrivate`,
 * starts nothing that signs anybody in.
 */
async function startParts(
  port: number,
  isPrivate: boolean,
  mailboxUrl: string | undefined,
): Promise<Link[]> {
  const signIn = isPrivate
    ? 'as Ada or Grace, with one click at Example Corp'
    : 'with a password'
  const links: Link[] = [['Sign in', '/sign-in', signIn]]

  if (isPrivate)
    links.push(
      ...(await startDashboard(port)),
      await addUsers(),
      ...(await connectLocalProvider()),
    )
  else
    log(
      'Others may reach PUBLIC_URL or the database, so the dashboard, Example Corp and the example users, which sign anybody in, are not started: add a user with `npm run users -- invite EMAIL`.',
    )

  if (mailboxUrl) links.push(['Mailbox', mailboxUrl, 'every email that the app sends'])
  if (isPrivate) links.push(...(await startWidget()))

  links.push(
    ['API reference', '/reference', 'for people'],
    ['OpenAPI', '/openapi.json', 'for programs'],
  )

  return links
}

/**
 * Adds Ada, and a user with a fixed password, a fixed TOTP secret and new recovery codes.
 * Returns how to sign in.
 */
async function addUsers(): Promise<Link> {
  // not a user of the demo provider, because a user with a second factor is not linked by
  // email
  const [email, password, secret] = [
    'joan@example.net',
    'lantern otter meadow',
    'GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ',
  ]

  const { hashNewPassword } = await import('../../lib/password/new-password')
  const { hashRecoveryCode, newRecoveryCodes, totpUri } = await import(
    '../../lib/second-factor/codes'
  )
  const { encrypt } = await import('../../lib/second-factor/encryption')
  const { prisma } = await import('../../lib/database/prisma')
  const { createUser, findUserByEmail } = await import('../../lib/user/user')
  const addresses = [people[0]!.email, people[3]!.email, email]
  for (const address of addresses) await createUser(address)
  const { id } = (await findUserByEmail(email))!
  const factor = { encryptedSecret: await encrypt(secret, `totp ${id}`), lastStep: 0 }
  const secondFactor = { upsert: { create: factor, update: factor } }
  const passwordHash = await hashNewPassword(password, [])
  const codes = newRecoveryCodes()
  const recoveryCodes = {
    deleteMany: {},
    create: codes.map((code) => ({ codeHash: hashRecoveryCode(code) })),
  }
  await prisma().user.update({
    where: { id },
    data: { passwordHash, secondFactorAt: new Date(), secondFactor, recoveryCodes },
  })

  return [
    'Authenticator app',
    await totpUri(secret, email),
    `of ${email}: password “${password}”, secret ${secret}, recovery code ${codes[0]}`,
  ]
}

/**
 * Starts an identity provider, adds a connection to it, and returns links to the provider
 * and to its pages for operators.
 */
async function connectLocalProvider(): Promise<Link[]> {
  const { ssoUrl } = await import('../../lib/sso/urls')
  const { addConnection } = await import('../../lib/sso/manage/connections')

  const domain = people[3]!.email.split('@')[1]!
  const options = {
    redirectUris: [ssoUrl('local', 'callback'), ssoUrl(setupSlug, 'callback')],
    people,
    port: await firstFreePort(4_300),
    pages: { ...createSignInPages('local'), ...createSetupPage(setupSlug, domain) },
  }

  const { issuer, clientId, clientSecret } = await startLocalProvider(options)
  await disconnectLocalProvider()

  await addConnection({
    slug: 'local',
    name: 'Example Corp',
    settings: { kind: 'oidc', issuer, clientId },
    secrets: { clientSecret },
    domains: ['example.com'],
    activate: true,
    provision: true,
    listed: true,
    allowPasswords: true, // so that reset links work in the demo
  })

  return [
    [
      'Example Corp',
      issuer,
      'the identity provider: a tile of its portal starts a sign-in',
    ],
    [
      'Test sign-in',
      `${issuer}/try`,
      'what Example Corp sends, and what a sign-in would do',
    ],
    [
      'Rejected sign-ins',
      `${issuer}/rejected`,
      'the accounts of Example Corp without access',
    ],
    [
      'Setup link',
      `${issuer}/setup`,
      'the page on which a customer enters the values of Example Corp; Mary can test it',
    ],
  ]
}

async function disconnectLocalProvider(): Promise<void> {
  const { listStoredConnections, removeConnection } = await import(
    '../../lib/sso/manage/connections'
  )
  for (const slug of ['local', setupSlug])
    for (const connection of await listStoredConnections(slug))
      await removeConnection(connection)
}

/** Runs the server until it exits or is stopped. Returns its exit code. */
async function serve(port: number, links: Link[]): Promise<number> {
  log('Starting the server …')
  const program = production
    ? ['.next/standalone/bin/server.js']
    : ['--import', 'tsx', 'bin/server.ts', '--dev']

  const server = spawn(process.execPath, program, {
    cwd: project,
    stdio: ['ignore', 'pipe', 'inherit', 'ipc'],
    env: {
      ...process.env,
      PORT: String(port),
      HOST: process.env.HOST || '127.0.0.1', // by default, only this machine, because the links sign anybody in
      DEV_LINKS: JSON.stringify(links), // for app/preview
    },
  })

  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const)
    process.on(signal, () => server.kill('SIGINT'))

  createInterface(server.stdout!).on('line', (line) => {
    if (!line.startsWith('Listening on ')) return log(readable(line))
    for (const link of production ? links : [])
      log(formatLink(link, process.env.PUBLIC_URL!))
    log(
      `Press Ctrl-C to stop. Start here: ${process.env.PUBLIC_URL}/${production ? 'sign-in' : 'preview'}`,
    )
    if (isHttps()) explainUnreachable(port)
    else if (!production) warmUp()
  })

  const [code] = await once(server, 'close')

  return code ?? 0
}

/** Compiles the pages that are opened first, while the developer reads the link. */
async function warmUp(): Promise<void> {
  for (const path of ['/sign-in', '/sso/callback'])
    await fetch(process.env.PUBLIC_URL + path).catch(() => {})
}

/** Prints what is missing if this machine can't reach PUBLIC_URL, as the dashboard must. */
async function explainUnreachable(port: number): Promise<void> {
  const url = process.env.PUBLIC_URL!
  try {
    await fetch(`${url}/api/health`)
  } catch (error) {
    const { code = 'no code' } = (error as { cause?: { code?: string } }).cause ?? {}
    const isCertificate = /CERT|SELF_SIGNED|UNABLE_TO|ERR_TLS/.test(code)
    log(
      isCertificate
        ? `The certificate of ${url} is not trusted here (${code}): set NODE_EXTRA_CA_CERTS in the environment to the file with its certificate authority, so that the dashboard can sign in.`
        : `Nothing responds at ${url} (${code}): start a proxy with TLS there, and let it forward to http://127.0.0.1:${port}.`,
    )
  }
}

/** Formats a line of the log, which is JSON, as readable text. */
function readable(line: string): string {
  if (!line.startsWith('{"level":')) return line

  const { level, time, msg, requestId, ...fields } = JSON.parse(line)
  const texts = Object.entries(fields).map(([name, value]) =>
    format('%s=%s', name, value),
  )

  return [new Date(time).toLocaleTimeString(), level, msg, ...texts]
    .filter(Boolean)
    .join(' ')
}

process.exit(
  await run().catch((error: Error) => {
    console.error(describeError(error))
    return 1
  }),
)
