// Limits how much of this process a client can occupy: connections and concurrent requests.

import { AsyncResource } from 'node:async_hooks'
import { siteOf } from '../../lib/queue/by-site.mjs'
import { PageTurns, RouteTurns, Turns, YieldingTurns } from '../../lib/queue/turns.mjs'
import { hasBody } from './request.mjs'

const openFiles = openFileLimit()

// The rest is for connections to PostgreSQL and for files.
const connectionsAtOnce = Math.min(10_000, Math.floor(openFiles * 0.75))
const connectionsPerSite = Math.min(1_024, Math.floor(connectionsAtOnce / 2))
const connectionsPerNetwork = Math.min(256, connectionsPerSite)
// A client that opens and closes connections without pause would make new ones of others wait for
// their acceptance. As many as may be open may also be opened in a second, and far fewer while many
// are: each can take a millisecond.
const manyPerSecond = 512
const whileManyPerNetwork = 32
const whileManyPerSite = 128
// Pipelined on one connection, which browsers and proxies do not do. Headers take more than twice
// their size in memory, and a site has many connections.
const requestsAhead = 16
const headerBytesAhead = 16 * 1024
// Node.js reads each body until its buffer is full, which a small one never does. One may wait: its
// client can have a whole response that has not ended here.
const requestsAheadOfBody = 1

// All clients share one thread, so the concurrent requests of one client delay everyone else. A
// page costs ten times as much as a route. Reads are counted apart from writes, so that slow bodies
// never hold them up; and passwords apart from both, because they wait for their hashes, for seconds
// if there are many. The limit of a site bounds how many of its statements are ahead of others in the
// queue for PostgreSQL, which files do not need.
const turns = {
  page: { perNetwork: 8, perSite: 12, atOnce: 64 },
  file: { perNetwork: 32, perSite: Number.POSITIVE_INFINITY },
  read: { perNetwork: 16, perSite: 24 },
  write: { perNetwork: 16, perSite: 24 },
  password: { perNetwork: 16, perSite: 24 },
}

/** For how long files are sent in one iteration of the event loop, in which a page can't go on. */
const filesMs = 1

/**
 * How long the turn of a page or route outlasts its client, if the work for it goes on. Most takes
 * less; and Next.js does not tell the end of it in every case.
 */
const abandonedMs = 1_000

/**
 * Limits the connections of the process and, if clients connect directly, of each network and site.
 * Handles the requests of a connection one after another, and queues those of a network or site
 * above its limit. Calls `report` with a reason for each connection that it closes.
 */
export class Admission {
  #server
  #networkOfSocket
  #report
  /** @type {Map<import('node:net').Socket, { response: import('node:http').ServerResponse, start: () => void, bytes: number }[]>} */
  #requests = new Map()
  /** @type {Map<string, number>} open connections, by network, and by site */
  #connections = new Map()
  /** @type {Map<string, Turns>} by kind of request and network, and by kind and site */
  #ofOwner = new Map()
  #routes = new RouteTurns(
    () => this.#accepted,
    () => this.#ofAll.page.size > 0,
  )
  #ofAll = {
    page: new PageTurns(turns.page.atOnce, () => this.#accepted),
    file: new YieldingTurns(filesMs, () => this.#accepted),
    read: this.#routes,
    write: this.#routes,
    password: this.#routes,
  }
  /** @type {Map<import('node:http').ServerResponse, () => void>} */
  #turnEnds = new Map()
  /** @type {Set<import('node:http').ServerResponse>} */
  #handling = new Set()
  #accepted = 0
  /** @type {Map<string, number>} connections served of those opened in this second, by network, and by site */
  #opened = new Map()
  #secondBegunAt = 0
  #openedInSecond = 0
  #openedInLastSecond = 0
  #stopping = false

  /**
   * @param {import('node:http').Server} server
   * @param {(socket: import('node:net').Socket) => string | null} networkOfSocket null behind a proxy
   * @param {(reason: string) => void} report
   */
  constructor(server, networkOfSocket, report) {
    this.#server = server
    this.#networkOfSocket = networkOfSocket
    this.#report = report
    server.maxConnections = connectionsAtOnce
    server.on('drop', () => report('too many connections to this process'))
    // Node.js prepares a connection for HTTP in its own listener. That is most of the work on a
    // connection, so those above a limit never get there.
    const [serve] = server.listeners('connection')
    server.removeAllListeners('connection')
    server.on('connection', (socket) => this.#accept(socket) && serve.call(server, socket))
  }

  /** Returns whether to serve the connection. Closes it if not. */
  #accept(/** @type {import('node:net').Socket} */ socket) {
    this.#accepted++
    const areMany = this.#countOpened()
    if (!socket.remoteAddress) return refuse(socket) // already reset, so there is no network to count
    const network = this.#networkOfSocket(socket)
    const owners = network === null ? [] : [network, `site ${siteOf(network)}`]
    if (isAtLimit(this.#connections, owners, connectionsPerNetwork, connectionsPerSite)) {
      this.#report('too many connections from one network')
      return refuse(socket)
    }
    const perNetwork = areMany ? whileManyPerNetwork : connectionsPerNetwork
    const perSite = areMany ? whileManyPerSite : connectionsPerSite
    if (isAtLimit(this.#opened, owners, perNetwork, perSite)) {
      this.#report('too many new connections from one network')
      return refuse(socket)
    }
    for (const owner of owners) {
      add(this.#connections, owner, 1)
      add(this.#opened, owner, 1)
    }
    this.#requests.set(socket, [])
    socket.once('close', () => {
      this.#requests.delete(socket)
      for (const owner of owners) add(this.#connections, owner, -1)
    })
    return true
  }

  /** Counts a new connection. Returns whether many were opened in this second, or in the last. */
  #countOpened() {
    const now = performance.now()
    const elapsed = now - this.#secondBegunAt
    if (elapsed >= 1_000) {
      this.#openedInLastSecond = elapsed < 2_000 ? this.#openedInSecond : 0
      this.#openedInSecond = 0
      this.#secondBegunAt = now
      this.#opened.clear()
    }
    this.#openedInSecond++
    return Math.max(this.#openedInSecond, this.#openedInLastSecond) > manyPerSecond
  }

  /**
   * Calls `start` after all earlier responses on the connection, in the context of this request: Next.js
   * would keep that of an earlier one. Closes a connection that pipelines too many requests.
   */
  inOrder(request, response, start) {
    const { socket } = request
    const requests = this.#requests.get(socket)
    if (!requests || socket.destroyed) return
    const bytes = requests.length > 0 ? bytesOfHeaders(request) : 0
    const bytesAhead = requests.slice(1).reduce((sum, waiting) => sum + waiting.bytes, bytes)
    const most = hasBody(request) ? requestsAheadOfBody : requestsAhead
    if (requests.length > most || bytesAhead > headerBytesAhead) {
      this.#report('too many pipelined requests on one connection')
      return socket.destroy()
    }
    requests.push({ response, start: inOwnContext(start), bytes })
    if (this.#stopping) response.shouldKeepAlive = false
    response.once('close', () => {
      if (!this.#handling.has(response)) this.#endTurn(response)
      else setTimeout(() => this.#endHandling(response), abandonedMs).unref()
      requests.shift()
      if (socket.destroyed || socket.writableEnded) return
      if (requests.length > 0) requests[0].start()
      else if (this.#stopping) socket.destroySoon()
    })
    if (requests.length === 1) start()
  }

  /**
   * Calls `act` when it is the request's turn, in the request's context: at once, unless its network or
   * site is at the limit for this kind of request. Does not call it once the connection has closed. The
   * turn of a page or route whose client goes ends with the work for it, which is done all the same.
   * @param {keyof typeof turns} kind
   * @param {string} network
   * @param {import('node:http').ServerResponse} response
   * @param {() => unknown} act
   */
  inTurn(kind, network, response, act) {
    const { perNetwork, perSite } = turns[kind]
    const own = this.#turnsOf(`${kind} ${network}`, perNetwork)
    const all = this.#ofAll[kind]
    /** @type {typeof own | undefined} */
    let site
    this.#turnEnds.set(response, () => {
      own.queue.end(response)
      site?.queue.end(response)
      all.end(response)
      this.#deleteIfUnused(own)
      if (site) this.#deleteIfUnused(site)
    })
    if (kind === 'page') this.#endTurnWhenProduced(response)
    const start = inOwnContext(() => (kind === 'file' ? act() : this.#handle(response, act)))
    own.queue.request(response, network, () => {
      // Not before, because it could be deleted while this one waits.
      site = this.#turnsOf(`${kind} site ${siteOf(network)}`, perSite)
      site.queue.request(response, network, () => all.request(response, network, start))
    })
  }

  #turnsOf(key, atOnce) {
    const queue = this.#ofOwner.get(key) ?? new Turns(atOnce)
    this.#ofOwner.set(key, queue)
    return { key, queue }
  }

  #deleteIfUnused({ key, queue }) {
    if (queue.size === 0 && this.#ofOwner.get(key) === queue) this.#ofOwner.delete(key)
  }

  async #handle(response, act) {
    this.#handling.add(response)
    try {
      await act()
    } finally {
      this.#endHandling(response)
    }
  }

  #endHandling(response) {
    this.#handling.delete(response)
    if (response.destroyed) this.#endTurn(response)
  }

  /**
   * Ends the turn when the page is rendered. It is small enough to buffer, so a client that does
   * not read it holds no turn.
   */
  #endTurnWhenProduced(response) {
    const { write, end } = response
    response.write = (...parameters) => {
      write.apply(response, parameters)
      return true
    }
    response.end = (...parameters) => {
      end.apply(response, parameters)
      if (!response.destroyed) this.#endTurn(response) // else it may be rendered still
      return response
    }
  }

  #endTurn(response) {
    this.#turnEnds.get(response)?.()
    this.#turnEnds.delete(response)
  }

  /**
   * Whether a part of a response was written to this connection, so that nothing else may be. A
   * request that waits for its body, or its turn, has no response yet.
   */
  isResponding(socket) {
    return this.#requests.get(socket)?.some(({ response }) => response.headersSent) ?? false
  }

  /**
   * Stops accepting connections, closes each after its last response, and resolves when all are
   * closed.
   */
  stop() {
    this.#stopping = true
    return new Promise((resolve) => {
      this.#server.close(() => resolve(undefined))
      for (const [socket, requests] of this.#requests) {
        if (requests.length === 0) socket.destroy()
        for (const { response } of requests) response.shouldKeepAlive = false
      }
    })
  }
}

/** Whether the network or the site has as many as it may. */
function isAtLimit(counts, [network, site], perNetwork, perSite) {
  return (counts.get(network) ?? 0) >= perNetwork || (counts.get(site) ?? 0) >= perSite
}

function add(counts, key, number) {
  const count = (counts.get(key) ?? 0) + number
  if (count > 0) counts.set(key, count)
  else counts.delete(key)
}

/** Returns a function that runs `start` in the present context. */
function inOwnContext(start) {
  // AsyncResource.bind does the same, but in Node.js 20 it doubles the CPU time of a small response.
  const context = new AsyncResource('Request')
  return () => context.runInAsyncScope(start)
}

/** Resets a connection, which is less work than closing it in order. */
function refuse(socket) {
  socket.on('error', () => {}).resetAndDestroy()
  return false
}

function bytesOfHeaders({ url, rawHeaders }) {
  return rawHeaders.reduce((sum, text) => sum + text.length, url.length)
}

function openFileLimit() {
  process.report.excludeNetwork = true // resolving the host names of peers would take seconds
  const { soft } = /** @type {any} */ (process.report.getReport()).userLimits?.open_files ?? {}
  return Number.isInteger(soft) ? soft : 1_024 // `unlimited`, or not reported on this system
}
