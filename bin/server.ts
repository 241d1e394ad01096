// The server outside Vercel. docs/decisions/0003-own-server.md explains what it adds to
// Next.js and a reverse proxy.
import { once } from 'node:events'
import {
  createServer,
  type IncomingMessage,
  type Server,
  type ServerResponse,
} from 'node:http'
import { fileURLToPath } from 'node:url'
import next from 'next'
import { getHealth } from '../lib/contract/routes'
import { pickAddress } from '../lib/http/address'
import { explainInvalid } from '../lib/settings/env-file'
import { hasMetrics } from '../lib/settings/has-metrics'
import { hasForeignHost, rejectForeignHost } from './dev/foreign-host'
import { createBoundedServer } from './server/bounded-server'
import { limitPerClient } from './server/client-limit'
import { measureRequest } from './server/measure'
import { prepareProcess } from './server/process'
import { findProblem, sanitizeRequest } from './server/request'
import { forbidTransform, reject } from './server/response'
import { type Activity, stopOnSignals } from './server/stop'
import { describeVersion } from './server/version'

type Respond = (request: IncomingMessage, response: ServerResponse) => void
type Handle = (request: IncomingMessage, response: ServerResponse) => Promise<void>

/**
 * Serves on PORT and HOST. On SIGTERM, finishes the requests in progress and ends the
 * process.
 */
async function serve(dev: boolean): Promise<void> {
  const dir = fileURLToPath(new URL('..', import.meta.url))
  prepareProcess(dir, dev)
  const port = readPort(process.env.PORT || '3000')
  const host = readHost(process.env.HOST)

  // Next.js does not receive HOST, because it would then send its rewrites to 127.0.0.1
  // as requests to another server. It receives upgrades only in development, for hot
  // reload. In production, it would never close their sockets.
  const server = createBoundedServer()
  const httpServer = dev ? server : createServer()
  const app = next({ dev, dir, port, hostname: 'localhost', httpServer })

  server.on('upgrade', (request, socket) => {
    if (!dev || hasForeignHost(request)) socket.destroy()
  })

  const activity = stopOnSignals({ server, app, dev })
  await app.prepare()
  acceptRequests(server, createResponder(app.getRequestHandler(), activity, dev))

  await once(server.listen({ port, host, backlog: 1_024 }), 'listening')

  console.log(`Listening on http://localhost:${port} (${describeVersion(dir)})`)
  process.send?.('listening') // for tests and the benchmark
}

function readPort(text: string): number {
  const port = Number(text)
  if (Number.isInteger(port) && port >= 0 && port < 65_536) return port

  throw new Error(`PORT must be a whole number below 65536${explainInvalid(text)}.`)
}

function readHost(given = ''): string {
  const host = given.trim() || '127.0.0.1'
  if (/^[\w.:%-]+$/.test(host)) return host

  throw new Error(`HOST must be an IP address or a host name${explainInvalid(given)}.`)
}

function acceptRequests(server: Server, respond: Respond): void {
  server.on('request', (request, response) => {
    // The response to a pipelined request gets its socket after the earlier responses
    // were sent.
    if (response.socket) respond(request, response)
    else response.once('socket', () => respond(request, response))
  })
}

/** Returns a function that rejects a request, or passes it to Next.js (`handle`). */
function createResponder(handle: Handle, activity: Activity, dev: boolean): Respond {
  const trustedProxies = Number(process.env.TRUSTED_PROXIES || 0)
  const admit = limitPerClient()
  const isMeasured = hasMetrics()

  return (request, response) => {
    if (dev && rejectForeignHost(request, response)) return // the preview signs anybody in

    if (isMeasured) measureRequest(request.url ?? '', response)
    activity.inProgress++
    response.once('close', () => activity.inProgress--)
    if (activity.isStopping) response.shouldKeepAlive = false
    if (activity.isStopping && request.url?.startsWith(getHealth.path))
      return reject(response, 503, 'This process is about to stop.')

    const problem = findProblem(request)
    if (problem) return reject(response, ...problem)

    sanitizeRequest(request, dev)
    forbidTransform(response)

    const { headers } = request
    const forwardedFor = [
      headers['x-forwarded-for'] ?? [],
      request.socket.remoteAddress ?? '',
    ]
      .flat()
      .join(', ')

    headers['x-forwarded-for'] = forwardedFor

    const isAdmitted = admit(pickAddress(forwardedFor, trustedProxies), response, () =>
      answer(handle, request, response),
    )

    if (!isAdmitted)
      reject(response.setHeader('Retry-After', 5), 503, 'Too many requests are waiting.')
  }
}

async function answer(
  handle: Handle,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  try {
    await handle(request, response)
  } catch (error) {
    console.error(error)
    if (response.headersSent) response.destroy()
    else reject(response, 500, 'Something went wrong.')
  }
}

serve(process.argv.includes('--dev')).catch((error: Error) => {
  console.error(error.message)
  process.exit(1)
})
