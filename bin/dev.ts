// `npm run dev`, and with --production `npm run demo`: everything on this machine, from nothing.
import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { choosePort, prepareLocally, project, readEnvFiles, rememberPublicUrl } from './local'

const demoEmail = 'ada@example.com'
const production = process.argv.includes('--production')
const say = (line: string) => console.log(line)

async function run(): Promise<number> {
  readEnvFiles(production)
  const port = await choosePort()
  const release = await prepareLocally({ port, purpose: 'server', say })
  try {
    rememberPublicUrl()
    if (production) build()
    return await serve(port)
  } finally {
    await release()
  }
}

function build(): void {
  say('Building …')
  execFileSync(process.execPath, [`${project}node_modules/next/dist/bin/next`, 'build'], {
    stdio: ['ignore', 'ignore', 'inherit'],
    cwd: project,
  })
}

/** Runs the server until it ends or is told to; answers its exit code. */
async function serve(port: number): Promise<number> {
  say('Starting the server …')
  const mode = production ? [] : ['--dev']
  const server = spawn(process.execPath, [`${project}bin/server.mjs`, ...mode], {
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
    env: { ...process.env, PORT: String(port) },
  })
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => server.kill('SIGTERM'))
  const exited = once(server, 'exit')
  server.once('message', () => void welcome().catch((error: Error) => console.error(error.message)))
  const [code] = await exited
  return code ?? 0
}

async function welcome(): Promise<void> {
  const { PUBLIC_URL } = process.env
  // development compiles a page when it is first asked for: do it now, while the code in the link still lives
  for (const path of ['/', '/sso/callback', '/reset-password', '/api/auth/sso/exchange', '/api/auth/reset-password'])
    await fetch(`${PUBLIC_URL}${path}`)
  const { issueLinks } = await import('./links')
  const links = async () => {
    const { signIn, reset } = await issueLinks(demoEmail)
    say(
      `\nFor ${demoEmail}, each good for one use:\n  sign in (within 60 seconds)   ${signIn.url}\n  set a password (within 1 h)   ${reset.url}`,
    )
    say(process.stdin.isTTY ? '\nEnter makes two new ones, Ctrl-C stops.' : '\nCtrl-C stops.')
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
