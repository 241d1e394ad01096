// How much of this process a client can hold: connections, and requests under way.

const openFiles = openFileLimit()

// A quarter stays free for connections to PostgreSQL and for files that are read.
const connectionsAtOnce = Math.min(10_000, Math.floor(openFiles * 0.75))
const connectionsPerNetwork = Math.min(256, Math.floor(connectionsAtOnce / 2))
const requestsAhead = 16 // pipelined on one connection; browsers and proxies send none ahead

// Everybody shares one thread: a client that sends many requests at once delays the others by so many. A page costs ten times as
// much as a route. Bodies that arrive slowly hold up no request without one.
const turns = {
  page: { perNetwork: 8, atOnce: 64 },
  file: { perNetwork: 32, atOnce: Number.POSITIVE_INFINITY },
  read: { perNetwork: 32, atOnce: Number.POSITIVE_INFINITY },
  write: { perNetwork: 32, atOnce: Number.POSITIVE_INFINITY },
}

/**
 * Bounds connections (per process, and per network where clients connect directly), handles the requests of a connection one after
 * another, and lets the requests of a network wait for their turn. `report` is called with a reason for each connection that is closed early.
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
  #ofAll = {
    page: new Turns(turns.page.atOnce),
    file: new Turns(turns.file.atOnce),
    read: new Turns(turns.read.atOnce),
    write: new Turns(turns.write.atOnce),
  }
  /** @type {Map<import('node:http').ServerResponse, () => void>} */
  #turnEnds = new Map()
  #stopping = false

  /**
   * @param {import('node:http').Server} server
   * @param {(socket: import('node:net').Socket) => string | null} networkOfSocket null where a proxy connects for many clients
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

  #accept(/** @type {import('node:net').Socket} */ socket) {
    if (!socket.remoteAddress) return socket.destroy() // reset already: nobody would be counted
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
      // Node never gives the socket to a response behind one that closes the connection: that response does not close either.
      for (const { response } of requests) this.#endTurn(response)
      if (network === null) return
      const left = (this.#connections.get(network) ?? 1) - 1
      if (left > 0) this.#connections.set(network, left)
      else this.#connections.delete(network)
    })
  }

  /** Calls `start` once the earlier requests of the connection have their responses. Closes a connection that sends too many ahead. */
  inOrder(request, response, start) {
    const { socket } = request
    const requests = this.#requests.get(socket)
    if (!requests || socket.destroyed) return
    if (requests.length > requestsAhead) {
      this.#report('too many requests sent ahead on one connection')
      return socket.destroy()
    }
    requests.push({ response, start })
    if (this.#stopping) response.shouldKeepAlive = false
    response.once('close', () => {
      this.#endTurn(response)
      requests.shift()
      if (socket.destroyed || socket.writableEnded) return
      if (requests.length > 0) requests[0].start()
      else if (this.#stopping) socket.destroySoon()
    })
    if (requests.length === 1) start()
  }

  /**
   * Calls `act` when it is the request's turn: at once, unless its network has many requests of this kind under way.
   * @param {keyof typeof turns} kind
   * @param {string} network
   * @param {import('node:http').ServerResponse} response
   * @param {() => void} act
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
    own.take(response, () => all.take(response, act))
  }

  /** A page is small: it goes into our buffers at once, so that a client that does not read it holds no turn. */
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

  /** Whether a response is under way on this connection, so that nothing else may be written to it. */
  isResponding(socket) {
    return (this.#requests.get(socket)?.length ?? 0) > 0
  }

  /** Accepts nothing more, closes connections as their last response ends, and resolves when all are closed. */
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

/** Lets `atOnce` holders act; the others wait in the order in which they came. */
class Turns {
  #atOnce
  #acting = new Set()
  /** @type {Map<object, () => void>} */
  #waiting = new Map()

  constructor(/** @type {number} */ atOnce) {
    this.#atOnce = atOnce
  }

  get size() {
    return this.#acting.size + this.#waiting.size
  }

  take(holder, act) {
    if (this.#acting.size >= this.#atOnce) {
      this.#waiting.set(holder, act)
      return
    }
    this.#acting.add(holder)
    act()
  }

  /** Ends the turn, or the wait, of a holder. */
  end(holder) {
    this.#waiting.delete(holder)
    if (!this.#acting.delete(holder)) return
    const next = this.#waiting.entries().next()
    if (next.done) return
    const [nextHolder, act] = next.value
    this.#waiting.delete(nextHolder)
    this.#acting.add(nextHolder)
    act()
  }
}

function openFileLimit() {
  process.report.excludeNetwork = true // looking up the names of peers would take seconds
  const { soft } = /** @type {any} */ (process.report.getReport()).userLimits?.open_files ?? {}
  return Number.isInteger(soft) ? soft : 1_024 // `unlimited`, or a system that does not say
}
