// Limits how much of this process a client can occupy: connections and concurrent requests.

import { PageTurns, ShortTurns, Turns } from '../../lib/queue/turns.mjs'

const openFiles = openFileLimit()

// The rest is for connections to PostgreSQL and for files.
const connectionsAtOnce = Math.min(10_000, Math.floor(openFiles * 0.75))
const connectionsPerNetwork = Math.min(256, Math.floor(connectionsAtOnce / 2))
const requestsAhead = 16 // pipelined on one connection; browsers and proxies do not pipeline

// All clients share one thread, so the concurrent requests of one client delay everyone else. A
// page costs ten times as much as a route. Reads are counted apart from writes, so that slow bodies
// never hold them up.
const turns = {
  page: { perNetwork: 8, atOnce: 64 },
  file: { perNetwork: 32 },
  read: { perNetwork: 32 },
  write: { perNetwork: 32 },
}

/**
 * How long the turn of a page outlasts its client. Rendering takes less; and Next.js does not tell
 * the end of it in every case.
 */
const abandonedMs = 1_000

/**
 * Limits the connections of the process and, if clients connect directly, of each network. Handles
 * the requests of a connection one after another, and queues the requests of a network above its
 * limit. Calls `report` with a reason for each connection that it closes.
 */
export class Admission {
  #server
  #networkOfSocket
  #report
  /** @type {Map<import('node:net').Socket, { response: import('node:http').ServerResponse, start: () => void }[]>} */
  #requests = new Map()
  /** @type {Map<string, number>} */
  #connections = new Map()
  /** @type {Map<string, Turns>} */
  #ofNetwork = new Map()
  #routes = this.#newShortTurns()
  #ofAll = {
    page: new PageTurns(turns.page.atOnce, () => this.#accepted),
    file: this.#newShortTurns(),
    read: this.#routes,
    write: this.#routes,
  }
  /** @type {Map<import('node:http').ServerResponse, () => void>} */
  #turnEnds = new Map()
  /** @type {Set<import('node:http').ServerResponse>} */
  #rendering = new Set()
  #accepted = 0
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
    server.on('connection', (socket) => this.#accept(socket))
  }

  #newShortTurns() {
    return new ShortTurns(
      () => this.#accepted,
      () => this.#rendering.size > 0,
    )
  }

  #accept(/** @type {import('node:net').Socket} */ socket) {
    this.#accepted++
    if (!socket.remoteAddress) return socket.destroy() // already reset, so there is no network to count
    const network = this.#networkOfSocket(socket)
    if (network !== null) {
      const count = (this.#connections.get(network) ?? 0) + 1
      if (count > connectionsPerNetwork) {
        this.#report('too many connections from one network')
        return socket.destroy()
      }
      this.#connections.set(network, count)
    }
    const requests = []
    this.#requests.set(socket, requests)
    socket.once('close', () => {
      this.#requests.delete(socket)
      if (network === null) return
      const left = (this.#connections.get(network) ?? 1) - 1
      if (left > 0) this.#connections.set(network, left)
      else this.#connections.delete(network)
    })
  }

  /**
   * Calls `start` after all earlier responses on the connection. Closes a connection that pipelines
   * too many requests.
   */
  inOrder(request, response, start) {
    const { socket } = request
    const requests = this.#requests.get(socket)
    if (!requests || socket.destroyed) return
    if (requests.length > requestsAhead) {
      this.#report('too many pipelined requests on one connection')
      return socket.destroy()
    }
    requests.push({ response, start })
    if (this.#stopping) response.shouldKeepAlive = false
    response.once('close', () => {
      if (!this.#rendering.has(response)) this.#endTurn(response)
      else setTimeout(() => this.#endRendering(response), abandonedMs).unref()
      requests.shift()
      if (socket.destroyed || socket.writableEnded) return
      if (requests.length > 0) requests[0].start()
      else if (this.#stopping) socket.destroySoon()
    })
    if (requests.length === 1) start()
  }

  /**
   * Calls `act` when it is the request's turn: at once, unless its network is at the limit for this
   * kind of request. Does not call it for a client that has gone. The turn of a page whose client
   * goes ends with its rendering, which occupies the thread all the same.
   * @param {keyof typeof turns} kind
   * @param {string} network
   * @param {import('node:http').ServerResponse} response
   * @param {() => unknown} act
   */
  inTurn(kind, network, response, act) {
    const key = `${kind} ${network}`
    const own = this.#ofNetwork.get(key) ?? new Turns(turns[kind].perNetwork)
    const all = this.#ofAll[kind]
    this.#ofNetwork.set(key, own)
    this.#turnEnds.set(response, () => {
      own.end(response)
      all.end(response)
      if (own.size === 0 && this.#ofNetwork.get(key) === own) this.#ofNetwork.delete(key)
    })
    if (kind === 'page') this.#endTurnWhenProduced(response)
    const start = () => {
      // Not at `close`, for which a client that keeps its half of the connection can make us wait.
      if (!response.socket?.writable) return this.#endTurn(response)
      return kind === 'page' ? this.#render(response, act) : act()
    }
    own.request(response, network, () => all.request(response, network, start))
  }

  async #render(response, act) {
    this.#rendering.add(response)
    try {
      await act()
    } finally {
      this.#endRendering(response)
    }
  }

  #endRendering(response) {
    this.#rendering.delete(response)
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
      this.#endTurn(response)
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

function openFileLimit() {
  process.report.excludeNetwork = true // resolving the host names of peers would take seconds
  const { soft } = /** @type {any} */ (process.report.getReport()).userLimits?.open_files ?? {}
  return Number.isInteger(soft) ? soft : 1_024 // `unlimited`, or not reported on this system
}
