// The server outside Vercel: Next.js behind Node's own, for two things that `next start` leaves out.
//   - The address of the socket is appended to X-Forwarded-For, as any proxy does. `next start` would keep what the client sent,
//     and a route has no other way to learn who is there (see lib/client-address.ts).
//   - What Next.js answers with a 500 or an empty 400 on its own — methods it does not know, paths that can't be decoded — reaches
//     our routes as something that they refuse.
// Pages and scripts are compressed. Requests that are too slow are cut off, and on SIGTERM or SIGINT those under way are finished.
import { existsSync } from 'node:fs'
import { createServer } from 'node:http'
import { fileURLToPath } from 'node:url'
import compression from 'compression'
import next from 'next'

const dir = fileURLToPath(new URL('..', import.meta.url))
const dev = process.argv.includes('--dev')
const port = Number(process.env.PORT || 3000)
const hostname = process.env.HOST || undefined // all interfaces
process.env.NODE_ENV = dev ? 'development' : 'production'
process.env.NEXT_TELEMETRY_DISABLED ??= '1'
process.chdir(dir)

if (!dev && !existsSync('.next/BUILD_ID')) {
  console.error('There is no production build yet: npm run build')
  process.exit(1)
}

const server = createServer({ headersTimeout: 15_000, requestTimeout: 30_000, keepAliveTimeout: 75_000, connectionsCheckingInterval: 5_000 })
let stopping = false
function stop() {
  if (stopping) return
  stopping = true
  setTimeout(() => process.exit(), 30_000).unref() // whoever is still not served by then
  server.close(async () => {
    await globalThis.flushSpans?.() // of lib/tracing.ts
    process.exit()
  })
  server.closeIdleConnections()
  if (dev) process.exit() // its hot-reload connections never end
}
process.on('SIGTERM', stop)
process.on('SIGINT', stop)
process.on('disconnect', stop) // bin/dev.ts was killed

const app = next({ dev, dir, port, hostname, httpServer: server })
await app.prepare()
const handle = app.getRequestHandler()
const compress = compression()

const knownMethods = new Set(['GET', 'HEAD', 'OPTIONS', 'POST', 'PUT', 'PATCH', 'DELETE'])

/** The path and query as Next.js takes them without a redirect, which would repeat the query; a path that can't be decoded becomes one that is not there. */
function plainUrl(url) {
  const [, path, query] = url.replace(/^https?:\/\/[^/?]*/i, '').match(/^([^?]*)(.*)$/s)
  const plain = `/${path}`.replace(/[\\/]+/g, '/')
  try {
    decodeURIComponent(plain)
    return plain + query
  } catch {
    return plain.startsWith('/api/') ? '/api/-' : '/-'
  }
}

server.on('request', (request, response) => {
  const forwarded = request.headers['x-forwarded-for']
  const address = request.socket.remoteAddress ?? ''
  request.headers['x-forwarded-for'] = forwarded ? `${forwarded}, ${address}` : address
  if (!knownMethods.has(request.method)) request.method = 'DELETE' // which no route takes
  request.url = plainUrl(request.url)
  // the answers of /api are too small to gain from it
  if (request.url.startsWith('/api/')) handle(request, response)
  else compress(request, response, () => handle(request, response))
})
server.on('error', (error) => {
  console.error(error.code === 'EADDRINUSE' ? `Port ${port} is taken: set PORT to another one.` : error.message)
  process.exit(1)
})
server.listen(port, hostname, () => {
  console.log(`Listening on http://localhost:${port}`)
  process.send?.('listening') // to bin/dev.ts
})
