// Locks and registrations between processes, as files. An entry outlives a process that is killed,
// and process IDs are reused, so every file names its owner by process ID and start time.
import { randomUUID } from 'node:crypto'
import fs from 'node:fs'
import { dirname } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'

const lockMs = 120_000

/**
 * Runs `work` while no other process holds the lock file. A lock whose owner is dead is removed.
 */
export async function underLock<Result>(lock: string, work: () => Promise<Result>): Promise<Result> {
  for (const giveUpAt = Date.now() + lockMs; !createFile(lock, ownEntryName()); await sleep(50)) {
    breakIfAbandoned(lock)
    if (Date.now() > giveUpAt)
      throw new Error(
        `Another process has held ${lock} for ${lockMs / 1000} s. If no other process is running, delete ${lock}*`,
      )
  }
  try {
    return await work()
  } finally {
    fs.rmSync(lock, { force: true })
  }
}

/** A unique name for a file that belongs to this process. */
export function ownEntryName(): string {
  return `${processMark(process.pid)}.${randomUUID()}`
}

/** Whether the process that owns an entry is still running. */
export function isAlive(entryName: string): boolean {
  const [mark = ''] = entryName.split('.')
  return processMark(Number.parseInt(mark, 10)) === mark
}

/**
 * The process ID, on Linux with the start time of the process, or undefined if there is no such
 * process.
 */
export function processMark(pid: number): string | undefined {
  try {
    if (process.platform !== 'linux') return process.kill(pid, 0) ? String(pid) : undefined
    const stat = fs.readFileSync(`/proc/${pid}/stat`, 'latin1')
    const [state, ...more] = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
    return state === 'Z' || state === 'X' ? undefined : `${pid}-${more[18]}`
  } catch (error) {
    return codeOf(error) === 'EPERM' ? String(pid) : undefined
  }
}

export const codeOf = (error: unknown) => (error as NodeJS.ErrnoException).code

/** The content of a file; empty if it can't be read. */
export function readIfThere(file: string): string {
  try {
    return fs.readFileSync(file, 'utf8')
  } catch {
    return ''
  }
}

/**
 * Several processes may find the same abandoned lock. Only the one that creates the claim file may
 * remove the lock, and only after reading it again: a slower process would remove the next owner's.
 */
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
      throw new Error(
        `${dirname(file)} belongs to another user: run the command as that user, or delete the folder and its data.`,
      )
    throw error
  }
}
