import { ApiError } from '../contract/errors'
import { BySite } from './by-site.mjs'

type Waiting = { start: () => void; reject: (error: ApiError) => void }

/**
 * Runs up to `maxRunning` tasks at the same time, and lets the others wait while there are fewer than
 * `maxPending` in all. Sites take turns, and so do the networks of a site. A full queue makes room
 * by rejecting the newest task of the site that has the most, so that none can keep the others out.
 */
export class FairQueue {
  private running = 0
  private readonly waiting = new BySite<Waiting>()

  constructor(
    private readonly maxRunning: number,
    private readonly maxPending: number,
    private readonly retryAfterSeconds: number,
  ) {}

  /** Runs `work` in turn, and returns its result. Throws SERVICE_UNAVAILABLE instead if there is no room. */
  async add<Result>(network: string, work: () => Promise<Result>): Promise<Result> {
    if (this.running < this.maxRunning) this.running++
    else await this.wait(network)
    try {
      return await work()
    } finally {
      const next = this.waiting.next()
      if (next) next.start()
      else this.running--
    }
  }

  private wait(network: string): Promise<void> {
    if (this.running + this.waiting.size >= this.maxPending) {
      const full = new ApiError('SERVICE_UNAVAILABLE', { retryAfterSeconds: this.retryAfterSeconds })
      const rejected = this.waiting.makeRoom(network)
      if (!rejected) throw full
      rejected.reject(full)
    }
    return new Promise((start, reject) => this.waiting.add(network, { start, reject }))
  }
}
