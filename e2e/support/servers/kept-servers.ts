import { isDeepStrictEqual } from 'node:util'
import { type Server, startServer } from './server'
import { sharedSettings } from './settings'

// The servers that the tests of this worker asked for. A server with shared settings runs
// until the worker ends. Any other server runs until the end of the test that asked for
// it, or of the file if no test was running.

type Settings = Record<string, string>
type Kept = {
  settings: Settings
  until: 'end of worker' | 'end of file' | 'end of test'
  started: Promise<Server>
}

let kept: Kept[] = []
let currentFile = ''
let isTestRunning = false

type Found = { server: Server; printedBefore: number }

/**
 * Returns the running server with equal settings, or starts it. `printedBefore` is the
 * length of its output before this call.
 */
export async function findOrStart(settings: Settings = {}): Promise<Found> {
  const found = kept.find((each) => isDeepStrictEqual(each.settings, settings))
  if (!found) return { server: await startAndKeep(settings), printedBefore: 0 }

  const server = await found.started
  return { server, printedBefore: server.output().length }
}

function startAndKeep(settings: Settings): Promise<Server> {
  const isShared = sharedSettings.some((each) => isDeepStrictEqual(each, settings))
  const own = isTestRunning ? 'end of test' : 'end of file'
  const until = isShared ? 'end of worker' : own

  const started = start(settings)
  kept.push({ settings, until, started })
  return started
}

/** Starts a server. Without settings, it is the one at PUBLIC_URL. */
function start(settings: Settings): Promise<Server> {
  const isDefault = Object.keys(settings).length === 0
  const PORT = new URL(process.env.PUBLIC_URL!).port
  return startServer(isDefault ? { PORT } : settings)
}

/** Stops the servers of the previous file if a test of another file begins. */
export async function beginFile(file: string): Promise<void> {
  if (file === currentFile) return
  currentFile = file
  await stopServers(['end of file'])
}

export async function beginTest(file: string): Promise<void> {
  await beginFile(file)
  isTestRunning = true
}

export async function endTest(): Promise<void> {
  isTestRunning = false
  await stopServers(['end of test'])
}

/** Stops all servers, or only those that run until one of these events. */
export async function stopServers(
  events: Kept['until'][] = ['end of worker', 'end of file', 'end of test'],
): Promise<void> {
  const over = kept.filter(({ until }) => events.includes(until))
  kept = kept.filter((each) => !over.includes(each))
  await Promise.all(over.map(({ started }) => started.then(stop, ignoreFailedStart)))
}

const stop = (server: Server) => server.stop()
const ignoreFailedStart = () => {} // the test that asked has failed
