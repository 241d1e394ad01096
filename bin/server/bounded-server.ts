import { createServer, type Server } from 'node:http'

/** Returns an HTTP server that limits the sizes, durations and numbers of requests. */
export function createBoundedServer(): Server {
  // keepAliveTimeout is longer than in proxies, so that a proxy never reuses a connection
  // that is just closing.
  const server = createServer({
    maxHeaderSize: 64 * 1024,
    headersTimeout: 15_000,
    requestTimeout: 30_000,
    keepAliveTimeout: 75_000,
  })

  server.timeout = 60_000 // ends connections of clients that stopped reading a response
  server.maxConnections = 4_000
  server.maxRequestsPerSocket = 1_000 // limits the requests that a client can pipeline

  return server
}
