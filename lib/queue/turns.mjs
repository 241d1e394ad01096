// Who may act next: sites and networks take turns, and so do routes and pages.

import { BySite } from './by-site.mjs'

/** For how long routes begin in one iteration of the event loop. */
const routesMs = 5

/** A page that takes longer waits for something other than the thread. */
const longestPageMs = 100

/** More would leave less time to routes, fewer would make each page wait for more of them. */
const pagesAtOnce = 3

/** Lets up to `atOnce` holders act at the same time. Of the others, sites and networks take turns. */
export class Turns {
  #atOnce
  #acting = new Set()
  /** @type {Map<object, { network: string, act: () => void }>} */
  #holders = new Map()
  /** @type {BySite<object>} */
  #waiting = new BySite()
  #isStarting = false

  constructor(/** @type {number} */ atOnce) {
    this.#atOnce = atOnce
  }

  get size() {
    return this.#acting.size + this.#waiting.size
  }

  request(holder, network, act) {
    this.#holders.set(holder, { network, act })
    this.#waiting.add(network, holder)
    this.startNext()
  }

  /** Ends a holder's turn or its wait. */
  end(holder) {
    this.#waiting.delete(this.#holders.get(holder)?.network ?? '', holder)
    this.#holders.delete(holder)
    this.#acting.delete(holder)
    this.startNext()
  }

  get canStart() {
    return this.#waiting.size > 0 && this.#acting.size < this.#atOnce
  }

  startNext() {
    if (this.#isStarting) return // called by a holder that ended at once; thousands can, one after another
    this.#isStarting = true
    try {
      while (this.canStart) this.start()
    } finally {
      this.#isStarting = false
    }
  }

  start() {
    const holder = this.#waiting.next()
    this.#acting.add(holder)
    this.#holders.get(holder).act()
  }
}

/**
 * Turns that begin for a few milliseconds in an iteration of the event loop: those that end at once
 * would otherwise all run in one, also those that one client pipelines. While clients open connections,
 * one begins, and then none for as long as that iteration took: Node.js accepts one connection in each
 * iteration, so that a new client would wait for as many turns as there are connections before its own.
 */
export class YieldingTurns extends Turns {
  #beginningMs
  #countAccepted
  #areArriving = false
  #hasBegun = false
  #begunAt = 0

  constructor(/** @type {number} */ beginningMs, /** @type {() => number} */ countAccepted) {
    super(Number.POSITIVE_INFINITY)
    this.#beginningMs = beginningMs
    this.#countAccepted = countAccepted
  }

  get canStart() {
    if (!super.canStart) return false
    return !this.#hasBegun || (this.mayContinue && performance.now() - this.#begunAt < this.#beginningMs)
  }

  /** Whether another turn may begin in the same iteration. */
  get mayContinue() {
    return !this.#areArriving
  }

  /** Whether others occupy the iterations, so that a whole one would take long. */
  get isBusy() {
    return false
  }

  start() {
    if (!this.#hasBegun) {
      this.#hasBegun = true
      this.#begunAt = performance.now()
      this.#pause()
    }
    super.start()
  }

  #pause() {
    let pauseEndsAt = 0
    let before = this.#countAccepted()
    const look = () => {
      const now = performance.now()
      pauseEndsAt ||= now + (now - this.#begunAt)
      const accepted = this.#countAccepted()
      this.#areArriving = accepted !== before
      before = accepted
      if (this.#areArriving && now < pauseEndsAt) {
        setImmediate(look)
        return
      }
      this.#hasBegun = false
      this.startNext()
    }
    if (this.isBusy) setImmediate(look)
    else setImmediate(() => setImmediate(look)) // after a whole iteration
  }
}

/**
 * Turns of routes. While pages wait or are rendered, which takes many iterations, one begins in each.
 */
export class RouteTurns extends YieldingTurns {
  #hasPages

  constructor(/** @type {() => number} */ countAccepted, /** @type {() => boolean} */ hasPages) {
    super(routesMs, countAccepted)
    this.#hasPages = hasPages
  }

  get mayContinue() {
    return super.mayContinue && !this.#hasPages()
  }

  get isBusy() {
    return this.#hasPages()
  }
}

/**
 * Turns of pages, of which three are rendered at once. They begin one by one, when the system has no
 * more connections to accept. Node.js accepts one in each iteration of the event loop: if a page was
 * rendered in each, a new client would wait for as many pages as there are connections before its
 * own. While clients open connections without end, pages get half of the time.
 */
export class PageTurns extends Turns {
  #countAccepted
  #isWaiting = false
  #last
  #lastBegunAt = 0
  #pauseEndsAt = 0
  #rendering = new Set()

  constructor(/** @type {number} */ atOnce, /** @type {() => number} */ countAccepted) {
    super(atOnce)
    this.#countAccepted = countAccepted
  }

  get canStart() {
    return super.canStart && this.#rendering.size < pagesAtOnce
  }

  request(holder, network, act) {
    super.request(holder, network, () => {
      this.#rendering.add(holder)
      setTimeout(() => this.#endRendering(holder), longestPageMs).unref()
      this.#last = holder
      this.#lastBegunAt = performance.now()
      this.#pauseEndsAt = this.#lastBegunAt + 2 * longestPageMs
      act()
    })
  }

  end(holder) {
    if (holder === this.#last) {
      const now = performance.now()
      this.#pauseEndsAt = Math.min(this.#pauseEndsAt, now + (now - this.#lastBegunAt))
    }
    this.#rendering.delete(holder)
    super.end(holder)
  }

  #endRendering(holder) {
    if (this.#rendering.delete(holder)) this.startNext()
  }

  startNext() {
    if (this.#isWaiting || !this.canStart) return
    this.#isWaiting = true
    const before = this.#countAccepted()
    // a whole iteration, in which the process also learns that the client has gone
    setImmediate(() =>
      setImmediate(() => {
        this.#isWaiting = false
        const mayStart = this.#countAccepted() === before || performance.now() >= this.#pauseEndsAt
        if (mayStart && this.canStart) this.start()
        this.startNext()
      }),
    )
  }
}
