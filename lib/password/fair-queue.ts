import { ApiError } from '../contract/errors'

type Waiting = { start: () => void; reject: (error: ApiError) => void }

/**
 * Runs up to `maxRunning` tasks at the same time, and lets the others wait while there are fewer than
 * `maxPending` in all. Networks take turns. A full queue makes room by rejecting the newest task of
 * the network that has the most, so that no network can keep the others out.
 */
export class FairQueue {
  private running = 0
  private waitingCount = 0
  // in the order of their turns
  private readonly waiting = new Map<string, Waiting[]>()

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
      this.startNext()
    }
  }

  private wait(network: string): Promise<void> {
    if (this.running + this.waitingCount >= this.maxPending) this.makeRoom(network)
    return new Promise((start, reject) => {
      const own = this.waiting.get(network) ?? []
      own.push({ start, reject })
      this.waiting.set(network, own)
      this.waitingCount++
    })
  }

  private makeRoom(network: string): void {
    const full = new ApiError('SERVICE_UNAVAILABLE', { retryAfterSeconds: this.retryAfterSeconds })
    const own = this.waiting.get(network)?.length ?? 0
    const longest = [...this.waiting.values()].reduce((a, b) => (b.length > a.length ? b : a), [])
    if (longest.length <= own + 1) throw full
    this.waitingCount--
    longest.pop()!.reject(full)
  }

  private startNext(): void {
    const next = this.waiting.entries().next()
    if (next.done) {
      this.running--
      return
    }
    const [network, [first, ...others]] = next.value as [string, [Waiting, ...Waiting[]]]
    this.waiting.delete(network)
    if (others.length > 0) this.waiting.set(network, others) // behind all other networks
    this.waitingCount--
    first.start()
  }
}
