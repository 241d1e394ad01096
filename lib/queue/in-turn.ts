import { setImmediate, setTimeout } from 'node:timers/promises'

/** Runs one task at a time, in order. A task that fails does not stop the next one. */
export class InTurn {
  private last: Promise<unknown> = Promise.resolve()

  /** Runs `work` after all earlier tasks, and returns its result. */
  add<Result>(work: () => Promise<Result>): Promise<Result> {
    const result = this.last.then(work)
    this.last = result.catch(() => {})
    return result
  }
}

/**
 * Runs one task at a time per key; tasks of different keys run concurrently. Keeps no entry for a
 * key without tasks.
 */
export class InTurnByKey {
  private readonly entries = new Map<string, { turns: InTurn; count: number }>()

  /** The number of keys with a running or waiting task. */
  get size(): number {
    return this.entries.size
  }

  /** Runs `work` after all earlier tasks of the key, and tells it whether it had to wait. */
  async add<Result>(key: string, work: (hadToWait: boolean) => Promise<Result>): Promise<Result> {
    const entry = this.entries.get(key) ?? { turns: new InTurn(), count: 0 }
    this.entries.set(key, entry)
    const hadToWait = entry.count++ > 0
    try {
      return await entry.turns.add(() => work(hadToWait))
    } finally {
      if (--entry.count === 0) this.entries.delete(key)
    }
  }
}

/**
 * Runs tasks that block the event loop: at most one in each turn of it, and for at most half of the
 * time. Otherwise every other request would wait for a task at each of its steps.
 */
export class HalfTime {
  private readonly turns = new InTurn()
  private idleUntil = 0

  /** Runs `work` after all earlier tasks and a pause as long as the last one took. */
  add<Result>(work: () => Result | Promise<Result>): Promise<Result> {
    return this.turns.add(async () => {
      await setImmediate()
      if (performance.now() < this.idleUntil) await setTimeout(this.idleUntil - performance.now())
      const startedAt = performance.now()
      try {
        return await work()
      } finally {
        this.idleUntil = performance.now() + (performance.now() - startedAt)
      }
    })
  }
}
