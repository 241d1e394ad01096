import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createWriteStream, mkdirSync } from 'node:fs'
import { createServer } from 'node:net'
import { fileURLToPath } from 'node:url'
import { preload } from './preload'

const project = fileURLToPath(new URL('../../..', import.meta.url))
export const logFolder = `${project}e2e/results/logs/`

/** The folder that production runs. */
export const production = `${project}.next/standalone/`

export type Server = {
  url: string
  process: ChildProcess
  output: () => string
  /** Returns the lines of the log that contain a text. */
  logged: (text: string) => Record<string, any>[]
  stop: () => Promise<void>
}

const running = new Set<ChildProcess>()
process.once('exit', () => {
  for (const each of running) each.kill('SIGKILL')
})

/**
 * Starts a server of the production build, with settings that override the environment.
 * Unless they have NODE_OPTIONS, passwords are hashed at the lowest cost. The folder of
 * another build is optional. The output is stored and searched for secrets after the run.
 *
 * The test must stop it. Use the fixture `serverWith` unless stopping, killing or
 * restarting the server is a part of the test.
 */
export async function startServer(
  settings: Record<string, string> = {},
  { folder = production }: { folder?: string } = {},
): Promise<Server> {
  const port = settings.PORT ?? String(await freePort())
  const url = `http://localhost:${port}`
  const server = spawn(process.execPath, [`${folder}bin/server.js`], {
    stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
    env: {
      ...process.env,
      PUBLIC_URL: url,
      DRAIN_MS: '1',
      ...preload('cheap-hash.mjs'),
      ...settings,
      PORT: port,
    },
  })
  running.add(server)
  server.once('exit', () => running.delete(server))
  mkdirSync(logFolder, { recursive: true })
  const file = createWriteStream(`${logFolder}server-${server.pid}.log`)
  const printed: string[] = []
  for (const stream of [server.stdout!, server.stderr!]) {
    stream.on('data', (chunk: Buffer) => printed.push(chunk.toString()))
    stream.pipe(file, { end: false })
  }
  const output = () => printed.join('')
  const logged = (text: string) => findLines(output(), text)
  const ended = once(server, 'exit').then(([code]) => {
    throw new Error(`the server exited with ${code}:\n${output()}`)
  })
  await Promise.race([once(server, 'message'), ended])
  ended.catch(() => {})
  const stop = async () => {
    if (server.exitCode !== null || server.signalCode !== null) return
    const closed = once(server, 'close') // after its output has been read
    server.kill('SIGTERM')
    await closed
  }
  return { url, process: server, output, logged, stop }
}

/** Shifts the clock of a server that has loaded shifted-clock.mjs. */
export async function shiftClock(
  { process }: Pick<Server, 'process'>,
  seconds: number,
): Promise<void> {
  const shifted = once(process, 'message')
  process.send({ clockShiftSeconds: seconds })
  await shifted
}

/** Returns the lines of a log that contain a text, without an incomplete last line. */
export function findLines(output: string, text: string): Record<string, any>[] {
  const lines = output.split('\n').slice(0, -1)
  return lines
    .filter((line) => line.startsWith('{') && line.includes(text))
    .map((line) => JSON.parse(line))
}

// These ports are below those that the system assigns to clients and `listen(0)`, and
// differ per Playwright worker, so nothing else can use a port before the server listens
// on it.
const firstPort = 11_000 + 2_000 * Number(process.env.TEST_PARALLEL_INDEX ?? 9)
/** The port of the fixture `smtp`. */
export const mailPort = firstPort + 1_999
let nextPort = firstPort + Math.floor(Math.random() * 1_000)

export async function freePort(): Promise<number> {
  for (;;) {
    const port = nextPort++
    const probe = createServer().listen(port)
    // rejects if another process uses the port
    const free = await once(probe, 'listening').then(
      () => true,
      () => false,
    )
    if (!free) continue
    probe.close()
    await once(probe, 'close')
    return port
  }
}
