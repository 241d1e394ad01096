import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import {
  closeSync,
  cpSync,
  existsSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
} from 'node:fs'
import { connect } from 'node:net'
import { relative } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { project } from '../bin/dev/local'
import { freePort } from '../e2e/support/servers/server'

const folder = `${project}.data/bench/`
mkdirSync(folder, { recursive: true })

/** The PUBLIC_URL of every server. With another host, pages would redirect to it. */
export const benchUrl = 'http://127.0.0.1'

export type Server = { url: string; process: ChildProcess; stop: () => Promise<void> }

/**
 * Builds a copy of the working tree or of a commit, and returns its folder. It builds a
 * copy so that the `.next` of the project stays as it is.
 */
export function buildProduct(commit?: string): string {
  const target = emptyFolder(
    commit ? `product-${commit.replaceAll(/\W/g, '-')}` : 'product',
  )
  if (commit) {
    execFileSync('tar', ['-x', '-C', target], {
      cwd: project,
      input: execFileSync('git', ['archive', commit], { cwd: project, maxBuffer: 1e9 }),
    })
    // Not with the commit's own configuration, because that may import packages that are
    // no longer installed.
    const ofCommit = ['--schema', `${target}prisma/schema.prisma`]
    node(
      project,
      'prisma-cli/build/index.js',
      'generate',
      '--config',
      `${project}prisma/config.ts`,
      ...ofCommit,
    )
    rmSync(`${target}prisma/config.ts`)
  } else {
    const parts =
      'app bin lib prisma public instrumentation.ts next.config.mjs raw-files.d.ts proxy.ts package.json tsconfig.json'
    for (const part of parts.split(' '))
      cpSync(project + part, target + part, { recursive: true })
  }
  const all = readdirSync(target, { recursive: true, encoding: 'utf8' })
  const unused = all.filter((file) => /\.(spec|preview)\.ts$/.test(file))
  for (const part of ['bench', 'e2e', ...unused])
    rmSync(target + part, { recursive: true, force: true })
  // Without a lock file, Next.js uses the project folder, which has node_modules, as the
  // root.
  rmSync(`${target}package-lock.json`, { force: true })
  if (!existsSync(`${target}bin/build.ts`)) return build(target) // a commit that makes no production folder
  run(target, process.execPath, '--import', 'tsx', 'bin/build.ts')
  return `${target}.next/standalone/${relative(project, target)}/`
}

/**
 * Builds the floor, an app with two bare routes and an empty page, and returns its
 * folder.
 */
export function buildFloor(): string {
  const target = emptyFolder('floor')
  cpSync(`${project}bench/floor`, target, { recursive: true })
  for (const part of ['package.json', 'tsconfig.json'])
    cpSync(project + part, target + part)
  return build(target)
}

/**
 * Builds an app of bench/peers with the floor's settings, and returns its folder.
 * Installs only the packages that the project lacks. Next.js, React, pg and bcrypt are
 * those of the project.
 */
export function buildPeer(name: string): string {
  const target = emptyFolder(name)
  for (const part of [
    'app/layout.tsx',
    'instrumentation.ts',
    'next.config.mjs',
    'pool.ts',
    'proxy.ts',
  ])
    cpSync(`${project}bench/floor/${part}`, target + part)
  cpSync(`${project}tsconfig.json`, `${target}tsconfig.json`)
  installTool(`peers/${name}`, target)
  rmSync(`${target}package-lock.json`) // as in buildProduct
  return build(target)
}

/**
 * Copies a folder of bench/ that has its own lock file, installs its packages, and
 * returns the copy.
 */
export function installTool(name: string, target = emptyFolder(name)): string {
  cpSync(`${project}bench/${name}`, target, { recursive: true })
  run(target, 'npm', 'ci', '--no-audit', '--no-fund')
  return target
}

/**
 * Starts a built app: the product as `npm start` does, other apps with `next start`. The
 * output goes to a file, which is deleted when the server stops.
 */
export async function startServer(
  built: string,
  settings: Record<string, string>,
): Promise<Server> {
  const address = { HOST: '127.0.0.1', PORT: String(await freePort()) }
  const url = `http://${address.HOST}:${address.PORT}`
  const logFile = `${folder}server-${address.PORT}.log`
  const log = openSync(logFile, 'w')
  // Older commits have bin/server.mjs or bin/server.ts.
  const program = ['bin/server.js', 'bin/server.mjs', 'bin/server.ts'].find((file) =>
    existsSync(built + file),
  )
  const next = [
    `${project}node_modules/next/dist/bin/next`,
    'start',
    '--hostname',
    '127.0.0.1',
  ]
  const ofProduct = [
    ...(program?.endsWith('.ts') ? ['--import', 'tsx'] : []),
    built + program,
  ]
  const server = spawn(process.execPath, program ? ofProduct : next, {
    cwd: built,
    stdio: ['ignore', log, log, 'ipc'],
    env: {
      ...process.env,
      ...{ PUBLIC_URL: benchUrl, PASSWORD_BREACH_CHECK: 'false' },
      ...settings,
      ...address,
    },
  })
  closeSync(log)
  const ended = once(server, 'exit').then(([code]) => {
    throw new Error(
      `the server in ${built} exited with ${code}:\n${readFileSync(logFile, 'utf8')}`,
    )
  })
  const isReady = async () => {
    while (!(await accepts(Number(address.PORT)))) await sleep(5)
  }
  await Promise.race([program ? once(server, 'message') : isReady(), ended])
  ended.catch(() => {})
  const stop = async () => {
    await end(server)
    rmSync(logFile)
  }
  return { url, process: server, stop }
}

/** Whether a server accepts connections. Sends no request, because the first one counts. */
function accepts(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1')
    const end = (isOpen: boolean) => {
      socket.destroy()
      resolve(isOpen)
    }
    socket.once('connect', () => end(true)).once('error', () => end(false))
  })
}

/**
 * Returns the CPU time that all threads of a process have used. Returns 0 on other
 * systems than Linux.
 */
export function cpuMsOf({ pid }: ChildProcess): number {
  if (process.platform !== 'linux') return 0
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
  const [, user, system] = /\) (?:\S+ ){11}(\d+) (\d+)/.exec(stat)!
  return (Number(user) + Number(system)) * 10
}

function emptyFolder(name: string): string {
  rmSync(folder + name, { recursive: true, force: true })
  mkdirSync(folder + name, { recursive: true })
  return `${folder}${name}/`
}

function build(target: string): string {
  node(target, 'next/dist/bin/next', 'build')
  return target
}

function node(cwd: string, program: string, ...parameters: string[]): void {
  run(cwd, process.execPath, `${project}node_modules/${program}`, ...parameters)
}

function run(cwd: string, program: string, ...parameters: string[]): void {
  try {
    execFileSync(program, parameters, {
      cwd,
      stdio: 'pipe',
      env: { ...process.env, NODE_ENV: 'production' },
    })
  } catch (error) {
    const { stdout, stderr } = error as { stdout: Buffer; stderr: Buffer }
    throw new Error(
      `${[program, ...parameters].join(' ')} failed in ${cwd}:\n${stdout}${stderr}`,
    )
  }
}

async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  const exited = once(child, 'exit')
  child.kill('SIGTERM')
  await exited
}
