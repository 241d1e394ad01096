import { execFileSync } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import type { AddressInfo } from 'node:net'
import { connect, createServer, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import { startEmbeddedPostgres } from '../../../bin/dev/postgres'
import { applyMigrations } from '../../../prisma/migrate'
import { otherTimeZone } from './own-database'

export type BreakablePostgres = {
  /**
   * The URL for servers. It stays the same if PostgreSQL restarts on another port. The
   * URL's role is no superuser.
   */
  url: string
  /**
   * Queries the database directly, which works even while the servers are disconnected.
   */
  sql: (text: string, values?: unknown[]) => Promise<Record<string, any>[]>
  kill: () => void
  shutDown: () => Promise<void>
  restart: () => Promise<void>
  /** Stops PostgreSQL with `stop`, and starts it half a second later. */
  restartAfter: (stop: () => unknown) => Promise<void>
  freeze: () => void
  thaw: () => void
  /** Passes on no more responses to the present connections of the servers. */
  mute: () => void
  /** Closes all connections of the servers, and rejects new ones. */
  unplug: () => void
  plug: () => void
  stop: () => Promise<void>
}

/** Starts a separate PostgreSQL, which a test can break, with a migrated database. */
export async function startBreakablePostgres(): Promise<BreakablePostgres> {
  const folder = mkdtempSync(join(tmpdir(), 'breakable-'))
  let embedded = await startEmbeddedPostgres(folder)
  const sockets = new Set<Socket>()
  const responding = new Set<Socket>()
  let plugged = true
  const cable = createServer((socket) => {
    if (!plugged) return void socket.resetAndDestroy()
    const onward = connect(Number(new URL(embedded.url).port), '127.0.0.1')
    responding.add(onward)
    onward.on('close', () => responding.delete(onward))
    for (const [from, to] of [
      [socket, onward],
      [onward, socket],
    ] as const) {
      sockets.add(from)
      from.on('error', () => to.destroy())
      from.on('close', () => {
        sockets.delete(from)
        to.destroy()
      })
      from.pipe(to)
    }
  }).listen(0, '127.0.0.1')
  await once(cable, 'listening')
  const url = `postgresql://app:app@127.0.0.1:${(cable.address() as AddressInfo).port}/postgres`

  const sql = async (text: string, values?: unknown[]) => {
    const client = new pg.Client({ connectionString: embedded.url })
    await client.connect()
    const { rows } = await client.query(text, values).finally(() => client.end())
    return rows
  }
  await applyMigrations(embedded.url)
  await sql(`ALTER DATABASE postgres SET timezone = '${otherTimeZone}'`)
  await sql(
    `CREATE ROLE app LOGIN PASSWORD 'app'; GRANT ALL ON ALL TABLES IN SCHEMA public TO app`,
  )

  const postmaster = () =>
    Number(readFileSync(join(folder, 'data/postmaster.pid'), 'utf8').split('\n')[0])
  const signalAll = (signal: NodeJS.Signals) => {
    for (const pid of [postmaster(), ...childrenOf(postmaster())]) {
      if (isAlive(pid)) process.kill(pid, signal) // the process may have just exited
    }
  }
  const restart = async () => {
    embedded = await startEmbeddedPostgres(folder)
  }
  return {
    url,
    sql,
    kill: () => process.kill(postmaster(), 'SIGKILL'),
    shutDown: async () => {
      const pid = postmaster()
      process.kill(pid, 'SIGINT') // SIGINT makes PostgreSQL shut down fast
      while (isAlive(pid)) await sleep(20)
    },
    restart,
    restartAfter: async (stop) => {
      await stop()
      await sleep(500)
      await restart()
    },
    freeze: () => signalAll('SIGSTOP'),
    thaw: () => signalAll('SIGCONT'),
    mute: () => {
      for (const socket of responding) socket.unpipe()
    },
    unplug: () => {
      plugged = false
      for (const socket of sockets) socket.resetAndDestroy()
    },
    plug: () => {
      plugged = true
    },
    stop: async () => {
      cable.close()
      for (const socket of sockets) socket.destroy()
      if (existsSync(join(folder, 'data/postmaster.pid'))) {
        signalAll('SIGCONT') // a failed test may have left PostgreSQL frozen
        process.kill(postmaster(), 'SIGINT')
      }
      await expectGone(join(folder, 'data/postmaster.pid'))
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

function childrenOf(pid: number): number[] {
  if (!existsSync('/proc/self/stat')) {
    const table = execFileSync('ps', ['-A', '-o', 'pid=,ppid='], { encoding: 'utf8' })
    return table
      .trim()
      .split('\n')
      .map((line) => line.trim().split(/\s+/).map(Number))
      .filter(([, parent]) => parent === pid)
      .map(([child]) => child!)
  }
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map(Number)
    .filter((child) => parentOf(child) === pid)
}

function parentOf(pid: number): number | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'latin1')
    return Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[1])
  } catch {
    return undefined // the process has just exited
  }
}

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}

async function expectGone(file: string): Promise<void> {
  for (let tries = 0; existsSync(file) && tries < 250; tries++) await sleep(40)
}
