import { ApiError } from '../contract/errors'

type Waiting = { start: () => void; reject: (error: ApiError) => void }
/** The waiting tasks of each network, in the order of the networks' turns. */
type Site = Map<string, Waiting[]>

/**
 * Runs up to `maxRunning` tasks at the same time, and lets the others wait while there are fewer than
 * `maxPending` in all. Sites take turns, and so do the networks of a site: one owner may have
 * hundreds of networks, but not of sites. A full queue makes room by rejecting the newest task of the
 * site that has the most, so that none can keep the others out.
 */
export class FairQueue {
  private running = 0
  private waitingCount = 0
  // in the order of their turns
  private readonly waiting = new Map<string, Site>()

  constructor(
    private readonly maxRunning: number,
    private readonly maxPending: number,
    private readonly retryAfterSeconds: number,
  ) {}

  /** Runs `work` in turn, and returns its result. Throws SERVICE_UNAVAILABLE instead if there is no room. */
  async add<Result>(network: string, work: () => Promise<Result>): Promise<Result> {
    if (this.running < this.maxRunning) this.running++
    else await this.wait(siteOf(network), network)
    try {
      return await work()
    } finally {
      this.startNext()
    }
  }

  private wait(siteName: string, network: string): Promise<void> {
    if (this.running + this.waitingCount >= this.maxPending) this.makeRoom(siteName, network)
    return new Promise((start, reject) => {
      const site: Site = this.waiting.get(siteName) ?? new Map()
      const own = site.get(network) ?? []
      own.push({ start, reject })
      site.set(network, own)
      this.waiting.set(siteName, site)
      this.waitingCount++
    })
  }

  private makeRoom(siteName: string, network: string): void {
    const full = new ApiError('SERVICE_UNAVAILABLE', { retryAfterSeconds: this.retryAfterSeconds })
    const own = this.waiting.get(siteName)
    const [, crowded] = mostOf(this.waiting, tasksOf) ?? []
    // A site that has as many tasks as any other makes room among its own networks.
    const isElsewhere = crowded !== undefined && tasksOf(crowded) > tasksOf(own) + 1
    const site = isElsewhere ? crowded : own
    const [longest, tasks] = (site && mostOf(site, (each) => each.length)) ?? []
    if (!tasks || (!isElsewhere && tasks.length <= (own?.get(network)?.length ?? 0) + 1)) throw full
    this.waitingCount--
    tasks.pop()!.reject(full)
    if (tasks.length === 0) site!.delete(longest!)
  }

  private startNext(): void {
    const [siteName, site] = firstOf(this.waiting)
    if (!site) {
      this.running--
      return
    }
    const [network, tasks] = firstOf(site)
    const first = tasks!.shift()!
    // behind all others
    site.delete(network!)
    if (tasks!.length > 0) site.set(network!, tasks!)
    this.waiting.delete(siteName!)
    if (site.size > 0) this.waiting.set(siteName!, site)
    this.waitingCount--
    first.start()
  }
}

/** The /48 of an IPv6 /64, or the /24 of an IPv4 address: what one owner may have. */
function siteOf(network: string): string {
  const [, ipv4] = network.match(/^(\d+\.\d+\.\d+)\./) ?? []
  return ipv4 ?? network.split(':', 3).join(':')
}

function tasksOf(site: Site | undefined): number {
  return [...(site?.values() ?? [])].reduce((sum, tasks) => sum + tasks.length, 0)
}

/** Returns the entry whose value counts most, and of equals the last. */
function mostOf<Value>(values: Map<string, Value>, countOf: (value: Value) => number): [string, Value] | undefined {
  let most: [string, Value] | undefined
  for (const entry of values) if (!most || countOf(entry[1]) >= countOf(most[1])) most = entry
  return most
}

function firstOf<Value>(values: Map<string, Value>): [key?: string, value?: Value] {
  return values.entries().next().value ?? []
}
