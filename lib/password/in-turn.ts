/** Runs work one at a time: each starts once all that was added before it has ended, whether or not that failed. */
export class InTurn {
  private last: Promise<unknown> = Promise.resolve()

  /** Runs `work` when its turn has come. */
  add<Result>(work: () => Promise<Result>): Promise<Result> {
    const result = this.last.then(work)
    this.last = result.catch(() => {})
    return result
  }
}

/** Runs work one at a time for each key, and side by side for different keys. Keeps nothing of a key without work. */
export class InTurnByKey {
  private readonly underWay = new Map<string, { turns: InTurn; count: number }>()

  /** How many keys have work that runs or waits. */
  get size(): number {
    return this.underWay.size
  }

  /** Runs `work` when its turn has come, and tells it whether it had to wait. */
  async add<Result>(key: string, work: (hadToWait: boolean) => Promise<Result>): Promise<Result> {
    const entry = this.underWay.get(key) ?? { turns: new InTurn(), count: 0 }
    this.underWay.set(key, entry)
    const hadToWait = entry.count++ > 0
    try {
      return await entry.turns.add(() => work(hadToWait))
    } finally {
      if (--entry.count === 0) this.underWay.delete(key)
    }
  }
}
