// The server outside Vercel: Next.js behind a Node.js HTTP server, which adds what `next start`
// lacks.
//   - It appends the IP address of the socket to X-Forwarded-For, as a proxy does. `next start`
//     would keep the client's own header, and a route has no other source for the IP address (see
//     lib/http/client-address.ts).
//   - It limits what one client can occupy (see server/admission.mjs) and which parts of Next.js it
//     can reach (see server/request.mjs).
//   - It adds the site-wide security headers to every response.
// Pages are compressed. Slow requests are closed. On SIGTERM or SIGINT, requests in progress are
// finished.
import { existsSync } from 'node:fs'
import { createServer, STATUS_CODES } from 'node:http'
import { fileURLToPath } from 'node:url'
import nextEnv from '@next/env'
import compression from 'compression'
import next from 'next'
import pino from 'pino'
import { clientNetwork, networkOf } from '../lib/http/client-network.mjs'
import { Admission } from './server/admission.mjs'
import { addCrashText } from './server/crash.mjs'
import { readFiles, sendFile } from './server/files.mjs'
import { LargeForms } from './server/large-forms.mjs'
import {
  hasBody,
  hashToken,
  isBodyTooLarge,
  isLargeForm,
  isPageMethodUnknown,
  isPartOfOtherSite,
  isWrite,
  keptHeaders,
  kindOfRoute,
  lastEntries,
  limitChunks,
  plainUrl,
  problemOf,
  removeHeaders,
  replaceUnknownMethod,
} from './server/request.mjs'

const dir = fileURLToPath(new URL('..', import.meta.url))
const dev = process.argv.includes('--dev')
process.env.NODE_ENV = dev ? 'development' : 'production'
process.env.NEXT_TELEMETRY_DISABLED ??= '1'
process.env.VERCEL = '' // an env file pulled from Vercel sets it, and any client could then forge Vercel's headers
nextEnv.loadEnvConfig(dir, dev, { info: () => {}, error: console.error })
process.chdir(dir)

// Without a listener, a log on a full disk or that nobody reads any more is an uncaught exception. Next.js
// prints it, which is the next one.
for (const stream of [process.stdout, process.stderr]) stream.on('error', () => {})

const port = Number(process.env.PORT || 3000)
const trustedProxies = Number(process.env.TRUSTED_PROXIES || 0)
const siteHeaders = {
  'X-Content-Type-Options': 'nosniff',
  // as isHttps in lib/settings/https.ts
  ...(!/^\s*http:/i.test(process.env.PUBLIC_URL ?? '') && {
    'Strict-Transport-Security': 'max-age=63072000; includeSubDomains',
  }),
}

if (!dev && !existsSync('.next/BUILD_ID')) {
  console.error('There is no production build. Run npm run build first.')
  process.exit(1)
}

const log = pino({
  level: process.env.LOG_LEVEL || 'info',
  base: null,
  timestamp: pino.stdTimeFunctions.isoTime,
  formatters: { level: (label) => ({ level: label }) },
})
const server = createServer({
  // Node's own response would lack our headers and break later requests on the connection.
  requireHostHeader: false,
  headersTimeout: 15_000,
  requestTimeout: 30_000,
  keepAliveTimeout: 75_000,
  connectionsCheckingInterval: 5_000,
})
server.maxHeadersCount = keptHeaders
server.timeout = 60_000 // for a client that stopped reading its response
const report = throttledReport()
const admission = new Admission(
  server,
  (socket) => (trustedProxies > 0 ? null : networkOf(socket.remoteAddress ?? '')),
  report,
)
const largeForms = new LargeForms(report)

// Next.js does not get HOST: it turns 127.0.0.1 into localhost in URLs, and would then proxy its
// own rewrites as if they led to another server. It handles WebSocket upgrades only in development
// (for hot reload); in production it would never close their sockets.
const app = next({ dev, dir, port, hostname: 'localhost', httpServer: dev ? server : createServer() })
let stopping = false
for (const event of ['SIGTERM', 'SIGINT', 'disconnect']) process.on(event, stop) // disconnect: bin/dev.ts was killed
await app.prepare()
const handle = app.getRequestHandler()
const compress = compression({ level: 3 }) // half the time of the default, for 8 % more bytes
// Served without Next.js, and compressed at build time: no rate limit covers files, so they have to
// be cheap.
const files = dev
  ? null
  : new Map([
      // each name has a hash of the content
      ...readFiles('.next/static', '/_next/static', 'public, max-age=31536000, immutable'),
      ...readFiles('public', '', 'public, max-age=3600'),
    ])
// Browsers and bots request it even if no page links to it.
const icon = ['/brand/icon.svg', '/brand/icon.png', '/icon.svg'].find((path) => files?.has(path))
if (icon) files?.set('/favicon.ico', files.get(icon))
if (!dev) server.on('upgrade', (_request, socket) => socket.destroy())

server.on('request', (request, response) => admit(request, response, respond))
server.on('checkExpectation', (request, response) =>
  admit(request, response, () => reject(response, 417, 'Unknown expectation.')),
)

function admit(request, response, act) {
  for (const name in siteHeaders) response.setHeader(name, siteHeaders[name])
  if (hasBody(request)) closeIfUnread(request, response)
  limitChunks(request) // now, because Node.js reads the body of a request that waits
  admission.inOrder(request, response, () => act(request, response))
}

/**
 * Has the connection close after a response to a part of a request: nothing reads the rest of its
 * body. The response says so, or else the client could send its next request just then.
 */
function closeIfUnread(request, response) {
  const { writeHead } = response
  response.writeHead = (...parameters) => {
    // Node.js can run our code between the last byte of a body and the end of the request.
    const isPart = !request.complete && request.readableLength !== Number(request.headers['content-length'])
    if (isPart) response.shouldKeepAlive = false
    return writeHead.apply(response, parameters)
  }
}

function respond(request, response) {
  const { headers } = request
  const problem = problemOf(request)
  if (problem) return reject(response, ...problem)
  const ipAddress = request.socket.remoteAddress ?? ''
  const forwardedFor = headers['x-forwarded-for'] ? `${headers['x-forwarded-for']}, ${ipAddress}` : ipAddress
  headers['x-forwarded-for'] = lastEntries(forwardedFor, trustedProxies + 1)
  replaceUnknownMethod(request)
  hashToken(request)
  request.url = plainUrl(request.url)
  const [path] = request.url.split('?', 1)
  // Before the rate limit, which a script of another site could use up for its visitors.
  if (isPartOfOtherSite(request, path) && !files?.has(path))
    return reject(response, 403, 'Pages of other sites may link to this one, but not load it.', {
      'Content-Security-Policy': `frame-ancestors 'none'`,
    })
  // in development, the error overlay sends bodies of its own
  if (!dev && isBodyTooLarge(request, path))
    return reject(response, 413, 'This path does not accept this request body.')
  if (!dev && isPageMethodUnknown(request, path)) {
    return reject(response, 405, 'This page accepts GET and HEAD only.', { Allow: 'GET, HEAD' })
  }
  const network = clientNetwork(headers['x-forwarded-for'], trustedProxies)
  if (path.startsWith('/api/') || isWrite(request, path)) {
    // Not compressed: the responses are too small.
    if (isLargeForm(path)) largeForms.count(request, response, network)
    admission.inTurn(kindOfRoute(request, path), network, response, () => handleByNext(request, response))
  } else if (files?.has(path)) {
    admission.inTurn('file', network, response, () => sendFile(files.get(path), request, response))
  } else if (!dev && path.startsWith('/_')) {
    // Only build files exist there: our pages load as documents, and none uses image optimization. The
    // rest are pages of Next.js, such as its page for errors.
    admission.inTurn('file', network, response, () => respondWithNothing(response))
  } else {
    admission.inTurn('page', network, response, () => rendered(request, response))
  }
}

function handleByNext(request, response) {
  if (!dev) removeHeaders(request.headers) // takes time, so only in the request's turn
  return handle(request, response)
}

/** Resolves when Next.js has finished, also for a client that has gone. */
function rendered(request, response) {
  return new Promise((resolve) =>
    compress(request, response, () => {
      addCrashText(request, response)
      response.once('close', () => response.end()) // ends the compression for a client that has gone
      resolve(handleByNext(request, response))
    }),
  )
}

function respondWithNothing(response) {
  response
    .writeHead(404, { 'Cache-Control': 'no-store', 'Content-Type': 'text/plain; charset=utf-8' })
    .end('Not found.\n')
}

/**
 * Responds without reading the body, and closes the connection so that the rest of it is never
 * read.
 */
function reject(response, status, text, more = {}) {
  response.req.push = () => false // discards body data, and reads no more from the socket
  response.writeHead(status, {
    ...more,
    Connection: 'close',
    'Cache-Control': 'no-store',
    'Content-Type': 'text/plain; charset=utf-8',
  })
  response.end(`${text}\n`)
}

// Node's default response to malformed HTTP, with our headers.
server.on('clientError', (error, socket) => {
  if (!socket.writable || admission.isResponding(socket)) return socket.destroy()
  const status = { HPE_HEADER_OVERFLOW: 431, ERR_HTTP_REQUEST_TIMEOUT: 408 }[error.code] ?? 400
  const headers = { ...siteHeaders, Connection: 'close', 'Content-Length': '0' }
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`)
  socket.end(`HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n${lines.join('')}\r\n`)
  setTimeout(() => socket.destroy(), 1_000).unref() // the client may keep its half open
})

server.on('error', (error) => {
  console.error(error.code === 'EADDRINUSE' ? `Port ${port} is taken: set PORT to another one.` : error.message)
  process.exit(1)
})
// A connection that finds the queue full is tried again by its client, but only after a second or
// more. A longer queue takes longer to empty.
server.listen({ port, host: process.env.HOST || undefined, backlog: 1_024 }, () => {
  console.log(`Listening on http://localhost:${port}`)
  process.send?.('listening') // to bin/dev.ts
})

async function stop() {
  if (stopping) return
  stopping = true
  if (dev || !server.listening) process.exit() // hot-reload connections never end
  const tooLate = new Promise((resolve) => setTimeout(resolve, 30_000))
  const finished = admission.stop().then(() => app.close()) // which waits for callbacks of `after()`
  await Promise.race([finished, tooLate])
  await globalThis.flushSpans?.() // set by lib/tracing.ts
  process.exit()
}

/**
 * Logs the first connection closed for each reason, then the number of further ones once a minute.
 */
function throttledReport() {
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
