// The server outside Vercel: Next.js behind Node's own, for what `next start` leaves out.
//   - The address of the socket is appended to X-Forwarded-For, as any proxy does. `next start` would keep what the client sent,
//     and a route has no other way to learn who is there (see lib/http/client-address.ts).
//   - One client can hold a bounded part of the process (see server/admission.mjs), and reach our code only (server/request.mjs).
//   - Every response has the security headers that concern a whole site.
// Pages are compressed. Requests that are too slow are cut off. On SIGTERM or SIGINT, requests under way are finished.
import { existsSync } from 'node:fs'
import { createServer, STATUS_CODES } from 'node:http'
import { fileURLToPath } from 'node:url'
import nextEnv from '@next/env'
import compression from 'compression'
import next from 'next'
import pino from 'pino'
import sirv from 'sirv'
import { clientNetwork, networkOf } from '../lib/http/client-network.mjs'
import { Admission } from './server/admission.mjs'
import {
  boundPieces,
  bringsTooMuch,
  plainUrl,
  problemOf,
  removeInternalHeaders,
  replaceUnknownMethod,
} from './server/request.mjs'

const dir = fileURLToPath(new URL('..', import.meta.url))
const dev = process.argv.includes('--dev')
process.env.NODE_ENV = dev ? 'development' : 'production'
process.env.NEXT_TELEMETRY_DISABLED ??= '1'
process.env.VERCEL = '' // an env file pulled from Vercel sets it, and its headers would then be trusted from anybody
nextEnv.loadEnvConfig(dir, dev, { info: () => {}, error: console.error })
process.chdir(dir)

const port = Number(process.env.PORT || 3000)
const trustedProxies = Number(process.env.TRUSTED_PROXIES || 0)
const siteHeaders = {
  'X-Content-Type-Options': 'nosniff',
  ...(process.env.PUBLIC_URL?.startsWith('https:') && {
    'Strict-Transport-Security': 'max-age=63072000; includeSubDomains',
  }),
}

if (!dev && !existsSync('.next/BUILD_ID')) {
  console.error('There is no production build yet: npm run build')
  process.exit(1)
}

const log = pino({
  level: process.env.LOG_LEVEL || 'info',
  base: null,
  timestamp: pino.stdTimeFunctions.isoTime,
  formatters: { level: (label) => ({ level: label }) },
})
const server = createServer({
  requireHostHeader: false, // Node's own response would have none of our headers, and close the connection under later requests
  headersTimeout: 15_000,
  requestTimeout: 30_000,
  keepAliveTimeout: 75_000,
  connectionsCheckingInterval: 5_000,
})
server.timeout = 60_000 // for a client that stopped reading its response
const admission = new Admission(
  server,
  (socket) => (trustedProxies > 0 ? null : networkOf(socket.remoteAddress ?? '')),
  reportSometimes(),
)

// The host is not for Next.js: from 127.0.0.1 it would make addresses of localhost, and take its own rewrites for another server's.
// The upgrades of WebSockets it needs in development alone: elsewhere it would keep their sockets for ever.
const app = next({ dev, dir, port, hostname: 'localhost', httpServer: dev ? server : createServer() })
let stopping = false
for (const event of ['SIGTERM', 'SIGINT', 'disconnect']) process.on(event, stop) // disconnect: bin/dev.ts was killed
await app.prepare()
const handle = app.getRequestHandler()
const compress = compression()
// Compressed at build time, and found without Next.js: files are in no limit, so they have to be cheap.
const sendFile = dev
  ? null
  : sirv('.next/static', { immutable: true, maxAge: 31_536_000, gzip: true, onNoMatch: noSuchFile })
if (!dev) server.on('upgrade', (_request, socket) => socket.destroy())

server.on('request', (request, response) => take(request, response, respond))
server.on('checkExpectation', (request, response) =>
  take(request, response, () => reject(response, 417, 'Unknown expectation.')),
)

function take(request, response, act) {
  for (const name in siteHeaders) response.setHeader(name, siteHeaders[name])
  // What of a body nobody has read by then, nobody will.
  response.once('finish', () => !request.complete && request.socket.destroySoon())
  admission.inOrder(request, response, () => act(request, response))
}

function respond(request, response) {
  const { headers } = request
  const problem = problemOf(request)
  if (problem) return reject(response, ...problem)
  const address = request.socket.remoteAddress ?? ''
  headers['x-forwarded-for'] = headers['x-forwarded-for'] ? `${headers['x-forwarded-for']}, ${address}` : address
  replaceUnknownMethod(request)
  request.url = plainUrl(request.url)
  if (!dev) removeInternalHeaders(headers)
  boundPieces(request)
  const [path] = request.url.split('?', 1)
  if (bringsTooMuch(request, path)) return reject(response, 413, 'This path accepts no such request body.')
  const network = clientNetwork(headers['x-forwarded-for'], trustedProxies)
  if (path.startsWith('/api/')) {
    // Its responses are too small to compress.
    const kind = request.method === 'GET' || request.method === 'HEAD' ? 'read' : 'write'
    admission.inTurn(kind, network, response, () => handle(request, response))
  } else if (sendFile && path.startsWith('/_next/')) {
    admission.inTurn('file', network, response, () => respondWithFile(request, response))
  } else {
    admission.inTurn('page', network, response, () => compress(request, response, () => handle(request, response)))
  }
}

/** Of `/_next/`, only the files of the build exist: pages of ours are loaded as documents, and no image is optimised. */
function respondWithFile(request, response) {
  const file = request.url.match(/^\/_next\/static(\/.*)$/)?.[1]
  if (!file || !['GET', 'HEAD'].includes(request.method)) return noSuchFile(request, response)
  request.url = file
  sendFile(request, response)
}

function noSuchFile(_request, response) {
  response
    .writeHead(404, { 'Cache-Control': 'no-store', 'Content-Type': 'text/plain; charset=utf-8' })
    .end('Not found.\n')
}

/** Responds without reading the body; the connection is closed, so that the rest of it is not read either. */
function reject(response, status, text) {
  response.req.push = () => true // what still arrives of the body is dropped
  response.writeHead(status, {
    Connection: 'close',
    'Cache-Control': 'no-store',
    'Content-Type': 'text/plain; charset=utf-8',
  })
  response.end(`${text}\n`)
}

// Node's own response to what is not HTTP, with our headers.
server.on('clientError', (error, socket) => {
  if (!socket.writable || admission.isResponding(socket)) return socket.destroy()
  const status = { HPE_HEADER_OVERFLOW: 431, ERR_HTTP_REQUEST_TIMEOUT: 408 }[error.code] ?? 400
  const headers = { ...siteHeaders, Connection: 'close', 'Content-Length': '0' }
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`)
  socket.end(`HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n${lines.join('')}\r\n`)
})

server.on('error', (error) => {
  console.error(error.code === 'EADDRINUSE' ? `Port ${port} is taken: set PORT to another one.` : error.message)
  process.exit(1)
})
server.listen(port, process.env.HOST || undefined, () => {
  console.log(`Listening on http://localhost:${port}`)
  process.send?.('listening') // to bin/dev.ts
})

async function stop() {
  if (stopping) return
  stopping = true
  if (dev || !server.listening) process.exit() // the connections of hot reload never end
  setTimeout(() => process.exit(), 30_000).unref() // for requests that are still not done by then
  await admission.stop()
  await app.close() // the work that requests left for `after()`
  await globalThis.flushSpans?.() // of lib/tracing.ts
  process.exit()
}

/** Logs the first connection that is closed early for a reason, and then how many more in each minute. */
function reportSometimes() {
  const counts = new Map()
  return (reason) => {
    const count = counts.get(reason)
    counts.set(reason, (count ?? 0) + 1)
    if (count !== undefined) return
    log.warn(`a connection was closed: ${reason}`)
    setTimeout(() => {
      const more = counts.get(reason) - 1
      counts.delete(reason)
      if (more > 0) log.warn({ count: more }, `more connections were closed in a minute: ${reason}`)
    }, 60_000).unref()
  }
}
