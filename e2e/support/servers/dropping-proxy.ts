import { createServer, request } from 'node:http'
import type { ServerWith } from '../fixtures'
import { listen } from './listen'
import { allFeatures } from './settings'

export type DroppingProxy = {
  url: string
  /** Drops the next response to a POST to this path, after the server has sent it. */
  dropNext: (path: string) => void
  /** Returns how many POSTs to the path have arrived since `dropNext`. */
  count: () => number
  stop: () => Promise<void>
}

/** Starts a server with all features, whose public URL is that of a dropping proxy. */
export async function startBehindDroppingProxy(
  serverWith: ServerWith,
): Promise<DroppingProxy> {
  const { forwardTo, ...proxy } = await startDroppingProxy()
  const server = await serverWith({ ...allFeatures, PUBLIC_URL: proxy.url })
  forwardTo(server.url)

  return proxy
}

/**
 * Starts a proxy that can close a connection instead of passing a response on. A browser
 * then sends the request again, if the connection was open before.
 */
async function startDroppingProxy() {
  let upstream = new URL('http://localhost')
  let dropped: string | null = null
  let path: string | null = null
  let count = 0

  const server = createServer((incoming, response) => {
    const { method, headers, url = '/' } = incoming
    const isCounted = method === 'POST' && url.split('?')[0] === path
    if (isCounted) count++

    const { hostname, port } = upstream
    const forwarded = request(
      { hostname, port, method, path: url, headers },
      (answer) => {
        if (isCounted && dropped === path) {
          dropped = null
          answer.resume().once('end', () => incoming.socket.destroy())
          return
        }
        response.writeHead(answer.statusCode!, answer.rawHeaders)
        answer.pipe(response)
      },
    )
    forwarded.once('error', () => incoming.socket.destroy())
    incoming.pipe(forwarded)
  })
  const { url, stop } = await listen(server)

  return {
    url: url.replace('127.0.0.1', 'localhost'),
    forwardTo: (to: string) => {
      upstream = new URL(to)
    },
    dropNext: (next: string) => {
      dropped = path = next
      count = 0
    },
    count: () => count,
    stop,
  }
}
