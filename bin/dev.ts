// `npm run dev` and, with --production, `npm run demo`: starts everything locally, without any
// setup.
import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { lifetimes } from '../lib/contract/lifetimes'
import { inUnits } from '../lib/page/relative-time'
import { choosePort, prepareLocally, project, readEnvFiles, rememberPublicUrl } from './local'

const demoEmail = 'ada@example.com'
const production = process.argv.includes('--production')
const log = (line: string) => console.log(line)

async function run(): Promise<number> {
  readEnvFiles(production)
  const port = await choosePort()
  const release = await prepareLocally({ port, purpose: 'server', report: log })
  try {
    rememberPublicUrl()
    if (production) build()
    return await serve(port)
  } finally {
    await release()
  }
}

function build(): void {
  log('Building …')
  execFileSync(process.execPath, [`${project}node_modules/next/dist/bin/next`, 'build'], {
    stdio: ['ignore', 'ignore', 'inherit'],
    cwd: project,
  })
}

/** Runs the server until it exits or is stopped. Returns its exit code. */
async function serve(port: number): Promise<number> {
  log('Starting the server …')
  const mode = production ? [] : ['--dev']
  const server = spawn(process.execPath, [`${project}bin/server.mjs`, ...mode], {
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
    env: { ...process.env, PORT: String(port) },
  })
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => server.kill('SIGTERM'))
  const exited = once(server, 'exit')
  server.once('message', () => void printLinks().catch((error: Error) => console.error(error.message)))
  const [code] = await exited
  return code ?? 0
}

async function printLinks(): Promise<void> {
  const { PUBLIC_URL } = process.env
  // In development, a page is compiled at its first request. That must not use up the lifetime of
  // the code.
  for (const path of ['/', '/sso/callback', '/reset-password', '/api/auth/sso/exchange', '/api/auth/reset-password'])
    await fetch(`${PUBLIC_URL}${path}`)
  const { issueLinks } = await import('./links')
  const links = async () => {
    const { signIn, reset } = await issueLinks(demoEmail)
    log(`\nLinks for ${demoEmail}, each works once:`)
    log(`  sign in (valid ${inUnits(lifetimes.code, 'en')})\n    ${signIn.url}`)
    log(`  set a password (valid ${inUnits(lifetimes.resetToken, 'en')})\n    ${reset.url}`)
    log(process.stdin.isTTY ? '\nPress Enter for two new links, Ctrl-C to stop.' : '\nPress Ctrl-C to stop.')
  }
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
