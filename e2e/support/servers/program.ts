import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, realpathSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'

export type Program = { output: () => string; stop: () => Promise<void> }

const running = new Set<ChildProcess>()
process.once('exit', () => {
  for (const child of running) child.kill()
})

/**
 * Starts a program in the foreground and waits until it is ready. Its output is not
 * searched for secrets, because third-party servers may log them.
 */
export async function startProgram(
  command: string[],
  isReady: () => Promise<boolean>,
  settings: Record<string, string> = {},
): Promise<Program> {
  const [program, ...parameters] = command
  const child = spawn(program!, parameters, {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...process.env, ...settings },
  })
  const printed: string[] = []
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', (chunk: Buffer) => printed.push(chunk.toString()))
  const output = () => printed.join('')
  let failure: Error | undefined
  child.on('error', (error) => (failure = error))
  const isRunning = () => !failure && child.exitCode === null && child.signalCode === null
  running.add(child)
  while (isRunning() && !(await isReady())) await sleep(50)
  if (!isRunning())
    throw new Error(`${program} did not start: ${failure?.message ?? ''}\n${output()}`)
  return {
    output,
    stop: async () => {
      running.delete(child)
      if (!isRunning()) return
      const exited = once(child, 'exit')
      child.kill('SIGTERM')
      await exited
    },
  }
}

/** Returns whether a server responds at a URL. */
export async function responds(url: string): Promise<boolean> {
  return fetch(url, { redirect: 'manual' }).then(
    (response) => response.ok,
    () => false,
  )
}

/** Creates a temporary folder for the configuration and the data of a program. */
export function temporaryFolder(name: string): { path: string; remove: () => void } {
  const path = mkdtempSync(join(realpathSync(tmpdir()), `${name}-`))
  return { path, remove: () => rmSync(path, { recursive: true, force: true }) }
}
