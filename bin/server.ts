// The server outside Vercel. docs/decisions/0003-own-server.md explains what it adds to
// Next.js and a reverse proxy.
import { AsyncResource } from 'node:async_hooks'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import nextEnv from '@next/env'
import next from 'next'
import { getHealth } from '../lib/contract/routes'
import { pickAddress } from '../lib/http/address'
import { hideSecretsOfPage } from '../lib/http/hide-secrets'
import { hasForeignHost, rejectForeignHost } from './dev/foreign-host'

const methods = new Set(['GET', 'HEAD', 'OPTIONS', 'POST', 'PUT', 'PATCH', 'DELETE'])
/**
 * Only Next.js or Vercel may send these headers, which skip a route, change its path, or
 * select its response.
 */
const internalHeader =
  /^(rsc|purpose|next-.*|x-(action|edge|invoke|matched|middleware|next|nextjs|now|prerender|vercel)-.*)$/
/**
 * The cookies of lib/session/cookie.ts, and the language. Cookies of other apps are not
 * passed to Next.js.
 */
const ownCookie =
  /(?<=^|; ?)(__Host-)?(session|refresh|browser|known|challenge|ask|again|language)=[^;]*/g

/**
 * Serves on PORT and HOST. On SIGTERM, finishes the requests in progress and ends the
 * process.
 */
async function serve(dev: boolean): Promise<void> {
  const dir = fileURLToPath(new URL('..', import.meta.url))
  Object.assign(process.env, {
    NODE_ENV: dev ? 'development' : 'production',
    NEXT_TELEMETRY_DISABLED: '1',
  })

  process.env.VERCEL = '' // An env file from Vercel sets VERCEL. Any client could then forge Vercel's headers.
  nextEnv.loadEnvConfig(process.cwd(), dev, { info: () => {}, error: console.error })
  process.chdir(dir)

  // If the reader of the log has ended, logging without a listener would throw an
  // uncaught exception.
  for (const stream of [process.stdout, process.stderr]) stream.on('error', () => {})
  const built = '.next/required-server-files.json' // contains the values of next.config.mjs
  if (!dev)
    process.env.__NEXT_PRIVATE_STANDALONE_CONFIG = JSON.stringify(
      JSON.parse(readFileSync(built, 'utf8')).config,
    )

  const [port, trustedProxies] = [
    Number(process.env.PORT || 3000),
    Number(process.env.TRUSTED_PROXIES || 0),
  ]

  // keepAliveTimeout is longer than in proxies, so that a proxy never reuses a connection
  // that is just closing.
  const timeouts = {
    headersTimeout: 15_000,
    requestTimeout: 30_000,
    keepAliveTimeout: 75_000,
  }

  const server = createServer({ maxHeaderSize: 64 * 1024, ...timeouts })
  server.timeout = 60_000 // ends connections of clients that stopped reading a response
  server.maxConnections = 4_000
  server.maxRequestsPerSocket = 1_000 // limits the requests that a client can pipeline

  // Next.js does not receive HOST, because it would then send its rewrites to 127.0.0.1
  // as requests to another server. It receives upgrades only in development, for hot
  // reload. In production, it would never close their sockets.
  const app = next({
    dev,
    dir,
    port,
    hostname: 'localhost',
    httpServer: dev ? server : createServer(),
  })

  server.on('upgrade', (request, socket) => {
    if (!dev || hasForeignHost(request)) socket.destroy()
  })

  let isStopping = false
  let inProgress = 0

  async function stop(acceptMs: number) {
    if (isStopping) return

    isStopping = true
    if (dev || !server.listening) process.exit() // connections for hot reload never close

    const isTooLate = new Promise((resolve) => setTimeout(resolve, 30_000, true))
    await sleep(acceptMs)

    // first accepts the queued connections, because close() would reset them
    await new Promise(setImmediate)
    server.close()
    do if (await Promise.race([isTooLate, sleep(50)])) break
    while (inProgress > 0)
    server.closeAllConnections() // close() keeps connections that have sent no request
    await Promise.race([isTooLate, app.close()]) // waits for callbacks of `after()`
    await globalThis.flushSpans?.() // see lib/log/tracing.ts
    process.exit()
  }

  process.on('SIGTERM', () => stop(Number(process.env.DRAIN_MS || 5_000))) // gives the proxy time to detect the stop
  for (const event of ['SIGINT', 'disconnect']) process.on(event, () => stop(0)) // disconnect: bin/dev/dev.ts was killed
  await app.prepare()
  const handle = app.getRequestHandler()
  const admit = limitPerClient()

  function respond(request: IncomingMessage, response: ServerResponse) {
    if (dev && rejectForeignHost(request, response)) return // the preview signs anybody in

    inProgress++
    response.once('close', () => inProgress--)
    const { url = '', headers } = request
    response.shouldKeepAlive &&= !isStopping
    if (isStopping && url.startsWith(getHealth.path))
      return reject(response, 503, 'This process is about to stop.')

    const isTooLong = url.length > 8 * 1024 || url.split('&', 101).length > 100
    if (isTooLong && !headers.accept?.includes('text/html'))
      return reject(response, 414, 'The URL is too long.')
    if (isTooLong) request.url = '/long-url' // app/_proxy/respond.ts responds with a page

    try {
      decodeURIComponent(url.split('?', 1)[0] ?? '')
    } catch {
      return reject(response, 400, 'The path of the URL is malformed.') // Next.js would respond with 500
    }

    if (!methods.has(request.method ?? '')) request.method = 'DELETE' // Next.js fails on other methods

    hideSecretsOfPage(request)

    if (!dev) {
      for (const name in headers) if (internalHeader.test(name)) delete headers[name]
      if (headers.cookie)
        headers.cookie = headers.cookie.match(ownCookie)?.join('; ') ?? ''
    }

    // Next.js compresses responses of every size. Those of the API are small, and have
    // secrets.
    if (url.startsWith('/api/')) delete headers['accept-encoding']

    forbidTransform(response)

    const forwardedFor = [
      headers['x-forwarded-for'] ?? [],
      request.socket.remoteAddress ?? '',
    ]
      .flat()
      .join(', ')

    headers['x-forwarded-for'] = forwardedFor

    const isAdmitted = admit(pickAddress(forwardedFor, trustedProxies), response, () =>
      handle(request, response).catch((error: unknown) => {
        console.error(error)
        if (response.headersSent) response.destroy()
        else reject(response, 500, 'Something went wrong.')
      }),
    )

    if (!isAdmitted)
      reject(response.setHeader('Retry-After', 5), 503, 'Too many requests are waiting.')
  }

  server.on('request', (request, response) => {
    // The response to a pipelined request gets its socket after the earlier responses
    // were sent.
    if (response.socket) respond(request, response)
    else response.once('socket', () => respond(request, response))
  })

  await once(
    server.listen({ port, host: process.env.HOST || '127.0.0.1', backlog: 1_024 }),
    'listening',
  )

  console.log(`Listening on http://localhost:${port}`)
  process.send?.('listening') // for tests and the benchmark
}

function reject(response: ServerResponse, status: number, text: string): void {
  response.writeHead(status, {
    'Content-Type': 'text/plain; charset=utf-8',
    'Cache-Control': 'no-store',
  })
  response.end(`${text}\n`)
}

/**
 * Adds no-transform to pages, which may have secrets. Adds it last: Next.js does not
 * compress pages that have it.
 */
function forbidTransform(response: ServerResponse): void {
  const writeHead = response.writeHead.bind(response) as (
    ...parameters: unknown[]
  ) => ServerResponse
  response.writeHead = (...parameters: unknown[]) => {
    const isPage = `${response.getHeader('Content-Type')}`.startsWith('text/html')
    if (isPage) response.setHeader('Cache-Control', 'no-store, no-transform')
    return writeHead(...parameters)
  }
}

/**
 * Queues a request if its client has 16 in progress. Returns false if the client has 256
 * queued already.
 */
function limitPerClient(): (
  client: string,
  response: ServerResponse,
  start: () => void,
) => boolean {
  const clients = new Map<string, { running: number; waiting: Set<() => void> }>()
  const outside = new AsyncResource('Server') // so that no request runs in the async context of another one
  const arrived: (() => void)[] = []
  const startAll = () => void arrived.splice(0).map((start) => start())

  return (client, response, start) => {
    const requests = clients.get(client) ?? { running: 0, waiting: new Set() }
    if (requests.running >= 16 && requests.waiting.size >= 256) return false

    clients.set(client, requests)

    function run() {
      requests.waiting.delete(run)
      requests.running++

      response.once('close', () => {
        requests.running--
        for (const next of requests.waiting) return next()
        if (requests.running === 0) clients.delete(client)
      })

      // Requests that start together send their statements together, so one iteration of
      // the event loop handles all results. Waits for two iterations, until the requests
      // that follow the last responses have arrived.
      const count = arrived.push(() => !response.destroyed && start())
      if (count === 1)
        outside.runInAsyncScope(() => setImmediate(() => setImmediate(startAll)))
    }

    if (requests.running < 16) run()
    else
      response.once('close', () => requests.waiting.delete(run)) &&
        requests.waiting.add(run)

    return true
  }
}

serve(process.argv.includes('--dev')).catch((error: Error) => {
  console.error(error.message)
  process.exit(1)
})
